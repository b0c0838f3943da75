#include "layer_pattern.h"

typedef struct Printing {
  Arena *arena;
  LayerPattern *pattern;
  int *number; // by tensor: in the layer at hand, counted from 1
} Printing;

static void print(const Printing *p, int64_t value) { vec_push(p->arena, &p->pattern->print, (int)value); }

static void print_tensor(void *ctx, int tensor) {
  const Printing *p = ctx;
  if (p->number[tensor] == 0) {
    vec_push(p->arena, &p->pattern->tensors, tensor);
    p->number[tensor] = p->pattern->tensors.len;
  }
  print(p, p->number[tensor]);
}

static int position_of(const Layer *layer, int op) {
  int lo = 0, hi = layer->ops.len - 1;
  while (lo < hi) {
    const int middle = (lo + hi) / 2;
    if (layer->ops.at[middle] < op) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

static void print_dims(const Printing *p, const Layer *layer) {
  for (int d = 0; d < layer->dims.len; d++) {
    print(p, layer->dims.at[d].extent);
    for (int m = 0; m < layer->dims.at[d].members.len; m++) {
      const GroupMember *member = &layer->dims.at[d].members.at[m];
      print(p, position_of(layer, member->op));
      print(p, member->dim);
      print(p, member->unit);
    }
    print(p, -1);
  }
}

static void print_layer(const Printing *p, const Layers *layers, const Layer *layer, const int *op_class) {
  const Graph *graph = layers->groups->graph;
  for (int i = 0; i < layer->ops.len; i++) {
    const Op *op = &graph->ops.at[layer->ops.at[i]];
    print(p, op_class[layer->ops.at[i]]);
    op_visit_reads(op, print_tensor, (void *)p);
    for (int r = 0; r < op_results(op); r++) print_tensor((void *)p, op_result(op, r));
  }
  print_dims(p, layer);
  for (int i = 0; i < p->pattern->tensors.len; i++) p->number[p->pattern->tensors.at[i]] = 0;
}

static bool same_print(const LayerPattern *a, const LayerPattern *b) {
  return a->print.len == b->print.len && memcmp(a->print.at, b->print.at, sizeof *a->print.at * (size_t)a->print.len) == 0;
}

LayerPattern *layer_patterns(Arena *arena, const Layers *layers, const int *op_class) {
  LayerPattern *patterns = NEW_ARRAY(arena, LayerPattern, layers->list.len);
  Printing p = {.arena = arena, .number = NEW_ARRAY(arena, int, layers->groups->graph->tensors.len)};
  for (int l = 0; l < layers->list.len; l++) {
    p.pattern = &patterns[l];
    print_layer(&p, layers, &layers->list.at[l], op_class);
    while (!same_print(&patterns[patterns[l].like], &patterns[l])) patterns[l].like++;
  }
  return patterns;
}

int layer_tensor(const LayerPattern *pattern, int tensor) {
  for (int i = 0; i < pattern->tensors.len; i++)
    if (pattern->tensors.at[i] == tensor) return i;
  fatal("a layer does not touch a tensor of its edge");
}
