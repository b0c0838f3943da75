#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spans.h"
#include "trace.h"

static double began, trained; // seconds: when training began, what it took
static double last_loss;
static long steps_done;
static double *eval_means;
static long eval_samples;

// What cannot be written is better known before training than after.
static void check_file(const char *path, const char *option, Fault *fault) {
  char directory[4096];
  struct stat info;
  const char *slash = strrchr(path, '/');
  const size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
  if (length >= sizeof directory) {
    fault_set(fault, FAIL_MISUSE, "%s: the path is too long", option);
    return;
  }
  memcpy(directory, slash == NULL ? "." : path, length);
  directory[length] = '\0';
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) errno = EISDIR;
    if (S_ISDIR(info.st_mode) || access(path, W_OK) != 0) fault_set(fault, FAIL_RUN, "cannot write %s: %s", path, strerror(errno));
    return;
  }
  if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode)) errno = ENOTDIR;
  else if (access(directory, W_OK | X_OK) == 0) return;
  fault_set(fault, FAIL_RUN, "cannot write %s: %s: %s", path, directory, strerror(errno));
}

void report_start(Fault *fault) {
  if (parcc.rank != 0) return;
  if (run.options.save != NULL && options_save_is_file(&run.options)) check_file(run.options.save, "--save", fault);
  else if (run.options.save != NULL) checkpoint_prepare(run.options.save, fault);
  if (run.options.log != NULL && fault->code == FAIL_NONE) log_open(run.options.log, fault);
  if (run.options.trace != NULL && fault->code == FAIL_NONE) check_file(run.options.trace, "--trace", fault);
}

void report_begin(void) {
  began = clock_seconds();
  if (parcc.rank == 0) progress_start();
}

bool report_is_milestone(long step) {
  const long lines = 20, every = parcc.steps > lines ? parcc.steps / lines : 1;
  return (step + 1) % every == 0 || step + 1 == parcc.steps;
}

bool report_wants_all(long step) {
  if (run.options.profile_steps > 0 && spans_on) return false; // which is no part of what is predicted
  return run.options.log != NULL || step + 1 == parcc.steps || (!run.options.quiet && report_is_milestone(step));
}

void report_step(const StepReport *report) {
  trained = clock_seconds() - began;
  last_loss = report->scalars[0];
  steps_done = report->step + 1 - run.resumed.from.step;
  if (parcc.rank != 0) return;
  log_step(report);
  progress_step(report);
}

void report_eval(const double *means, long samples) {
  if (parcc.rank != 0) return;
  const size_t bytes = (size_t)run.model->n_scalars * sizeof *means;
  eval_means = malloc(bytes);
  if (eval_means == NULL) fail_alone(FAIL_RUN, "out of memory");
  memcpy(eval_means, means, bytes);
  eval_samples = samples;
  log_eval(means, samples);
}

// What a model that takes whole batches only leaves out of the test split.
static void print_left_out(FILE *out) {
  const long left_out = data_samples(SPLIT_TEST) - eval_samples;
  if (left_out > 0)
    fprintf(out, "%s: test split: left out the last %ld sample%s, which do%s not fill a batch of %ld: %s needs all samples of one\n",
           run.model->name, left_out, left_out == 1 ? "" : "s", left_out == 1 ? "es" : "", run.model->batch,
           run.model->whole_batches);
}

static void print_summary(FILE *out) {
  if (options_only_sample(&run.options) || run.model->measures) return;
  const char *name = run.model->name;
  fprintf(out, "%s: %ld step%s, %.3f s", name, steps_done, steps_done == 1 ? "" : "s", trained);
  if (steps_done > 0)
    fprintf(out, ", %.0f samples/s, loss %.9g", (double)steps_done * (double)run.model->batch / trained, last_loss);
  fprintf(out, ", %zu bytes of device memory\n", device_bytes());
  if (eval_means != NULL) {
    fprintf(out, "%s: test split: %ld samples", name, eval_samples);
    for (int i = 0; i < run.model->n_scalars; i++) fprintf(out, ", %s %.9g", run.model->scalars[i], eval_means[i]);
    fprintf(out, "\n");
    print_left_out(out);
  }
  trace_tell(out);
}

void report_finish(void) {
  if (parcc.rank != 0) return;
  progress_end();
  print_summary(run.options.profile_steps > 0 ? stderr : stdout); // which the profile has for itself
  if (fflush(stdout) != 0) fail_alone(FAIL_RUN, "cannot write the summary: %s", strerror(errno));
  log_close();
  free(eval_means);
}
