// The number of owners that --search=parallax finds, in few samples, against all that there are: each of these plans is lowered, and
// its program simulated.
#include "../../passes/search/parallax.h"

#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/evaluate.h"
#include "check.h"

typedef struct Case {
  const char *sample, *machine;
  int devices;
  const char *batch;
  Define size; // of anything else
} Case;

#define LM1B(machine, devices, batch) {"lm1b", machine, devices, batch, {"context", "4"}}
#define LARGE(machine, devices, words) {"lm1b", machine, devices, "128", {"vocabulary", words}} // a device has no room for its table
#define DLRM(machine, devices, batch) {"dlrm", machine, devices, batch, {"tables", "8"}}
#define RNNLM(machine, devices, batch) {"rnnlm", machine, devices, batch, {"context", "4"}}
static const Case cases[] = {
    LM1B("dgx1-v100", 8, "128"),    LM1B("p100x4x4", 16, "64"),    LM1B("p100x4x4", 16, "1024"),   LM1B("titanxp8x6", 48, "192"),
    LM1B("titanxp8x6", 48, "6144"), LM1B("v100x8x8", 64, "128"),   LM1B("k80x16x4", 32, "256"),    LM1B("pcie4", 4, "128"),
    LARGE("p100x4x4", 16, "4000000"), LARGE("dgx1-v100", 8, "3000000"), LARGE("titanxp8x6", 48, "3000000"),
    DLRM("dgx1-v100", 8, "2048"),   DLRM("p100x4x4", 16, "512"),   DLRM("p100x4x4", 16, "4096"),   DLRM("titanxp8x6", 48, "6144"),
    DLRM("v100x8x8", 64, "2048"),   DLRM("k80x8", 6, "1536"),
    RNNLM("dgx1-v100", 8, "64"),    RNNLM("p100x4x4", 12, "96"),   RNNLM("titanxp8x6", 48, "96"),
};

// Ready to be planned; false: a file is missing.
static bool open_case(Arena *arena, const Case *of, Compilation *c) {
  ElabOptions options = {0};
  size_t len;
  int nearest[2];
  const char *text = input_file(arena, arena_printf(arena, "samples/%s.dnn", of->sample), &len);
  if (text == NULL) return false;
  vec_push(arena, &options.defines, ((Define){"batch", of->batch}));
  vec_push(arena, &options.defines, of->size);
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, of->sample, text, len);
  *c = (Compilation){.arena = arena, .machine = machine_preset(arena, of->machine), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  if (c->machine == NULL || !machine_mesh(c->machine, of->devices, &c->mesh, nearest)) return false;
  c->model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(c, pass);
  return true;
}

// What a step takes with the best number of owners.
static double least_of_all(Compilation *c, int devices) {
  double least = INFINITY;
  Plan plan;
  for (int parts = 1; parts <= devices; parts++) {
    if (devices % parts != 0 || !parallax_plan(c, parts, &plan)) continue;
    const Evaluation found = evaluate_plan(c, &plan);
    CHECK(found.refused == NULL);
    if ((double)found.arena_bytes <= c->machine->device.memory) least = fmin(least, found.overlapped);
  }
  return least;
}

static void try_case(const Case *of) {
  Arena *arena = arena_new();
  Compilation c;
  Plan plan;
  Search search;
  if (CHECK(open_case(arena, of, &c)) && CHECK(evaluate_planner(&c, (PlanSource){.kind = PLAN_PARALLAX}, &plan, &search) == NULL)) {
    const double least = least_of_all(&c, of->devices), found = evaluate_plan(&c, &plan).overlapped;
    const int samples = search.progress.len;
    if (!CHECK(samples > 1 && samples <= PARALLAX_MOST_SAMPLES && found <= 1.02 * least && least < INFINITY))
      check_fail("%s, batch %s, %d devices of %s: %g s by %d samples, of all %g s: %s", of->sample, of->batch, of->devices, of->machine,
                 found, samples, least, search.how);
  }
  arena_free(arena);
}

static void few_samples_find_the_best(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) try_case(&cases[i]);
}

CHECKS(TEST(few_samples_find_the_best))
