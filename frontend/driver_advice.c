// Where no plan fits a device: what would, found by trying.
#include <math.h>

#include "../passes/evaluate.h"
#include "driver.h"

typedef struct Advice {
  Driver *d;
  const AstFile *file;
} Advice;

typedef VEC(int64_t) Counts;

// Whether there is a plan that fits with a number of something.
typedef bool FitsFn(const Advice *a, int64_t number);

static bool has_plan(const Advice *a, const ElabOptions *elab, const Mesh *mesh) {
  Plan plan;
  Search search = {0};
  Compilation c = driver_begin_plan(a->d, a->file, elab, mesh);
  c.any_plan = true;
  return c.model != NULL && evaluate_planner(&c, (PlanSource){.kind = PLAN_AUTO}, &plan, &search) == NULL && search.cost < INFINITY;
}

static bool fits_devices(const Advice *a, int64_t devices) {
  Mesh mesh;
  int nearest[2];
  return machine_mesh(a->d->options.machine, (int)devices, &mesh, nearest) && has_plan(a, &a->d->options.elab, &mesh);
}

static bool fits_batch(const Advice *a, int64_t batch) {
  ElabOptions elab = a->d->options.elab;
  vec_own(a->d->arena, &elab.defines);
  vec_push(a->d->arena, &elab.defines, (Define){"batch", arena_printf(a->d->arena, "%lld", (long long)batch)});
  return has_plan(a, &elab, &a->d->options.mesh);
}

// The first that fits, where those behind one that does do, too; 0: none does. Ever larger steps, then halves of the last one.
static int64_t first_fitting(const Advice *a, FitsFn *fits, const Counts *counts) {
  int low = -1, high = 0;
  for (int step = 1; high < counts->len && !fits(a, counts->at[high]); step *= 2) {
    low = high;
    high = low + step < counts->len || low == counts->len - 1 ? low + step : counts->len - 1;
  }
  if (high >= counts->len) return 0;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (fits(a, counts->at[middle])) high = middle;
    else low = middle;
  }
  return counts->at[high];
}

// More devices, as many on each unit of the machine.
static Counts more_devices(const Advice *a) {
  const Machine *machine = a->d->options.machine;
  Counts counts = {0};
  Mesh mesh;
  int nearest[2];
  for (int n = mesh_ranks(&a->d->options.mesh) + 1; n <= machine_devices(machine); n++)
    if (machine_mesh(machine, n, &mesh, nearest)) vec_push(a->d->arena, &counts, n);
  return counts;
}

static bool has_batch(const AstFile *file) {
  for (int i = 0; i < file->defs.len; i++)
    for (int k = 0; file->defs.at[i]->kind == AST_MODEL && k < file->defs.at[i]->params.len; k++)
      if (str_eq(file->defs.at[i]->params.at[k].name, "batch")) return true;
  return false;
}

// Smaller batches, in steps of a quarter to an eighth.
static Counts smaller_batches(const Advice *a, int64_t batch) {
  Counts counts = {0};
  if (!has_batch(a->file)) return counts;
  for (int64_t whole = batch; whole > 0; whole /= 2)
    for (int part = 7; part >= 4; part--) {
      const int64_t n = whole / 8 * part + whole % 8 * part / 8;
      if (n > 0 && n < batch && (counts.len == 0 || n < counts.at[counts.len - 1])) vec_push(a->d->arena, &counts, n);
    }
  return counts;
}

const char *driver_what_fits(Driver *d, const AstFile *file, int64_t batch) {
  const Advice advice = {d, file};
  const Counts devices = more_devices(&advice), batches = smaller_batches(&advice, batch);
  const int64_t n = first_fitting(&advice, fits_devices, &devices), b = first_fitting(&advice, fits_batch, &batches);
  if (n == 0 && b == 0) return has_batch(file) ? "no number of its devices and no smaller batch would do" : "no number of its devices would do";
  const char *of_devices = n > 0 ? arena_printf(d->arena, "%lld of its devices%s", (long long)n, b > 0 ? ", or " : "") : "";
  return arena_printf(d->arena, "%s%s would do", of_devices, b > 0 ? arena_printf(d->arena, "a batch of %lld", (long long)b) : "");
}
