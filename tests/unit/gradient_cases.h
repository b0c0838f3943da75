// Models for the gradient check: every operator and layer of the prelude in at least three shapes.
//
// A case is the body of a model that ends with a tensor y; the loss is the sum of y with fixed random weights. What the
// gradient is wanted of is a param. Each variant either replaces '$' in the body (a shape) or, where the body has no '$',
// is the parameter list of the model. Odd extents, extents of 1, uneven strides and windows over the edge are among them.
#ifndef PARCC_TESTS_GRADIENT_CASES_H
#define PARCC_TESTS_GRADIENT_CASES_H

enum { MAX_VARIANTS = 6 };

typedef struct GradientCase {
  const char *body;
  const char *variant[MAX_VARIANTS];
} GradientCase;

#define SHAPES {"7", "3, 5", "2, 1, 3", "1, 1, 1"}
#define UNARY(call) {"param x[$] = normal(); y = " call ";", SHAPES}
#define POSITIVE(call) {"param x[$] = 0.5 + uniform(); y = " call ";", SHAPES}
#define BINARY(call) {"param a[$] = normal(); param b[$] = 1 + uniform(); y = " call ";", SHAPES}

static const GradientCase gradient_cases[] = {
    // element by element
    BINARY("add(a, b)"), BINARY("sub(a, b)"), BINARY("mul(a, b)"), BINARY("div(a, b)"),
    UNARY("neg(x)"), UNARY("abs(x)"), UNARY("exp(x)"), POSITIVE("log(x)"), POSITIVE("sqrt(x)"), UNARY("tanh(x)"), UNARY("erf(x)"),
    UNARY("sin(x)"), UNARY("cos(x)"), POSITIVE("pow(x, 1.7)"), POSITIVE("pow(x, -0.5)"), UNARY("pow(x, 2)"), UNARY("pow(x, 3)"),
    UNARY("clamp(x, -0.5, 0.8)"), UNARY("sigmoid(x)"), UNARY("relu(x)"), UNARY("silu(x)"), UNARY("gelu(x)"), UNARY("softplus(x)"),
    UNARY("leaky_relu(x)"), UNARY("leaky_relu(x, slope = 0.3)"), UNARY("elu(x)"), UNARY("elu(x, alpha = 0.7)"), UNARY("gelu_tanh(x)"),
    UNARY("dropout(x)"), UNARY("dropout(x, rate = 0.2)"), UNARY("dropout(x, rate = 0)"),
    BINARY("gated_silu(a, b)"),
    // operators of the language itself
    BINARY("a * b - a / b + 2 * a - b * 0.5 + (-a)"), 
    {"param a[$] = normal(); param b[$] = normal(); y[i..] = max(a[i..], b[i..]) * min(a[i..], b[i..] * 0.3);", SHAPES},
    {"param a[3, 4] = normal(); param b[$] = normal(); y = a * b + b;", {"4", "1", "1, 4", "3, 1", "3, 4"}},
    {"param x[$] = normal(); y = x[1] * x[0];", {"2, 3", "3, 1, 2", "2"}},
    {"param x[n, c] = normal(); param w[c] = normal(); y[n, c] = prod(j < 3) x[n, c + j - 1] * w[c];", {"n = 2, c = 3", "n = 1, c = 4", "n = 3, c = 5"}},
    {"param x[n, k = 2 * c] = normal(); y[n = n, c = c] = x[n, 2*c + 1] * x[n, 2*c] + c * x[n, 0];", {"n = 2, c = 3", "n = 1, c = 1", "n = 3, c = 2"}},
    {"param x[n, h, k] = normal(); y = view(x, \"n h k -> k (n h)\") |> tanh |> view(\"k (n h) -> n (k h)\", h = h);",
     {"n = 2, h = 3, k = 2", "n = 1, h = 5, k = 3", "n = 3, h = 1, k = 4"}},
    {"param x[n, c] = normal(); y[n, c] = select(x[n, c] > 0 and c < 2, x[n, c] * x[n, c], exp(x[n, c]));", {"n = 2, c = 3", "n = 1, c = 5", "n = 4, c = 2"}},
    // along the last dimension, along the channels
    {"param x[$] = normal(); param b[3] = normal(); y = bias(x, b);", {"3", "4, 3", "2, 5, 3"}},
    {"param x[$] = normal(); param b[3] = normal(); y = channel_bias(x, b);", {"4, 3", "2, 3, 5", "1, 3, 2, 3", "2, 3, 1, 2, 1"}},
    // contractions
    {"param a[m, k] = normal(); param b[k, n] = normal(); y = matmul(a, b);", {"m = 2, k = 3, n = 4", "m = 1, k = 5, n = 1", "m = 5, k = 1, n = 3", "m = 3, k = 7, n = 2"}},
    {"param a[$ 2, 3] = normal(); param b[$ 3, 5] = normal(); y = batched_matmul(a, b);", {"", "4,", "2, 3,", "1,"}},
    {"param a[$] = normal(); param b[$] = normal(); y = dot(a, b);", SHAPES},
    {"param a[m] = normal(); param b[n] = normal(); y = outer(a, b);", {"m = 3, n = 4", "m = 1, n = 5", "m = 5, n = 2"}},
    {"param a[2, 3, 4] = normal(); param b[3, 4, 5] = normal(); y = contract(a, b, dims = 2);", {""}},
    {"param a[m, k] = normal(); param b[k, n, 2] = normal(); y = contract(a, b);", {"m = 2, k = 3, n = 4", "m = 1, k = 1, n = 1", "m = 3, k = 5, n = 2"}},
    {"input id[$]: int < 5; param table[5, 3] = normal(); y = embedding(id, table);", {"4", "2, 3", "7"}},
    {"input id[$]: int < 5; param x[$, 4] = normal(); y = one_hot(id, classes = 4) * x;", {"4", "2, 3", "7"}},
    // other shapes
    {"param x[$] = normal(); y = transpose(x);", {"3, 4", "2, 1, 5", "2, 3, 2, 3"}},
    {"param x[n, k, j] = normal(); y = slice(x, axis = 1, from = from, to = to, stride = stride);",
     {"n = 2, k = 5, j = 3, from = 1, to = 4, stride = 1", "n = 1, k = 7, j = 2, from = 0, to = 7, stride = 2", "n = 3, k = 6, j = 1, from = 2, to = 6, stride = 3",
      "n = 2, k = 4, j = 2, from = 3, to = 4, stride = 1"}},
    {"param x[n, k] = normal(); y = slice(x, to = 2) * slice(x, axis = 0, to = 1)[0, 1];", {"n = 2, k = 3", "n = 1, k = 2", "n = 3, k = 5"}},
    {"param x[n, k, j] = normal(); y = pad(x, axis = 1, before = before, after = after, value = value);",
     {"n = 2, k = 3, j = 2, before = 1, after = 2, value = 0", "n = 1, k = 5, j = 3, before = 0, after = 1, value = 1.5", "n = 3, k = 1, j = 1, before = 2, after = 0, value = -1"}},
    {"param a[n, p, 2] = normal(); param b[n, q, 2] = normal(); y = concat([a, b], axis = 1) |> tanh;", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[n, p] = normal(); param b[n, q] = normal(); param c[n, 3] = normal(); y = concat([a, b, c]) |> tanh;", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[n, p] = normal(); param b[n, q] = normal(); y = concat([a, b, a * a, tanh(b)]);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[p, n] = normal(); param b[q, n] = normal(); y = concat([a, b, tanh(a), b, a, a * a], axis = 0);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[n, p] = normal(); param b[n, q] = normal(); y = concat_few([a, b, a], axis = 1);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[n, p] = normal(); y = concat([a]);", {"n = 2, p = 3", "n = 1, p = 1", "n = 3, p = 2"}},
    {"param a[n, p, 2] = normal(); param b[n, q, 2] = normal(); y = concat2(a, b, axis = 1);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[p, n] = normal(); param b[q, n] = normal(); y = concat3(a, b, a * a, axis = 0);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    {"param a[p, n] = normal(); param b[q, n] = normal(); y = concat4(a, b, a * a, b, axis = 0);", {"n = 2, p = 3, q = 1", "n = 1, p = 1, q = 1", "n = 3, p = 2, q = 5"}},
    // reductions
    UNARY("sum(x)"), UNARY("mean(x)"), UNARY("max(x)"), UNARY("min(x)"),
    {"param x[a, b, c] = normal(); y = sum_over(x, axis = axis, dims = dims);", {"a = 2, b = 3, c = 4, axis = 1, dims = 1", "a = 1, b = 5, c = 2, axis = 0, dims = 2", "a = 3, b = 1, c = 3, axis = 2, dims = 1"}},
    {"param x[a, b, c] = normal(); y = max_over(x, axis = axis, dims = dims);", {"a = 2, b = 3, c = 4, axis = 1, dims = 1", "a = 1, b = 5, c = 2, axis = 0, dims = 2", "a = 3, b = 1, c = 3, axis = 2, dims = 1"}},
    {"param x[a, b, c] = normal(); y = min_over(x, axis = axis, dims = dims);", {"a = 2, b = 3, c = 4, axis = 1, dims = 1", "a = 1, b = 5, c = 2, axis = 0, dims = 2", "a = 3, b = 1, c = 3, axis = 2, dims = 1"}},
    {"param x[a, b, c] = normal(); y = mean_over(x, axis = axis, dims = dims);", {"a = 2, b = 3, c = 4, axis = 1, dims = 1", "a = 1, b = 5, c = 2, axis = 0, dims = 2", "a = 3, b = 1, c = 3, axis = 2, dims = 1"}},
    // the position of the largest element has no gradient; what is computed with it has
    {"param x[$] = normal(); y = sum(x * x) + sum(argmax(x) * 0.5);", {"3", "2, 5", "2, 3, 4"}},
    {"param x[$, 6] = normal(); value, index = topk(x, 3); y = value * (1 + index);", {"4", "2, 3", "1"}},
    {"param x[n, c] = normal(); value, index = topk(x, k); y = sum(value * value) + sum(index * 0.5);", {"n = 3, c = 4, k = 4", "n = 2, c = 5, k = 1", "n = 1, c = 1, k = 1"}},
    // convolutions
    {"param x[n, ci, l] = normal(); param f[co, ci, r] = normal(); y = conv1d(x, f, stride = stride, pad = pad, dilation = dilation);",
     {"n = 2, ci = 3, l = 7, co = 2, r = 3, stride = 1, pad = 1, dilation = 1", "n = 1, ci = 1, l = 8, co = 3, r = 3, stride = 2, pad = 0, dilation = 2",
      "n = 2, ci = 2, l = 5, co = 1, r = 2, stride = 3, pad = 2, dilation = 1", "n = 3, ci = 2, l = 1, co = 2, r = 1, stride = 1, pad = 0, dilation = 1"}},
    {"param x[n, ci, h, w] = normal(); param f[co, ci, r, s] = normal(); y = conv2d(x, f, stride = stride, pad = pad, dilation = dilation);",
     {"n = 2, ci = 2, h = 5, w = 5, co = 3, r = 3, s = 3, stride = 1, pad = 0, dilation = 1", "n = 1, ci = 3, h = 6, w = 5, co = 2, r = 3, s = 3, stride = 2, pad = 1, dilation = 1",
      "n = 2, ci = 1, h = 7, w = 6, co = 2, r = 2, s = 3, stride = [2, 1], pad = [1, 2], dilation = [2, 1]", "n = 1, ci = 2, h = 4, w = 3, co = 2, r = 1, s = 1, stride = 1, pad = 0, dilation = 1",
      "n = 1, ci = 1, h = 8, w = 7, co = 1, r = 3, s = 2, stride = 3, pad = 2, dilation = 2", "n = 2, ci = 2, h = 3, w = 3, co = 2, r = 5, s = 5, stride = 1, pad = 2, dilation = 1"}},
    {"param x[n, ci, d, h, w] = normal(); param f[co, ci, t, r, s] = normal(); y = conv3d(x, f, stride = stride, pad = pad, dilation = dilation);",
     {"n = 1, ci = 2, d = 3, h = 4, w = 3, co = 2, t = 2, r = 2, s = 2, stride = 1, pad = 0, dilation = 1", "n = 2, ci = 1, d = 4, h = 3, w = 5, co = 1, t = 2, r = 3, s = 2, stride = 2, pad = 1, dilation = 1",
      "n = 1, ci = 1, d = 3, h = 5, w = 4, co = 2, t = 1, r = 2, s = 3, stride = [1, 2, 3], pad = [0, 1, 1], dilation = [1, 2, 1]"}},
    {"param x[n, ci, l] = normal(); param f[co, c, r] = normal(); y = grouped_conv1d(x, f, groups = groups, stride = stride, pad = pad);",
     {"n = 2, ci = 4, l = 5, co = 2, c = 2, r = 3, groups = 2, stride = 1, pad = 1", "n = 1, ci = 3, l = 6, co = 6, c = 1, r = 2, groups = 3, stride = 2, pad = 0",
      "n = 2, ci = 2, l = 4, co = 3, c = 2, r = 3, groups = 1, stride = 1, pad = 2"}},
    {"param x[n, ci, h, w] = normal(); param f[co, c, r, s] = normal(); y = grouped_conv2d(x, f, groups = groups, stride = stride, pad = pad);",
     {"n = 2, ci = 4, h = 4, w = 3, co = 2, c = 2, r = 3, s = 2, groups = 2, stride = 1, pad = 1", "n = 1, ci = 3, h = 5, w = 4, co = 6, c = 1, r = 2, s = 3, groups = 3, stride = 2, pad = 1",
      "n = 1, ci = 2, h = 3, w = 3, co = 2, c = 1, r = 3, s = 3, groups = 2, stride = [1, 2], pad = [1, 0]"}},
    {"param x[n, ci, d, h, w] = normal(); param f[co, c, t, r, s] = normal(); y = grouped_conv3d(x, f, groups = groups, stride = stride, pad = pad);",
     {"n = 1, ci = 4, d = 3, h = 3, w = 2, co = 2, c = 2, t = 2, r = 2, s = 2, groups = 2, stride = 1, pad = 0", "n = 2, ci = 2, d = 3, h = 2, w = 3, co = 4, c = 1, t = 2, r = 1, s = 2, groups = 2, stride = 2, pad = 1",
      "n = 1, ci = 3, d = 2, h = 3, w = 3, co = 3, c = 1, t = 1, r = 3, s = 2, groups = 3, stride = 1, pad = [0, 1, 0]"}},
    // pooling
    {"param x[n, c, l] = normal(); y = maxpool1d(x, size = size, stride = stride, pad = pad);",
     {"n = 2, c = 2, l = 6, size = 2, stride = 2, pad = 0", "n = 1, c = 3, l = 7, size = 3, stride = 2, pad = 1", "n = 3, c = 1, l = 5, size = 3, stride = 1, pad = 1"}},
    {"param x[n, c, l] = normal(); y = avgpool1d(x, size = size, stride = stride, pad = pad);",
     {"n = 2, c = 2, l = 6, size = 2, stride = 2, pad = 0", "n = 1, c = 3, l = 7, size = 3, stride = 2, pad = 1", "n = 3, c = 1, l = 5, size = 3, stride = 1, pad = 1"}},
    {"param x[n, c, h, w] = normal(); y = maxpool2d(x, size = size, stride = stride, pad = pad);",
     {"n = 2, c = 2, h = 4, w = 6, size = 2, stride = 2, pad = 0", "n = 1, c = 2, h = 5, w = 7, size = 3, stride = 2, pad = 1", "n = 2, c = 1, h = 4, w = 3, size = [3, 2], stride = [1, 2], pad = [1, 0]"}},
    {"param x[n, c, h, w] = normal(); y = avgpool2d(x, size = size, stride = stride, pad = pad);",
     {"n = 2, c = 2, h = 4, w = 6, size = 2, stride = 2, pad = 0", "n = 1, c = 2, h = 5, w = 7, size = 3, stride = 2, pad = 1", "n = 2, c = 1, h = 4, w = 3, size = [3, 2], stride = [1, 2], pad = [1, 0]"}},
    {"param x[n, c, d, h, w] = normal(); y = maxpool3d(x, size = size, stride = stride, pad = pad);",
     {"n = 1, c = 2, d = 4, h = 2, w = 4, size = 2, stride = 2, pad = 0", "n = 1, c = 1, d = 3, h = 5, w = 4, size = 3, stride = 2, pad = 1", "n = 2, c = 1, d = 2, h = 3, w = 3, size = [1, 2, 3], stride = 1, pad = [0, 0, 1]"}},
    {"param x[n, c, d, h, w] = normal(); y = avgpool3d(x, size = size, stride = stride, pad = pad);",
     {"n = 1, c = 2, d = 4, h = 2, w = 4, size = 2, stride = 2, pad = 0", "n = 1, c = 1, d = 3, h = 5, w = 4, size = 3, stride = 2, pad = 1", "n = 2, c = 1, d = 2, h = 3, w = 3, size = [1, 2, 3], stride = 1, pad = [0, 0, 1]"}},
    {"param x[2, 3, $] = normal(); y = maxpool(x, size = 2);", {"6", "4, 5", "2, 3, 4"}},
    {"param x[2, 3, $] = normal(); y = avgpool(x, size = 3, stride = 2, pad = 1);", {"6", "4, 5", "2, 3, 4"}},
    {"param x[2, 3, $] = normal(); y = global_avgpool(x);", {"6", "4, 5", "2, 1, 4"}},
    {"param x[2, 3, $] = normal(); y = global_maxpool(x);", {"6", "4, 5", "2, 1, 4"}},
    // normalisation
    {"param x[$] = normal(); y = local_response_norm(x);", {"2, 7", "1, 5, 3", "2, 3, 2, 2"}},
    {"param x[$] = normal(); y = local_response_norm(x, size = 3, alpha = 0.9, beta = 0.6, k = 2);", {"2, 7", "1, 5, 3", "2, 4, 2, 2"}},
    {"param x[$] = 2 * normal(); y = softmax(x);", {"5", "3, 4", "2, 3, 1", "2, 1, 7"}},
    {"param x[$] = 2 * normal(); y = softmax(x, axis = 1);", {"3, 4", "2, 3, 4", "1, 5, 2, 2"}},
    {"param x[$] = 2 * normal(); y = log_softmax(x);", {"5", "3, 4", "2, 3, 1", "2, 1, 7"}},
    {"param x[$] = 2 * normal(); y = log_softmax(x, axis = 0);", {"3, 4", "5", "4, 1, 2"}},
    {"param x[$] = normal(); y = batchnorm(x);", {"5, 3", "4, 2, 3", "3, 2, 2, 3", "2, 1, 3, 1, 2"}},
    {"param x[$] = normal(); y = layernorm(x);", {"5", "3, 4", "2, 3, 5"}},
    {"param x[$] = normal(); y = rmsnorm(x);", {"5", "3, 4", "2, 3, 5"}},
    // losses and measures
    {"param x[$, 5] = 2 * normal(); input label[$]: int < 5; y = cross_entropy(x, label);", {"4", "2, 3", "1", "7"}},
    {"param x[$, 5] = 2 * normal(); input label[$]: int < 5; y = cross_entropy(x, label, ignore = 3, smoothing = 0.1);", {"9", "3, 3", "4, 5"}},
    {"param x[n, 5] = 2 * normal(); input label[n]: int < 5; y = cross_entropy(x, label, smoothing = s);", {"n = 4, s = 1", "n = 1, s = 0.5", "n = 7, s = 0"}},
    {"param x[$, 5] = 2 * normal(); input label[$]: int < 5; y = cross_entropy(x, label, ignore = 2);", {"9", "3, 3", "4, 5"}},
    {"param x[$] = 2 * normal(); param t[$] = uniform(); y = binary_cross_entropy(x, t);", SHAPES},
    {"param x[$] = normal(); param t[$] = normal(); y = mse(x, t);", SHAPES},
    {"param x[$] = normal(); param t[$] = normal(); y = mae(x, t);", SHAPES},
    {"param x[$, 5] = normal(); input label[$]: int < 5; y = sum(x * x) * (1 + accuracy(x, label));", {"4", "2, 3", "7"}},
    // layers
    {"param x[$, 3] = normal(); y = dense(x, 4);", {"2", "1", "3, 2", "2, 1, 2"}},
    {"param x[$, 3] = normal(); y = dense(x, 2, bias = false, init = 'xavier');", {"2", "5", "3, 2"}},
    {"param x[$] = normal(); y = conv(x, filters = 3, kernel = 2, pad = 1);", {"2, 2, 5", "1, 1, 3, 4", "2, 2, 2, 2, 3"}},
    {"param x[$] = normal(); y = conv(x, filters = 4, kernel = 3, stride = 2, pad = 1, groups = 2, bias = false, init = 'kaiming');", {"2, 2, 5", "1, 4, 3, 4", "1, 2, 2, 2, 3"}},
    {"param q[b, t, h, d] = normal(); param k[b, u, h, d] = normal(); param v[b, u, h, d] = normal(); y = attention(q, k, v, causal = causal);",
     {"b = 2, t = 3, u = 3, h = 2, d = 2, causal = true", "b = 1, t = 2, u = 4, h = 1, d = 3, causal = false", "b = 1, t = 5, u = 5, h = 3, d = 1, causal = true"}},
    {"param q[b, t, 2, 3] = normal(); param k[b, t, 2, 3] = normal(); param v[b, t, 2, 3] = normal(); input m[b, t]: int < 2; y = attention(q, k, v, causal = causal, mask = m, rate = rate);",
     {"b = 2, t = 4, causal = true, rate = 0", "b = 3, t = 5, causal = false, rate = 0", "b = 2, t = 3, causal = true, rate = 0.3"}},
    {"param x[b, t, c] = normal(); y = positions(x, std = 1);", {"b = 2, t = 3, c = 4", "b = 1, t = 1, c = 5", "b = 3, t = 2, c = 2"}},
    {"param x[b, t, c] = normal(); y = sinusoidal_positions(x * x, base = 7);", {"b = 2, t = 3, c = 4", "b = 1, t = 1, c = 5", "b = 3, t = 5, c = 1"}},
    {"param x[b, t, h, d] = normal(); y = rotary_positions(x, base = base);",
     {"b = 2, t = 3, h = 2, d = 4, base = 10000", "b = 1, t = 5, h = 1, d = 2, base = 3", "b = 2, t = 1, h = 3, d = 6, base = 50"}},
    {"param x[b, t, 2, 3] = normal(); y = repeat_heads(x, times) |> tanh;", {"b = 2, t = 3, times = 2", "b = 1, t = 2, times = 1", "b = 1, t = 4, times = 3"}},
    {"param x[n, 3] = normal(); y = feedforward(x, 5, activation = activation);", {"n = 4, activation = 'relu'", "n = 2, activation = 'gelu'", "n = 5, activation = 'gelu_tanh'"}},
    {"param x[$, 3] = normal(); y = swiglu(x, 4);", {"2", "1", "3, 2"}},
    {"param x[$, 3] = normal(); y = swiglu_each(x, 4, init = 'normal', std = 1);", {"2, 3, 1", "1, 1, 4", "3, 2, 2"}},
    {"param x[b, t, 4] = normal(); y, balance = mixture(x, experts, 3, k = k, capacity = capacity, init = 'normal', std = 1); y = y * (1 + balance);",
     {"b = 2, t = 4, experts = 3, k = 2, capacity = 1", "b = 1, t = 5, experts = 2, k = 1, capacity = 0", "b = 3, t = 3, experts = 4, k = 3, capacity = 0.7"}},
    {"param x[b, t, 3] = normal(); y, balance = mixture(x, 3, 2, normalized = false, init = 'normal', std = 1);", {"b = 2, t = 3", "b = 1, t = 1", "b = 1, t = 6"}},
    {"param x[b, t, c] = normal(); y = transformer(x, heads, norm_first = first, causal = causal, hidden = hidden);",
     {"b = 2, t = 3, c = 4, heads = 2, first = true, causal = true, hidden = 5", "b = 1, t = 4, c = 3, heads = 1, first = false, causal = false, hidden = 7", "b = 2, t = 2, c = 6, heads = 3, first = false, causal = true, hidden = 3"}},
    {"param x[$, 3] = normal(); y = into_heads(x, 2, 4) |> tanh |> from_heads(5);", {"2", "1", "3, 2"}},
    {"param x[$, 3] = normal(); y = into_heads(x, 3, 1, bias = false, init = 'normal') |> from_heads(2, bias = false, init = 'normal', std = 1);", {"2", "5", "3, 2"}},
    {"param x[b, t, c] = normal(); y = multihead(x, heads, kv_heads = kv, rotary = rotary, bias = false);",
     {"b = 2, t = 3, c = 8, heads = 4, kv = 2, rotary = 100", "b = 1, t = 4, c = 6, heads = 3, kv = 1, rotary = 0", "b = 2, t = 2, c = 4, heads = 2, kv = 2, rotary = 3"}},
    {"param x[b, t, c] = normal(); y = multihead(x, heads, causal = causal);", {"b = 2, t = 3, c = 4, heads = 2, causal = true", "b = 1, t = 4, c = 3, heads = 1, causal = false", "b = 1, t = 2, c = 6, heads = 3, causal = true"}},
    // recurrent networks
    {"param a[b, 4, u] = normal(); param c[b, u] = normal(); h, n = lstm_gates(a, c); y = h + n * n;", {"b = 2, u = 3", "b = 1, u = 1", "b = 3, u = 2"}},
    {"param z[b, 4, u] = normal(); param h[b, v] = normal(); param c[b, u] = normal(); param r[4, u, v] = normal(); param p[v, u] = normal(); "
     "n, m = lstm_cell(z, h, c, r, project = [p]); y = concat([n, m]);", {"b = 2, u = 3, v = 2", "b = 1, u = 1, v = 3", "b = 3, u = 2, v = 2"}},
    {"param x[b, t, 3] = normal(); y = lstm(x, u);", {"b = 2, t = 3, u = 2", "b = 1, t = 1, u = 3", "b = 3, t = 5, u = 1"}},
    {"param x[b, t, 2] = normal(); param s[b, v] = normal(); param m[b, 3] = normal(); e = lstm(x, 3, project = v, start = [s, m], "
     "reverse = true, states = true, biases = 1, forget = 1); y[b, t, v] = e[0][b, t, v] * e[1][b, v] + (sum(u) e[2][b, u]);",
     {"b = 2, t = 3, v = 2", "b = 1, t = 1, v = 3", "b = 3, t = 4, v = 4"}},
    {"param z[b, 3, u] = normal(); param h[b, u] = normal(); param r[3, u, u] = normal(); param q[3, u] = normal(); y = gru_cell(z, h, r, bias = [q]);",
     {"b = 2, u = 3", "b = 1, u = 1", "b = 3, u = 2"}},
    {"param x[b, t, 3] = normal(); y = gru(x, u);", {"b = 2, t = 3, u = 2", "b = 1, t = 1, u = 3", "b = 3, t = 5, u = 1"}},
    {"param x[b, t, 2] = normal(); param s[b, 3] = normal(); e = gru(x, 3, start = [s], reverse = true, states = true, bias = false); "
     "y[b, t, u] = e[0][b, t, u] * e[1][b, u];", {"b = 2, t = 3", "b = 1, t = 1", "b = 3, t = 4"}},
    {"param x[b, t, 3] = normal(); y = bilstm(x, u);", {"b = 2, t = 3, u = 2", "b = 1, t = 1, u = 3", "b = 3, t = 4, u = 1"}},
    {"param x[b, t, 3] = normal(); y = bigru(x, u);", {"b = 2, t = 3, u = 2", "b = 1, t = 1, u = 3", "b = 3, t = 4, u = 1"}},
    {"param s[b, t, u] = normal(); param m[b, u, d] = normal(); y = weigh(s, m);", {"b = 2, t = 3, u = 4, d = 2", "b = 1, t = 1, u = 1, d = 1", "b = 1, t = 4, u = 3, d = 5"}},
    {"param q[b, t, a] = normal(); param k[b, s, a] = normal(); param v[a] = normal(); y = additive_score(q, k, v);",
     {"b = 2, t = 3, s = 4, a = 2", "b = 1, t = 1, s = 1, a = 1", "b = 1, t = 4, s = 3, a = 5"}},
    {"param x[b, t, 3] = normal(); param m[b, s, 2] = normal(); y = additive_attention(x, m, units);", {"b = 2, t = 3, s = 4, units = 4", "b = 1, t = 1, s = 1, units = 1", "b = 3, t = 2, s = 3, units = 2"}},
    {"param x[b, t, 3] = normal(); param m[b, s, 2] = normal(); y = multiplicative_attention(x, m);", {"b = 2, t = 3, s = 4", "b = 1, t = 1, s = 1", "b = 3, t = 2, s = 3"}},
    {"param x[b, 2, 3] = normal(); param m[b, s, 4] = normal(); input word[b, s]: int < 7; y = multiplicative_attention(x, m, keep = [word]);", {"b = 2, s = 5", "b = 1, s = 8", "b = 3, s = 6"}},
    {"param x[b, 2, 3] = normal(); param m[b, s, 4] = normal(); input word[b, s]: int < 1; y = multiplicative_attention(x, m, keep = [word]);", {"b = 2, s = 5"}}, // all is padding
    {"param x[$, 3] = normal(); param w[6, 3] = normal(); param b[6] = normal(); input label[$]: int < 6; y = sampled_cross_entropy(x, w, b, label, samples = 9);", {"4", "2, 3", "1", "7"}},
    // chains, so that sums of several contributions to one gradient are among them
    {"param x[n, 3] = normal(); h = dense(x, 5) |> relu; y = dense(h, 2) + dense(h * h, 2);", {"n = 4", "n = 1", "n = 3"}},
    {"param x[n, 2, 6, 6] = normal(); y = conv(x, 3, 3, pad = 1) |> batchnorm |> relu |> maxpool(2) |> conv(2, 2) |> global_avgpool |> softmax;", {"n = 2", "n = 3"}},
    {"param w[3, 3] = normal(); param x[n, 3] = normal(); y = dense(dense(x, 3, w = w) |> tanh, 3, w = w);", {"n = 2", "n = 1", "n = 5"}},
};
enum { N_GRADIENT_CASES = sizeof gradient_cases / sizeof gradient_cases[0] };

#endif
