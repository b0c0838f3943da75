#include "source.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "synthetic.h"
#include "watch.h"

enum { SYNTHETIC_BATCHES = 64, SYNTHETIC_STREAM = 0x40000000 };

static size_t sample_elements(const ParccInput *input) {
  size_t elements = 1;
  for (int d = 1; d < input->rank; d++) elements *= (size_t)input->extent[d];
  return elements;
}

// "60000x28x28"
static void print_shape(char *text, size_t size, const long *extent, int rank) {
  size_t at = 0;
  text[0] = '\0';
  for (int d = 0; d < rank && at < size; d++)
    at += (size_t)snprintf(text + at, size - at, d == 0 ? "%ld" : "x%ld", extent[d]);
}

static int next_other_than_1(const long *extent, int rank, int d) {
  while (d < rank && extent[d] == 1) d++;
  return d;
}

// Whether a sample has the extents of the input, those of extent 1 aside.
static bool same_sample_shape(const Array *array, const ParccInput *input) {
  for (int a = 1, i = 1;; a++, i++) {
    a = next_other_than_1(array->extent, array->rank, a);
    i = next_other_than_1(input->extent, input->rank, i);
    if (a == array->rank || i == input->rank) return a == array->rank && i == input->rank;
    if (array->extent[a] != input->extent[i]) return false;
  }
}

static bool check_shape(const Array *array, const ParccInput *input, const char *path, Fault *fault) {
  char has[200], wants[200];
  if (same_sample_shape(array, input)) return true;
  print_shape(has, sizeof has, array->extent + 1, array->rank - 1);
  print_shape(wants, sizeof wants, input->extent + 1, input->rank - 1);
  return fault_set(fault, FAIL_RUN, "%s: its samples have shape %s, input %s wants %s", path,
                   has[0] == '\0' ? "() (one number)" : has, input->name, wants[0] == '\0' ? "() (one number)" : wants);
}

static bool is_legal(const ParccInput *input, double value) {
  const double low = input->range > 0 ? 0. : (double)INT_MIN;
  const double high = input->range > 0 ? (double)input->range : (double)INT_MAX + 1.;
  return value >= low && value < high && value == rint(value);
}

// Describes element i of the array, which is outside of the range.
static bool wrong_integer(const Source *source, size_t i, double value, Fault *fault) {
  const ParccInput *input = source->input;
  char place[64], range[64] = "of 32 bits";
  snprintf(place, sizeof place, "%s %zu", input->source.windows != NULL ? "token" : "sample",
           input->source.windows != NULL ? i : i / source->sample_elements);
  if (input->range > 0) snprintf(range, sizeof range, "in [0, %ld)", input->range);
  return fault_set(fault, FAIL_RUN, "%s: %s: %s is %.10g, not an integer %s", source->array.file.path, place,
                   input->name, value, range);
}

static bool check_integers(const Source *source, size_t first, size_t end, Fault *fault) {
  enum { PIECE = 4096 };
  static double value[PIECE];
  const ParccInput *input = source->input;
  while (first < end) {
    const size_t count = end - first < PIECE ? end - first : PIECE;
    array_copy(&source->array, first, count, input->source.scale, input->source.offset, PARCC_DOUBLE, value);
    bool right = true;
    watch_moved();
    for (size_t i = 0; i < count; i++) right &= is_legal(input, value[i]);
    for (size_t i = 0; i < count && !right; i++)
      if (!is_legal(input, value[i])) return wrong_integer(source, first + i, value[i], fault);
    first += count;
  }
  return true;
}

// A file so long is not read whole before training begins.
enum { CHECKED_AT_START = 1 << 26 };

// Checks the part of the array that the split has.
static bool check_range(Source *source, size_t first, size_t end, Fault *fault) {
  const ParccInput *input = source->input;
  if (!array_holds_integers(&source->array))
    return fault_set(fault, FAIL_RUN, "%s: it holds reals, input %s wants integers", source->array.file.path,
                     input->name);
  const bool always =
      input->source.scale == 1 && input->source.offset == 0 && array_largest(&source->array) < (double)input->range;
  source->unchecked = !always && input->source.windows != NULL && end - first > CHECKED_AT_START;
  return source->unchecked || check_integers(source, first, end, fault);
}

// The part of a sequence that a split has: [first, end).
static void split_sequence(const Source *source, bool test, size_t *first, size_t *end) {
  const size_t count = source->array.count;
  const double held_out = source->input->source.windows->held_out;
  const size_t train = count - (size_t)((double)count * held_out);
  *first = test && held_out > 0 ? train : 0;
  *end = !test && held_out > 0 ? train : count;
}

static bool find_windows(Source *source, size_t first, size_t end, Fault *fault) {
  const ParccWindows *windows = source->input->source.windows;
  const size_t length = source->sample_elements, shift = (size_t)windows->shift;
  source->first = first + shift;
  source->end = end;
  source->stride = windows->stride > 0 ? (size_t)windows->stride : length;
  if (end - first < shift || end - first - shift < length)
    return fault_set(fault, FAIL_RUN, "%s: too short: %zu tokens, a sample of %s takes %zu", source->array.file.path,
                     end - first, source->input->name, length + shift);
  source->samples = (long)((end - source->first - length) / source->stride) + 1;
  return true;
}

static bool lay_out_samples(Source *source, size_t *end, Fault *fault) {
  source->stride = source->sample_elements;
  *end = source->array.count;
  source->samples = source->array.extent[0];
  return (check_shape(&source->array, source->input, source->array.file.path, fault) && source->samples > 0) ||
         fault_set(fault, FAIL_RUN, "%s: it has no samples", source->array.file.path);
}

bool source_open(Source *source, const ParccInput *input, const char *directory, bool test, Fault *fault) {
  char path[4096];
  const ParccWindows *windows = input->source.windows;
  const ParccLines *lines = input->source.lines;
  const double held_out = windows != NULL ? windows->held_out : lines != NULL ? lines->held_out : 0;
  const char *name = test && held_out == 0 ? input->source.test : input->source.train;
  size_t first = 0, end = 0;
  *source = (Source){.input = input, .sample_elements = sample_elements(input)};
  if (input->source.kind == NULL || name == NULL)
    return fault_set(fault, FAIL_MISUSE, "no file is named for input %s%s: only --data synthetic is possible",
                     input->name, test ? " of the test split" : "");
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--data: the path is too long");
  if (lines != NULL) {
    const bool right = lines_open(&source->lines, input, path, directory, test, fault);
    source->samples = source->lines.n;
    return right;
  }
  if (!array_open(&source->array, path, input->source.kind, fault)) return false;
  if (windows != NULL) split_sequence(source, test, &first, &end);
  if (windows != NULL ? !find_windows(source, first, end, fault) : !lay_out_samples(source, &end, fault)) return false;
  return input->type != PARCC_INT || check_range(source, first, end, fault);
}

bool source_same_windows(const Source *a, const Source *b) {
  return !a->synthetic && !b->synthetic && a->input->source.windows != NULL && b->input->source.windows != NULL &&
         a->stride == b->stride && strcmp(a->array.file.path, b->array.file.path) == 0;
}

void source_align(Source *source, Source *other) {
  if (!source_same_windows(source, other)) return;
  const long samples = source->samples < other->samples ? source->samples : other->samples;
  source->samples = other->samples = samples;
}

const DataFile *source_file(const Source *source) {
  return source->input->source.lines != NULL ? &source->lines.file : &source->array.file;
}

size_t source_left_over(const Source *source) {
  if (source->synthetic || source->input->source.windows == NULL) return 0;
  return source->end - (source->first + (size_t)(source->samples - 1) * source->stride + source->sample_elements);
}

void source_make(Source *source, const ParccInput *input, int number, unsigned long long seed, bool test) {
  const long batch = input->extent[0];
  *source = (Source){.input = input, .synthetic = true, .seed = seed, .sample_elements = sample_elements(input)};
  source->stream = 0x80000000u + SYNTHETIC_STREAM + 2 * (unsigned)number + test;
  source->samples = test ? 2 * batch + batch / 2 : SYNTHETIC_BATCHES * batch;
}

static uint64_t hash_file(uint64_t hash, const DataFile *file) {
  enum { STRETCH = 4096, STRETCHES = 256 };
  if (file->size <= STRETCH * STRETCHES) return hash_bytes(hash, file->bytes, file->size);
  for (size_t i = 0; i < STRETCHES; i++)
    hash = hash_bytes(hash, file->bytes + (file->size - STRETCH) / (STRETCHES - 1) * i, STRETCH);
  return hash;
}

uint64_t source_fingerprint(const Source *source) {
  const ParccInput *input = source->input;
  uint64_t hash = hash_word(0, (uint64_t)source->samples);
  for (int d = 1; d < input->rank; d++) hash = hash_word(hash, (uint64_t)input->extent[d]);
  if (input->source.windows != NULL) hash = hash_word(hash_word(hash, source->first), source->stride);
  if (!source->synthetic) return hash_file(hash, source_file(source));
  return hash_word(hash_word(hash_word(hash, source->seed), source->stream), (uint64_t)input->range);
}

void source_close(Source *source) {
  if (source->synthetic) return;
  if (source->input->source.lines != NULL) lines_close(&source->lines);
  else array_close(&source->array);
}

// A long sequence is checked where it is read.
static void check_read(const Source *source, size_t first, size_t count) {
  Fault fault = {0};
  if (!check_integers(source, first, first + count, &fault)) fail_alone(fault.code, "%s", fault.text);
}

void source_copy(const Source *source, long sample, size_t first, size_t count, void *dst) {
  const ParccInput *input = source->input;
  if (source->synthetic) {
    synthetic_copy(source->seed, source->stream, sample, first, count, input->type, input->range, dst);
    return;
  }
  if (input->source.lines != NULL) {
    lines_copy(&source->lines, sample, first, count, dst);
    return;
  }
  first += source->first + (size_t)sample * source->stride;
  if (source->unchecked) check_read(source, first, count);
  array_copy(&source->array, first, count, input->source.scale, input->source.offset, input->type, dst);
}
