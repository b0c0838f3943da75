#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

typedef enum { FLAG, TEXT, COUNT, SEED } Kind;

typedef struct {
  const char *name;
  Kind kind;
  const char *argument; // how the help calls it
  const char *help;
  void *value;
} Option;

static bool read_number(const char *text, unsigned long long most, unsigned long long *value) {
  if (*text < '0' || *text > '9') return false; // strtoull takes signs and blanks
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0 && *value <= most;
}

static bool set_option(const Option *option, const char *text, Fault *fault) {
  unsigned long long number;
  switch (option->kind) {
  case FLAG: *(bool *)option->value = true; return true;
  case TEXT:
    if (*text == '\0') return fault_set(fault, FAIL_MISUSE, "--%s wants a %s", option->name, option->argument);
    *(const char **)option->value = text;
    return true;
  case COUNT:
    if (!read_number(text, 1ull << 53, &number))
      return fault_set(fault, FAIL_MISUSE, "--%s wants a number from 0 to 2^53, not '%s'", option->name, text);
    *(long *)option->value = (long)number;
    return true;
  case SEED:
    if (!read_number(text, ~0ull, &number))
      return fault_set(fault, FAIL_MISUSE, "--%s wants a number from 0 to 2^64 - 1, not '%s'", option->name, text);
    *(unsigned long long *)option->value = number;
    return true;
  }
  return false;
}

enum { N_OPTIONS = 11 };

static void make_table(Options *o, Option table[N_OPTIONS]) {
  const Option rows[N_OPTIONS] = {
      {"data", TEXT, "DIR|synthetic", "directory of the data files, or numbers made up", &o->data},
      {"steps", COUNT, "N", "train for N steps", &o->steps},
      {"epochs", COUNT, "N", "train for N passes over the data", &o->epochs},
      {"seed", SEED, "S", "of parameters, sample order and dropout (default 1)", &o->seed},
      {"eval", FLAG, NULL, "afterwards, loss and metrics on the test split", &o->eval},
      {"log", TEXT, "FILE", "write one JSON line a step", &o->log},
      {"save", TEXT, "FILE", "write parameters and state at the end (safetensors)", &o->save},
      {"load", TEXT, "FILE", "begin with the parameters, and state if any, of FILE", &o->load},
      {"quiet", FLAG, NULL, "no progress", &o->quiet},
      {"help", FLAG, NULL, "print this", &o->help},
      {"version", FLAG, NULL, "print the version", &o->version},
  };
  memcpy(table, rows, sizeof rows);
}

bool options_parse(int argc, char **argv, Options *options, Fault *fault) {
  *options = (Options){.steps = -1, .epochs = -1, .seed = 1};
  Option table[N_OPTIONS];
  make_table(options, table);
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i], *equals = strchr(word, '=');
    if (strncmp(word, "--", 2) != 0 || word[2] == '\0')
      return fault_set(fault, FAIL_MISUSE, "unexpected argument '%s' (--help lists the options)", word);
    const size_t length = equals == NULL ? strlen(word + 2) : (size_t)(equals - word - 2);
    const Option *option = NULL;
    for (int o = 0; o < N_OPTIONS && option == NULL; o++)
      if (strlen(table[o].name) == length && strncmp(table[o].name, word + 2, length) == 0) option = &table[o];
    if (option == NULL)
      return fault_set(fault, FAIL_MISUSE, "unknown option '%.*s' (--help lists the options)", (int)length + 2, word);
    const char *value = equals == NULL ? "" : equals + 1;
    if (option->kind == FLAG && equals != NULL)
      return fault_set(fault, FAIL_MISUSE, "--%s takes no value", option->name);
    if (option->kind != FLAG && equals == NULL) {
      if (i + 1 == argc) return fault_set(fault, FAIL_MISUSE, "--%s wants a %s", option->name, option->argument);
      value = argv[++i];
    }
    if (!set_option(option, value, fault)) return false;
  }
  if (options->steps >= 0 && options->epochs >= 0)
    return fault_set(fault, FAIL_MISUSE, "give --steps or --epochs, not both");
  return true;
}

void options_print_help(const ParccModel *model) {
  Options options = {0};
  Option table[N_OPTIONS];
  make_table(&options, table);
  printf("Usage: %s%s --data DIR|synthetic [OPTION]...\n", model->ranks > 1 ? "mpiexec -n N " : "", model->name);
  printf("Trains the network of %s on %d rank%s, %ld samples a step", model->source, model->ranks,
         model->ranks == 1 ? "" : "s", model->batch);
  if (model->ranks > 1) printf(" (N must be %d)", model->ranks);
  if (model->steps > 0) printf("; %ld steps by default", model->steps);
  else if (model->epochs > 0) printf("; %ld epoch%s by default", model->epochs, model->epochs == 1 ? "" : "s");
  printf(".\n\n");
  for (int i = 0; i < N_OPTIONS; i++) {
    char head[64];
    snprintf(head, sizeof head, "--%s %s", table[i].name, table[i].argument == NULL ? "" : table[i].argument);
    printf("  %-22s %s\n", head, table[i].help);
  }
  if (model->n_inputs > 0) printf("\nThe directory of the data holds\n");
  for (int i = 0; i < model->n_inputs; i++) {
    const ParccInput *input = &model->inputs[i];
    if (input->source.kind == NULL)
      printf("  %s: no files named, the program runs on --data synthetic only\n", input->name);
    else printf("  %s: %s, %s (%s)\n", input->name, input->source.train, input->source.test, input->source.kind);
  }
  printf("\nExit status: 0 right, 1 input or run at fault, 2 misuse, 3 internal error.\n");
}
