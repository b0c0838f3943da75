// The steps of training, the batches of evaluation, and the scalars that come back from the device.
#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "mesh.h"
#include "profile.h"
#include "run.h"
#include "source.h"
#include "spans.h"
#include "watch.h"

// The scalars of a step on their way to the host. They are looked at one step later, so that the device does not stand
// still while the host looks.
typedef struct {
  char *values; // pinned: n_scalars reals, then the gradient norm
  cudaEvent_t begun, copied;
  bool pending, all, has_norm;
  long step;
  double lr;
  uint64_t sent;
} Slot;

static Slot slots[2];
static bool started, ended;
static uint64_t sent_before; // this step
static double *sums; // of the evaluation, weighted by samples
static long eval_samples;

bool steps_plan(Fault *fault) {
  const ParccModel *model = run.model;
  const Options *options = &run.options;
  const bool by_steps = options->steps >= 0 || (options->epochs < 0 && model->steps > 0);
  const long epochs = options->epochs >= 0 ? options->epochs : model->epochs;
  const Progress *from = &run.resumed.from; // all 0 for a run from the beginning
  long samples = data_samples(SPLIT_TRAIN), unused;
  if (options_only_sample(options)) {
    parcc.steps = from->step;
    return true;
  }
  if (run.resumed.path[0] != '\0' && options->steps < 0 && options->epochs < 0) parcc.steps = from->steps;
  else if (options->profile_steps > 0 && options->steps < 0 && options->epochs < 0) parcc.steps = from->step + spans_run();
  else if (by_steps) parcc.steps = options->steps >= 0 ? options->steps : model->steps;
  else if (options->epochs < 0 && model->epochs <= 0)
    return fault_set(fault, FAIL_MISUSE, "the model says neither steps nor epochs: give --steps N or --epochs N");
  else if (samples == 0) return fault_set(fault, FAIL_MISUSE, "a model without inputs has no epochs: give --steps N");
  else if (__builtin_mul_overflow(epochs, samples, &samples) || samples > (1L << 62))
    return fault_set(fault, FAIL_MISUSE, "%ld epochs are more samples than can be counted", epochs);
  else parcc.steps = from->step + (samples - from->samples + model->batch - 1) / model->batch;
  if (parcc.steps < from->step)
    return fault_set(fault, FAIL_MISUSE, "%s is at step %ld already, but the run is to end at step %ld",
                     run.resumed.path, from->step, parcc.steps);
  if (__builtin_mul_overflow(parcc.steps, model->batch, &unused))
    return fault_set(fault, FAIL_MISUSE, "%ld steps are more samples than can be counted", parcc.steps);
  return true;
}

long run_samples(long step) { return run.resumed.from.samples + (step - run.resumed.from.step) * run.model->batch; }

void steps_start(void) {
  const size_t bytes = (size_t)(run.model->n_scalars + 1) * type_bytes(run.model->real);
  sums = calloc((size_t)run.model->n_scalars, sizeof *sums);
  if (sums == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (int i = 0; i < 2; i++) {
    void *values;
    CHECK_CUDA(cudaHostAlloc(&values, bytes, cudaHostAllocDefault));
    slots[i].values = values;
    CHECK_CUDA(cudaEventCreateWithFlags(&slots[i].begun, cudaEventDefault));
    CHECK_CUDA(cudaEventCreateWithFlags(&slots[i].copied, cudaEventDefault));
  }
}

static void copy_scalar(Slot *slot, int i, const void *device) {
  const size_t bytes = type_bytes(run.model->real);
  CHECK_CUDA(cudaMemcpyAsync(slot->values + (size_t)i * bytes, device, bytes, cudaMemcpyDeviceToHost, parcc.compute));
}

static double scalar(const Slot *slot, int i) {
  return run.model->real == PARCC_DOUBLE ? ((const double *)slot->values)[i] : (double)((const float *)slot->values)[i];
}

static void send_scalars(Slot *slot, const void *const *scalars, const void *norm) {
  const int n = run.model->n_scalars;
  slot->has_norm = norm != NULL;
  for (int i = 0; i < (slot->all ? n : 1); i++) copy_scalar(slot, i, scalars[i]);
  if (slot->all && slot->has_norm) copy_scalar(slot, n, norm);
  CHECK_CUDA(cudaEventRecord(slot->copied, parcc.compute));
  slot->pending = true;
}

// Waits for the scalars. values: n_scalars of them, valid as far as they were sent.
static void receive_scalars(Slot *slot, double *values, double *norm) {
  const int n = run.model->n_scalars;
  device_wait(slot->copied);
  slot->pending = false;
  for (int i = 0; i < (slot->all ? n : 1); i++) values[i] = scalar(slot, i);
  if (slot->all && slot->has_norm) *norm = scalar(slot, n);
}

static double *new_values(void) {
  double *values = calloc((size_t)run.model->n_scalars, sizeof *values);
  if (values == NULL) fail_alone(FAIL_RUN, "out of memory");
  return values;
}

// A maximum can swallow what is not a number, so that the loss stays finite when the parameters are not: the norm tells.
static void stop_where_not_finite(const Slot *slot, const char *what, double value) {
  if (!isfinite(value))
    fail_together(FAIL_RUN, "step %ld: the %s is %s (learning rate %g)", slot->step + 1, what,
                  isnan(value) ? "not a number" : "infinite", slot->lr);
}

// As the device sees it: a checkpoint between two steps is part of neither.
static double step_seconds(const Slot *slot) {
  float ms;
  CHECK_CUDA(cudaEventElapsedTime(&ms, slot->begun, slot->copied));
  return (double)ms * 1e-3;
}

static void look_at_step(Slot *slot) {
  if (!slot->pending) return;
  double *values = new_values(), norm = 0;
  receive_scalars(slot, values, &norm);
  stop_where_not_finite(slot, "loss", values[0]);
  stop_where_not_finite(slot, "gradient norm", norm);
  report_step(&(StepReport){.step = slot->step, .lr = slot->lr, .seconds = step_seconds(slot), .scalars = values,
                            .norm = slot->all && slot->has_norm ? &norm : NULL, .all = slot->all, .sent = slot->sent});
  free(values);
}

int parcc_next_step(void) {
  if (!started) {
    step_profile_check();
    report_begin();
  } else if (!ended) {
    __atomic_store_n(&parcc.step, parcc.step + 1, __ATOMIC_RELAXED);
  }
  watch_step();
  started = true;
  ended = parcc.step >= parcc.steps;
  if (ended) {
    look_at_step(&slots[parcc.step % 2 ^ 1]);
    return 0;
  }
  parcc.lr = run.model->learning_rate((double)parcc.step, (double)parcc.steps);
  sent_before = mesh_sent();
  spans_begin_step();
  CHECK_CUDA(cudaEventRecord(slots[parcc.step % 2].begun, parcc.compute));
  return 1;
}

int parcc_reports(void) { return report_wants_all(parcc.step); }

void parcc_end_step(const void *norm, const void *const *scalars) {
  Slot *slot = &slots[parcc.step % 2];
  slot->all = report_wants_all(parcc.step);
  spans_end_step();
  slot->step = parcc.step;
  slot->lr = parcc.lr;
  slot->sent = mesh_sent() - sent_before;
  send_scalars(slot, scalars, norm);
  look_at_step(&slots[parcc.step % 2 ^ 1]);
  const long done = parcc.step + 1;
  if (run.options.save_every <= 0 || done % run.options.save_every != 0) return;
  look_at_step(slot); // nothing is kept of a step whose loss is not finite
  checkpoint_save(done);
}

static void end_evaluation(void) {
  for (int i = 0; i < run.model->n_scalars; i++) sums[i] /= (double)eval_samples;
  report_eval(sums, eval_samples);
  run.evaluating = false;
}

long parcc_next_eval(void) {
  const long samples = data_samples(SPLIT_TEST);
  if (!run.options.eval || samples == 0) return 0;
  run.evaluating = true;
  run.eval_first += run.eval_count;
  const long left = samples - run.eval_first, batch = run.model->batch;
  run.eval_count = left >= batch ? batch : run.model->whole_batches == NULL ? left : 0;
  if (run.eval_count == 0) end_evaluation();
  return run.eval_count;
}

void parcc_end_eval(long count, const void *const *scalars) {
  Slot *slot = &slots[0];
  double *values = new_values(), norm;
  slot->all = true;
  send_scalars(slot, scalars, NULL);
  receive_scalars(slot, values, &norm);
  if (!isfinite(values[0]))
    fail_together(FAIL_RUN, "evaluation: the loss of samples %ld to %ld is %s", run.eval_first,
                  run.eval_first + count - 1, isnan(values[0]) ? "not a number" : "infinite");
  for (int i = 0; i < run.model->n_scalars; i++) sums[i] += values[i] * (double)count;
  eval_samples += count;
  free(values);
}

void steps_finish(void) {
  CHECK_CUDA(cudaStreamSynchronize(parcc.compute));
  for (int i = 0; i < 2; i++) {
    look_at_step(&slots[i]);
    CHECK_CUDA(cudaFreeHost(slots[i].values));
    CHECK_CUDA(cudaEventDestroy(slots[i].begun));
    CHECK_CUDA(cudaEventDestroy(slots[i].copied));
  }
  free(sums);
}
