// Derived gradients against central differences, for everything in the prelude (gradient_cases.h).
//
// For every case and shape: elaborate, differentiate, interpret in f64, and compare every element of every parameter's
// gradient with a four-point central difference of the loss. A point near a kink (a maximum that changes hands, relu at 0) is
// told by differences of two widths that disagree, and drawn again. Then the rest of the pipeline's graph passes run, and
// after each the interpreted losses and updated parameters must still be those that autodiff left.
#include <math.h>
#include <stdlib.h>

#include "../../frontend/diag.h"
#include "../../frontend/frontend.h"
#include "../../ir/interp.h"
#include "../../passes/passes.h"
#include "../../passes/pipeline.h"
#include "check.h"
#include "gradient_cases.h"

enum { MAX_DRAWS = 30 };
static const double tolerance = 1e-6; // relative
static const double noise = 1e-9;     // what rounding does to a difference of losses of order 10

// The loss weighs the elements of y with numbers in [0.5, 1.5): random, but the same at every evaluation.
static const char wrapper[] = "op probe(y[i..]) -> l[] { r[i..] = 0.5 + uniform(); l[] = sum(i..) r[i..] * y[i..]; }\n"
                              "model test(%s) {\n  %s\n  %s\n  loss = probe(y);\n}\n"
                              "train { optimizer = sgd(lr = 1); steps = 1; }\n";

static const char *replace_dollar(Arena *arena, const char *body, const char *by) {
  Text text = {.arena = arena};
  for (const char *c = body; *c != '\0'; c++) {
    if (*c == '$') text_printf(&text, "%s", by);
    else text_printf(&text, "%c", *c);
  }
  return text_str(&text);
}

static const char *model_text(Arena *arena, const GradientCase *gradient_case, const char *variant) {
  const bool shape = strchr(gradient_case->body, '$') != NULL;
  const char *body = replace_dollar(arena, gradient_case->body, variant);
  const char *input = strstr(body, "input") == NULL ? "input unused[batch = 1];" : "";
  return arena_printf(arena, wrapper, shape ? "" : variant, input, body);
}

// How messages call a case.
static const char *case_name(Arena *arena, const GradientCase *gradient_case, const char *variant) {
  return arena_printf(arena, "[%s] with {%s}:", gradient_case->body, variant);
}

static Model *elaborate(Arena *arena, const char *text) {
  diag_reset();
  const AstFile *prelude = parse_prelude(arena);
  const AstFile *file = parse_text(arena, "test.dnn", text, strlen(text));
  if (diag_errors() > 0) return NULL;
  const ElabOptions options = {.f64 = true};
  Model *model = elab_model(arena, prelude, file, &options);
  return diag_errors() > 0 ? NULL : model;
}

// ---- evaluation --------------------------------------------------------------------------------------------------

// A number in [0, 1) that depends on the seed, the tensor's name and the element.
static double draw(uint64_t seed, const char *name, int64_t element) {
  uint64_t hash = seed * 0x9E3779B97F4A7C15u + (uint64_t)element + 1;
  for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * 0xBF58476D1CE4E5B9u;
  hash ^= hash >> 31;
  hash *= 0x94D049BB133111EBu;
  hash ^= hash >> 29;
  return (double)(hash >> 11) * 0x1p-53;
}

// Parameters and states as the model initialises them, moved a little so that nothing stands at a special value; inputs
// at random.
static void set_leaves(Arena *arena, const Model *model, const Graph *graph, uint64_t seed, Interp *interp) {
  Interp *init = interp_new(arena, model->init);
  init->seed = seed;
  interp_run(init);
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    if (tensor->producer >= 0 ||
        (tensor->role != ROLE_PARAM && tensor->role != ROLE_STATE && tensor->role != ROLE_INPUT))
      continue;
    const int64_t n = tensor_elements(tensor);
    interp->data[t] = NEW_ARRAY(arena, double, n);
    const int initial = names_get(&model->init->tensor_names, tensor->name);
    for (int64_t i = 0; i < n; i++) {
      const double random = draw(seed, tensor->name, i);
      if (tensor->role == ROLE_INPUT)
        interp->data[t][i] = tensor->type == TYPE_INT ? floor(random * (double)tensor->range) : 2 * random - 1;
      else interp->data[t][i] = init->data[initial][i] + (tensor->role == ROLE_PARAM ? 0.1 * (random - 0.5) : 0);
    }
  }
}

static double total_loss(const Interp *interp) {
  double loss = 0;
  for (int i = 0; i < interp->graph->losses.len; i++) loss += interp_scalar(interp, interp->graph->losses.at[i].tensor);
  return loss;
}

static double loss_at(Interp *interp, double *element, double value) {
  const double old = *element;
  *element = value;
  interp_run(interp);
  *element = old;
  return total_loss(interp);
}

// Four points: the error is of the order of h^4.
static double difference(Interp *interp, double *element, double h) {
  const double x = *element;
  const double near = loss_at(interp, element, x + h) - loss_at(interp, element, x - h);
  const double far = loss_at(interp, element, x + 2 * h) - loss_at(interp, element, x - 2 * h);
  return (8 * near - far) / (12 * h);
}

// The forward operators alone: what the loss depends on.
static Graph forward_only(Arena *arena, const Graph *graph) {
  Graph forward = *graph;
  memset(&forward.ops, 0, sizeof forward.ops);
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].phase == PHASE_FORWARD) vec_push(arena, &forward.ops, graph->ops.at[i]);
  return forward;
}

static bool close_enough(double a, double b) {
  const double scale = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
  return fabs(a - b) <= tolerance * scale + noise;
}

// ---- the check of one model ------------------------------------------------------------------------------------

typedef enum Verdict { AGREES, DIFFERS, KINK } Verdict;

static Verdict compare_gradient(Interp *forward, const Graph *train, const double *gradient, int param,
                                const char *name) {
  const Tensor *tensor = graph_tensor(train, param);
  for (int64_t i = 0; i < tensor_elements(tensor); i++) {
    double *element = &forward->data[param][i];
    const double wide = difference(forward, element, 1e-3), narrow = difference(forward, element, 3e-4);
    if (!close_enough(wide, narrow)) return KINK;
    if (close_enough(gradient[i], wide)) continue;
    check_fail("%s gradient of %s, element %lld: derived %.12g, by differences %.12g", name, tensor->name, (long long)i,
               gradient[i], wide);
    return DIFFERS;
  }
  return AGREES;
}

// All parameters at one point.
static Verdict compare_at(Arena *arena, const Model *model, uint64_t seed, const char *name, int *compared) {
  const Graph *train = model->train;
  Graph forward_graph = forward_only(arena, train);
  Interp *all = interp_new(arena, train), *forward = interp_new(arena, &forward_graph);
  set_leaves(arena, model, train, seed, all);
  set_leaves(arena, model, &forward_graph, seed, forward);
  all->seed = forward->seed = seed;
  all->run[RUN_LR] = 1;
  interp_run(all);
  *compared = 0;
  for (int t = 0; t < train->tensors.len; t++) {
    if (graph_tensor(train, t)->role != ROLE_GRADIENT) continue;
    const Verdict verdict = compare_gradient(forward, train, all->data[t], graph_tensor(train, t)->of, name);
    if (verdict != AGREES) return verdict;
    ++*compared;
  }
  return AGREES;
}

static void check_gradients(Model *model, const char *name) {
  int params = 0;
  for (int t = 0; t < model->train->tensors.len; t++) params += graph_tensor(model->train, t)->role == ROLE_PARAM;
  for (uint64_t seed = 1; seed <= MAX_DRAWS; seed++) {
    Arena *arena = arena_new();
    int compared;
    const Verdict verdict = compare_at(arena, model, seed, name, &compared);
    arena_free(arena);
    if (verdict == KINK) continue;
    if (verdict == AGREES && compared != params) check_fail("%s %d gradients of %d parameters", name, compared, params);
    if (verdict == AGREES) CHECK(true);
    return;
  }
  check_fail("%s every point drawn is near a kink", name);
}

// ---- the passes after autodiff -----------------------------------------------------------------------------------

// What a step of the training graph leaves: its losses, then the new values of everything stored, ordered by name.
typedef struct Outcome {
  VEC(double) value;
} Outcome;

static Outcome run_step(Arena *arena, const Model *model) {
  Outcome outcome = {0};
  const Graph *train = model->train;
  Interp *interp = interp_new(arena, train);
  set_leaves(arena, model, train, 1, interp);
  interp->seed = 1;
  interp->run[RUN_LR] = 1;
  interp_run(interp);
  for (int i = 0; i < train->losses.len; i++)
    vec_push(arena, &outcome.value, interp_scalar(interp, train->losses.at[i].tensor));
  for (int i = 0; i < train->stores.len; i++) {
    const Store store = train->stores.at[i];
    for (int64_t e = 0; e < tensor_elements(graph_tensor(train, store.value)); e++)
      vec_push(arena, &outcome.value, interp->data[store.value][e]);
  }
  return outcome;
}

// Runs the pipeline from the pass after autodiff to the last that works on graphs; ranks only change the plan.
static void check_passes(Arena *arena, Model *model, int ranks, const char *name) {
  Compilation c = {.arena = arena, .model = model, .mesh = {.n_axes = 1, .axis = {{"data", ranks}}}};
  const int autodiff = pipeline_find("autodiff");
  for (int pass = 0; pass <= autodiff; pass++) pipeline_run(&c, pass);
  const Outcome expected = run_step(arena, model);
  for (int pass = autodiff + 1; pass < pipeline_len; pass++) {
    pipeline_run(&c, pass);
    if (c.program != NULL) return;
    const Outcome found = run_step(arena, model);
    if (!CHECK(found.value.len == expected.value.len)) return;
    for (int i = 0; i < found.value.len; i++) {
      const double a = found.value.at[i], b = expected.value.at[i];
      if (fabs(a - b) <= 1e-11 * (1 + fabs(b))) continue;
      check_fail("%s after pass %s value %d of the step is %.17g, after autodiff it was %.17g", name,
                 pipeline[pass].name, i, a, b);
      return;
    }
  }
}

// ---- what differences cannot tell ------------------------------------------------------------------------------

// The derived gradient of parameter x of a model whose other operands are constants.
static void check_exact(const char *body, const double *expected, int n) {
  Arena *arena = arena_new();
  Model *model = elaborate(arena, arena_printf(arena, "model test() { input unused[1]; %s loss = y; }", body));
  if (model == NULL) {
    check_fail("[%s] does not compile", body);
  } else {
    pass_autodiff(model->train);
    Interp *init = interp_new(arena, model->init), *train = interp_new(arena, model->train);
    interp_run(init);
    const int x = names_get(&model->train->tensor_names, "x"),
              gradient = names_get(&model->train->tensor_names, "x.grad");
    train->data[x] = init->data[names_get(&model->init->tensor_names, "x")];
    interp_run(train);
    for (int i = 0; i < n; i++)
      if (!CHECK_NEAR(train->data[gradient][i], expected[i], 1e-12)) check_fail("[%s] element %d", body, i);
  }
  diag_reset();
  arena_free(arena);
}

static void stop_has_no_gradient(void) {
  check_exact("param x[3] = 2; z[i] = stop(x[i]) * x[i]; y = sum(z);", (double[]){2, 2, 2}, 3);
}

static void ties_go_to_the_first(void) {
  check_exact("param x[4] = 3; y = max(x);", (double[]){1, 0, 0, 0}, 4);
  check_exact("param x[4] = 3; y = min(x);", (double[]){1, 0, 0, 0}, 4);
  check_exact("param x[2, 3] = 0; y = sum(max_over(x, axis = 1));", (double[]){1, 0, 0, 1, 0, 0}, 6);
  check_exact("param x[1, 1, 4] = 1; y = sum(maxpool(x, size = 2));", (double[]){1, 0, 1, 0}, 4);
  check_exact("param x[1, 1, 4] = 1; y = sum(maxpool(x, size = 3, stride = 1));", (double[]){1, 1, 0, 0}, 4);
}

static void relu_at_zero_is_flat(void) {
  check_exact("param x[2] = 0; y = sum(relu(x));", (double[]){0, 0}, 2);
  check_exact("param x[2] = 0; y = sum(leaky_relu(x, slope = 0.25));", (double[]){0.25, 0.25}, 2);
}

// ---- what is covered ---------------------------------------------------------------------------------------------

static void count_calls_in_block(const AstBlock *block, Names *counts);

static void count_calls(const AstExpr *e, Names *counts) {
  if (e == NULL) return;
  if (e->kind == AST_CALL) names_set(counts, e->text, 1);
  count_calls(e->lhs, counts);
  count_calls(e->rhs, counts);
  for (int i = 0; i < e->args.len; i++) count_calls(e->args.at[i].value, counts);
}

static void count_calls_in_block(const AstBlock *block, Names *counts) {
  for (int i = 0; i < block->len; i++) {
    count_calls(block->at[i]->value, counts);
    count_calls_in_block(&block->at[i]->body, counts);
    count_calls_in_block(&block->at[i]->orelse, counts);
  }
}

// Every operator and layer of the prelude is called by name in models of at least three shapes.
static void every_definition_is_covered(void) {
  Arena *arena = arena_new();
  Names shapes = {.arena = arena};
  for (int i = 0; i < N_GRADIENT_CASES; i++) {
    const char *text = model_text(arena, &gradient_cases[i], gradient_cases[i].variant[0]);
    diag_reset();
    const AstFile *file = parse_text(arena, "test.dnn", text, strlen(text));
    Names called = {.arena = arena};
    for (int d = 0; d < file->defs.len; d++)
      if (file->defs.at[d]->kind == AST_MODEL) count_calls_in_block(&file->defs.at[d]->body, &called);
    int variants = 0;
    while (variants < MAX_VARIANTS && gradient_cases[i].variant[variants] != NULL) variants++;
    for (int s = 0; s < called.cap; s++) {
      if (called.slot[s].key == NULL) continue;
      const int before = names_get(&shapes, called.slot[s].key);
      names_set(&shapes, called.slot[s].key, (before > 0 ? before : 0) + variants);
    }
  }
  diag_reset();
  const AstFile *prelude = parse_prelude(arena);
  int definitions = 0;
  for (int i = 0; i < prelude->defs.len; i++) {
    const AstDef *def = prelude->defs.at[i];
    if (def->kind != AST_OP && def->kind != AST_LAYER && def->kind != AST_OPAQUE) continue;
    definitions++;
    const int n = names_get(&shapes, def->name);
    if (n < 3)
      check_fail("%s of the prelude is checked in %d shapes: add a case to gradient_cases.h", def->name, n < 0 ? 0 : n);
  }
  CHECK(definitions >= 70);
  diag_reset();
  arena_free(arena);
}

static void derived_gradients_are_differences(void) {
  const char *only = getenv("GRADIENT_CASE"); // a part of the bodies to check
  for (int i = 0; i < N_GRADIENT_CASES; i++) {
    const GradientCase *gradient_case = &gradient_cases[i];
    if (only != NULL && strstr(gradient_case->body, only) == NULL) continue;
    for (int v = 0; v < MAX_VARIANTS && gradient_case->variant[v] != NULL; v++) {
      Arena *arena = arena_new();
      const char *name = case_name(arena, gradient_case, gradient_case->variant[v]);
      Model *model = elaborate(arena, model_text(arena, gradient_case, gradient_case->variant[v]));
      if (model == NULL) {
        check_fail("%s does not compile", name);
      } else {
        pass_autodiff(model->train);
        graph_verify(model->train, "autodiff");
        check_gradients(model, name);
      }
      diag_reset();
      arena_free(arena);
    }
  }
}

static void passes_keep_the_step(void) {
  const char *only = getenv("GRADIENT_CASE");
  for (int i = 0; i < N_GRADIENT_CASES; i++) {
    const GradientCase *gradient_case = &gradient_cases[i];
    if (only != NULL && strstr(gradient_case->body, only) == NULL) continue;
    for (int v = 0; v < MAX_VARIANTS && gradient_case->variant[v] != NULL; v++) {
      Arena *arena = arena_new();
      const char *name = case_name(arena, gradient_case, gradient_case->variant[v]);
      Model *model = elaborate(arena, model_text(arena, gradient_case, gradient_case->variant[v]));
      if (model != NULL) check_passes(arena, model, 1 + v % 3, name);
      else check_fail("%s does not compile", name);
      diag_reset();
      arena_free(arena);
    }
  }
}

CHECKS(TEST(every_definition_is_covered), TEST(stop_has_no_gradient), TEST(ties_go_to_the_first),
       TEST(relu_at_zero_is_flat), TEST(derived_gradients_are_differences), TEST(passes_keep_the_step))
