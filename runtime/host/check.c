// The switch of the checking mode, its settings, and how its messages name things.
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "options.h"
#include "parcc.h"

int parcc_checking;
extern const char parcc_built_for_check __attribute__((weak)); // in the program, where parcc-cc --check built it

static unsigned long long seed = 1;
static double timeout = 60;
static bool seeded;
static uint64_t state;

static _Noreturn void misuse(const char *name, const char *value, const char *wanted) {
  fprintf(stderr, "parcc: %s=%s: %s\n", name, value, wanted);
  exit(FAIL_MISUSE);
}

// Before main: the first stream that is created must already know.
__attribute__((constructor)) static void read_settings(void) {
  const char *value = getenv("PARCC_HOST_CHECK");
  if (value == NULL || *value == '\0' || (*value == '0' && value[1] == '\0')) return;
  if (*value != '1' || value[1] != '\0') misuse("PARCC_HOST_CHECK", value, "0 or 1");
  if (&parcc_built_for_check == NULL)
    misuse("PARCC_HOST_CHECK", value, "this program was not built by parcc-cc --check");
  parcc_checking = 1;
  if ((value = getenv("PARCC_HOST_SEED")) != NULL) {
    if (!options_read_count(value, ~0ull, &seed)) misuse("PARCC_HOST_SEED", value, "a whole number");
  }
  if ((value = getenv("PARCC_HOST_TIMEOUT")) != NULL) {
    if (!options_read_real(value, &timeout) || timeout == 0) misuse("PARCC_HOST_TIMEOUT", value, "seconds, more than 0");
  }
}

double check_timeout(void) { return timeout; }

// splitmix64. The ranks draw different numbers, which is one more order that a program must stand.
unsigned check_random(void) {
  if (!seeded) {
    state = seed * 0x9E3779B97F4A7C15u + (uint64_t)parcc.rank * 0xD1B54A32D192ED03u;
    seeded = true;
  }
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (unsigned)((z ^ z >> 31) >> 32);
}

const char *check_text(const Work *work) {
  static char texts[4][300];
  static int next;
  char *text = texts[next++ % 4];
  char stream[40];
  if (work->stream == CHECK_DEFAULT_STREAM) snprintf(stream, sizeof stream, "the default stream");
  else if (work->stream == check_stream_number(parcc.compute)) snprintf(stream, sizeof stream, "stream compute");
  else if (work->stream == check_stream_number(parcc.comm)) snprintf(stream, sizeof stream, "stream comm");
  else snprintf(stream, sizeof stream, "stream %d", work->stream);
  if (work->op == NULL) snprintf(text, sizeof texts[0], "%s on %s", work->what, stream);
  else snprintf(text, sizeof texts[0], "%s in %s (%s) on %s", work->what, work->op, work->where, stream);
  return text;
}
