// parcc_batch: this rank's block of a batch, from the data to the device.
#include <stdlib.h>

#include "data.h"
#include "generate.h"
#include "order.h"
#include "run.h"
#include "spans.h"

// Pinned memory that a block is gathered in before it is copied. Two for each input, used in turn, so that gathering one
// batch does not wait for the copy of the one before.
typedef struct {
  void *bytes;
  size_t size;
  cudaEvent_t copied;
} Staging;

typedef struct {
  Staging staging[2];
  int next;
} Feed;

static Feed *feeds; // one for each input

static Staging *next_staging(int input, size_t bytes) {
  if (feeds == NULL && (feeds = calloc((size_t)run.model->n_inputs, sizeof *feeds)) == NULL)
    fail_alone(FAIL_RUN, "out of memory");
  Staging *staging = &feeds[input].staging[feeds[input].next];
  feeds[input].next ^= 1;
  if (staging->copied == NULL) CHECK_CUDA(cudaEventCreateWithFlags(&staging->copied, cudaEventDisableTiming));
  else CHECK_CUDA(cudaEventSynchronize(staging->copied));
  if (staging->size < bytes) {
    if (staging->bytes != NULL) CHECK_CUDA(cudaFreeHost(staging->bytes));
    CHECK_CUDA(cudaHostAlloc(&staging->bytes, bytes, cudaHostAllocDefault));
    staging->size = bytes;
  }
  return staging;
}

// The sample that stands in a row of the current batch.
static long sample_of_row(long row) {
  if (run.evaluating) return run.eval_first + row;
  if (run.generating) return 0;
  const long n = data_samples(SPLIT_TRAIN), at = run_samples(parcc.step) + row;
  return order_sample(parcc.seed, at / n, n, at % n);
}

// A part of a sample is a number of equally long runs of neighbouring elements: the dimensions from `inner` on.
typedef struct {
  const ParccInput *input;
  const Interval *block;
  int inner;
  size_t run; // elements
} Part;

static Part make_part(const ParccInput *input, const Interval *block) {
  Part part = {input, block, input->rank, 1};
  while (part.inner > 1) {
    const int d = --part.inner;
    part.run *= (size_t)block[d].len;
    if (block[d].len != input->extent[d]) break;
  }
  return part;
}

// Copies the part of a sample to dst and returns where it ends. d: the dimension to go through; first: the element where
// its index is 0.
static void copy_run(const Part *part, const Source *source, long sample, size_t first, char *dst) {
  if (run.generating) generate_copy((int)(part->input - run.model->inputs), first, part->run, dst);
  else source_copy(source, sample, first, part->run, dst);
}

static char *copy_part(const Part *part, const Source *source, long sample, int d, size_t first, char *dst) {
  size_t stride = 1;
  for (int e = d + 1; e < part->input->rank; e++) stride *= (size_t)part->input->extent[e];
  if (d >= part->inner) {
    const size_t lo = d < part->input->rank ? (size_t)part->block[d].lo : 0;
    copy_run(part, source, sample, first + lo * stride, dst);
    return dst + part->run * type_bytes(part->input->type);
  }
  for (long i = part->block[d].lo; i < part->block[d].lo + part->block[d].len; i++)
    dst = copy_part(part, source, sample, d + 1, first + (size_t)i * stride, dst);
  return dst;
}

void parcc_batch(int input, void *dst, const Interval *block) {
  spans_close(); // gathering is no part of the operator before
  if (input < 0 || input >= run.model->n_inputs) fail_alone(FAIL_INTERNAL, "the program has no input %d", input);
  const ParccInput *declared = &run.model->inputs[input];
  const long rows = run.evaluating || run.generating ? run.eval_count : run.model->batch;
  size_t count = 1;
  for (int d = 0; d < declared->rank; d++) {
    const long extent = d == 0 ? rows : declared->extent[d];
    if (block[d].lo < 0 || block[d].len < 0 || block[d].lo > extent - block[d].len)
      fail_alone(FAIL_INTERNAL, "input %s: block [%ld, %ld) of dimension %d, which has %ld", declared->name,
                 block[d].lo, block[d].lo + block[d].len, d, extent);
    count *= (size_t)block[d].len;
  }
  if (count == 0) return;
  const Source *source = run.generating ? NULL : data_source(run.evaluating ? SPLIT_TEST : SPLIT_TRAIN, input);
  const Part part = make_part(declared, block);
  const size_t bytes = count * type_bytes(declared->type);
  Staging *staging = next_staging(input, bytes);
  char *at = staging->bytes;
  for (long row = block[0].lo; row < block[0].lo + block[0].len; row++)
    at = copy_part(&part, source, sample_of_row(row), 1, 0, at);
  spans_open(declared->name, NULL, parcc.compute);
  CHECK_CUDA(cudaMemcpyAsync(dst, staging->bytes, bytes, cudaMemcpyHostToDevice, parcc.compute));
  spans_close();
  CHECK_CUDA(cudaEventRecord(staging->copied, parcc.compute));
}

void batch_finish(void) {
  for (int i = 0; feeds != NULL && i < run.model->n_inputs; i++)
    for (int s = 0; s < 2; s++) {
      const Staging *staging = &feeds[i].staging[s];
      if (staging->bytes != NULL) CHECK_CUDA(cudaFreeHost(staging->bytes));
      if (staging->copied != NULL) CHECK_CUDA(cudaEventDestroy(staging->copied));
    }
  free(feeds);
  feeds = NULL;
}
