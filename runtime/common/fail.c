#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "parcc.h"
#include "watch.h"
#include "world.h"

ParccPlace parcc_place;

static struct {
  const char *program;
  int rank, ranks;
  bool open_line;
} speaker = {"parcc", 0, 1, false};

void fail_set_speaker(const char *program, int rank, int ranks) {
  speaker.program = program;
  speaker.rank = rank;
  speaker.ranks = ranks;
}

void fail_set_open_line(bool open) { __atomic_store_n(&speaker.open_line, open, __ATOMIC_RELAXED); }

// One write, so that messages of several ranks do not mix.
static void print_message(bool with_rank, const char *text) {
  char line[3400], rank[100] = "";
  const char *clear = __atomic_load_n(&speaker.open_line, __ATOMIC_RELAXED) ? "\r\033[K" : "";
  if (with_rank) snprintf(rank, sizeof rank, "%s: ", world_name(speaker.rank));
  int length = snprintf(line, sizeof line, "%s%s: %s%s\n", clear, speaker.program, rank, text);
  if (length >= (int)sizeof line) {
    length = (int)sizeof line - 1;
    line[length - 1] = '\n';
  }
  for (ssize_t done = 0, n; done < length && (n = write(STDERR_FILENO, line + done, (size_t)(length - done))) > 0;)
    done += n;
}

// Prints, unless another rank does, and ends all ranks. One that is silent leaves the other time to print.
static _Noreturn void speak(bool with_rank, FailCode code, const char *text) {
  if (watch_claim()) print_message(with_rank, text);
  else nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
  world_abort((int)code);
}

void fail_from_watch(const char *text) {
  print_message(false, text);
  world_abort(FAIL_RUN);
}

void fail_leave(int code) {
  watch_goodbye();
  world_finish();
  watch_stop();
  exit(code);
}

bool fault_set(Fault *fault, FailCode code, const char *format, ...) {
  if (fault->code != FAIL_NONE) return false;
  fault->code = code;
  va_list args;
  va_start(args, format);
  vsnprintf(fault->text, sizeof fault->text, format, args);
  va_end(args);
  return false;
}

void fail_agree(const Fault *fault) {
  const int code = (int)fault->code;
  int *codes = malloc((size_t)speaker.ranks * sizeof *codes);
  if (codes == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(&code, codes, sizeof code);
  int first = -1, faults = 0;
  for (int r = 0; r < speaker.ranks; r++) {
    if (codes[r] == FAIL_NONE) continue;
    if (first < 0) first = r;
    faults++;
  }
  const int worst = first < 0 ? 0 : codes[first];
  free(codes);
  if (first < 0) return;
  if (first == speaker.rank) print_message(faults < speaker.ranks, fault->text);
  fail_leave(worst);
}

void fail_share(Fault *fault) {
  world_broadcast(fault, sizeof *fault, 0);
  fail_agree(fault);
}

void fail_together(FailCode code, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  // Rank 0 ends the others. Should it not have met the fault after all, the first that waited long enough speaks.
  if (speaker.rank != 0) nanosleep(&(struct timespec){.tv_sec = 5}, NULL);
  speak(speaker.rank != 0, code, text);
}

void fail_alone(FailCode code, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  speak(speaker.ranks > 1, code, text);
}

void parcc_check_failed(const char *file, int line, const char *call, const char *reason) {
  const char *base = file;
  for (const char *c = file; *c != '\0'; c++)
    if (*c == '/') base = c + 1;
  char place[300] = "";
  if (parcc_place.op != NULL)
    snprintf(place, sizeof place, "in %s (%s): ", parcc_place.op, parcc_place.where == NULL ? "?" : parcc_place.where);
  char text[1000];
  snprintf(text, sizeof text, "%s%s:%d: %s: %s", place, base, line, call, reason);
  speak(true, FAIL_RUN, text);
}
