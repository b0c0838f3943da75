// Launches of kernels: a call is captured where the program makes it, and made later.
//
// C cannot take the arguments of a call apart, but what a call leaves in registers and on the stack it can repeat. So
// the program calls, with the kernel's own type, so that arguments are converted as for the kernel, a function here that
// reads the registers and the stack as far as arguments can reach. That rests on the calling conventions of x86-64 (System
// V) and AArch64, which put integers and pointers, and separately reals, into registers, and the rest on the stack in
// order, each in 8 bytes. Kernels take pointers, integers, float and double.
#include "check.h"

#include <string.h>

#include "fail.h"
#include "parcc.h"

#define TWO(t) t, t
#define FOUR(t) TWO(t), TWO(t)
#define EIGHT(t) FOUR(t), FOUR(t)
#define FORTY(t) EIGHT(t), EIGHT(t), EIGHT(t), EIGHT(t), EIGHT(t)
#if defined(__aarch64__)
enum { WORDS = 8 };
#define WORD_TYPES EIGHT(long)
#define WORD_PARAMETERS long w0, long w1, long w2, long w3, long w4, long w5, long w6, long w7
#define WORD_NAMES w0, w1, w2, w3, w4, w5, w6, w7
#define WORD_VALUES(a) a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
#elif defined(__x86_64__)
enum { WORDS = 6 };
#define WORD_TYPES FOUR(long), TWO(long)
#define WORD_PARAMETERS long w0, long w1, long w2, long w3, long w4, long w5
#define WORD_NAMES w0, w1, w2, w3, w4, w5
#define WORD_VALUES(a) a[0], a[1], a[2], a[3], a[4], a[5]
#else
#error "the checking mode knows the calling conventions of x86-64 and AArch64"
#endif
enum { REALS = 8, STACK = 40, MAX_ARGUMENTS = STACK };
#define EIGHT_VALUES(a, i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]
#define STACK_VALUES(a)                                                                                                \
  EIGHT_VALUES(a, 0), EIGHT_VALUES(a, 8), EIGHT_VALUES(a, 16), EIGHT_VALUES(a, 24), EIGHT_VALUES(a, 32)
#define EIGHT_PARAMETERS(p) long p##0, long p##1, long p##2, long p##3, long p##4, long p##5, long p##6, long p##7
#define EIGHT_NAMES(p) p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7

typedef void AnyKernel(WORD_TYPES, EIGHT(double), FORTY(long));

typedef struct {
  ParccKernel kernel;
  char kinds[MAX_ARGUMENTS + 1];
  const char *texts; // of all arguments
  long words[WORDS];
  double reals[REALS];
  long stack[STACK];
} Call;

static Call call; // that is being captured

bool check_in_kernel;

// ---- arguments

// The value of the word that is number `word` of the pointers and integers.
static long word_value(const Call *c, int word, int on_stack) {
  return word < WORDS ? c->words[word] : c->stack[on_stack];
}

// Calls visit for every pointer argument that lies in an allocation.
static void each_pointer(const Call *c, void (*visit)(void *ctx, char *at, int argument), void *ctx) {
  int words = 0, reals = 0, on_stack = 0;
  for (int i = 0; c->kinds[i] != '\0'; i++) {
    const bool real = c->kinds[i] == 'r';
    const int place = real ? reals++ : words++;
    if (c->kinds[i] == 'p') {
      char *at = (char *)word_value(c, place, on_stack); // NOLINT: an integer of the size of a pointer
      const Allocation *a = check_find(at);
      if (a != NULL && check_inside(a, at, 1)) visit(ctx, at, i);
    }
    if (place >= (real ? REALS : WORDS)) on_stack++;
  }
}

// The text of an argument among those separated by commas.
static const char *argument_text(const char *texts, int argument, size_t *length) {
  int depth = 0;
  const char *begin = texts;
  for (const char *p = texts;; p++) {
    if (*p == '(' || *p == '[') depth++;
    if (*p == ')' || *p == ']') depth--;
    if (*p != '\0' && (*p != ',' || depth > 0)) continue;
    if (argument-- == 0 || *p == '\0') {
      *length = (size_t)(p - begin);
      return begin;
    }
    begin = p + 1 + (p[1] == ' ');
  }
}

// Names are learnt when the call is captured, and again when it is made: other tensors may have the same place.
static void learn_name(void *ctx, char *at, int argument) {
  const Call *c = ctx;
  size_t length;
  const char *text = argument_text(c->texts, argument, &length);
  check_learn_name(at, text, length);
}

// ---- running

static void call_kernel(const Call *c) {
  ((AnyKernel *)c->kernel)(WORD_VALUES(c->words), EIGHT_VALUES(c->reals, 0), STACK_VALUES(c->stack));
}

static void run_kernel(void *args) {
  each_pointer(args, learn_name, args);
  check_in_kernel = true;
  call_kernel(args);
  check_in_kernel = false;
}

// ---- capturing

static const char *call_name;
static cudaStream_t call_stream;

static void capture(WORD_PARAMETERS, double r0, double r1, double r2, double r3, double r4, double r5, double r6,
                    double r7, EIGHT_PARAMETERS(a), EIGHT_PARAMETERS(b), EIGHT_PARAMETERS(c), EIGHT_PARAMETERS(d),
                    EIGHT_PARAMETERS(e)) {
  const long words[WORDS] = {WORD_NAMES};
  const double reals[REALS] = {EIGHT_NAMES(r)};
  const long stack[STACK] = {EIGHT_NAMES(a), EIGHT_NAMES(b), EIGHT_NAMES(c), EIGHT_NAMES(d), EIGHT_NAMES(e)};
  memcpy(call.words, words, sizeof words);
  memcpy(call.reals, reals, sizeof reals);
  memcpy(call.stack, stack, sizeof stack);
  each_pointer(&call, learn_name, &call);
  check_queue(call_stream, call_name, run_kernel, &call, sizeof call);
}

ParccKernel parcc_check_launch(cudaStream_t stream, ParccKernel kernel, const char *name, const char *texts, const char *kinds) {
  if (strlen(kinds) > STACK) fail_alone(FAIL_INTERNAL, "checking mode: %s has more than %d arguments", name, STACK);
  call.kernel = kernel;
  call.texts = texts;
  call_name = name;
  call_stream = stream;
  memset(call.kinds, 0, sizeof call.kinds);
  memcpy(call.kinds, kinds, strlen(kinds));
  return (ParccKernel)capture;
}

// ---- lifetimes

static void run_lifetime_end(void *args) {
  const ParccRange *range = args;
  check_poison(range->at, range->bytes);
}

void parcc_check_lifetime_end(const ParccRange *ranges, size_t n, const char *text) {
  for (size_t i = 0; i < n; i++) {
    text = strchr(text, '{') + 1;
    if (ranges[i].bytes == 0) continue;
    Item *item = check_queue(parcc.compute, "LIFETIME_END", run_lifetime_end, &ranges[i], sizeof ranges[i]);
    check_writes(item, ranges[i].at, ranges[i].bytes);
    check_learn_name(ranges[i].at, text, strcspn(text, ","));
  }
}
