// Parts of the network that repeat themselves: twelve transformer blocks that the plan divides alike are drawn once.
//
//   a b c c b c c d   becomes   a [b [c] x 2] x 2 d
//
// A part begins where a layer does, and holds whole layers only. Parts are alike if their nodes are, one by one: layers of one kind,
// the same operator, dimensions, division and changes of layout in the forward pass, and edges from nodes at the same distance, or from
// one and the same node. What they take in the backward pass may differ: the mean is kept.
#include "network.h"

enum { LONGEST_PART = 64 }; // nodes

typedef struct Folder {
  const Network *network;
  int *common; // by node: how many components of its layer it has in common with the node before
  const char **kind; // by node: its layer without the numbers of components
} Folder;

static const NetworkNode *node_at(const Folder *f, int node) { return &f->network->nodes.at[node]; }

static int common_components(const char *a, const char *b) {
  int common = 0;
  for (;; common++) {
    const size_t len = strcspn(a, ".");
    if (len == 0 || len != strcspn(b, ".") || strncmp(a, b, len) != 0) return common;
    a += len + (a[len] == '.');
    b += len + (b[len] == '.');
  }
}

// "block2.dense1" gives "block.dense".
static const char *kind_of_layer(Arena *arena, const char *layer) {
  Text kind = {.arena = arena};
  for (const char *at = layer; *at != '\0'; at++)
    if (*at < '0' || *at > '9') text_char(&kind, *at);
  return text_str(&kind);
}

static bool same_change(const NetworkChange *a, const NetworkChange *b) {
  return str_eq(a->kind, b->kind) && str_eq(a->axes, b->axes) && a->bytes == b->bytes && a->seconds == b->seconds;
}

static bool same_changes(const NetworkChanges *a, const NetworkChanges *b) {
  bool same = a->len == b->len;
  for (int i = 0; i < a->len && same; i++) same = same_change(&a->at[i], &b->at[i]);
  return same;
}

static bool same_space(const Space *a, const Space *b) {
  bool same = a->n_dims == b->n_dims;
  for (int d = 0; d < a->n_dims && same; d++)
    same = a->dims[d].extent == b->dims[d].extent && str_eq(a->dims[d].name, b->dims[d].name);
  return same;
}

static bool same_node(const Folder *f, int x, int y) {
  const NetworkNode *a = node_at(f, x), *b = node_at(f, y);
  if (!str_eq(a->op, b->op) || !str_eq(f->kind[x], f->kind[y]) || a->n_out != b->n_out || a->times != b->times || a->in.len != b->in.len) return false;
  if (!same_space(&a->space, &b->space) || !plan_same(&a->sharding, &b->sharding, &f->network->mesh)) return false;
  if (a->stored != b->stored || a->held != b->held || !same_changes(&a->own, &b->own)) return false;
  for (int i = 0; i < a->in.len; i++) {
    const NetworkEdge *in = &a->in.at[i], *other = &b->in.at[i];
    if ((x - in->from != y - other->from && in->from != other->from) || !same_changes(&in->changes, &other->changes)) return false;
  }
  return true;
}

// Whether the nodes [first, first + n) are whole layers.
static bool is_part(const Folder *f, int first, int n) {
  for (int i = first + 1; i < first + n; i++)
    if (f->common[i] < f->common[first]) return false;
  return first + n == f->network->nodes.len || f->common[first + n] <= f->common[first];
}

static int count_alike(const Folder *f, int first, int n) {
  int times = 1;
  for (; first + (times + 1) * n <= f->network->nodes.len; times++) {
    const int before = first + (times - 1) * n;
    for (int i = 0; i < n; i++)
      if (!same_node(f, before + i, before + n + i)) return times;
    if (!is_part(f, before + n, n)) return times;
  }
  return times;
}

static int saved(NetworkRepeat r) { return r.n * (r.times - 1); }

// What saves most nodes from here on; of equals the shortest part. times 1: nothing does.
static NetworkRepeat best_repeat(const Folder *f, int first) {
  NetworkRepeat best = {first, 1, 1, f->common[first]};
  for (int n = 1; n <= LONGEST_PART && first + 2 * n <= f->network->nodes.len; n++) {
    if (!same_node(f, first, first + n) || !is_part(f, first, n)) continue;
    const int times = count_alike(f, first, n);
    const NetworkRepeat r = {first, n, times, f->common[first]};
    if (saved(r) > saved(best)) best = r;
  }
  return best;
}

// The same; nothing where a part that begins with the next node saves as much and that one is of a layer: convolutions come before
// what follows each of them.
static NetworkRepeat repeat_at(const Folder *f, int first) {
  const NetworkRepeat best = best_repeat(f, first), none = {first, 1, 1, f->common[first]};
  const int next = first + 1;
  if (best.times == 1 || next == f->network->nodes.len || f->common[next] != f->common[first]) return best;
  const bool begins_layer = node_at(f, first)->layer[0] == '\0' && node_at(f, next)->layer[0] != '\0';
  return begins_layer && saved(best_repeat(f, next)) >= saved(best) ? none : best;
}

// ---- folding -------------------------------------------------------------------------------------------------------

// The first of several nodes that are alike, n apart.
static NetworkNode mean_of(const Network *network, int first, int n, int times) {
  NetworkNode node = network->nodes.at[first];
  for (int k = 1; k < times; k++) {
    const NetworkNode *other = &network->nodes.at[first + k * n];
    for (int p = 0; p <= PHASE_UPDATE; p++) node.seconds[p] += other->seconds[p];
    node.change_seconds += other->change_seconds;
    node.change_bytes += other->change_bytes;
  }
  for (int p = 0; p <= PHASE_UPDATE; p++) node.seconds[p] /= times;
  node.change_seconds /= times;
  node.change_bytes /= times;
  node.times *= times;
  return node;
}

typedef struct Folded {
  int *number; // by node: that it, or the one like it, gets
  bool *kept;  // by node
  NetworkNodes nodes;
  NetworkRepeats repeats;
} Folded;

static void add_part(const Network *network, Folded *folded, NetworkRepeat r) {
  const int at = folded->nodes.len;
  for (int k = 0; k < r.n * r.times; k++) folded->number[r.first + k] = at + k % r.n;
  for (int k = 0; k < r.n; k++) {
    NetworkNode node = mean_of(network, r.first + k, r.n, r.times);
    vec_own(network->arena, &node.in);
    for (int i = 0; i < node.in.len; i++) node.in.at[i].from = folded->number[node.in.at[i].from];
    vec_push(network->arena, &folded->nodes, node);
    folded->kept[r.first + k] = true;
  }
  if (r.times > 1) vec_push(network->arena, &folded->repeats, (NetworkRepeat){at, r.n, r.times, r.depth});
}

// Repeats within layers of so many components.
static void fold_at(Network *network, int depth) {
  Arena *scratch = arena_new();
  const int n = network->nodes.len;
  const Folder f = {network, NEW_ARRAY(scratch, int, n), NEW_ARRAY(scratch, const char *, n)};
  Folded folded = {.number = NEW_ARRAY(scratch, int, n), .kept = NEW_ARRAY(scratch, bool, n)};
  for (int i = 0; i < n; i++) {
    f.common[i] = i > 0 ? common_components(node_at(&f, i - 1)->layer, node_at(&f, i)->layer) : 0;
    f.kind[i] = kind_of_layer(scratch, node_at(&f, i)->layer);
  }
  for (int i = 0; i < n;) {
    const NetworkRepeat none = {i, 1, 1, depth}, r = f.common[i] == depth ? repeat_at(&f, i) : none;
    add_part(network, &folded, r);
    i += r.n * r.times;
  }
  for (int r = 0; r < network->repeats.len; r++) {
    NetworkRepeat inner = network->repeats.at[r];
    if (!folded.kept[inner.first]) continue;
    inner.first = folded.number[inner.first];
    vec_push(network->arena, &folded.repeats, inner);
  }
  network->nodes = folded.nodes;
  network->repeats = folded.repeats;
  arena_free(scratch);
}

// Inner layers first: those that are alike then have as many nodes.
void network_fold(Network *network) {
  int deepest = 0;
  for (int i = 1; i < network->nodes.len; i++) {
    const int common = common_components(network->nodes.at[i - 1].layer, network->nodes.at[i].layer);
    if (common > deepest) deepest = common;
  }
  for (int depth = deepest; depth >= 0; depth--) fold_at(network, depth);
}
