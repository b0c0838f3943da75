// What differs between two plans.
#include "plan.h"

// What a line speaks of, the same for `op relu` and `relu`.
static const char *key_of(Arena *arena, const PlanLine *line) {
  const PlanSubject subject = line->subject == PLAN_OP ? PLAN_NAME : line->subject;
  return arena_printf(arena, "%s %s %s", line->graph != NULL ? line->graph : "", plan_subject_word(subject),
                      line->name);
}

static const char *choices_of(Arena *arena, const PlanLine *line, const Mesh *mesh) {
  Text text = {.arena = arena};
  plan_print_choices(line->axis, mesh, &text);
  return text_str(&text);
}

static void index_lines(const Plan *plan, Names *names) {
  for (int i = 0; i < plan->lines.len; i++) names_set(names, key_of(names->arena, &plan->lines.at[i]), i);
}

static void print(char sign, const char *subject, const char *what, Text *out) {
  text_printf(out, "%c %s  %s\n", sign, subject, what);
}

static void compare(const char *subject, const char *a, const char *b, Text *out) {
  if (a != NULL && b != NULL && str_eq(a, b)) return;
  if (a != NULL) print('-', subject, a, out);
  if (b != NULL) print('+', subject, b, out);
}

static const char *microbatches_of(Arena *arena, const Plan *plan) {
  return plan->microbatches > 1 ? arena_printf(arena, "%d", plan->microbatches) : NULL;
}

static bool recomputes(const Plan *plan, const char *name) {
  for (int i = 0; i < plan->recompute.len; i++)
    if (str_eq(plan->recompute.at[i].name, name)) return true;
  return false;
}

static void compare_recompute(const Plan *a, const Plan *b, Text *out) {
  for (int i = 0; i < a->recompute.len; i++)
    if (!recomputes(b, a->recompute.at[i].name)) print('-', "recompute:", a->recompute.at[i].name, out);
  for (int i = 0; i < b->recompute.len; i++)
    if (!recomputes(a, b->recompute.at[i].name)) print('+', "recompute:", b->recompute.at[i].name, out);
}

bool plan_diff(const Plan *a, const Plan *b, Text *out) {
  Arena *arena = out->arena;
  const size_t before = out->len;
  Names lines_a = {.arena = arena}, lines_b = {.arena = arena};
  index_lines(a, &lines_a);
  index_lines(b, &lines_b);
  compare("plan", a->model, b->model, out);
  compare("mesh", mesh_text(arena, &a->mesh), mesh_text(arena, &b->mesh), out);
  compare_recompute(a, b, out);
  compare("microbatches", microbatches_of(arena, a), microbatches_of(arena, b), out);
  for (int i = 0; i < a->lines.len; i++) {
    const PlanLine *line = &a->lines.at[i];
    const int other = names_get(&lines_b, key_of(arena, line));
    compare(plan_line_subject(arena, line), choices_of(arena, line, &a->mesh),
            other >= 0 ? choices_of(arena, &b->lines.at[other], &b->mesh) : NULL, out);
  }
  for (int i = 0; i < b->lines.len; i++) {
    const PlanLine *line = &b->lines.at[i];
    if (names_get(&lines_a, key_of(arena, line)) < 0)
      compare(plan_line_subject(arena, line), NULL, choices_of(arena, line, &b->mesh), out);
  }
  return out->len == before;
}
