#include "watch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "run.h"
#include "spans.h"
#include "watch_link.h"

// Seconds.
static const double beat = 1;        // between two notes
static const double silent = 3;      // so many beats without a note: the rank does not run
static const double claim_wait = 2;  // for the answer to a claim
static const double signal_wait = 2; // after a rank was told to end by a signal: somebody is ending all
static const double leave_wait = 10; // after somebody has spoken: then this rank ends by itself; by TCP at once
static const double stagger = 2;     // a rank that cannot ask speaks so much after the one before it
static const double forever = INFINITY;

// What is known of a rank.
typedef struct {
  Note last;
  double heard, moved; // when its last note came, when it last got on
  bool told, gone;     // it said that it is ending; the connection has ended
} Seen;

static struct {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool started, stopping, connected, leaving; // leaving: this rank ends in order
  double timeout, interval;
  Seen *seen; // of each rank
  bool spoken, granted, claimed;
  double leave_at;   // when to end, somebody else having spoken
  double verdict_at; // when to print the verdict
  double claim_ends; // when to print it without an answer to the claim
  char verdict[700];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void watch_moved(void) { __atomic_store_n(&parcc_place.moves, parcc_place.moves + 1, __ATOMIC_RELAXED); }

void parcc_at(const char *op, const char *where, cudaStream_t stream) {
  __atomic_store_n(&parcc_place.op, op, __ATOMIC_RELAXED);
  __atomic_store_n(&parcc_place.where, where, __ATOMIC_RELAXED);
  watch_moved();
  spans_open(op, where, stream);
}

void watch_step(void) { __atomic_store_n(&parcc_place.moves, 0, __ATOMIC_RELAXED); }

// ---- where this rank is

static Note here(NoteKind kind) {
  const char *op = __atomic_load_n(&parcc_place.op, __ATOMIC_RELAXED);
  const char *where = __atomic_load_n(&parcc_place.where, __ATOMIC_RELAXED);
  Note note = {.kind = (int)kind, .rank = parcc.rank};
  note.step = __atomic_load_n(&parcc.step, __ATOMIC_RELAXED);
  note.moves = __atomic_load_n(&parcc_place.moves, __ATOMIC_RELAXED);
  snprintf(note.op, sizeof note.op, "%s", op == NULL ? "start-up" : op);
  snprintf(note.where, sizeof note.where, "%s", where == NULL ? "" : where);
  return note;
}

// "in dense1 (mlp.dnn:5), step 7"
static const char *place(const Note *note, char *text, size_t size) {
  if (note->op[0] == '\0') snprintf(text, size, "in start-up");
  else if (note->where[0] == '\0') snprintf(text, size, "in %s", note->op);
  else snprintf(text, size, "in %s (%s), step %ld", note->op, note->where, note->step + 1);
  return text;
}

static void look(int rank, const Note *note, double now) {
  Seen *seen = &state.seen[rank];
  const bool moved = note->step != seen->last.step || note->moves != seen->last.moves;
  if (moved || seen->heard == 0) seen->moved = now;
  seen->heard = now;
  seen->last = *note;
}

// ---- speaking

static void tell(NoteKind kind) { // rank 0 tells all, any other rank 0
  const Note note = here(kind);
  if (!state.connected) return;
  for (int r = 0; r < (parcc.rank == 0 ? parcc.ranks : 1); r++) link_send(r, &note);
}

static void somebody_spoke(double now) {
  state.spoken = true;
  state.verdict_at = state.claim_ends = forever;
  if (state.leave_at == forever) state.leave_at = now + (world_is_tcp() ? 0 : leave_wait);
  pthread_cond_broadcast(&state.changed);
}

static bool has_left(int rank) { return state.seen[rank].gone || state.seen[rank].last.kind == NOTE_GOODBYE; }

static bool can_ask(void) { return state.connected && parcc.rank != 0 && !has_left(0); }

// From the thread, which holds the lock.
static _Noreturn void announce(void) {
  state.spoken = true;
  if (parcc.rank == 0) tell(NOTE_SPOKEN);
  fail_from_watch(state.verdict);
}

static void judge(double at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void judge(double at, const char *format, ...) {
  if (state.spoken || at >= state.verdict_at) return;
  va_list args;
  va_start(args, format);
  vsnprintf(state.verdict, sizeof state.verdict, format, args);
  va_end(args);
  state.verdict_at = at;
}

static void speak_when_due(double now) {
  if (state.spoken || now < state.verdict_at) return;
  if (!can_ask() || state.granted || now >= state.claim_ends) announce();
  if (!state.claimed) {
    state.claimed = true;
    state.claim_ends = now + claim_wait;
    tell(NOTE_CLAIM);
  }
}

bool watch_claim(void) {
  if (!state.started) return true;
  pthread_mutex_lock(&state.lock);
  bool mine = !state.spoken;
  if (mine && can_ask()) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)claim_wait;
    tell(NOTE_CLAIM);
    while (!state.granted && !state.spoken && pthread_cond_timedwait(&state.changed, &state.lock, &end) == 0) {}
    mine = !state.spoken;
  }
  if (mine) {
    state.spoken = true;
    if (parcc.rank == 0) tell(NOTE_SPOKEN);
  }
  pthread_mutex_unlock(&state.lock);
  return mine;
}

bool watch_hears(void) {
  const double until = clock_seconds() + signal_wait + stagger * parcc.rank + 2 * beat;
  bool heard = world_told();
  while (!heard && state.connected && clock_seconds() < until) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    pthread_mutex_lock(&state.lock); // the thread of this rank keeps it while it speaks
    heard = state.spoken || world_told();
    pthread_mutex_unlock(&state.lock);
  }
  return heard;
}

// ---- notes

// A rank may lose its connection without having said why: it died.
static void lost(int rank, double now) {
  char text[200];
  Seen *seen = &state.seen[rank];
  seen->gone = true;
  if (state.leaving || seen->last.kind == NOTE_GOODBYE) return;
  // The ranks that lose rank 0 cannot ask who is to speak.
  const double turn = parcc.rank == 0 ? 0 : stagger * (parcc.rank - 1);
  judge(now + turn + (seen->told ? signal_wait : 0), "%s %s, last seen %s", world_name(rank),
        seen->told ? "was ended by a signal" : "has died", place(&seen->last, text, sizeof text));
}

static void answer_claim(int rank, double now) {
  const Note grant = here(NOTE_GRANT), spoken = here(NOTE_SPOKEN);
  if (state.spoken) {
    link_send(rank, &spoken);
    return;
  }
  for (int r = 1; r < parcc.ranks; r++) link_send(r, r == rank ? &grant : &spoken);
  somebody_spoke(now);
}

static void receive(int rank, const Note *note) {
  const double now = clock_seconds();
  if (note == NULL) {
    lost(rank, now);
    return;
  }
  switch ((NoteKind)note->kind) {
  case NOTE_HELLO: break;
  case NOTE_CLAIM: answer_claim(rank, now); break;
  case NOTE_GRANT:
    state.granted = true;
    pthread_cond_broadcast(&state.changed);
    break;
  case NOTE_SPOKEN: somebody_spoke(now); break;
  case NOTE_SIGNAL: state.seen[rank].told = true; break;
  case NOTE_BEAT:
  case NOTE_GOODBYE: look(rank, note, now); break;
  }
}

// ---- judging

// Rank 0, of those that are connected, and itself.
static void judge_all(double now) {
  char text[200], other[200];
  int last = parcc.rank, first = parcc.rank;
  double moved = 0, limit = silent * state.interval;
  for (int r = 0; r < parcc.ranks; r++) {
    const Seen *seen = &state.seen[r];
    if (r != parcc.rank && (!link_connected(r) || has_left(r))) continue;
    if (seen->moved > moved) moved = seen->moved;
    const Note *a = &seen->last, *b = &state.seen[last].last, *c = &state.seen[first].last;
    if (a->step < b->step || (a->step == b->step && a->moves < b->moves)) last = r;
    if (a->step > c->step || (a->step == c->step && a->moves > c->moves)) first = r;
  }
  const bool stuck = now - moved > state.timeout;
  for (int r = 0; r < parcc.ranks; r++) {
    const double since = now - state.seen[r].heard;
    if (r == parcc.rank || !link_connected(r) || has_left(r)) continue;
    if (since > state.timeout || (stuck && since > limit))
      judge(now, "%s has not answered for %.0f s, last seen %s", world_name(r), since,
            place(&state.seen[r].last, text, sizeof text));
  }
  if (!stuck) return;
  place(&state.seen[last].last, text, sizeof text);
  if (last == first) judge(now, "no rank has got on for %.0f s (--timeout): all are %s", now - moved, text);
  else
    judge(now, "no rank has got on for %.0f s (--timeout): %s is behind, %s; %s is %s", now - moved,
          world_name(last), text, world_name(first), place(&state.seen[first].last, other, sizeof other));
}

// A rank other than 0: whether rank 0 answers.
static void judge_first(double now) {
  char text[200];
  const double since = now - state.seen[0].heard, turn = stagger * parcc.rank;
  if (since > state.timeout + turn)
    judge(now, "%s has not answered for %.0f s, last seen %s", world_name(0), since,
          place(&state.seen[0].last, text, sizeof text));
}

static void judge_alone(double now) {
  char text[200];
  const Seen *seen = &state.seen[parcc.rank];
  if (now - seen->moved > state.timeout + stagger * parcc.rank)
    judge(now, "%s has not got on for %.0f s (--timeout): it is %s", world_name(parcc.rank), now - seen->moved,
          place(&seen->last, text, sizeof text));
}

static void judge_communication(double now) {
  char text[200];
  const char *reason = device_communication_error();
  if (reason == NULL) return;
  const Note note = here(NOTE_BEAT);
  judge(now, "%s: %s: communication failed: %s", world_name(parcc.rank), place(&note, text, sizeof text), reason);
}

static void judge_ranks(double now) {
  if (!state.leaving) judge_communication(now);
  if (state.timeout <= 0) return;
  if (state.connected && !state.leaving && parcc.rank == 0) judge_all(now);
  else if (can_ask() && !state.leaving) judge_first(now);
  else judge_alone(now);
}

// A process that was stopped and goes on has not seen what happened meanwhile: that time does not count.
static void forgive(double seconds) {
  for (int r = 0; r < parcc.ranks; r++) {
    state.seen[r].heard += seconds;
    state.seen[r].moved += seconds;
  }
}

// ---- the thread

static void wait_a_beat(void) {
  if (state.connected) {
    pthread_mutex_unlock(&state.lock);
    link_wait(state.interval);
    pthread_mutex_lock(&state.lock);
    link_receive(receive);
    return;
  }
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += (long)(state.interval * 1e9);
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&state.changed, &state.lock, &end);
}

static void *watch(void *unused) {
  (void)unused;
  double told = 0, before = clock_seconds();
  pthread_mutex_lock(&state.lock);
  while (!state.stopping) {
    const double now = clock_seconds();
    if (now - before > 5 * state.interval) forgive(now - before);
    before = now;
    if (now - told >= 0.9 * state.interval) {
      const Note note = here(NOTE_BEAT);
      look(parcc.rank, &note, now);
      if (!state.leaving) tell(NOTE_BEAT);
      judge_ranks(now);
      told = now;
    }
    if (!state.spoken && !state.leaving && world_told()) somebody_spoke(now);
    speak_when_due(now);
    if (now > state.leave_at) _exit(FAIL_RUN);
    wait_a_beat();
  }
  pthread_mutex_unlock(&state.lock);
  return NULL;
}

// Whoever is told to end by a signal says so, as its connection will end.
static void on_signal(int number) {
  static Note note = {.kind = NOTE_SIGNAL, .op = "", .where = ""};
  note.rank = parcc.rank;
  for (int r = 0; state.connected && r < (parcc.rank == 0 ? parcc.ranks : 1); r++) link_send(r, &note);
  raise(number); // the handler is reset: this ends the process
}

static void catch_signals(void) {
  const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
  const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
  }
}

void watch_start(double timeout) {
  pthread_condattr_t monotonic;
  sigset_t all, before;
  state.timeout = timeout;
  state.interval = timeout > 0 && timeout / 5 < beat ? timeout / 5 : beat;
  state.leave_at = state.verdict_at = state.claim_ends = forever;
  state.seen = calloc((size_t)parcc.ranks, sizeof *state.seen);
  bool right = state.seen != NULL && pthread_condattr_init(&monotonic) == 0 &&
               pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
               pthread_cond_init(&state.changed, &monotonic) == 0;
  sigfillset(&all); // signals are for the main thread
  pthread_sigmask(SIG_BLOCK, &all, &before);
  right = right && pthread_create(&state.thread, NULL, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!right) fail_alone(FAIL_RUN, "cannot start a thread");
  state.started = true;
}

void watch_connect(void) {
  if (parcc.ranks == 1) return;
  const bool connected = link_open();
  pthread_mutex_lock(&state.lock);
  const double now = clock_seconds();
  for (int r = 0; r < parcc.ranks; r++) state.seen[r].heard = state.seen[r].moved = now;
  state.connected = connected;
  pthread_cond_broadcast(&state.changed);
  pthread_mutex_unlock(&state.lock);
  catch_signals();
}

void watch_goodbye(void) {
  if (!state.started) return;
  pthread_mutex_lock(&state.lock);
  state.leaving = true;
  tell(NOTE_GOODBYE);
  pthread_mutex_unlock(&state.lock);
}

void watch_stop(void) {
  if (!state.started) return;
  pthread_mutex_lock(&state.lock);
  state.stopping = true;
  pthread_cond_broadcast(&state.changed);
  pthread_mutex_unlock(&state.lock);
  link_wake();
  if (pthread_join(state.thread, NULL) != 0) fail_alone(FAIL_INTERNAL, "a thread does not end");
  state.started = state.connected = false;
  link_close();
  free(state.seen);
}
