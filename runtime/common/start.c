// The begin and the end of a run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data.h"
#include "fail.h"
#include "generate.h"
#include "handshake.h"
#include "profile.h"
#include "run.h"
#include "spans.h"
#include "tensors.h"
#include "trace.h"
#include "version.h"
#include "watch.h"

Run run;

double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// --help and --version: rank 0 answers, all leave.
static void answer(void) {
  if (run.options.help && parcc.rank == 0) options_print_help(run.model);
  if (run.options.version && !run.options.help && parcc.rank == 0)
    printf("%s, made from %s; parcc runtime %s\n", run.model->name, run.model->source, PARCC_VERSION);
  fail_leave(fflush(stdout) == 0 ? 0 : FAIL_RUN);
}

// The command that this process was started with, for a shell.
static void print_command(int argc, char **argv, char *text, size_t size) {
  const char *const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-+=./:,@%";
  size_t at = 0;
  text[0] = '\0';
  for (int i = 0; i < argc && at < size; i++) {
    const bool quoted = argv[i][0] == '\0' || argv[i][strspn(argv[i], plain)] != '\0';
    at += (size_t)snprintf(text + at, size - at, quoted ? "%s'%s'" : "%s%s", i > 0 ? " " : "", argv[i]);
  }
  if (at >= size) strcpy(text + size - 4, "...");
}

static bool check_ranks(int argc, char **argv, Fault *fault) {
  const int wanted = run.model->ranks;
  char command[1000], launcher[60] = "";
  if (parcc.ranks == wanted || run.model->measures) return true;
  print_command(argc, argv, command, sizeof command);
  if (wanted > 1)
    snprintf(launcher, sizeof launcher, "%s%d ", world_launcher(), wanted);
  return fault_set(fault, FAIL_MISUSE, "this program is for %d rank%s, started with %d; start it by: %s%s", wanted,
                   wanted == 1 ? "" : "s", parcc.ranks, launcher, command);
}

// A run goes on with the data it began with: the place in the sample order would mean something else.
static bool check_data(Fault *fault) {
  if (run.options.load == NULL || options_only_sample(&run.options)) return true;
  if (data_fingerprint() == run.resumed.from.data) return true;
  return fault_set(fault, FAIL_RUN, "%s: the run began with other training data; --init %s/%s begins a new one",
                   run.resumed.path, run.resumed.path, CHECKPOINT_TENSORS);
}

static bool check_model(const ParccModel *model, Fault *fault) {
  bool right = model->batch > 0 && model->n_scalars > 0 && model->learning_rate != NULL && model->real != PARCC_INT;
  for (int i = 0; right && i < model->n_inputs; i++) {
    const ParccInput *input = &model->inputs[i];
    right = input->rank >= 1 && input->rank <= PARCC_MAX_RANK && input->extent[0] == model->batch;
  }
  return right || fault_set(fault, FAIL_INTERNAL, "the program describes its model wrongly");
}

static void tell_resumed(void) {
  const long step = run.resumed.from.step;
  const char *name = run.model->name;
  if (options_only_sample(&run.options)) return;
  if (step == parcc.steps && !run.options.eval)
    fprintf(stderr, "%s: no step is left: %s is at step %ld, where the run ends; --steps N goes on to step N\n", name,
            run.resumed.path, step);
  else if (step < parcc.steps && !run.options.quiet)
    fprintf(stderr, "%s: going on after step %ld, from %s\n", name, step, run.resumed.path);
}

// The file of --init or the checkpoint of --load may be on a disk that only rank 0 sees, and so may --save.
void parcc_start_program(const char *program, int argc, char **argv, const ParccModel *model) {
  Fault fault = {0};
  run.model = model;
  run.saved = -1;
  fail_set_speaker(model->name, 0, 1);
  run.world = world_start(&argc, &argv, program, model->ranks);
  parcc.rank = run.world.rank;
  parcc.ranks = run.world.ranks;
  fail_set_speaker(model->name, parcc.rank, parcc.ranks);

  options_parse(argc, argv, &run.options, &fault);
  run.measures_quietly = run.options.quiet;
  run.options.quiet |= model->measures;
  watch_start((double)run.options.timeout);
  handshake_version();
  watch_connect();
  fail_agree(&fault);
  handshake_program(program);
  if (run.options.help || run.options.version) answer();
  parcc.seed = run.options.seed;

  if (check_ranks(argc, argv, &fault)) check_model(model, &fault);
  fail_agree(&fault);
  checkpoint_find();
  data_open(&fault);
  fail_agree(&fault);
  handshake_data();
  check_data(&fault);
  fail_agree(&fault);
  steps_plan(&fault);
  generate_open(&fault);
  fail_agree(&fault);
  report_start(&fault);
  fail_share(&fault);
  world_broadcast(&run.saved, sizeof run.saved, 0); // rank 0 may have found one
  if (parcc.rank == 0 && !run.options.quiet) data_tell();
  device_start();
  steps_start();
}

void parcc_load(void) {
  char path[sizeof run.resumed.path + 32];
  AT("loading", NULL);
  if (run.options.init != NULL) tensors_load(run.options.init, false);
  if (run.options.load == NULL) return;
  snprintf(path, sizeof path, "%s/" CHECKPOINT_TENSORS, run.resumed.path);
  tensors_load(path, true);
  if (parcc.rank == 0) tell_resumed();
  __atomic_store_n(&parcc.step, run.resumed.from.step, __ATOMIC_RELAXED);
}

Interval parcc_block(long extent, long parts, long index) {
  const long size = extent / parts, larger = extent % parts;
  return (Interval){index * size + (index < larger ? index : larger), size + (index < larger ? 1 : 0)};
}

Interval parcc_block_in(Interval block, long parts, long index) {
  Interval part = parcc_block(block.len, parts, index);
  part.lo += block.lo;
  return part;
}

int parcc_finish(void) {
  steps_finish();
  if (run.options.save != NULL && options_save_is_file(&run.options)) tensors_save(run.options.save);
  else if (run.options.save != NULL && run.saved != parcc.step) checkpoint_save(parcc.step);
  if (run.options.sample != NULL) generate_end();
  trace_write();
  step_profile_write();
  report_finish();
  generate_close();
  batch_finish();
  spans_finish();
  device_finish();
  data_close();
  watch_goodbye();
  world_finish();
  watch_stop();
  return 0;
}
