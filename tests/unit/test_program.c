// What the verifier says of programs that are wrong: places, order between streams, order between ranks.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../ir/program.h"
#include "check.h"

// The tensors of a small program: y = x; g = y; all_reduce g; w = g.
enum { W, X, Y, G, N_TENSORS };

typedef struct Fixture {
  Program program;
  Model model;
} Fixture;

static Step *new_step(Fixture *f, ProcedureKind kind, StepKind step_kind, const char *name) {
  Step *step = NEW(f->program.arena, Step);
  *step = (Step){.kind = step_kind, .layer = "dense1", .name = name, .loc = {.file = "m.dnn", .line = 3}};
  memset(step->pin, -1, sizeof step->pin);
  vec_push(f->program.arena, &f->program.procedure[kind].steps, step);
  return step;
}

static Step *add_copy(Fixture *f, ProcedureKind kind, const char *name, int src, int dst) {
  Step *step = new_step(f, kind, STEP_COPY, name);
  step->copy.src = src;
  step->copy.dst = dst;
  return step;
}

static Step *add_all_reduce(Fixture *f, ProcedureKind kind, int tensor) {
  Step *step = new_step(f, kind, STEP_COLLECTIVE, "all_reduce");
  *(step->collective = NEW(f->program.arena, Collective)) = (Collective){
      .kind = RESHARD_all_reduce, .axes = 1, .tensor = tensor, .dst = tensor, .reduce = REDUCE_SUM, .stage = -1};
  static const Layout partial = {.axis[0] = {.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM}};
  step->collective->from = &partial;
  step->collective->to = &layout_replicated;
  return step;
}

static Step *add_sync(Fixture *f, ProcedureKind kind, StepKind step_kind, int event, Stream stream) {
  Step *step = new_step(f, kind, step_kind, step_kind == STEP_RECORD ? "record" : "wait");
  step->sync.event = event;
  step->sync.stream = stream;
  return step;
}

static void add_tensor(Fixture *f, const char *name, int64_t offset, bool persistent) {
  Program *p = &f->program;
  const int buffer = p->buffers.len;
  vec_push(p->arena, &p->buffers,
           (Buffer){.bytes = 256, .persistent = persistent, .offset = offset, .first = 0, .last = 1000});
  vec_push(p->arena, &p->tensors, (ProgTensor){.name = name, .c_name = name, .buffer = buffer, .bytes = 256, .steps = 1});
}

// A wait that is left out.
enum Left { NOTHING, COMM_WAIT, COMPUTE_WAIT };

static Fixture *right_program(enum Left left) {
  Arena *arena = arena_new();
  Fixture *f = NEW(arena, Fixture);
  f->model = (Model){.name = "m", .source = "m.dnn"};
  f->program = (Program){.arena = arena,
                         .model = &f->model,
                         .n_events = 2,
                         .gradient_norm = -1,
                         .arena_bytes = 2048,
                         .microbatches = 1,
                         .mesh = {.n_axes = 2, .axis = {{"gpu", 2}, {"batch", 1}}}};
  add_tensor(f, "w", 0, true);
  add_tensor(f, "x", 256, false);
  add_tensor(f, "y", 512, false);
  add_tensor(f, "g", 768, false);
  vec_push(arena, &f->program.inputs, (ProgInput){0, X, -1, -1});
  new_step(f, PROC_INIT, STEP_ZERO, "init")->zero = W;
  add_copy(f, PROC_FORWARD, "forth", X, Y);
  add_copy(f, PROC_BACKWARD, "back", Y, G);
  add_sync(f, PROC_BACKWARD, STEP_RECORD, 0, STREAM_COMPUTE);
  if (left != COMM_WAIT) add_sync(f, PROC_BACKWARD, STEP_WAIT, 0, STREAM_COMM);
  add_all_reduce(f, PROC_BACKWARD, G);
  add_sync(f, PROC_BACKWARD, STEP_RECORD, 1, STREAM_COMM);
  if (left != COMPUTE_WAIT) add_sync(f, PROC_UPDATE, STEP_WAIT, 1, STREAM_COMPUTE);
  add_copy(f, PROC_UPDATE, "sgd", G, W);
  return f;
}

static void says(const char *fault, const char *text) {
  if (fault == NULL) fault = "nothing";
  if (!CHECK(strstr(fault, text) != NULL)) check_fail("it says: %s; instead of: %s", fault, text);
}

static void right(void) {
  Fixture *f = right_program(NOTHING);
  CHECK(program_find_disorder(&f->program) == NULL);
  CHECK(program_find_mismatch(&f->program) == NULL);
  program_verify(&f->program, "test");
  arena_free(f->program.arena);
}

static void missing_wait(void) {
  Fixture *f = right_program(COMPUTE_WAIT);
  says(program_find_disorder(&f->program),
       "dense1 all_reduce (m.dnn:3) on comm writes g, dense1 sgd (m.dnn:3) on compute reads g in "
       "the same place, and no event orders the two");
  arena_free(f->program.arena);
  f = right_program(COMM_WAIT);
  says(program_find_disorder(&f->program),
       "dense1 back (m.dnn:3) on compute writes g, dense1 all_reduce (m.dnn:3) on comm writes g");
  arena_free(f->program.arena);
}

// The place of an operand of a collective is taken before the collective is done.
static void reused_early(void) {
  Fixture *f = right_program(NOTHING);
  add_tensor(f, "z", 768, false);
  add_copy(f, PROC_BACKWARD, "more", Y, N_TENSORS);
  says(program_find_disorder(&f->program),
       "dense1 all_reduce (m.dnn:3) on comm writes g, dense1 more (m.dnn:3) on compute writes z");
  arena_free(f->program.arena);
}

static void overlapping(void) {
  Fixture *f = right_program(NOTHING);
  add_tensor(f, "z", 256 + 64, false); // into x and y
  add_copy(f, PROC_FORWARD, "more", X, N_TENSORS);
  says(program_find_disorder(&f->program),
       "dense1 back (m.dnn:3) on compute reads y, over which dense1 more (m.dnn:3) on compute has put z");
  arena_free(f->program.arena);
}

static void ended_early(void) {
  Fixture *f = right_program(NOTHING);
  Step *end = new_step(f, PROC_FORWARD, STEP_END, "end");
  vec_push(f->program.arena, &end->ended, Y);
  says(program_find_disorder(&f->program), "dense1 back (m.dnn:3) on compute reads y, over which dense1 end (m.dnn:3)");
  arena_free(f->program.arena);
}

// In the second microbatch, what was made before the first one is not there any more.
static void gone_before_next_microbatch(void) {
  Fixture *f = right_program(NOTHING);
  add_tensor(f, "count", 1024, false);
  add_tensor(f, "z", 1024, false);
  f->program.starts[PROC_FORWARD] = 1;
  f->program.microbatches = 2;
  add_sync(f, PROC_BACKWARD, STEP_WAIT, 1, STREAM_COMPUTE); // nothing is in flight where the loop ends
  add_copy(f, PROC_BEGIN, "count", W, N_TENSORS);
  add_copy(f, PROC_FORWARD, "mean", N_TENSORS, Y);
  add_copy(f, PROC_UPDATE, "more", W, N_TENSORS + 1);
  says(program_find_disorder(&f->program), "nothing");
  add_copy(f, PROC_BACKWARD, "more", W, N_TENSORS + 1);
  says(program_find_disorder(&f->program),
       "dense1 mean (m.dnn:3) on compute reads count, over which dense1 more (m.dnn:3) on compute has put z");
  arena_free(f->program.arena);
}

// What only some steps compute is nothing that every step may use.
static void only_reported(void) {
  Fixture *f = right_program(NOTHING);
  add_tensor(f, "z", 1024, false);
  add_copy(f, PROC_REPORT, "norm", Y, N_TENSORS);
  add_copy(f, PROC_UPDATE, "sgd", N_TENSORS, W);
  says(program_find_disorder(&f->program), "dense1 sgd (m.dnn:3) on compute reads z");
  arena_free(f->program.arena);
}

static void unwritten(void) {
  Fixture *f = right_program(NOTHING);
  add_tensor(f, "z", 1024, false);
  add_copy(f, PROC_FORWARD, "more", N_TENSORS, Y);
  says(program_find_disorder(&f->program), "dense1 more (m.dnn:3) on compute reads z, which nothing has written");
  arena_free(f->program.arena);
}

static void swapped(void) {
  Fixture *f = right_program(NOTHING);
  add_all_reduce(f, PROC_REPORT, Y)->pin[0] = 0;
  add_all_reduce(f, PROC_REPORT, X);
  add_all_reduce(f, PROC_REPORT, Y)->pin[0] = 1;
  says(program_find_mismatch(&f->program),
       "in report, rank 1 comes to all_reduce of x (m.dnn:3) where rank 0 comes to all_reduce of y (m.dnn:3)");
  arena_free(f->program.arena);
}

static void skipped(void) {
  Fixture *f = right_program(NOTHING);
  add_all_reduce(f, PROC_REPORT, Y)->pin[0] = 0;
  says(program_find_mismatch(&f->program),
       "in report, rank 1 comes to nothing where rank 0 comes to all_reduce of y (m.dnn:3)");
  arena_free(f->program.arena);
}

// A whole communicator may leave a collective out: here the ranks along the other axis.
static void left_out_together(void) {
  Fixture *f = right_program(NOTHING);
  f->program.mesh = (Mesh){.n_axes = 3, .axis = {{"gpu", 2}, {"node", 2}, {"batch", 1}}};
  add_all_reduce(f, PROC_REPORT, Y)->pin[1] = 1;
  CHECK(program_find_mismatch(&f->program) == NULL);
  arena_free(f->program.arena);
}

// The verifier ends the compiler with code 3 and one message.
static void ends(Fixture *f, const char *text) {
  static const Arena *kept; // where leaks are looked for; arenas are not looked into
  kept = f->program.arena;
  int ends_of_pipe[2];
  if (kept == NULL || pipe(ends_of_pipe) != 0) return check_fail("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends_of_pipe[1], 2);
    program_verify(&f->program, "plan-memory");
    _exit(0);
  }
  close(ends_of_pipe[1]);
  char message[1000] = "";
  size_t length = 0;
  for (ssize_t n;
       length + 1 < sizeof message && (n = read(ends_of_pipe[0], message + length, sizeof message - 1 - length)) > 0;)
    length += (size_t)n;
  close(ends_of_pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  says(message, text);
  arena_free(f->program.arena);
}

static void fatal_faults(void) {
  Fixture *f = right_program(NOTHING);
  f->program.buffers.at[Y].offset = f->program.buffers.at[G].offset;
  ends(f, "after pass plan-memory: y and g live at the same time in the same place");
  ends(right_program(COMPUTE_WAIT), "after pass plan-memory: dense1 all_reduce (m.dnn:3) on comm writes g");
  f = right_program(NOTHING);
  add_all_reduce(f, PROC_REPORT, Y)->pin[0] = 0;
  ends(f, "after pass plan-memory: collectives differ between ranks: in report, rank 1 comes to nothing");
}

CHECKS(TEST(right), TEST(missing_wait), TEST(reused_early), TEST(overlapping), TEST(ended_early), TEST(only_reported),
       TEST(gone_before_next_microbatch), TEST(unwritten), TEST(swapped), TEST(skipped), TEST(left_out_together), TEST(fatal_faults))
