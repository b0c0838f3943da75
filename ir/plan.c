// Plans as text.
#include "plan.h"

enum { WIDEST_NAME = 48 };

// ---- words -----------------------------------------------------------------------------------------------------

bool plan_source_searched(PlanSourceKind kind) { return kind >= PLAN_AUTO && kind < PLAN_NAMED; }

const char *plan_source_name(PlanSourceKind kind) {
  static const char *const name[PLAN_NAMED] = {"data", "single", "model", "owt", "megatron", "fsdp", "auto", "optcnn", "soybean", "tofu", "flexflow", "parallax"};
  return name[kind];
}

const char *plan_source_text(Arena *arena, const PlanSource *source) {
  switch (source->kind) {
  case PLAN_RANDOM: return arena_printf(arena, "random:%llu", (unsigned long long)source->seed);
  case PLAN_FILE: return source->file;
  case PLAN_MADE: fatal("plan: what is made already has no source");
  default: return plan_source_name(source->kind);
  }
}

const char *plan_subject_word(PlanSubject subject) {
  static const char *const word[PLAN_SUBJECTS] = {"", "op", "layer", "input", "store", "update"};
  return word[subject];
}

bool plan_is_word(const char *name) {
  static const char *const others[] = {"plan", "mesh", "microbatches", "recompute", "init", "train", "eval"};
  for (int s = PLAN_OP; s < PLAN_SUBJECTS; s++)
    if (str_eq(name, plan_subject_word((PlanSubject)s))) return true;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (str_eq(name, others[i])) return true;
  return false;
}

// ---- printing ------------------------------------------------------------------------------------------------------

static bool same_split(const PlanChoice *a, const PlanChoice *b) {
  return a->kind == CHOICE_SPLIT && b->kind == CHOICE_SPLIT && str_eq(a->dim, b->dim) && a->unit == b->unit;
}

// n/data,tensor: all axes that split the dimension which axis `first` splits.
static void print_split(const PlanChoice *axis, const Mesh *mesh, int first, Text *out) {
  text_printf(out, " %s", axis[first].dim);
  if (axis[first].unit > 1) text_printf(out, "*%lld", (long long)axis[first].unit);
  for (int a = first; a < mesh->n_axes; a++)
    if (same_split(&axis[first], &axis[a])) text_printf(out, "%s%s", a == first ? "/" : ",", mesh->axis[a].name);
}

static bool is_first_split(const PlanChoice *axis, int a) {
  for (int b = 0; b < a; b++)
    if (same_split(&axis[a], &axis[b])) return false;
  return axis[a].kind == CHOICE_SPLIT;
}

static int count(const PlanChoice *axis, const Mesh *mesh, ChoiceKind kind) {
  int n = 0;
  for (int a = 0; a < mesh->n_axes; a++) n += axis[a].kind == kind;
  return n;
}

void plan_print_choices(const PlanChoice *axis, const Mesh *mesh, Text *out) {
  Text text = {.arena = out->arena};
  for (int a = 0; a < mesh->n_axes; a++)
    if (is_first_split(axis, a)) print_split(axis, mesh, a, &text);
  for (int a = 0, pins = 0; a < mesh->n_axes; a++)
    if (axis[a].kind == CHOICE_PIN)
      text_printf(&text, "%s%s=%d", pins++ == 0 ? " pin " : ",", mesh->axis[a].name, axis[a].pin);
  for (int a = 0, n = 0; a < mesh->n_axes; a++)
    if (axis[a].kind == CHOICE_PENDING) text_printf(&text, "%s%s", n++ == 0 ? " pending " : ",", mesh->axis[a].name);
  const int replicated = count(axis, mesh, CHOICE_REPLICATE);
  if (replicated > 0) text_printf(&text, " replicate");
  for (int a = 0, n = 0; a < mesh->n_axes && replicated < mesh->n_axes; a++)
    if (axis[a].kind == CHOICE_REPLICATE) text_printf(&text, "%s%s", n++ == 0 ? " " : ",", mesh->axis[a].name);
  text_printf(out, "%s", text.len > 0 ? text_str(&text) + 1 : "follow");
}

const char *plan_line_subject(Arena *arena, const PlanLine *line) {
  const char *word = plan_subject_word(line->subject);
  return arena_printf(arena, "%s%s%s%s%s", line->graph != NULL ? line->graph : "", line->graph != NULL ? " " : "", word,
                      word[0] != '\0' ? " " : "", line->name);
}

static int width_of_names(const Plan *plan, Arena *arena) {
  size_t width = 0;
  for (int i = 0; i < plan->lines.len; i++) {
    const size_t len = strlen(plan_line_subject(arena, &plan->lines.at[i]));
    if (len > width && len <= WIDEST_NAME) width = len;
  }
  return (int)width;
}

void plan_print(const Plan *plan, Text *out) {
  text_printf(out, "plan %d %s\nmesh %s\n", PLAN_VERSION, plan->model, mesh_text(out->arena, &plan->mesh));
  if (plan->microbatches > 1) text_printf(out, "microbatches = %d\n", plan->microbatches);
  for (int i = 0; i < plan->recompute.len; i++) text_printf(out, "recompute: %s\n", plan->recompute.at[i].name);
  const int width = width_of_names(plan, out->arena);
  for (int i = 0; i < plan->lines.len; i++) {
    const PlanLine *line = &plan->lines.at[i];
    if (i == 0 || line->subject != plan->lines.at[i - 1].subject) text_printf(out, "\n");
    text_printf(out, "%-*s  ", width, plan_line_subject(out->arena, line));
    plan_print_choices(line->axis, &plan->mesh, out);
    text_printf(out, "\n");
  }
}
