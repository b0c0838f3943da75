// Which rows of tables are looked up in the training split, and how often: counted by rank 0, printed for parcc --data-stats (ir/data_stats.h).
// Samples come in the order of the first epoch, so that the batches are those of a run with the same seed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "fail.h"
#include "order.h"
#include "run.h"
#include "watch.h"

typedef struct { // of all lookups of one table
  const char *name;
  size_t rows;
  uint64_t *count;   // by row
  uint32_t *touched; // by row: the number of the batch that looked it up last
  uint64_t places, outside, in_batches, distinct; // the last two: of whole batches
} Table;

static Table *tables;
static int n_tables;

static void *allocate(size_t n, size_t size) {
  void *at = calloc(n + 1, size);
  if (at == NULL) fail_alone(FAIL_RUN, "out of memory: %zu bytes are needed to count", (n + 1) * size);
  return at;
}

static Table *table_of(const ParccLookup *lookup) {
  for (int t = 0; t < n_tables; t++)
    if (strcmp(tables[t].name, lookup->table) == 0) return &tables[t];
  Table *table = &tables[n_tables++];
  *table = (Table){.name = lookup->table, .rows = (size_t)lookup->rows};
  table->count = allocate(table->rows, sizeof *table->count);
  table->touched = allocate(table->rows, sizeof *table->touched);
  return table;
}

// ---- counting ------------------------------------------------------------------------------------------------------

static void count_place(Table *table, int row, uint32_t batch) {
  table->places++;
  table->in_batches += batch > 0;
  if (row < 0 || (size_t)row >= table->rows) {
    table->outside++;
    return;
  }
  table->count[row]++;
  if (batch == 0 || table->touched[row] == batch) return;
  table->touched[row] = batch;
  table->distinct++;
}

// Counts the elements of a sample, from dimension d and element `first` on, that the lookup reads.
static void count_sample(Table *table, const ParccLookup *lookup, const ParccInput *input, const int *sample, int d, size_t first, uint32_t batch) {
  size_t stride = 1;
  if (d == input->rank) {
    count_place(table, sample[first], batch);
    return;
  }
  for (int e = d + 1; e < input->rank; e++) stride *= (size_t)input->extent[e];
  const long from = lookup->at[d] >= 0 ? lookup->at[d] : 0, end = lookup->at[d] >= 0 ? from + 1 : input->extent[d];
  for (long i = from; i < end; i++) count_sample(table, lookup, input, sample, d + 1, first + (size_t)i * stride, batch);
}

// batch: its number, from 1 on; 0: what is left over fills none.
static void count_lookups(const ParccLookup *lookups, Table *const *of, int n, long sample, int *const *values, uint32_t batch) {
  for (int i = 0; i < run.model->n_inputs; i++) {
    const Source *source = data_source(SPLIT_TRAIN, i);
    source_copy(source, sample, 0, source->sample_elements, values[i]);
  }
  for (int i = 0; i < n; i++)
    count_sample(of[i], &lookups[i], &run.model->inputs[lookups[i].input], values[lookups[i].input], 1, 0, batch);
}

// ---- printing ------------------------------------------------------------------------------------------------------

static int by_count(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

static void print_frequent(const Table *table) {
  enum { SHOWN = 5 };
  size_t shown[SHOWN];
  int n = 0;
  for (size_t row = 0; row < table->rows; row++) {
    int at = n < SHOWN ? n++ : SHOWN;
    for (; at > 0 && table->count[row] > table->count[shown[at - 1]]; at--)
      if (at < SHOWN) shown[at] = shown[at - 1];
    if (at < SHOWN) shown[at] = row;
  }
  printf("# most often:");
  for (int i = 0; i < n && table->count[shown[i]] > 0; i++)
    printf("%s row %zu (%.3g %%)", i > 0 ? "," : "", shown[i], 100. * (double)table->count[shown[i]] / (double)table->places);
  printf("\n");
}

// Rows that are looked up equally often, or, of frequent ones, within a sixteenth.
static void print_classes(const Table *table) {
  qsort(table->count, table->rows, sizeof *table->count, by_count);
  for (size_t i = 0; i < table->rows && table->count[i] > 0;) {
    const uint64_t most = table->count[i], least = most - most / 16;
    uint64_t places = 0;
    size_t rows = 0;
    for (; i < table->rows && table->count[i] >= least && table->count[i] > 0; i++, rows++) places += table->count[i];
    printf("%zu rows %llu places\n", rows, (unsigned long long)places);
  }
}

static void print_table(const Table *table, double batches) {
  printf("\ntable %s %zu rows\n", table->name, table->rows);
  printf("# %llu places, %llu of them outside of the table\n", (unsigned long long)table->places, (unsigned long long)table->outside);
  if (batches > 0)
    printf("# a batch: %.6g places in %.6g rows, %.3g %% of the table\n", (double)table->in_batches / batches, (double)table->distinct / batches,
           100 * (double)table->distinct / batches / (double)table->rows);
  print_frequent(table);
  print_classes(table);
}

void parcc_data_stats(const ParccLookup *lookups, int n) {
  const long samples = data_samples(SPLIT_TRAIN), batches = samples / run.model->batch;
  if (parcc.rank != 0) return;
  if (strcmp(run.options.data, "synthetic") == 0) fail_alone(FAIL_MISUSE, "numbers made up tell nothing about data: give --data DIR");
  tables = allocate((size_t)n, sizeof *tables);
  Table **of = allocate((size_t)n, sizeof *of); // by lookup
  int **values = allocate((size_t)run.model->n_inputs, sizeof *values);
  for (int i = 0; i < n; i++) of[i] = table_of(&lookups[i]);
  for (int i = 0; i < run.model->n_inputs; i++) values[i] = allocate(data_source(SPLIT_TRAIN, i)->sample_elements, sizeof **values);
  for (long i = 0; i < samples; i++) {
    const long batch = i / run.model->batch;
    watch_moved();
    count_lookups(lookups, of, n, order_sample(parcc.seed, 0, samples, i), values, batch < batches ? (uint32_t)batch + 1 : 0);
  }
  printf("data-stats 1\n# %ld samples of %s, in batches of %ld\n", samples, run.options.data, run.model->batch);
  for (int t = 0; t < n_tables; t++) print_table(&tables[t], (double)batches);
  if (fflush(stdout) != 0) fail_alone(FAIL_RUN, "cannot write the counts to standard output");
  for (int i = 0; i < run.model->n_inputs; i++) free(values[i]);
  for (int t = 0; t < n_tables; t++) {
    free(tables[t].count);
    free(tables[t].touched);
  }
  free(values);
  free(of);
  free(tables);
}
