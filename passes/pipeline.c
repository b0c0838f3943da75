#include "pipeline.h"

#include "passes.h"

// Only a program of one rank generates text: the others need not keep what a value is drawn from.
static void autodiff(Compilation *c) {
  if (mesh_ranks(&c->mesh) > 1) c->model->eval->sampled = -1;
  pass_autodiff(c->model->train);
  graph_add_total_loss(c->model->eval);
}

static void simplify(Compilation *c) {
  pass_simplify(c->model->init, false);
  pass_simplify(c->model->train, false);
  pass_simplify(c->model->eval, true);
}

static void decompose(Compilation *c) {
  pass_decompose(c->model->train);
  if (c->model->dense != NULL) pass_decompose(c->model->dense);
  pass_decompose(c->model->eval);
}

static void merge_products(Compilation *c) {
  pass_merge_products(c->model->train);
  if (c->model->dense != NULL) pass_merge_products(c->model->dense);
  pass_merge_products(c->model->eval);
  if (c->strip_bytes > 0) rematerialise_mark(c->model->train, rematerialise_least(c->strip_bytes));
}

static void plan(Compilation *c) {
  cost_mark_inlined(c->model->train);
  pass_plan(c);
  if (c->machine != NULL) {
    CostModel *cost = NEW(c->arena, CostModel);
    *cost = cost_model(c->arena, c->machine, &c->mesh, c->model->f64);
    c->cost = cost;
  }
  c->whole_batches = plan_whole_batches(c->model, &c->mesh);
}

static void apply_plan(Compilation *c) {
  pass_apply_plan(c->model->init, &c->mesh, c->cost);
  pass_apply_plan(c->model->train, &c->mesh, c->cost);
  pass_apply_plan(c->model->eval, &c->mesh, c->cost);
  pass_recompute(c->model->train, &c->plan);
  rematerialise_settle(c->model->train, &c->mesh, c->model->f64);
  if (c->cost != NULL) c->predicted = cost_of_graph(c->cost, c->model->train);
}

static void rematerialise(Compilation *c) { pass_rematerialise(c->model->train); }

const Pass pipeline[] = {
    {"autodiff", "gradients as index expressions", autodiff},
    {"simplify", "constants, common subexpressions, dead code", simplify},
    {"sparse", "gradients of tables as rows", pass_sparse},
    {"decompose", "windows into packings and plain contractions", decompose},
    {"merge-products", "sums of contractions as one operator", merge_products},
    {"plan", "a sharding for every operator", plan},
    {"apply-plan", "changes of layout as operators", apply_plan},
    {"rematerialise", "large results are made again, where the backward pass reads them", rematerialise},
    {"lower", "kernels, matrix products and collectives of one rank", pass_lower},
    {"bucket", "reductions over the same ranks in one", pass_bucket},
    {"fetch-ahead", "stored tensors are gathered before their layer begins", pass_fetch_ahead},
    {"schedule", "streams and events", pass_schedule},
    {"plan-memory", "a place for every buffer", pass_plan_memory},
    {"end-lifetimes", "where buffers are used for the last time", pass_end_lifetimes},
    {"predict", "what operators of steps are predicted to take", pass_predict},
};
const int pipeline_len = sizeof pipeline / sizeof *pipeline;

int pipeline_find(const char *name) {
  for (int i = 0; i < pipeline_len; i++)
    if (str_eq(pipeline[i].name, name)) return i;
  return -1;
}

bool search_proves(const Search *search) { return search->bound > 0 || search->cost == 0; }

double search_gap(const Search *search) {
  return search->cost > search->bound ? (search->cost - search->bound) / search->cost : 0;
}

static void verify_graphs(const Compilation *c, const char *pass) {
  graph_verify(c->model->init, pass);
  graph_verify(c->model->train, pass);
  graph_verify(c->model->eval, pass);
}

void pipeline_run(Compilation *c, int pass) {
  pipeline[pass].run(c);
  if (c->program != NULL) program_verify(c->program, pipeline[pass].name);
  else verify_graphs(c, pipeline[pass].name);
}

int pipeline_take_lowered(Compilation *c) {
  const char *last = pipeline[pipeline_len - 1].name;
  if (c->lowered == NULL) return -1;
  c->model = c->lowered->model;
  c->cost = c->lowered->cost;
  c->predicted = c->lowered->predicted;
  c->program = c->lowered->program;
  c->lowered = NULL;
  predict_names(c);
  verify_graphs(c, last);
  program_verify(c->program, last);
  return pipeline_len - 1;
}

void pipeline_print(const Compilation *c, Text *out) {
  if (c->program != NULL) {
    program_print(c->program, out);
    return;
  }
  graph_print(c->model->init, out);
  graph_print(c->model->train, out);
  graph_print(c->model->eval, out);
}
