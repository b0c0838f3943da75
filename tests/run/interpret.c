// Trains a model by interpreting its graphs: interpret MODEL.dnn [-D NAME=VALUE]... [OPTIONS of emitted programs]
//
// The graphs are those of the frontend and autodiff, before any other pass; data, sample order, options and log are the
// runtime's. So its log can be held against that of the program that parcc emits for one rank in f64.
#include <stdlib.h>

#include "../../frontend/diag.h"
#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../ir/interp.h"
#include "../../passes/passes.h"
#include "../../runtime/common/parcc.h"

static Arena *arena;
static Model *model;
static Interp *train;

static Model *elaborate(const char *path, const ElabOptions *options) {
  size_t len;
  const char *text = input_file(arena, path, &len);
  if (text == NULL) exit(1);
  const AstFile *prelude = parse_prelude(arena);
  const AstFile *file = parse_text(arena, path, text, len);
  Model *elaborated = diag_errors() == 0 ? elab_model(arena, prelude, file, options) : NULL;
  if (elaborated == NULL || diag_errors() > 0) exit(1);
  pass_autodiff(elaborated->train);
  return elaborated;
}

// The value of an expression of run scalars only.
static double learning_rate(double step, double steps) {
  if (model->learning_rate == NULL) return 0; // nothing is trained
  Arena *scratch = arena_new();
  Graph *graph = graph_new(scratch, "learning_rate");
  const int t = graph_add_compute(graph, (Op){.name = "lr", .layer = "", .body = model->learning_rate}, "lr");
  Interp *interp = interp_new(scratch, graph);
  interp->run[RUN_STEP] = step;
  interp->run[RUN_STEPS] = steps;
  interp_run(interp);
  const double lr = interp_scalar(interp, t);
  arena_free(scratch);
  return lr;
}

static ParccInput *list_inputs(int *ids) {
  ParccInput *inputs = NEW_ARRAY(arena, ParccInput, model->inputs.len + 1);
  for (int i = 0; i < model->inputs.len; i++) {
    const Input *input = &model->inputs.at[i];
    ids[i] = names_get(&model->train->tensor_names, input->name);
    const Tensor *tensor = graph_tensor(model->train, ids[i]);
    inputs[i] = (ParccInput){.name = input->name,
                             .type = tensor->type == TYPE_INT ? PARCC_INT : PARCC_DOUBLE,
                             .rank = tensor->rank,
                             .range = (long)tensor->range};
    for (int d = 0; d < tensor->rank; d++) inputs[i].extent[d] = (long)tensor->extent[d];
    const DataSource *source = &input->source;
    inputs[i].source =
        (ParccSource){source->kind, source->train_file, source->test_file, source->scale, source->offset, NULL, NULL};
    if (source->form == FORM_LINES) {
      ParccLines *lines = NEW(arena, ParccLines);
      *lines = (ParccLines){source->vocabulary, source->begin, source->end, source->pad, source->unknown, source->held_out};
      inputs[i].source.lines = lines;
    }
    if (source->form != FORM_WINDOWS) continue;
    ParccWindows *windows = NEW(arena, ParccWindows);
    *windows = (ParccWindows){source->shift, source->stride, source->held_out, NULL};
    inputs[i].source.windows = windows;
  }
  return inputs;
}

// Parameters and states, initialised; the runtime can load and save them.
static void make_stored(void) {
  Interp *init = interp_new(arena, model->init);
  init->seed = parcc.seed;
  interp_run(init);
  VEC(ParccTensor) stored = {0};
  for (int t = 0; t < model->train->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(model->train, t);
    if (tensor->producer >= 0 || (tensor->role != ROLE_PARAM && tensor->role != ROLE_STATE)) continue;
    const int initial = names_get(&model->init->tensor_names, tensor->name);
    if (initial < 0) fatal("%s is not initialised", tensor->name);
    train->data[t] = init->data[initial];
    ParccTensor entry = {.name = tensor->name,
                         .type = PARCC_DOUBLE,
                         .rank = tensor->rank,
                         .data = train->data[t],
                         .kind = tensor->role == ROLE_PARAM ? PARCC_PARAM
                                 : tensor->of >= 0          ? PARCC_OPTIMIZER
                                                            : PARCC_STATE};
    for (int d = 0; d < tensor->rank; d++) {
      entry.extent[d] = (long)tensor->extent[d];
      entry.own[d] = (Interval){0, entry.extent[d]};
    }
    vec_push(arena, &stored, entry);
  }
  parcc_stored(stored.at, stored.len);
}

static void load_inputs(const ParccInput *inputs, const int *ids) {
  for (int i = 0; i < model->inputs.len; i++) {
    const int64_t n = tensor_elements(graph_tensor(model->train, ids[i]));
    Interval block[PARCC_MAX_RANK];
    for (int d = 0; d < inputs[i].rank; d++) block[d] = (Interval){0, inputs[i].extent[d]};
    double *dst = train->data[ids[i]];
    if (dst == NULL) dst = train->data[ids[i]] = NEW_ARRAY(arena, double, n);
    int *ints = inputs[i].type == PARCC_INT ? malloc(sizeof *ints * (size_t)n) : NULL;
    parcc_batch(i, ints != NULL ? (void *)ints : (void *)dst, block);
    CHECK_CUDA(cudaStreamSynchronize(parcc.compute));
    for (int64_t e = 0; ints != NULL && e < n; e++) dst[e] = ints[e];
    free(ints);
  }
}

int main(int argc, char **argv) {
  arena = arena_new();
  ElabOptions options = {.f64 = true};
  int first = 2;
  for (; first + 1 < argc && str_eq(argv[first], "-D"); first += 2) {
    char *equals = strchr(argv[first + 1], '=');
    *equals = '\0';
    vec_push(arena, &options.defines, (Define){argv[first + 1], equals + 1});
  }
  model = elaborate(argv[1], &options);
  train = interp_new(arena, model->train);

  int *ids = NEW_ARRAY(arena, int, model->inputs.len + 1);
  const ParccInput *inputs = list_inputs(ids);
  const int n_losses = model->train->losses.len, n_scalars = n_losses + model->train->metrics.len;
  const char **names = NEW_ARRAY(arena, const char *, n_scalars);
  const void **values = NEW_ARRAY(arena, const void *, n_scalars);
  for (int i = 0; i < n_scalars; i++)
    names[i] = i < n_losses ? model->train->losses.at[i].name : model->train->metrics.at[i - n_losses].name;
  const ParccModel description = {.name = "interpret",
                                  .source = argv[1],
                                  .ranks = 1,
                                  .batch = (long)model->batch,
                                  .real = PARCC_DOUBLE,
                                  .inputs = inputs,
                                  .n_inputs = model->inputs.len,
                                  .scalars = names,
                                  .n_scalars = n_scalars,
                                  .steps = (long)model->steps,
                                  .epochs = (long)model->epochs,
                                  .learning_rate = learning_rate,
                                  .sampled = -1};
  argv[first - 1] = argv[0];
  parcc_start(argc - first + 1, argv + first - 1, &description);
  make_stored();
  parcc_load();
  train->seed = parcc.seed;
  while (parcc_next_step()) {
    load_inputs(inputs, ids);
    train->run[RUN_LR] = parcc.lr;
    train->run[RUN_STEP] = (double)parcc.step;
    train->run[RUN_STEPS] = (double)parcc.steps;
    interp_run(train);
    interp_store(train);
    for (int i = 0; i < n_scalars; i++)
      values[i] =
          train->data[i < n_losses ? model->train->losses.at[i].tensor : model->train->metrics.at[i - n_losses].tensor];
    const int norm = model->train->gradient_norm;
    parcc_end_step(norm >= 0 ? train->data[norm] : NULL, values);
  }
  const int code = parcc_finish();
  diag_reset();
  arena_free(arena);
  return code;
}
