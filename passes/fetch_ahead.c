// fetch-ahead: stored tensors that have to be brought together are on their way before their layer begins.
//
// Requires: a lowered program. Guarantees: a change of layout that moves what was stored before the procedure began is issued
// with the first one of the layer before, so that it runs beside that layer's work. Of a layer all are issued together. No
// more than one layer is fetched ahead: what is fetched takes memory.
//
//   all_gather w1;  gemm x, w1;  all_gather b1;  kernel b1;  all_gather w2;  gemm y, w2
// becomes
//   all_gather w1;  all_gather b1;  all_gather w2;  gemm x, w1;  kernel b1;  gemm y, w2
#include "passes.h"

typedef struct Fetcher {
  Program *program;
  Arena *scratch;
  bool *used;    // by buffer: by a step before the one at hand
  bool *written; // by buffer: likewise
  int *layer_of; // by step: which of the layers that fetch it belongs to, counted from 1; 0: it fetches nothing
  int n_layers;
} Fetcher;

static void note_use(void *ctx, int tensor, bool written) {
  const Fetcher *f = ctx;
  const int buffer = f->program->tensors.at[tensor].buffer;
  f->used[buffer] = true;
  f->written[buffer] |= written;
}

typedef struct Fresh {
  const Fetcher *fetcher;
  int source;
  bool fresh;
} Fresh;

// Nothing but the stored tensor itself may have been used, and even that not written: what moves may come to lie in its place.
static void check_fresh(void *ctx, int tensor, bool written) {
  Fresh *c = ctx;
  (void)written;
  const int buffer = c->fetcher->program->tensors.at[tensor].buffer;
  if (buffer != c->source) c->fresh &= !c->fetcher->used[buffer];
}

static bool fetches(const Fetcher *f, const Step *step) {
  if (step_stream(step) != STREAM_COMM || step->collective->dst == step->collective->tensor) return false;
  Fresh c = {f, f->program->tensors.at[step->collective->tensor].buffer, true};
  if (!f->program->buffers.at[c.source].persistent || f->written[c.source]) return false;
  step_visit_tensors(step, check_fresh, &c);
  return c.fresh;
}

static void find_layers(Fetcher *f, const Procedure *procedure) {
  Names layers = {.arena = f->scratch};
  for (int i = 0; i < procedure->steps.len; i++) {
    const Step *step = procedure->steps.at[i];
    if (fetches(f, step)) {
      if (names_get(&layers, step->layer) < 0) names_set(&layers, step->layer, ++f->n_layers);
      f->layer_of[i] = names_get(&layers, step->layer);
    }
    step_visit_tensors(step, note_use, f);
  }
}

static void fetch_ahead(Arena *scratch, Program *p, Procedure *procedure) {
  const int n = procedure->steps.len;
  Fetcher fetcher = {.program = p,
                     .scratch = scratch,
                     .used = NEW_ARRAY(scratch, bool, p->buffers.len),
                     .written = NEW_ARRAY(scratch, bool, p->buffers.len),
                     .layer_of = NEW_ARRAY(scratch, int, n)};
  Fetcher *f = &fetcher;
  find_layers(f, procedure);
  if (f->n_layers == 0) return;
  VEC(Step *) out = {0};
  int begun = 0, issued = 0; // layers
  for (int i = 0; i < n; i++) {
    if (f->layer_of[i] > begun) {
      begun = f->layer_of[i];
      for (; issued < f->n_layers && issued <= begun; issued++)
        for (int k = i; k < n; k++)
          if (f->layer_of[k] == issued + 1) vec_push_own(p->arena, &out, procedure->steps.at[k]);
    }
    if (f->layer_of[i] == 0) vec_push_own(p->arena, &out, procedure->steps.at[i]);
  }
  procedure->steps.at = out.at;
  procedure->steps.len = out.len;
  procedure->steps.cap = out.cap;
}

void pass_fetch_ahead(Compilation *c) {
  Arena *scratch = arena_new();
  static const ProcedureKind kinds[] = {PROC_FORWARD, PROC_BACKWARD, PROC_EVALUATE};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) fetch_ahead(scratch, c->program, &c->program->procedure[kinds[k]]);
  arena_free(scratch);
}
