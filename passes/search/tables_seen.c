// What tensors that are approximated cost more than is counted, where assignments that were found have shown it: each optimum that turns
// out to cost more makes the network say so, and the next one lies elsewhere (lazy constraints, as cutting planes are).
#include "tables_inner.h"

#include <math.h>

enum { MOST_SEEN = 8 }; // classes of a port

static int find_class(const ClassList *list, int n, int class) {
  int i = 0;
  while (i < n && list->at[i] != class) i++;
  return i; // n: it is none of them
}

// Ports with the same states share what was seen: tensors of layers that repeat, and readers that are alike.
bool tables_see(Tables *t, const int *value) {
  bool any = false;
  for (int k = 0; k < t->approximated.len; k++) {
    const Approximated *a = &t->approximated.at[k];
    const PortList *ports = &t->of[a->tensor];
    double counted = 0;
    for (int i = 0; i < a->n; i++) counted += cfn_function_cost(&t->p->cfn.functions.at[a->first + i], value);
    const bool is_more = tables_true_cost(t, a, value) > counted * (1 + 1e-9);
    arena_reset(t->p->scratch);
    for (int i = 0; i < ports->len && is_more; i++) {
      ClassList *seen = &t->seen[ports->at[i]->list];
      const int class = port_class(ports->at[i], value);
      if (seen->len == MOST_SEEN || find_class(seen, seen->len, class) < seen->len) continue;
      vec_push(t->p->arena, seen, class);
      any = true;
    }
  }
  return any;
}

typedef struct Seen { // of a tensor
  const Approximated *of;
  const PortList *ports;
  int *n;     // by port: how many of the classes that were seen are told apart
  int *place; // by port: in the list of them; n: another one
  int64_t entries;
} Seen;

static int64_t seen_entries(const Seen *s) {
  int64_t entries = 1;
  for (int i = 0; i < s->ports->len && entries <= MAX_TABLE; i++)
    if (s->ports->at[i]->n_states > 1) entries *= s->n[i] + 1;
  return entries;
}

// As many as make no larger a table than others.
static Seen seen_of(Tables *t, const Approximated *a) {
  Seen s = {.of = a, .ports = &t->of[a->tensor]};
  s.n = NEW_ARRAY(t->p->arena, int, s.ports->len);
  s.place = NEW_ARRAY(t->p->arena, int, s.ports->len);
  for (int most = MOST_SEEN; most >= 0; most--) {
    for (int i = 0; i < s.ports->len; i++) s.n[i] = (int)min_i64(most, t->seen[s.ports->at[i]->list].len);
    s.entries = seen_entries(&s);
    if (s.entries <= MAX_TABLE) break;
  }
  return s;
}

// What the tensor costs more than is counted where all ports are in classes that were seen.
static double missing_cost(Tables *t, const Seen *s) {
  const int n = s->ports->len;
  int *state = NEW_ARRAY(t->p->scratch, int, n), *class = NEW_ARRAY(t->p->scratch, int, n), maker = -1;
  for (int i = 0; i < n; i++) {
    const Port *port = s->ports->at[i];
    if (s->place[i] == s->n[i]) return 0;
    class[i] = t->seen[port->list].at[s->place[i]];
    state[i] = port->state[class[i]];
    if (port_makes(t->ports, port)) maker = i;
  }
  double counted = 0;
  for (int i = 0, k = 0; i < n; i++) {
    if (i == maker) continue;
    const CfnFunction *pair = &t->p->cfn.functions.at[s->of->first + k++];
    counted += pair->cost[pair->arity > 1 ? class[i] * pair->n_classes[1] + class[maker] : class[i]];
  }
  return fmax(0, tables_tensor_cost(t, graph_tensor(t->p->groups.graph, s->of->tensor), state, n) - counted);
}

static const double *missing_costs(Tables *t, Seen *s) {
  double *cost = NEW_ARRAY(t->p->arena, double, s->entries);
  for (int64_t entry = 0; entry < s->entries; entry++) {
    cost[entry] = missing_cost(t, s);
    arena_reset(t->p->scratch);
    for (int i = s->ports->len - 1; i >= 0; i--) {
      if (s->ports->at[i]->n_states == 1) continue;
      if (++s->place[i] <= s->n[i]) break;
      s->place[i] = 0;
    }
  }
  return cost;
}

void tables_add_seen(Tables *t, const Approximated *a, Cfn *cfn) {
  Seen s = seen_of(t, a);
  CfnFunction f = {.arity = 0};
  for (int i = 0; i < s.ports->len; i++) {
    const Port *port = s.ports->at[i];
    if (s.n[i] == 0 || (port->n_states > 1 && f.arity == CFN_MAX_ARITY)) return;
    if (port->n_states == 1) continue;
    int *class_of = NEW_ARRAY(t->p->arena, int, t->p->of[port->group].n);
    for (int v = 0; v < t->p->of[port->group].n; v++) class_of[v] = find_class(&t->seen[port->list], s.n[i], port->class_of[v]);
    f.var[f.arity] = port->group;
    f.class_of[f.arity] = class_of;
    f.n_classes[f.arity++] = s.n[i] + 1;
  }
  f.cost = missing_costs(t, &s);
  vec_push(t->p->arena, &cfn->functions, f);
}
