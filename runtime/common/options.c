#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "version.h"
#include "world.h"

typedef enum { FLAG, TEXT, COUNT, REAL, SEED } Kind;

// What must be the same on all ranks: the value, or only whether there is one.
typedef enum { SAME, SAME_PRESENCE } Agreement;

typedef struct {
  const char *name;
  Kind kind;
  Agreement agreement;
  const char *argument; // how the help calls it
  const char *help;
  void *value;
  bool *given; // SEED: whether it was
} Option;

bool options_read_count(const char *text, unsigned long long most, unsigned long long *value) {
  if (*text < '0' || *text > '9') return false; // strtoull takes signs and blanks
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0 && *value <= most;
}

bool options_read_real(const char *text, double *value) {
  if (strspn(text, "0123456789.eE+-") < strlen(text)) return false; // strtod takes hexadecimal numbers and blanks, too
  if (*text != '.' && (*text < '0' || *text > '9')) return false;
  char *end;
  *value = strtod(text, &end);
  return *end == '\0' && isfinite(*value);
}

static bool wants_value(const Option *option, Fault *fault) {
  return fault_set(fault, FAIL_MISUSE, "--%s needs a value: --%s %s", option->name, option->name, option->argument);
}

static bool set_option(const Option *option, const char *text, Fault *fault) {
  unsigned long long number;
  switch (option->kind) {
  case FLAG: *(bool *)option->value = true; return true;
  case TEXT:
    if (*text == '\0') return wants_value(option, fault);
    *(const char **)option->value = text;
    return true;
  case COUNT:
    if (!options_read_count(text, 1ull << 53, &number))
      return fault_set(fault, FAIL_MISUSE, "--%s wants a number from 0 to 2^53, not '%s'", option->name, text);
    *(long *)option->value = (long)number;
    return true;
  case REAL:
    if (!options_read_real(text, option->value))
      return fault_set(fault, FAIL_MISUSE, "--%s wants a number of at least 0, not '%s'", option->name, text);
    return true;
  case SEED:
    if (!options_read_count(text, ~0ull, &number))
      return fault_set(fault, FAIL_MISUSE, "--%s wants a number from 0 to 2^64 - 1, not '%s'", option->name, text);
    *(unsigned long long *)option->value = number;
    *option->given = true;
    return true;
  }
  return false;
}

enum { N_OPTIONS = 20, DEFAULT_TIMEOUT = 600, DEFAULT_TOKENS = 256 };

static void make_table(Options *o, Option table[N_OPTIONS]) {
  const Option rows[N_OPTIONS] = {
      {"data", TEXT, SAME_PRESENCE, "DIR|synthetic", "directory of the data files, or numbers made up", &o->data, NULL},
      {"steps", COUNT, SAME, "N", "train up to step N", &o->steps, NULL},
      {"epochs", COUNT, SAME, "N", "train for N passes over the data", &o->epochs, NULL},
      {"seed", SEED, SAME, "S", "of parameters, sample order and dropout (default 1)", &o->seed, &o->has_seed},
      {"eval", FLAG, SAME, NULL, "afterwards, loss and metrics on the test split", &o->eval, NULL},
      {"sample", TEXT, SAME, "PROMPT",
       "afterwards, text that goes on from PROMPT, of a language model on one rank; after --load or --init without "
       "training",
       &o->sample, NULL},
      {"tokens", COUNT, SAME, "N", "how many tokens to generate (default 256)", &o->tokens, NULL},
      {"temperature", REAL, SAME, "T",
       "of generation: 0 takes the likeliest token, 1 draws as the model says (default 1)", &o->temperature, NULL},
      {"log", TEXT, SAME_PRESENCE, "FILE", "write one JSON line a step; after --load: append", &o->log, NULL},
      {"trace", TEXT, SAME_PRESENCE, "FILE.json",
       "write when each operator of two steps ran, a row for each rank and stream, for ui.perfetto.dev or chrome://tracing",
       &o->trace, NULL},
      {"profile-steps", COUNT, SAME, "N",
       "measure the operators in N steps: a profile for parcc on standard output, predicted beside measured on standard error; without "
       "--steps and --epochs no step more than that takes",
       &o->profile_steps, NULL},
      {"save", TEXT, SAME, "DIR", "write checkpoints to DIR, at the end and as --save-every says; the last two stay",
       &o->save, NULL},
      {"save", TEXT, SAME, "FILE.safetensors", "or, where the name ends so (or in .st): one file, at the end", &o->save,
       NULL},
      {"save-every", COUNT, SAME, "N", "a checkpoint after every N steps", &o->save_every, NULL},
      {"load", TEXT, SAME, "DIR",
       "go on from the newest whole checkpoint in DIR, whatever its plan and number of ranks", &o->load, NULL},
      {"init", TEXT, SAME, "FILE", "begin with the parameters and running statistics of a safetensors file", &o->init,
       NULL},
      {"timeout", COUNT, SAME, "SECONDS",
       "end the run when a rank is silent, or no rank gets on, for so long (default 600; 0: never)", &o->timeout, NULL},
      {"quiet", FLAG, SAME, NULL, "no progress", &o->quiet, NULL},
      {"help", FLAG, SAME, NULL, "print this", &o->help, NULL},
      {"version", FLAG, SAME, NULL, "print the version", &o->version, NULL},
  };
  memcpy(table, rows, sizeof rows);
}

// How many letters are changed, left out or put in to make the second word of the first.
static int letters_between(const char *a, int n, const char *b) {
  enum { LONGEST = 32 };
  const int m = (int)strlen(b);
  int row[LONGEST + 1];
  if (n > LONGEST || m > LONGEST) return LONGEST;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; i <= n; i++) {
    int before = row[0]++; // of both words without their last letters
    for (int j = 1; j <= m; j++) {
      const int above = row[j], one = (above < row[j - 1] ? above : row[j - 1]) + 1, other = before + (a[i - 1] != b[j - 1]);
      row[j] = one < other ? one : other;
      before = above;
    }
  }
  return row[m];
}

static bool is_unknown(const Option *table, const char *name, int length, Fault *fault) {
  int least = length / 3 > 1 ? length / 3 : 1; // letters that are taken for a mistake
  const char *nearest = NULL;
  for (int o = 0; o < N_OPTIONS; o++) {
    const int letters = letters_between(name, length, table[o].name);
    if (letters > least) continue;
    nearest = table[o].name;
    least = letters - 1;
  }
  if (nearest == NULL) return fault_set(fault, FAIL_MISUSE, "unknown option '--%.*s' (--help lists the options)", length, name);
  return fault_set(fault, FAIL_MISUSE, "unknown option '--%.*s'; did you mean '--%s'? (--help lists the options)", length, name, nearest);
}

bool options_parse(int argc, char **argv, Options *options, Fault *fault) {
  *options = (Options){.steps = -1,
                       .epochs = -1,
                       .save_every = -1,
                       .profile_steps = -1,
                       .timeout = DEFAULT_TIMEOUT,
                       .seed = 1,
                       .tokens = DEFAULT_TOKENS,
                       .temperature = 1};
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
    if (option == NULL) return is_unknown(table, word + 2, (int)length, fault);
    const char *value = equals == NULL ? "" : equals + 1;
    if (option->kind == FLAG && equals != NULL)
      return fault_set(fault, FAIL_MISUSE, "--%s takes no value", option->name);
    if (option->kind != FLAG && equals == NULL) {
      if (i + 1 == argc) return wants_value(option, fault);
      value = argv[++i];
    }
    if (!set_option(option, value, fault)) return false;
  }
  if (options->steps >= 0 && options->epochs >= 0)
    return fault_set(fault, FAIL_MISUSE, "give --steps or --epochs, not both");
  if (options->load != NULL && options->init != NULL)
    return fault_set(fault, FAIL_MISUSE, "give --load or --init, not both");
  if (options->profile_steps == 0) return fault_set(fault, FAIL_MISUSE, "--profile-steps wants a number from 1");
  if (options->save_every == 0) return fault_set(fault, FAIL_MISUSE, "--save-every wants a number from 1");
  if (options->save_every > 0 && (options->save == NULL || options_save_is_file(options)))
    return fault_set(fault, FAIL_MISUSE, "--save-every wants --save DIR, a directory of checkpoints");
  return true;
}

bool options_only_sample(const Options *options) {
  return options->sample != NULL && (options->load != NULL || options->init != NULL) && options->steps < 0 &&
         options->epochs < 0 && !options->eval;
}

bool options_save_is_file(const Options *options) {
  const char *const endings[] = {".safetensors", ".st"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t length = strlen(options->save), ending = strlen(endings[i]);
    if (length >= ending && strcmp(options->save + length - ending, endings[i]) == 0) return true;
  }
  return false;
}

static void print_value(const Option *option, char *value, size_t size) {
  const char *text = "not given";
  switch (option->kind) {
  case FLAG: text = *(bool *)option->value ? "given" : text; break;
  case TEXT:
    if (*(const char **)option->value != NULL)
      text = option->agreement == SAME ? *(const char **)option->value : "given";
    break;
  case COUNT:
    if (*(long *)option->value < 0) break;
    snprintf(value, size, "%ld", *(long *)option->value);
    return;
  case REAL: snprintf(value, size, "%.17g", *(double *)option->value); return;
  case SEED: snprintf(value, size, "%llu", *(unsigned long long *)option->value); return;
  }
  const size_t length = strlen(text);
  if (length < size) snprintf(value, size, "%s", text);
  else snprintf(value, size, "%016llx...%s", (unsigned long long)hash_bytes(0, text, length), text + length - size / 2);
}

bool options_describe(const Options *options, int i, char *name, size_t name_size, char *value, size_t value_size) {
  Options copy = *options;
  Option table[N_OPTIONS];
  if (i >= N_OPTIONS) return false;
  make_table(&copy, table);
  snprintf(name, name_size, "--%s", table[i].name);
  print_value(&table[i], value, value_size);
  return true;
}

static void print_files(const ParccInput *input) {
  const ParccSource *source = &input->source;
  printf("  %s: %s%s%s (%s", input->name, source->train, source->test != NULL ? ", " : "",
         source->test != NULL ? source->test : "", source->kind);
  const double held_out = source->windows != NULL ? source->windows->held_out
                          : source->lines != NULL ? source->lines->held_out
                                                  : 0;
  if (held_out > 0) printf("; the test split is the last %g of it", held_out);
  printf(")\n");
}

void options_print_help(const ParccModel *model) {
  Options options = {0};
  Option table[N_OPTIONS];
  make_table(&options, table);
  printf("Usage: ");
  if (model->ranks > 1) printf("%sN ", world_launcher());
  printf("%s --data DIR|synthetic [OPTION]...\n", model->name);
  const bool reads = model->n_inputs > 0 && model->inputs[0].source.kind != NULL;
  if (model->measures && reads) printf("Counts which rows of its tables the network of %s looks up in data, and prints that for parcc --data-stats", model->source);
  else if (model->measures) printf("Measures operators of the network of %s, and prints their times as a profile", model->source);
  else
    printf("Trains the network of %s on %d rank%s, %ld samples a step", model->source, model->ranks, model->ranks == 1 ? "" : "s",
           model->batch);
  if (model->ranks > 1) printf(" (N must be %d)", model->ranks);
  if (model->measures && reads) printf("; no steps");
  else if (model->steps > 0) printf("; %ld steps by default", model->steps);
  else if (model->epochs > 0) printf("; %ld epoch%s by default", model->epochs, model->epochs == 1 ? "" : "s");
  printf(".\n");
  if (model->measures && !reads) printf("Started on several ranks (%sN) it also measures collectives between them.\n", world_launcher());
  printf("\n");
  for (int i = 0; i < N_OPTIONS; i++) {
    char head[64];
    snprintf(head, sizeof head, "--%s %s", table[i].name, table[i].argument == NULL ? "" : table[i].argument);
    printf("  %-25s %s\n", head, table[i].help);
  }
  if (model->n_inputs > 0) printf("\nThe directory of the data holds\n");
  for (int i = 0; i < model->n_inputs; i++) {
    const ParccInput *input = &model->inputs[i];
    if (input->source.kind == NULL)
      printf("  %s: no files named, the program runs on --data synthetic only\n", input->name);
    else print_files(input);
  }
  printf("\nA rank that dies or runs another program, other options or other data ends the run at once, one that hangs "
         "within\n"
         "--timeout and a few seconds.\n");
  printf("\nExit status: 0 right, 1 input or run at fault, 2 misuse, 3 internal error.\n");
}
