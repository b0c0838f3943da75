// How a run ends early: with one message on stderr, "PROG: text" or "PROG: rank R: text", of one rank. It is one line,
// lists aside.
#ifndef PARCC_FAIL_H
#define PARCC_FAIL_H

#include <stdbool.h>

typedef enum { FAIL_NONE = 0, FAIL_RUN = 1, FAIL_MISUSE = 2, FAIL_INTERNAL = 3 } FailCode; // the exit codes

// A fault found at start-up, to be agreed on with the other ranks before anybody acts on it.
typedef struct {
  FailCode code;
  char text[3000];
} Fault;

// Notes the first fault; later ones are dropped. Returns false, so that a reader can `return fault_set(...)`.
bool fault_set(Fault *fault, FailCode code, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Collective. If any rank has a fault, the first such rank prints it (with its number, unless all ranks found one) and all
// ranks leave in order with its code. Otherwise returns.
void fail_agree(const Fault *fault);

// Collective. Makes the fault of rank 0, which alone looked at something, everybody's, then as above.
void fail_share(Fault *fault);

// A fault that every rank meets at the same place without having to ask the others: rank 0 prints, all end.
_Noreturn void fail_together(FailCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A fault of this rank alone: prints and ends all ranks.
_Noreturn void fail_alone(FailCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// For the watching thread of watch.c, which has made sure that nobody else speaks.
_Noreturn void fail_from_watch(const char *text);

// Collective. Leaves in order: the ranks agree that the run is over.
_Noreturn void fail_leave(int code);

// Says who is speaking. Before it is called, messages begin with "parcc".
void fail_set_speaker(const char *program, int rank, int ranks);

// Whether the cursor stands behind an unfinished progress line on the terminal, which a message then replaces.
void fail_set_open_line(bool open);

#endif
