// Opens the inputs of both splits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

#include "hash.h"
#include "run.h"

static struct {
  Source *sources; // of each input
  long samples;
} splits[2];

const Source *data_source(Split split, int input) { return &splits[split].sources[input]; }

uint64_t data_fingerprint(void) {
  uint64_t hash = 0;
  for (int i = 0; i < run.model->n_inputs; i++) hash = hash_word(hash, source_fingerprint(data_source(SPLIT_TRAIN, i)));
  return hash;
}

long data_samples(Split split) { return splits[split].samples; }

static bool same_samples(const Source *sources, Fault *fault) {
  for (int i = 1; i < run.model->n_inputs; i++)
    if (sources[i].samples != sources[0].samples)
      return fault_set(fault, FAIL_RUN, "%s has %ld samples, but %s has %ld", source_file(&sources[i])->path,
                       sources[i].samples, source_file(&sources[0])->path, sources[0].samples);
  return true;
}

static bool open_split(Split split, Fault *fault) {
  const ParccModel *model = run.model;
  const bool test = split == SPLIT_TEST, synthetic = strcmp(run.options.data, "synthetic") == 0;
  Source *sources = calloc((size_t)model->n_inputs, sizeof *sources);
  if (sources == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  splits[split].sources = sources;
  for (int i = 0; i < model->n_inputs; i++) {
    if (synthetic) source_make(&sources[i], &model->inputs[i], i, parcc.seed, test);
    else if (!source_open(&sources[i], &model->inputs[i], run.options.data, test, fault)) return false;
  }
  for (int i = 0; i < model->n_inputs; i++)
    for (int k = 0; k < i; k++) source_align(&sources[i], &sources[k]);
  splits[split].samples = sources[0].samples;
  return same_samples(sources, fault);
}

static void tell_cut(const Source *source, const char *split) {
  if (source->synthetic || source->lines.cut == 0) return;
  fprintf(stderr, "%s: %s split of %s: %ld of %ld lines do not fit into %zu tokens and are cut\n", run.model->name,
          split, source->lines.file.path, source->lines.cut, source->lines.n, source->sample_elements);
}

// What the windows of a sequence leave over: of several inputs from one file, the one that reaches furthest tells.
void data_tell(void) {
  for (int split = 0; split < 2; split++)
    for (int i = 0; splits[split].sources != NULL && i < run.model->n_inputs; i++) {
      const Source *source = &splits[split].sources[i];
      const size_t left = source_left_over(source);
      const char *name = split == SPLIT_TEST ? "test" : "training";
      tell_cut(source, name);
      bool furthest = left > 0;
      for (int k = 0; furthest && k < run.model->n_inputs; k++)
        furthest = k == i || !source_same_windows(source, source + k - i) || left < source_left_over(source + k - i);
      if (furthest)
        fprintf(stderr, "%s: %s split of %s: %ld samples of %zu, %zu left over at the end\n", run.model->name, name,
                source->array.file.path, source->samples, source->sample_elements, left);
    }
}

static bool open_test(Fault *fault) {
  if (open_split(SPLIT_TEST, fault)) return true;
  const size_t said = strlen(fault->text);
  snprintf(fault->text + said, sizeof fault->text - said, "; without --eval the test split is not read");
  return false;
}

// What cannot be evaluated is better known before training than after.
static bool check_whole_batches(Fault *fault) {
  const ParccModel *model = run.model;
  const long samples = data_samples(SPLIT_TEST);
  if (!run.options.eval || model->whole_batches == NULL || samples >= model->batch) return true;
  return fault_set(fault, FAIL_RUN, "--eval: the test split has %ld sample%s, and %s needs all %ld of a batch", samples,
                   samples == 1 ? "" : "s", model->whole_batches, model->batch);
}

bool data_open(Fault *fault) {
  if (run.model->n_inputs == 0 || options_only_sample(&run.options)) return true;
  if (run.options.data == NULL)
    return fault_set(
        fault, FAIL_MISUSE,
        "no data: give --data DIR, the directory of the data files, or --data synthetic (--help lists the files)");
  return open_split(SPLIT_TRAIN, fault) && (!run.options.eval || open_test(fault)) &&
         check_whole_batches(fault);
}

void data_close(void) {
  for (int split = 0; split < 2; split++) {
    for (int i = 0; splits[split].sources != NULL && i < run.model->n_inputs; i++)
      source_close(&splits[split].sources[i]);
    free(splits[split].sources);
    splits[split].sources = NULL;
    splits[split].samples = 0;
  }
}
