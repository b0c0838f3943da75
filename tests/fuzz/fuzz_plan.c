// Fuzzer of plan files: any bytes as the plan of a small model. There must be no crash, no leak, no sanitizer's complaint,
// and either problems, each with a place, or a plan that reads the same after it was printed, and that the passes up to
// apply-plan accept.
#include "frontend/diag.h"
#include "frontend/frontend.h"
#include "passes/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model_text[] = "model net(batch = 6) {\n"
                                 "  input x[n = batch, c = 8];\n"
                                 "  input t[n = batch]: int < 10;\n"
                                 "  h = dense(x, 12) |> relu;\n"
                                 "  logits = dense(view(h, \"n (a b) -> n (b a)\", a = 3), 10);\n"
                                 "  loss = cross_entropy(logits, t);\n"
                                 "  metric accuracy = accuracy(logits, t);\n"
                                 "}\n";

static const char *printed(Arena *arena, const Plan *plan) {
  Text text = {.arena = arena};
  plan_print(plan, &text);
  return text_str(&text);
}

static void check_print(Arena *arena, const Plan *plan) {
  Problems problems = {.arena = arena};
  const char *text = printed(arena, plan);
  const Plan again = plan_read("again.plan", text, strlen(text), &problems);
  if (problems.list.len > 0 || !str_eq(text, printed(arena, &again)))
    fatal("a plan changes when it is written and read");
}

static void check_passes(Arena *arena, const Plan *plan) {
  const AstFile *prelude = parse_prelude(arena);
  const AstFile *file = parse_text(arena, "model.dnn", model_text, sizeof model_text - 1);
  const ElabOptions options = {0};
  Compilation c = {
      .arena = arena, .mesh = plan->mesh, .plan = *plan, .plan_source = {.kind = PLAN_FILE, .file = "fuzz.plan"}};
  c.model = elab_model(arena, prelude, file, &options);
  if (c.model == NULL) fatal("the model has errors");
  const int last = pipeline_find("apply-plan");
  for (int pass = 0; pass <= last && c.problems.list.len == 0; pass++) pipeline_run(&c, pass);
  for (int i = 0; i < c.problems.list.len; i++)
    if (c.problems.list.at[i].loc.line == 0) fatal("a problem without a place: %s", c.problems.list.at[i].text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *arena = arena_new();
  Problems problems = {.arena = arena};
  const Plan plan = plan_read("fuzz.plan", (const char *)data, size, &problems);
  for (int i = 0; i < problems.list.len; i++)
    if (problems.list.at[i].loc.line == 0) fatal("a problem without a place: %s", problems.list.at[i].text);
  if (problems.list.len == 0) {
    check_print(arena, &plan);
    check_passes(arena, &plan);
  }
  diag_reset();
  arena_free(arena);
  return 0;
}
