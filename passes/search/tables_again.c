// What it takes to make tensors again for the backward pass (../rematerialise.c): a function of the group that makes a tensor, the one that
// says whether it is made again, the one that says so of that group's result, and so on.
//
//   copy.group -- joined.group -- product.group     joined = copy ...;  product = ... joined;  gradient = ... joined
//
// `copy` is made again if it is large, `joined` is made of it as it lies, and is made again itself: large, and read as it lies for the gradient.
// Where these are too many groups or ways, it is not counted: then costs are from below.
#include "tables_inner.h"

enum { MOST_ENTRIES_AGAIN = 1 << 20 }; // of a table: else it is not counted

typedef struct Links {
  int n;
  const Port *port[CFN_MAX_ARITY]; // of the tensor's maker, and those that read
  bool too_many;                   // or a group twice: then it is not counted
} Links;

static const Op *again_reader(const Groups *groups, int tensor) {
  return &groups->graph->ops.at[graph_tensor(groups->graph, graph_tensor(groups->graph, tensor)->again_by)->producer];
}

static void add_link(const Tables *t, Links *links, int tensor, int group) {
  const PortList *ports = &t->of[tensor];
  for (int i = 0; i < links->n; i++) links->too_many |= links->port[i]->group == group;
  links->too_many |= links->n == CFN_MAX_ARITY;
  for (int i = 0; i < ports->len && !links->too_many; i++)
    if (ports->at[i]->group == group) links->port[links->n++] = ports->at[i];
}

static Links links_of(const Tables *t, int tensor) {
  const Groups *groups = &t->p->groups;
  Links links = {0};
  add_link(t, &links, tensor, groups->of_tensor[tensor]);
  for (int group = groups->of_tensor[tensor], at = tensor;;) {
    const Op *reader = again_reader(groups, at);
    if (groups->of_tensor[reader->out] != group) add_link(t, &links, at, group = groups->of_tensor[reader->out]);
    if (reader->phase == PHASE_BACKWARD) return links;
    at = reader->out;
  }
}

static double again_of(const Tables *t, const Links *links, const int *class) {
  const PortState *made = &t->ports->states.at[links->port[0]->state[class[0]]];
  for (int i = 1, as = made->made; i < links->n; i++) {
    const PortState *read = &t->ports->states.at[links->port[i]->state[class[i]]];
    if (read->again_want != as) return 0;
    if ((as = read->again_with) < 0) break;
  }
  return made->again;
}

// Row-major over the states of the ports.
static const double *make_table(Tables *t, const Links *links, int64_t size) {
  double *cost = NEW_ARRAY(t->p->arena, double, size);
  int class[CFN_MAX_ARITY] = {0};
  for (int64_t entry = 0; entry < size; entry++) {
    cost[entry] = again_of(t, links, class);
    for (int i = links->n - 1; i >= 0; i--) {
      class[i] = class[i] + 1 < links->port[i]->n_states ? class[i] + 1 : 0;
      if (class[i] > 0) break;
    }
  }
  return cost;
}

void tables_add_again(Tables *t, int tensor) {
  const Tensor *is = graph_tensor(t->p->groups.graph, tensor);
  if (is->again_above == 0 || t->p->unit != SEARCH_SECONDS) return;
  if (t->p->groups.of_tensor[is->again_by] == t->p->groups.of_tensor[tensor]) return; // with what is made of it
  const Links links = links_of(t, tensor);
  CfnFunction f = {.arity = links.n, .tag = is->role};
  int key[CFN_MAX_ARITY + 1] = {-2};
  int64_t size = 1;
  for (int i = 0; i < links.n && size <= MOST_ENTRIES_AGAIN; i++) {
    key[i + 1] = links.port[i]->list;
    size *= links.port[i]->n_states;
    f.var[i] = links.port[i]->group;
    f.n_classes[i] = links.port[i]->n_states;
    f.class_of[i] = links.port[i]->class_of;
  }
  if (links.too_many || size > MOST_ENTRIES_AGAIN) return;
  const int number = numbers_of(&t->table_numbers, key, sizeof *key * (size_t)(links.n + 1));
  if (number == t->tables.len) vec_push(t->p->arena, &t->tables, make_table(t, &links, size));
  f.cost = t->tables.at[number];
  vec_push(t->p->arena, &t->p->cfn.functions, f);
}
