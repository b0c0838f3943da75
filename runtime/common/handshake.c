#include "handshake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "fail.h"
#include "hash.h"
#include "run.h"
#include "version.h"

// Something that must be the same on all ranks that have the same group.
typedef struct {
  char name[72], group[64], value[96];
} Trait;

typedef struct {
  Trait *traits;
  int n;
} Traits;

// Returns the new trait, with no value yet.
static Trait *add(Traits *list, const char *name) {
  Trait *grown = realloc(list->traits, (size_t)(list->n + 1) * sizeof *grown);
  if (grown == NULL) fail_alone(FAIL_RUN, "out of memory");
  list->traits = grown;
  Trait *trait = &grown[list->n++];
  memset(trait, 0, sizeof *trait);
  snprintf(trait->name, sizeof trait->name, "%s", name);
  return trait;
}

// The first rank that differs from an earlier one of its group, and that rank; -1: none does.
static int find_difference(const Trait *all, int n, int trait, int *other) {
  for (int r = 1; r < parcc.ranks; r++)
    for (int before = 0; before < r; before++) {
      const Trait *a = &all[before * n + trait], *b = &all[r * n + trait];
      if (strcmp(a->group, b->group) != 0) continue;
      if (strcmp(a->value, b->value) == 0) break; // and so it agrees with all before
      *other = before;
      return r;
    }
  return -1;
}

static void compare(Traits *list) {
  const size_t bytes = (size_t)list->n * sizeof *list->traits;
  Trait *all = malloc((size_t)parcc.ranks * bytes + 1);
  Fault fault = {0};
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(list->traits, all, bytes);
  for (int t = 0, other = 0; t < list->n && fault.code == FAIL_NONE; t++) {
    const int rank = find_difference(all, list->n, t, &other);
    if (rank < 0) continue;
    const Trait *a = &all[other * list->n + t], *b = &all[rank * list->n + t];
    fault_set(&fault, FAIL_MISUSE, "the ranks differ in %s: %s on rank %d, %s on rank %d", a->name, a->value, other,
              b->value, rank);
  }
  free(all);
  free(list->traits);
  *list = (Traits){NULL, 0};
  fail_agree(&fault);
}

// This message keeps its form for ever.
void handshake_version(void) {
  enum { FORM = 64 };
  char mine[FORM] = PARCC_VERSION, *all = calloc((size_t)parcc.ranks, FORM);
  Fault fault = {0};
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(mine, all, FORM);
  for (int r = 1; r < parcc.ranks; r++)
    if (strncmp(all, all + r * FORM, FORM) != 0)
      fault_set(&fault, FAIL_MISUSE,
                "the ranks differ in the version of the runtime: %.64s on rank 0, %.64s on rank %d", all,
                all + r * FORM, r);
  free(all);
  fail_agree(&fault);
}

// ---- the program

static uint64_t hash_executable(void) {
  static char bytes[1 << 16];
  uint64_t hash = 0;
  FILE *file = fopen("/proc/self/exe", "rbe");
  if (file == NULL) return 0;
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) hash = hash_bytes(hash, bytes, n);
  fclose(file);
  return hash;
}

static void add_options(Traits *list) {
  char name[40], value[sizeof list->traits->value] = "";
  for (int i = 0; options_describe(&run.options, i, name, sizeof name, value, sizeof value); i++)
    memcpy(add(list, name)->value, value, sizeof value);
}

void handshake_program(const char *program) {
  Traits list = {NULL, 0};
  Trait *trait = add(&list, "the program");
  if (program != NULL) snprintf(trait->value, sizeof trait->value, "%s %.16s", run.model->name, program);
  else snprintf(trait->value, sizeof trait->value, "%s %016" PRIx64, run.model->name, hash_executable());
  int version = 0;
  CHECK_NCCL(ncclGetVersion(&version));
  snprintf(add(&list, "the version of NCCL")->value, sizeof list.traits->value, "%d", version);
  add_options(&list);
  compare(&list);
}

// ---- machines and data

static void add_devices(Traits *list) {
  const int devices = device_count();
  Trait *trait = add(list, "the number of devices that they see");
  gethostname(trait->group, sizeof trait->group - 1); // another machine may have others
  snprintf(trait->value, sizeof trait->value, "%d", devices);
}

static void add_split(Traits *list, Split split) {
  for (int i = 0; data_samples(split) > 0 && i < run.model->n_inputs; i++) {
    char name[sizeof list->traits->name];
    snprintf(name, sizeof name, "the %s data of input %.40s", split == SPLIT_TRAIN ? "training" : "test",
             run.model->inputs[i].name);
    snprintf(add(list, name)->value, sizeof list->traits->value, "%ld samples %016" PRIx64, data_samples(split),
             source_fingerprint(data_source(split, i)));
  }
}

void handshake_data(void) {
  Traits list = {NULL, 0};
  add_devices(&list);
  add_split(&list, SPLIT_TRAIN);
  add_split(&list, SPLIT_TEST);
  compare(&list);
}
