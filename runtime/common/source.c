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

static bool check_integers(const Source *source, const char *path, Fault *fault) {
  enum { PIECE = 4096 };
  static double value[PIECE];
  const ParccInput *input = source->input;
  const double low = input->range > 0 ? 0. : (double)INT_MIN;
  const double high = input->range > 0 ? (double)input->range : (double)INT_MAX + 1.;
  if (!array_holds_integers(&source->array))
    return fault_set(fault, FAIL_RUN, "%s: it holds reals, input %s wants integers", path, input->name);
  for (size_t first = 0; first < source->array.count; first += PIECE) {
    const size_t left = source->array.count - first, count = left < PIECE ? left : PIECE;
    array_copy(&source->array, first, count, input->source.scale, input->source.offset, PARCC_DOUBLE, value);
    bool right = true;
    watch_moved();
    for (size_t i = 0; i < count; i++) right &= value[i] >= low && value[i] < high && value[i] == rint(value[i]);
    for (size_t i = 0; i < count && !right; i++)
      if (!(value[i] >= low && value[i] < high && value[i] == rint(value[i])))
        return fault_set(fault, FAIL_RUN, "%s: sample %zu: %s is %.10g, not an integer in [%.0f, %.0f)", path,
                         (first + i) / source->sample_elements, input->name, value[i], low, high);
  }
  return true;
}

bool source_open(Source *source, const ParccInput *input, const char *directory, bool test, Fault *fault) {
  char path[4096];
  const char *name = test ? input->source.test : input->source.train;
  *source = (Source){.input = input, .sample_elements = sample_elements(input)};
  if (input->source.kind == NULL || name == NULL)
    return fault_set(fault, FAIL_MISUSE, "no file is named for input %s%s: only --data synthetic is possible",
                     input->name, test ? " of the test split" : "");
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--data: the path is too long");
  if (!array_open(&source->array, path, input->source.kind, fault)) return false;
  if (!check_shape(&source->array, input, path, fault)) return false;
  source->samples = source->array.extent[0];
  if (source->samples == 0) return fault_set(fault, FAIL_RUN, "%s: it has no samples", path);
  return input->type != PARCC_INT || check_integers(source, path, fault);
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
  if (!source->synthetic) return hash_file(hash, &source->array.file);
  return hash_word(hash_word(hash_word(hash, source->seed), source->stream), (uint64_t)input->range);
}

void source_close(Source *source) {
  if (!source->synthetic) array_close(&source->array);
}

void source_copy(const Source *source, long sample, size_t first, size_t count, void *dst) {
  const ParccInput *input = source->input;
  if (source->synthetic)
    synthetic_copy(source->seed, source->stream, sample, first, count, input->type, input->range, dst);
  else
    array_copy(&source->array, (size_t)sample * source->sample_elements + first, count, input->source.scale,
               input->source.offset, input->type, dst);
}
