// Explanations as text and as JSON.
#include "../ir/json.h"
#include "../ir/table.h"
#include "explain.h"

#include <math.h>

// ---- for people ----------------------------------------------------------------------------------------------------

static const char *ms(Arena *arena, double seconds) { return arena_printf(arena, "%.4g", seconds * 1e3); }

// "19.02 ms, 0.51 ms more (2.8 %)"
static const char *step_text(Arena *arena, double step, double chosen) {
  const double more = step - chosen, percent = 100 * fabs(more) / chosen;
  return arena_printf(arena, percent < 100 ? "%.4g ms a step, %.3g ms %s (%.2g %%)" : "%.4g ms a step, %.3g ms %s (%.0f %%)", step * 1e3,
                      fabs(more) * 1e3, more >= 0 ? "more" : "less", percent);
}

static void indent(Text *out, const Text *block) {
  for (const char *at = text_str(block), *end; *at != '\0'; at = end + 1) {
    end = strchr(at, '\n');
    text_printf(out, "  %.*s\n", (int)(end - at), at);
  }
}

static void print_ops(Arena *arena, const ExplainedGroup *g, Text *out) {
  Table t = {.arena = arena};
  Text block = {.arena = arena};
  table_add_column(&t, "", false);
  table_add_column(&t, "", false);
  table_add_column(&t, "choice", false);
  table_add_column(&t, "ms", true);
  for (int i = 0; i < g->ops.len; i++) {
    const ExplainedOp *op = &g->ops.at[i];
    vec_push(arena, &t.rows, (TableRow){{op->kind, op->name, op->choice, op->seconds > 0 ? ms(arena, op->seconds) : ""}});
  }
  vec_push(arena, &t.rows, (TableRow){{"together", "", "", ms(arena, g->own)}});
  table_print(&t, &block);
  indent(out, &block);
}

static void print_changes(Arena *arena, const ExplainedGroup *g, Text *out) {
  Table t = {.arena = arena};
  Text block = {.arena = arena};
  if (g->changes.len == 0) {
    text_printf(out, "  no tensor that it makes or reads changes its layout\n");
    return;
  }
  table_add_column(&t, "changes of layout", false);
  table_add_column(&t, "step", false);
  table_add_column(&t, "along", false);
  table_add_column(&t, "MB", true);
  table_add_column(&t, "over", false);
  table_add_column(&t, "ms", true);
  for (int i = 0; i < g->changes.len; i++) {
    const ExplainedChange *c = &g->changes.at[i];
    vec_push(arena, &t.rows, (TableRow){{c->tensor, c->kind, c->axes, arena_printf(arena, "%.4g", c->bytes * 1e-6), c->level, ms(arena, c->seconds)}});
  }
  vec_push(arena, &t.rows, (TableRow){{"together", "", "", "", "", ms(arena, g->changes_seconds)}});
  table_print(&t, &block);
  indent(out, &block);
}

static bool is_less(const Explanation *x, const ExplainedGroup *g) {
  return g->runner_up < x->step * (1 - 1e-9);
}

static void print_next(Arena *arena, const Explanation *x, const ExplainedGroup *g, Text *out) {
  if (g->none_fits) text_printf(out, "  no plan that divides it otherwise was found to fit\n");
  if (g->runner_up_choice != NULL)
    text_printf(out, "  runner-up  %s: %s in the best plan that divides it otherwise\n", g->runner_up_choice,
                step_text(arena, g->runner_up, x->step));
  if (g->runner_up_choice != NULL && is_less(x, g) && x->compilation->search.refined)
    text_printf(out, "  this plan is there for how its streams overlap, not for its sum: --objective=sum\n");
  else if (g->runner_up_choice != NULL && is_less(x, g))
    text_printf(out, "  such plans were not searched: --mesh=%s does\n", mesh_text(arena, &x->compilation->mesh));
  if (g->next != NULL)
    text_printf(out, "  all else kept, the best other way is  %s: %s\n", g->next->choice, step_text(arena, g->next->step, x->step));
  else if (g->runner_up_choice == NULL && !g->none_fits) text_printf(out, "  there is nothing else that it could do\n");
}

static void print_candidates(Arena *arena, const ExplainedGroup *g, Text *out) {
  Table t = {.arena = arena};
  Text block = {.arena = arena};
  bool chosen = false, bounds = false;
  for (int i = 0; i < g->candidates.len; i++) bounds |= g->candidates.at[i].least < INFINITY;
  table_add_column(&t, "candidates, all else kept", false);
  table_add_column(&t, "own ms", true);
  table_add_column(&t, "step ms", true);
  if (bounds) table_add_column(&t, "changed, at least", true);
  table_add_column(&t, "", false);
  for (int i = 0; i < g->candidates.len; i++) {
    const ExplainedCandidate *c = &g->candidates.at[i];
    const bool known = c->step < INFINITY;
    chosen |= c->chosen;
    TableRow row = {{c->choice, known ? ms(arena, c->own) : "-", known ? ms(arena, c->step) : "-"}};
    int n = 3;
    if (bounds) row.cell[n++] = c->least < INFINITY ? ms(arena, c->least) : "-";
    row.cell[n] = c->chosen ? "chosen" : "";
    vec_push(arena, &t.rows, row);
  }
  table_print(&t, &block);
  indent(out, &block);
  if (!chosen) text_printf(out, "  what it does is none of them\n");
  for (int i = 0; i < g->excluded.len; i++) text_printf(out, "  left out: %s\n", g->excluded.at[i]);
}

static const char *print_text(const Explanation *x, bool candidates) {
  const Compilation *c = x->compilation;
  Text text = {.arena = c->arena};
  text_printf(&text, "%s on %s, mesh %s, plan '%s': predicted %.4g ms a step\n", c->model->name,
              machine_devices_text(c->arena, c->machine, mesh_ranks(&c->mesh)), mesh_text(c->arena, &c->mesh), x->planner, x->step * 1e3);
  for (int i = 0; i < x->groups.len; i++) {
    const ExplainedGroup *g = &x->groups.at[i];
    text_printf(&text, "\n%s%s%s\n", g->name, g->dims[0] != '\0' ? "  " : "", g->dims);
    print_ops(c->arena, g, &text);
    print_changes(c->arena, g, &text);
    print_next(c->arena, x, g, &text);
    if (candidates) print_candidates(c->arena, g, &text);
  }
  return text_str(&text);
}

// ---- as JSON -------------------------------------------------------------------------------------------------------

static void json_ops(Json *json, const ExplainedGroup *g) {
  json_open_array(json, "operators");
  for (int i = 0; i < g->ops.len; i++) {
    const ExplainedOp *op = &g->ops.at[i];
    json_open_object(json, NULL);
    json_string(json, "kind", op->kind);
    json_string(json, "name", op->name);
    json_string(json, "choice", op->choice);
    json_real(json, "seconds", op->seconds);
    json_close_object(json);
  }
  json_close_array(json);
  json_real(json, "own_seconds", g->own);
}

static void json_changes(Json *json, const ExplainedGroup *g) {
  json_open_array(json, "changes");
  for (int i = 0; i < g->changes.len; i++) {
    const ExplainedChange *c = &g->changes.at[i];
    json_open_object(json, NULL);
    json_string(json, "tensor", c->tensor);
    json_string(json, "step", c->kind);
    json_string(json, "axes", c->axes);
    json_count(json, "bytes", c->bytes);
    json_string(json, "level", c->level);
    json_real(json, "seconds", c->seconds);
    json_close_object(json);
  }
  json_close_array(json);
  json_real(json, "changes_seconds", g->changes_seconds);
}

static void json_candidate(Json *json, const char *key, const ExplainedCandidate *c) {
  json_open_object(json, key);
  json_string(json, "choice", c->choice);
  json_real(json, "own_seconds", c->own);
  json_real(json, "step_seconds", c->step);
  json_real(json, "step_seconds_all_else_changed_at_least", c->least);
  json_bool(json, "chosen", c->chosen);
  json_close_object(json);
}

static void json_candidates(Json *json, const ExplainedGroup *g) {
  json_open_array(json, "candidates");
  for (int i = 0; i < g->candidates.len; i++) json_candidate(json, NULL, &g->candidates.at[i]);
  json_close_array(json);
  json_open_array(json, "left_out");
  for (int i = 0; i < g->excluded.len; i++) json_string(json, NULL, g->excluded.at[i]);
  json_close_array(json);
}

static void json_group(Json *json, const ExplainedGroup *g, bool candidates) {
  json_open_object(json, NULL);
  json_string(json, "name", g->name);
  json_string(json, "dimensions", g->dims);
  json_ops(json, g);
  json_changes(json, g);
  if (g->runner_up_choice != NULL) {
    json_open_object(json, "runner_up");
    json_string(json, "choice", g->runner_up_choice);
    json_real(json, "step_seconds", g->runner_up);
    json_close_object(json);
  }
  if (g->next != NULL) json_candidate(json, "next_with_all_else_kept", g->next);
  if (candidates) json_candidates(json, g);
  json_close_object(json);
}

static const char *print_json(const Explanation *x, bool candidates) {
  const Compilation *c = x->compilation;
  Json json = json_new(c->arena);
  json_open_object(&json, NULL);
  json_string(&json, "model", c->model->name);
  json_string(&json, "machine", c->machine->name);
  json_string(&json, "mesh", mesh_text(c->arena, &c->mesh));
  json_string(&json, "planner", x->planner);
  json_real(&json, "step_seconds", x->step);
  json_open_array(&json, "groups");
  for (int i = 0; i < x->groups.len; i++) json_group(&json, &x->groups.at[i], candidates);
  json_close_array(&json);
  json_close_object(&json);
  return json_end(&json);
}

const char *explain_print(const Explanation *x, bool candidates, bool json) {
  return json ? print_json(x, candidates) : print_text(x, candidates);
}
