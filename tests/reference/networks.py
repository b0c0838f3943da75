"""The sample models, written by hand for PyTorch.

A network is a function of `param`, which gives the next parameter at every call (in the order in which the model text
creates them), the images or other inputs, and the settings of the model. It returns the logits, and the auxiliary logits or
None.
"""

import math

import torch
import torch.nn.functional as F


def mlp(param, x, layers=2, **_):
    x = x.flatten(1)
    for _layer in range(layers):
        x = F.relu(F.linear(x, param(), param()))
    return F.linear(x, param(), param()), None


def lenet(param, x, **_):
    x = F.max_pool2d(F.relu(F.conv2d(x, param(), param(), padding=2)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, param(), param())), 2)
    x = x.flatten(1)
    x = F.relu(F.linear(x, param(), param()))
    x = F.relu(F.linear(x, param(), param()))
    return F.linear(x, param(), param()), None


def dropout(x, rate):
    return F.dropout(x, rate) if rate > 0 else x


def alexnet(param, x, rate=0.5, **_):
    x = F.max_pool2d(F.relu(F.conv2d(x, param(), param(), stride=4, padding=2)), 3, stride=2)
    x = F.max_pool2d(F.relu(F.conv2d(x, param(), param(), padding=2)), 3, stride=2)
    x = F.relu(F.conv2d(x, param(), param(), padding=1))
    x = F.relu(F.conv2d(x, param(), param(), padding=1))
    x = F.max_pool2d(F.relu(F.conv2d(x, param(), param(), padding=1)), 3, stride=2)
    x = x.flatten(1)
    x = F.relu(F.linear(dropout(x, rate), param(), param()))
    x = F.relu(F.linear(dropout(x, rate), param(), param()))
    return F.linear(x, param(), param()), None


def conv_norm(param, x, eps=1e-5, **options):
    x = F.conv2d(x, param(), **options)
    return F.batch_norm(x, None, None, param(), param(), training=True, eps=eps)


def basic_block(param, x, planes, stride):
    y = F.relu(conv_norm(param, x, stride=stride, padding=1))
    y = conv_norm(param, y, padding=1)
    if stride != 1 or x.shape[1] != planes:
        x = conv_norm(param, x, stride=stride)
    return F.relu(y + x)


def bottleneck(param, x, planes, stride):
    y = F.relu(conv_norm(param, x))
    y = F.relu(conv_norm(param, y, stride=stride, padding=1))
    y = conv_norm(param, y)
    if stride != 1 or x.shape[1] != 4 * planes:
        x = conv_norm(param, x, stride=stride)
    return F.relu(y + x)


BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet(param, x, depth=50, width=64, **_):
    block = basic_block if depth < 50 else bottleneck
    x = F.max_pool2d(F.relu(conv_norm(param, x, stride=2, padding=3)), 3, stride=2, padding=1)
    for stage, count in enumerate(BLOCKS[depth]):
        for i in range(count):
            x = block(param, x, width << stage, 2 if stage > 0 and i == 0 else 1)
    return F.linear(x.mean((2, 3)), param(), param()), None


def unit(param, x, **options):
    return F.relu(conv_norm(param, x, eps=1e-3, **options))


def pooled_unit(param, x):
    return unit(param, F.avg_pool2d(x, 3, stride=1, padding=1))


def concat(*tensors):
    return torch.cat(tensors, 1)


def inception_a(param, x):
    a = unit(param, x)
    b = unit(param, unit(param, x), padding=2)
    d = unit(param, unit(param, unit(param, x), padding=1), padding=1)
    return concat(a, b, d, pooled_unit(param, x))


def inception_b(param, x):
    a = unit(param, x, stride=2)
    b = unit(param, unit(param, unit(param, x), padding=1), stride=2)
    return concat(a, b, F.max_pool2d(x, 3, stride=2))


def inception_c(param, x):
    a = unit(param, x)
    b = unit(param, unit(param, unit(param, x), padding=(0, 3)), padding=(3, 0))
    d = unit(param, x)
    for padding in [(3, 0), (0, 3), (3, 0), (0, 3)]:
        d = unit(param, d, padding=padding)
    return concat(a, b, d, pooled_unit(param, x))


def inception_d(param, x):
    a = unit(param, unit(param, x), stride=2)
    b = unit(param, unit(param, unit(param, x), padding=(0, 3)), padding=(3, 0))
    b = unit(param, b, stride=2)
    return concat(a, b, F.max_pool2d(x, 3, stride=2))


def inception_e(param, x):
    a = unit(param, x)
    b = unit(param, x)
    b = concat(unit(param, b, padding=(0, 1)), unit(param, b, padding=(1, 0)))
    d = unit(param, unit(param, x), padding=1)
    d = concat(unit(param, d, padding=(0, 1)), unit(param, d, padding=(1, 0)))
    return concat(a, b, d, pooled_unit(param, x))


def inception_v3(param, x, rate=0.5, **_):
    x = unit(param, unit(param, unit(param, x, stride=2)), padding=1)
    x = F.max_pool2d(x, 3, stride=2)
    x = F.max_pool2d(unit(param, unit(param, x)), 3, stride=2)
    for _block in range(3):
        x = inception_a(param, x)
    x = inception_b(param, x)
    for _block in range(4):
        x = inception_c(param, x)
    aux = unit(param, F.avg_pool2d(x, min(x.shape[2], 5), stride=3))
    aux = unit(param, aux)
    aux = F.linear(aux.mean((2, 3)), param(), param())
    x = inception_d(param, x)
    for _block in range(2):
        x = inception_e(param, x)
    return F.linear(dropout(x.mean((2, 3)), rate), param(), param()), aux


def lstm(param, x, biases=2, start=None, reverse=False):
    """PyTorch's LSTM on our matrices: [4, u, c] lies as [4u, c]. The outputs, and the last h and c."""
    weights = [param().flatten(0, 1) for _matrix in range(2 + biases)]
    if start is None:
        start = [x.new_zeros(x.shape[0], weights[1].shape[1])] * 2
    start = [state[None] for state in start]
    x = x.flip(1) if reverse else x
    y, h, c = torch._VF.lstm(x, start, weights, biases == 2, 1, 0.0, True, False, True)
    return (y.flip(1) if reverse else y), (h[0], c[0])


def charlm(param, byte, layers=1, **_):
    x = F.embedding(byte, param())
    for _layer in range(layers):
        x, _state = lstm(param, x)
    return F.linear(x, param(), param()), None


def layer_norm(param, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], param(), param(), eps)


def multihead(param, x, heads, causal=True, padding=None):
    """Attention by PyTorch's own; padding[b, u] where a key is none. Of the parameters, heads are a dimension."""
    projections = [[param(), param()] for _ in range(3)]
    weight, bias = (torch.cat([pair[i].flatten(0, 1) for pair in projections]) for i in range(2))
    out_weight, out_bias = param().flatten(1), param()
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if causal else None
    x = x.transpose(0, 1)
    y, _ = F.multi_head_attention_forward(x, x, x, x.shape[2], heads, weight, bias, None, None, False, 0.0, out_weight, out_bias,
                                          key_padding_mask=padding, attn_mask=later, need_weights=False)
    return y.transpose(0, 1)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def gpt2(param, token, layers, heads, **_):
    words, places = param(), param()
    x = F.embedding(token, words) + places
    for _layer in range(layers):
        x = x + multihead(param, layer_norm(param, x), heads)
        x = x + F.linear(gelu_tanh(F.linear(layer_norm(param, x), param(), param())), param(), param())
    return F.linear(layer_norm(param, x), words), None


def rnnlm(param, word, layers=2, **_):
    return charlm(param, word, layers)


def nmt(param, source, target, layers=2, **_):
    """Words 0 are padding: those of the source are not attended to, the loss leaves out those of the target itself."""
    read, written, ends = *(F.embedding(words, table) for words, table in zip((source, target), (param(), param()))), []
    for _layer in range(layers):
        read, end = lstm(param, read)
        ends.append(end)
    for layer in range(layers):
        written, _end = lstm(param, written, start=ends[layer])
    score = F.linear(written, param()) @ read.transpose(1, 2)
    found = score.masked_fill((source == 0)[:, None, :], -torch.inf).softmax(2) @ read
    x = F.linear(torch.cat([found, written], 2), param()).tanh()
    return F.linear(x, param(), param()), None


def rms_norm(param, x, eps=1e-6):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * param()


def rotate(x, base):
    """x[b, t, h, d] as complex numbers (first half, second half), turned."""
    half = x.shape[3] // 2
    angle = torch.outer(torch.arange(x.shape[1]), base ** (-torch.arange(half, dtype=x.dtype) / half))
    y = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)[:, None]
    return torch.cat((y.real, y.imag), 3)


def grouped_query(param, x, base=10000):
    """Causal attention; every head of keys and values serves as many heads of queries as there are."""
    q, k, v = (torch.einsum("btc,hdc->bthd", x, param()) for _ in range(3))
    q, k = rotate(q, base), rotate(k, base)
    k, v = (y.repeat_interleave(q.shape[2] // k.shape[2], 2) for y in (k, v))
    score = torch.einsum("bthd,buhd->bhtu", q, k) / q.shape[3] ** 0.5
    later = torch.ones(score.shape[2:], dtype=torch.bool).triu(1)
    y = score.masked_fill(later, -torch.inf).softmax(-1) @ v.transpose(1, 2)
    return F.linear(y.transpose(1, 2).flatten(2), param().flatten(1))


def llama(param, token, layers, **_):
    x = F.embedding(token, param())
    for _layer in range(layers):
        x = x + grouped_query(param, rms_norm(param, x))
        y = rms_norm(param, x)
        x = x + F.linear(F.silu(F.linear(y, param())) * F.linear(y, param()), param())
    return F.linear(rms_norm(param, x), param()), None


def bert_base(param, token, segment, target, label, layers, heads, head="tied", **_):
    words, segments, places = param(), param(), param()
    x = layer_norm(param, F.embedding(token, words) + F.embedding(segment, segments) + places, 1e-12)
    for _layer in range(layers):
        x = layer_norm(param, x + multihead(param, x, heads, causal=False, padding=token == 0), 1e-12)
        x = layer_norm(param, x + F.linear(F.gelu(F.linear(x, param(), param())), param(), param()), 1e-12)
    pooled = torch.tanh(F.linear(x[:, 0], param(), param()))
    if head == "own":
        x = layer_norm(param, F.gelu(F.linear(x, param(), param())), 1e-12)
        hidden, following = F.linear(x, words, param()), F.linear(pooled, param(), param())
    else:
        hidden, following = F.linear(x, words), F.linear(pooled, segments)
    return {
        "words_found": F.cross_entropy(hidden.flatten(0, 1), target.flatten(), ignore_index=0),
        "next_found": F.cross_entropy(following, label),
    }


def vit_b16(param, x, patch, layers, heads, **_):
    first = param()
    x = F.conv2d(x, param(), param(), stride=patch).flatten(2).transpose(1, 2)
    x = torch.cat((first.expand(x.shape[0], 1, -1), x), 1) + param()
    for _layer in range(layers):
        x = x + multihead(param, layer_norm(param, x, 1e-6), heads, causal=False)
        x = x + F.linear(F.gelu(F.linear(layer_norm(param, x, 1e-6), param(), param())), param(), param())
    return F.linear(layer_norm(param, x, 1e-6)[:, 0], param(), param()), None


def mixture(param, x, chosen, capacity):
    """One sample after the other, one expert after the other; an expert takes no more choices than it has places for."""
    share = F.linear(x, param()).softmax(-1)
    gate, up, down = param(), param(), param()
    experts, steps = share.shape[2], x.shape[1]
    places = min(math.ceil(capacity * chosen * steps / experts), steps) if capacity > 0 else steps
    value, choice = share.topk(chosen)
    value = value / value.sum(-1, keepdim=True)
    samples = []
    for sample, values, choices in zip(x, value, choice):
        y = torch.zeros_like(sample)
        for e in range(experts):
            row, step = torch.nonzero(choices.T == e, as_tuple=True)  # first choices first
            row, step = row[:places], step[:places]
            made = F.linear(F.silu(F.linear(sample[step], gate[e])) * F.linear(sample[step], up[e]), down[e])
            y = y.index_add(0, step, values[step, row, None] * made)
        samples.append(y)
    used = F.one_hot(choice, experts).double().mean((0, 1, 2))
    return torch.stack(samples), experts * (used * share.mean((0, 1))).sum()


def mixtral(param, token, label, layers, chosen=2, capacity=1.25, balance=0.02, **_):
    x, uneven = F.embedding(token, param()), 0
    for _layer in range(layers):
        x = x + grouped_query(param, rms_norm(param, x, 1e-5), 1e6)
        y, here = mixture(param, rms_norm(param, x, 1e-5), chosen, capacity)
        x, uneven = x + y, uneven + here / layers
    logits = F.linear(rms_norm(param, x, 1e-5), param())
    return {"words_found": F.cross_entropy(logits.flatten(0, 1), label.flatten()), "experts_used": balance * uneven}
