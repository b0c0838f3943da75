// The command line of an emitted program.
#ifndef PARCC_OPTIONS_H
#define PARCC_OPTIONS_H

#include <stdbool.h>

#include "fail.h"
#include "parcc.h"

typedef struct {
  const char *data, *log, *save, *load; // NULL: not given
  long steps, epochs;                   // -1: not given
  unsigned long long seed;
  bool eval, quiet, help, version;
} Options;

// argv must outlive the result.
bool options_parse(int argc, char **argv, Options *options, Fault *fault);
void options_print_help(const ParccModel *model);

#endif
