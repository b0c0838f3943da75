// Lines of a plan whose name has a "*": a line for each operator, layer, input or parameter that is called so.
//
//   block*.dense1  co/tensor
// becomes
//   block1.dense1  co/tensor
//   block2.dense1  co/tensor
//
// What has a line of its own keeps that; of several patterns for one name the last one counts.
#include "planning.h"

typedef VEC(const char *) NameList;

typedef struct Expander {
  const Planner *p;
  Names exact; // what lines without a "*" speak of
  Names last;  // what patterns speak of: the last of them that does
} Expander;

bool plan_matches(const char *pattern, const char *name) {
  for (; *pattern != '\0' && *pattern != '*'; pattern++, name++)
    if (*pattern != *name) return false;
  if (*pattern == '\0') return *name == '\0';
  for (;; name++) {
    if (plan_matches(pattern + 1, name)) return true;
    if (*name == '\0' || *name == '.') return false;
  }
}

static bool is_pattern(const PlanLine *line) { return strchr(line->name, '*') != NULL; }

static void note_name(const Expander *x, const PlanLine *line, const char *name, NameList *names, Names *seen) {
  if (!plan_matches(line->name, name) || names_get(seen, name) >= 0) return;
  names_set(seen, name, names->len);
  vec_push(x->p->arena, names, name);
}

static bool is_updated(const Planner *p, int param) {
  for (int i = 0; i < p->model->train->ops.len; i++)
    if (p->update_of[i] == param) return true;
  return false;
}

static bool is_subject(const Planner *p, PlanSubject subject, int tensor) {
  const Tensor *t = graph_tensor(p->model->train, tensor);
  if (subject == PLAN_INPUT) return t->role == ROLE_INPUT;
  if (subject == PLAN_STORE) return plan_is_stored(t);
  return subject == PLAN_UPDATE && t->role == ROLE_PARAM && is_updated(p, tensor);
}

// All names in the model that a pattern could mean.
static NameList names_of_pattern(const Expander *x, const PlanLine *line) {
  const Graph *graphs[3] = {x->p->model->train, x->p->model->eval, x->p->model->init};
  NameList names = {0};
  Names seen = {.arena = x->p->arena};
  for (int g = 0; g < 3 && (line->subject == PLAN_NAME || line->subject == PLAN_OP); g++)
    for (int i = 0; i < graphs[g]->ops.len; i++) {
      const Op *op = &graphs[g]->ops.at[i];
      if (line->graph != NULL && !str_eq(line->graph, graphs[g]->name)) continue;
      if (plan_has_choice(graphs[g], op)) note_name(x, line, graph_tensor(graphs[g], op->out)->name, &names, &seen);
    }
  for (int l = 0; l < x->p->layer_list.len && (line->subject == PLAN_NAME || line->subject == PLAN_LAYER); l++) {
    const char *name = x->p->layer_list.at[l].name;
    if (plan_subject_of(x->p, line, name) == PLAN_LAYER) note_name(x, line, name, &names, &seen);
  }
  for (int t = 0; t < x->p->model->train->tensors.len; t++)
    if (is_subject(x->p, line->subject, t)) note_name(x, line, graph_tensor(x->p->model->train, t)->name, &names, &seen);
  return names;
}

static const char *key_of(const Expander *x, const PlanLine *line, const char *name) {
  return plan_line_key(x->p->arena, line->graph, plan_subject_of(x->p, line, name), name);
}

static void add_matches(Expander *x, Plan *plan, const PlanLine *line, int number, const NameList *names) {
  for (int i = 0; i < names->len; i++) {
    const char *key = key_of(x, line, names->at[i]);
    if (names_get(&x->exact, key) >= 0 || names_get(&x->last, key) != number) continue;
    PlanLine one = *line;
    one.pattern = line->name;
    one.name = names->at[i];
    vec_push(x->p->arena, &plan->lines, one);
  }
}

static bool has_patterns(const Plan *plan) {
  for (int i = 0; i < plan->lines.len; i++)
    if (is_pattern(&plan->lines.at[i])) return true;
  return false;
}

const Plan *plan_expand(const Planner *p, const Plan *plan) {
  if (!has_patterns(plan)) return plan;
  Expander x = {.p = p, .exact = {.arena = p->arena}, .last = {.arena = p->arena}};
  Plan *expanded = NEW(p->arena, Plan);
  NameList *names = NEW_ARRAY(p->arena, NameList, plan->lines.len);
  *expanded = *plan;
  memset(&expanded->lines, 0, sizeof expanded->lines);
  for (int i = 0; i < plan->lines.len; i++) {
    const PlanLine *line = &plan->lines.at[i];
    if (!is_pattern(line)) names_set(&x.exact, key_of(&x, line, line->name), i);
    else names[i] = names_of_pattern(&x, line);
    for (int k = 0; k < names[i].len; k++) names_set(&x.last, key_of(&x, line, names[i].at[k]), i);
  }
  for (int i = 0; i < plan->lines.len; i++) {
    if (names[i].len == 0) vec_push(p->arena, &expanded->lines, plan->lines.at[i]);
    else add_matches(&x, expanded, &plan->lines.at[i], i, &names[i]);
  }
  return expanded;
}
