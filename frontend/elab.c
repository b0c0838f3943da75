// elab_model: the definitions of the files, then the training graph (and with it that of initialisation) and the
// evaluation graph, each by running the model from the start.
#include "elab.h"

// ---- definitions

static const char *kind_word(AstDefKind kind) {
  static const char *const word[] = {"op", "layer", "optimizer", "fn", "model", "train", "opaque op"};
  return word[kind];
}

static void check_twice(Elab *e, const AstDecls *decls, const char *what) {
  for (int i = 0; i < decls->len; i++)
    for (int j = 0; j < i; j++) {
      if (!str_eq(decls->at[i].name, decls->at[j].name)) continue;
      elab_error(e, decls->at[i].loc, "%s '%s' is declared twice", what, decls->at[i].name);
      diag_note(decls->at[j].loc, "first declared here");
    }
}

static void check_def(Elab *e, const AstDef *def) {
  check_twice(e, &def->params, "argument");
  check_twice(e, &def->results, "result");
  for (int i = 0; i < def->wheres.len; i++)
    for (int j = 0; j < i; j++) {
      if (!str_eq(def->wheres.at[i].name, def->wheres.at[j].name)) continue;
      elab_error(e, def->wheres.at[i].loc, "dimension '%s' is defined twice", def->wheres.at[i].name);
      diag_note(def->wheres.at[j].loc, "first defined here");
    }
  if (def->kind == AST_OPAQUE) elab_check_opaque(e, def);
}

static void add_defs(Elab *e, const AstFile *file, bool prelude) {
  Names *names = prelude ? &e->prelude_defs : &e->file_defs;
  for (int i = 0; i < file->defs.len; i++) {
    const AstDef *def = file->defs.at[i];
    check_def(e, def);
    if (def->name == NULL) continue;
    const int other = names_get(names, def->name);
    if (other >= 0) {
      elab_error(e, def->loc, "'%s' is defined twice", def->name);
      diag_note(e->defs.at[other].ast->loc, "first defined here, as %s", kind_word(e->defs.at[other].ast->kind));
      continue;
    }
    names_set(names, def->name, e->defs.len);
    vec_push(e->arena, &e->defs, (Def){def, prelude});
  }
}

// The one definition of a kind in the model file, or NULL.
static const AstDef *find_one(Elab *e, AstDefKind kind) {
  const AstDef *found = NULL;
  for (int i = 0; i < e->file->defs.len; i++) {
    const AstDef *def = e->file->defs.at[i];
    if (def->kind != kind) continue;
    if (found != NULL) {
      elab_error(e, def->loc,
                 kind == AST_MODEL ? "there is a second model: a file has one"
                                   : "there is a second train block: a file has one");
      diag_note(found->loc, "the first one is here");
    } else {
      found = def;
    }
  }
  return found;
}

// ---- graphs

// Forgets what belongs to one graph; the streams of random numbers stay the same.
static void begin_graph(Elab *e, Graph *graph, bool training) {
  e->graph = graph;
  e->training = training;
  e->phase = PHASE_FORWARD;
  e->of = -1;
  e->owned.len = e->counts.len = e->instance_locs.len = e->visit_counts.len = 0;
  e->loss_locs.len = e->metric_locs.len = 0;
  e->owned_names = e->counters = e->instances = e->visits = (Names){.arena = e->arena};
  e->has_loss = false;
  e->work = e->steps = 0;
}

// Runs the body of the model into the graph; leaves its frame in place.
static void run_model(Elab *e, const Def *model) {
  elab_push(e, model, (Loc){0});
  if (elab_model_params(e, model->ast)) elab_block(e, &model->ast->body);
  else e->stopped = true;
}

static void check_model(Elab *e, const AstDef *model) {
  if (e->stopped) return;
  if (!e->has_loss)
    elab_error(e, model->loc,
               e->training ? "the model has no loss: expected 'loss = ...;' in it"
                           : "the model has no loss where 'training' is false");
  if (e->declared_inputs.len == 0)
    elab_error(e, model->loc, "the model has no input: expected 'input NAME[batch, ...];' in it");
}

static void check_size(Elab *e) {
  int64_t elements = 0;
  for (int i = 0; i < e->graph->tensors.len; i++) {
    const Tensor *t = graph_tensor(e->graph, i);
    elements += tensor_elements(t); // of one tensor at most 2^62
    if (elements <= GRAPH_MAX_ELEMENTS) continue;
    elab_error(e, t->producer >= 0 ? e->graph->ops.at[t->producer].loc : t->loc,
               "the model is too large: its tensors up to this one have more than 2^56 elements");
    return;
  }
}

static void make_training_graph(Elab *e, const Def *model, const AstDef *train) {
  begin_graph(e, e->model->train, true);
  run_model(e, model);
  check_model(e, model->ast);
  if (e->stopped) return;
  elab_mark_reports(e);
  elab_train_block(e, train);
  elab_attach_data(e);
  elab_check_ranges(e, e->graph);
  if (e->errors == 0) elab_optimize(e);
  check_size(e);
  elab_pop(e);
}

static void make_evaluation_graph(Elab *e, const Def *model) {
  begin_graph(e, e->model->eval, false);
  run_model(e, model);
  check_model(e, model->ast);
  if (!e->stopped) elab_mark_reports(e);
  elab_check_ranges(e, e->graph);
  check_size(e);
  elab_pop(e);
}

static Model *new_model(Arena *arena, const AstFile *file, const ElabOptions *options) {
  Model *model = NEW(arena, Model);
  model->source = file->path;
  model->f64 = options->f64;
  model->init = graph_new(arena, "init");
  model->train = graph_new(arena, "train");
  model->eval = graph_new(arena, "eval");
  return model;
}

Model *elab_model(Arena *arena, const AstFile *prelude, const AstFile *file, const ElabOptions *options) {
  Elab *e = NEW(arena, Elab);
  e->arena = arena;
  e->file = file;
  e->options = options;
  e->model = new_model(arena, file, options);
  e->graph = e->model->train;
  e->file_defs.arena = e->prelude_defs.arena = e->streams.arena = e->shards.arena = e->scalar_fns.arena = e->functions.arena = arena;
  e->declared_inputs.arena = arena;
  add_defs(e, prelude, true);
  add_defs(e, file, false);
  const AstDef *model = find_one(e, AST_MODEL), *train = find_one(e, AST_TRAIN);
  if (model == NULL)
    elab_error(e, (Loc){.file = file->path}, "the file defines no model: expected 'model NAME(...) { ... }'");
  if (e->errors > 0) return NULL;
  e->model->name = model->name;
  const Def *def = &e->defs.at[names_get(&e->file_defs, model->name)];
  make_training_graph(e, def, train);
  if (e->errors > 0 || e->stopped) return NULL;
  make_evaluation_graph(e, def);
  if (e->errors > 0 || e->stopped) return NULL;
  graph_verify(e->model->init, "elaborate");
  graph_verify(e->model->train, "elaborate");
  graph_verify(e->model->eval, "elaborate");
  return e->model;
}
