#include "reads.h"

typedef struct Visit {
  Arena *arena;
  VEC(int) tensors;
} Visit;

static void note_read(void *ctx, int tensor) {
  Visit *v = ctx;
  vec_push_own(v->arena, &v->tensors, tensor);
}

GraphReads reads_of_graph(Arena *arena, const Graph *graph) {
  const int n_ops = graph->ops.len, n_tensors = graph->tensors.len;
  GraphReads r = {.of_op = NEW_ARRAY(arena, int, n_ops + 1), .of_tensor = NEW_ARRAY(arena, int, n_tensors + 2)};
  Visit v = {.arena = arena};
  for (int i = 0; i < n_ops; i++) {
    op_visit_reads(&graph->ops.at[i], note_read, &v);
    r.of_op[i + 1] = v.tensors.len;
  }
  r.tensor = v.tensors.at;
  r.reader = NEW_ARRAY(arena, int, v.tensors.len);
  int *next = r.of_tensor + 1; // where the next reader of a tensor stands: in the end, where those of the one behind it begin
  for (int i = 0; i < v.tensors.len; i++) next[v.tensors.at[i] + 1]++;
  for (int t = 0; t < n_tensors; t++) next[t + 1] += next[t];
  for (int i = 0; i < n_ops; i++)
    for (int k = r.of_op[i]; k < r.of_op[i + 1]; k++) r.reader[next[v.tensors.at[k]]++] = i;
  return r;
}
