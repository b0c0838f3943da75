// Which boxes a node is drawn in: those of the layers around it, and of the part that stands for several.
#include "network.h"

// "a" and "a.b" of a layer "a.b.c".
static void add_outer(Names *outer, Arena *arena, const char *layer) {
  for (const char *dot = strchr(layer, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    const char *prefix = arena_strndup(arena, layer, (size_t)(dot - layer));
    if (names_get(outer, prefix) < 0) names_set(outer, prefix, 0);
  }
}

static bool is_within(const NetworkRepeat *r, int node, int depth) {
  return r->depth == depth && node >= r->first && node < r->first + r->n;
}

// The layer is a box where it has others in it; else only those around it are.
static const char *boxes_of(const Network *network, int number, const Names *outer) {
  const NetworkNode *node = &network->nodes.at[number];
  Text boxes = {.arena = network->arena};
  const char *at = node->layer;
  for (int depth = 0;; depth++) {
    for (int r = 0; r < network->repeats.len; r++)
      if (is_within(&network->repeats.at[r], number, depth)) text_printf(&boxes, "*%d/", r);
    const size_t len = strcspn(at, ".");
    const bool last = at[len] == '\0';
    if (len == 0 || (last && names_get(outer, node->layer) < 0)) break;
    text_printf(&boxes, "%.*s/", (int)len, at);
    at += len + !last;
  }
  return boxes.len > 0 ? text_str(&boxes) : "";
}

const char **network_boxes(const Network *network) {
  Arena *scratch = arena_new();
  const char **boxes = NEW_ARRAY(network->arena, const char *, network->nodes.len);
  Names outer = {.arena = scratch};
  for (int i = 0; i < network->nodes.len; i++) add_outer(&outer, scratch, network->nodes.at[i].layer);
  for (int i = 0; i < network->nodes.len; i++) boxes[i] = boxes_of(network, i, &outer);
  arena_free(scratch);
  return boxes;
}

// Then the boxes of layers are as many as its layer has components.
bool network_is_box(const Network *network, const char *const *boxes, int node) {
  int components = 0, layers = 0;
  for (const char *at = network->nodes.at[node].layer; *at != '\0'; at++) components += *at == '.' || at[1] == '\0';
  for (const char *at = boxes[node]; *at != '\0'; at += strcspn(at, "/") + 1) layers += *at != '*';
  return components > 0 && layers == components;
}
