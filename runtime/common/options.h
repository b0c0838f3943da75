// The command line of an emitted program.
#ifndef PARCC_OPTIONS_H
#define PARCC_OPTIONS_H

#include <stdbool.h>

#include "fail.h"
#include "parcc.h"

typedef struct {
  const char *data, *log, *trace, *save, *load, *init, *sample; // NULL: not given
  long steps, epochs, save_every, profile_steps;        // -1: not given
  long tokens;
  double temperature;
  long timeout;                                // seconds; 0: none
  unsigned long long seed;
  bool has_seed; // whether it was given
  bool eval, quiet, help, version;
} Options;

// Whether text is generated from what is loaded, and nothing else done: --sample with --load or --init and without --steps,
// --epochs and --eval.
bool options_only_sample(const Options *options);

// Whether --save names one file, and not a directory of checkpoints.
bool options_save_is_file(const Options *options);

// The name and the value of option number i, as far as it must be the same on all ranks. False: there is no such option.
bool options_describe(const Options *options, int i, char *name, size_t name_size, char *value, size_t value_size);

// A whole number from 0 to `most`, and a number of at least 0: digits as people write them. False: it is none.
bool options_read_count(const char *text, unsigned long long most, unsigned long long *value);
bool options_read_real(const char *text, double *value);

// argv must outlive the result.
bool options_parse(int argc, char **argv, Options *options, Fault *fault);
void options_print_help(const ParccModel *model);

#endif
