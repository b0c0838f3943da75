// The network as a drawing for GraphViz: a node's stripes are the axes of the mesh, slowest first, in the colour of what is done
// along each.
#include <stdlib.h>

#include "../../ir/utf8.h"
#include "network.h"

enum { CHANGES_SHOWN = 3 }; // of a node's own

typedef struct Drawing {
  const Network *network;
  Text text;
  const char **boxes; // by node
  bool *drawn;        // by node
  int n_boxes;
} Drawing;

static const char *const color_of[NETWORK_WAYS] = {
    [WAY_BATCH] = "#9ecae1", [WAY_RESULT] = "#fdd0a2", [WAY_REDUCED] = "#c7b9e2", [WAY_PINNED] = "#f4b6c2", [WAY_WHOLE] = "#e6e6e6"};

// ---- text ----------------------------------------------------------------------------------------------------------

// Within quotes; a backslash would begin an escape of GraphViz's own.
static void print_escaped(Text *out, const char *value) {
  for (size_t left = strlen(value); left > 0;) {
    const size_t n = utf8_shown(value, left), taken = n > 0 ? n : 1;
    if (value[0] == '"' || value[0] == '\\') text_printf(out, "\\%c", value[0]);
    else if (n > 0) text_append(out, value, n);
    else text_char(out, '?');
    value += taken;
    left -= taken;
  }
}

static const char *bytes_text(Arena *arena, double bytes) {
  static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
  int u = 0;
  for (; bytes >= 999.5 && u < 4; u++) bytes /= 1000;
  return arena_printf(arena, "%.3g %s", bytes, unit[u]);
}

static const char *change_text(const Drawing *d, const NetworkChange *change) {
  Text text = {.arena = d->network->arena};
  text_printf(&text, "%s over %s", change->kind, change->axes);
  if (change->bytes > 0) text_printf(&text, ", %s", bytes_text(text.arena, change->bytes));
  if (change->level != NULL) text_printf(&text, ", %.3g ms", change->seconds * 1e3);
  return text_str(&text);
}

// ---- nodes and edges -----------------------------------------------------------------------------------------------

static void print_dims(Drawing *d, const NetworkNode *node) {
  for (int i = 0; i < node->space.n_dims; i++) {
    text_printf(&d->text, "%s%s", i == 0 ? "\\n" : " ", i == node->n_out && i > 0 ? "| " : "");
    print_escaped(&d->text, node->space.dims[i].name);
    text_printf(&d->text, "=%lld", (long long)node->space.dims[i].extent);
  }
}

static void print_changes(Drawing *d, const NetworkChanges *changes) {
  for (int i = 0; i < changes->len && i < CHANGES_SHOWN; i++) {
    text_printf(&d->text, "\\n");
    print_escaped(&d->text, changes->at[i].tensor);
    text_printf(&d->text, ": ");
    print_escaped(&d->text, change_text(d, &changes->at[i]));
  }
  if (changes->len > CHANGES_SHOWN) text_printf(&d->text, "\\nand %d more changes of layout", changes->len - CHANGES_SHOWN);
}

static void print_fill(Drawing *d, const NetworkNode *node) {
  const int n = d->network->mesh.n_axes;
  const NetworkWay first = network_way(d->network, node, 0);
  bool plain = true;
  for (int a = 1; a < n; a++) plain = plain && network_way(d->network, node, a) == first;
  text_printf(&d->text, "style=%s, fillcolor=\"", plain ? "filled" : "striped");
  for (int a = 0; a < (plain ? 1 : n); a++) text_printf(&d->text, "%s%s", a > 0 ? ":" : "", color_of[network_way(d->network, node, a)]);
  text_printf(&d->text, "\"");
}

// Without the layers whose boxes it is in.
static void print_name(Drawing *d, int number) {
  const NetworkNode *node = &d->network->nodes.at[number];
  const char *name = network_node_name(node), *dot = strrchr(node->layer, '.');
  if (network_is_box(d->network, d->boxes, number)) name = node->op;
  else if (dot != NULL) name = dot + 1;
  print_escaped(&d->text, name);
  if (str_eq(name, node->op)) return;
  text_printf(&d->text, ": ");
  print_escaped(&d->text, node->op);
}

static void print_times(Drawing *d, const NetworkNode *node) {
  const double computing = node->seconds[PHASE_FORWARD] + node->seconds[PHASE_BACKWARD] + node->seconds[PHASE_UPDATE];
  if (d->network->machine == NULL || computing == 0) return;
  text_printf(&d->text, "\\nof a step: %.3g ms computing", computing * 1e3);
  if (node->change_seconds > 0) text_printf(&d->text, ", %.3g ms changing layouts", node->change_seconds * 1e3);
}

static void print_node(Drawing *d, int number) {
  const NetworkNode *node = &d->network->nodes.at[number];
  d->drawn[number] = true;
  text_printf(&d->text, "n%d [label=\"", number);
  print_name(d, number);
  print_dims(d, node);
  text_printf(&d->text, "\\n");
  print_escaped(&d->text, network_split_text(d->network, node));
  print_changes(d, &node->own);
  print_times(d, node);
  text_printf(&d->text, "\", ");
  print_fill(d, node);
  text_printf(&d->text, "];\n");
}

static void print_edges(Drawing *d, int number) {
  const NetworkNode *node = &d->network->nodes.at[number];
  for (int i = 0; i < node->in.len; i++) {
    const NetworkEdge *edge = &node->in.at[i];
    text_printf(&d->text, "  n%d -> n%d", edge->from, number);
    if (edge->changes.len > 0) text_printf(&d->text, " [color=\"#c0392b\", fontcolor=\"#c0392b\", penwidth=2, label=\"");
    for (int k = 0; k < edge->changes.len; k++) {
      text_printf(&d->text, "%s", k > 0 ? "\\n" : "");
      print_escaped(&d->text, change_text(d, &edge->changes.at[k]));
    }
    text_printf(&d->text, "%s;\n", edge->changes.len > 0 ? "\"]" : "");
  }
}

// ---- boxes ---------------------------------------------------------------------------------------------------------

// "*0": the first repeat.
static void print_box_label(Drawing *d, const char *box) {
  const bool repeat = box[0] == '*';
  text_printf(&d->text, "style=%s; color=\"#888888\"; label=\"", repeat ? "dashed" : "solid");
  if (repeat) text_printf(&d->text, "%d times, one after the other", d->network->repeats.at[strtol(box + 1, NULL, 10)].times);
  else print_escaped(&d->text, box);
  text_printf(&d->text, "\";\n");
}

// What lies in the box that is the first `len` characters of a path.
static void print_box(Drawing *d, int first, size_t len) {
  const char *path = d->boxes[first];
  for (int i = first; i < d->network->nodes.len; i++) {
    const char *boxes = d->boxes[i];
    if (d->drawn[i] || strncmp(boxes, path, len) != 0) continue;
    text_printf(&d->text, "  ");
    if (boxes[len] == '\0') {
      print_node(d, i);
      continue;
    }
    const size_t of_box = strcspn(boxes + len, "/");
    text_printf(&d->text, "subgraph cluster_%d { ", d->n_boxes++);
    print_box_label(d, arena_strndup(d->network->arena, boxes + len, of_box));
    print_box(d, i, len + of_box + 1);
    text_printf(&d->text, "  }\n");
  }
}

static void print_legend(Drawing *d) {
  text_printf(&d->text, "  subgraph cluster_legend { label=\"along each axis of the mesh, a stripe for each, slowest first\"; style=dotted;\n");
  for (int way = 0; way < NETWORK_WAYS; way++)
    text_printf(&d->text, "    legend%d [label=\"%s\", style=filled, fillcolor=\"%s\"];\n", way, network_way_text((NetworkWay)way), color_of[way]);
  for (int way = 1; way < NETWORK_WAYS; way++) text_printf(&d->text, "    legend%d -> legend%d [style=invis];\n", way - 1, way);
  text_printf(&d->text, "  }\n");
}

const char *network_dot(const Network *network) {
  Drawing d = {.network = network, .text = {.arena = network->arena}, .boxes = network_boxes(network)};
  d.drawn = NEW_ARRAY(network->arena, bool, network->nodes.len);
  text_printf(&d.text, "digraph \"");
  print_escaped(&d.text, network->model);
  text_printf(&d.text, "\" {\n  labelloc=t; fontname=Helvetica; label=\"");
  print_escaped(&d.text, network->model);
  text_printf(&d.text, " on %d ranks, mesh %s", mesh_ranks(&network->mesh), mesh_text(network->arena, &network->mesh));
  if (network->machine != NULL) print_escaped(&d.text, arena_printf(network->arena, ", machine %s", network->machine->name));
  text_printf(&d.text, "\";\n  node [shape=box, fontname=Helvetica, fontsize=10]; edge [fontname=Helvetica, fontsize=9];\n");
  print_legend(&d);
  if (network->nodes.len > 0) print_box(&d, 0, 0);
  for (int i = 0; i < network->nodes.len; i++) print_edges(&d, i);
  text_printf(&d.text, "}\n");
  return text_str(&d.text);
}
