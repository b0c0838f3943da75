// The checking mode of the host layer, PARCC_HOST_CHECK=1. Work is queued instead of done: kernels, cuBLAS and NCCL calls,
// copies. At every synchronisation point the queued work of all streams runs in a random order (PARCC_HOST_SEED) that
// respects only what streams and events promise. Every item says what memory it reads and writes; two accesses that
// conflict and that nothing orders are an error, in whichever order they ran. Programs are built for it, by parcc-cc
// --check: kernels then report each load and store.
//
//   check.c             switch, seed, messages
//   check_queue.c       streams, events, items, their order
//   check_memory.c      allocations, guard zones, poison
//   check_access.c      who read and wrote each word last
//   check_launch.c      kernels: capturing a call and calling later
//   check_trace.c       every load and store of kernels
//   check_offer.c       what a rank tells others about a call
//   check_collective.c  what the ranks of a communicator are at, compared before it is done
//   check_message.c     sends and receives
//
// A fault is one message of this rank, naming the operators, and the end of all ranks with exit code 1 (fail_alone).
#ifndef PARCC_HOST_CHECK_H
#define PARCC_HOST_CHECK_H

#include "cuda_runtime.h"

#include <stdbool.h>
#include <stdint.h>

// Streams that can exist at one time, the default stream included.
enum { CHECK_STREAMS = 16, CHECK_DEFAULT_STREAM = 0 };

// Items are numbered from 1 in the order of issue. Of each stream: the last item that is certain to be done before.
typedef struct {
  uint32_t at[CHECK_STREAMS];
} Clock;

// What is remembered of an item after it ran. Strings are literals of the program or of this layer.
typedef struct {
  uint32_t id;
  int stream;
  const char *what;       // "cublasSgemm", the name of a kernel
  const char *op, *where; // AT when it was issued
} Work;

// count runs of width bytes, stride bytes from one start to the next.
typedef struct {
  const char *at;
  size_t width, stride, count;
  bool written, hands_on;
} Access;

typedef struct Item Item;
struct Item {
  Item *next; // in the stream
  Work work;
  Clock before;
  bool hands_on; // communication, copies on the device: that something is undefined shows where it is used
  uint32_t turn; // communication: runs in the order of issue, this is its place in it from 1; else 0
  void (*run)(void *args);
  void *args;
  Access *accesses;
  size_t n_accesses;
};

// ---- check.c
extern int parcc_checking;   // the mode is on; also in kernel.h
unsigned check_random(void); // of the seed and the rank
double check_timeout(void);  // seconds
// TEXT of an item for messages: "k_relu in conv1 (lenet.dnn:7) on stream compute". Valid until the fourth next call.
const char *check_text(const Work *work);

// ---- check_queue.c
// Appends an item to a stream; stream NULL is the default stream. args (bytes long) are copied; run gets the copy.
Item *check_queue(cudaStream_t stream, const char *what, void (*run)(void *args), const void *args, size_t bytes);
// Says what the item reads or writes. Nothing to do where width or count is 0. Memory must be known to this layer, and
// all of the runs must lie in one allocation; only host memory that CUDA did not hand out may be unknown.
void check_access(Item *item, bool written, const void *at, size_t width, size_t stride, size_t count);
static inline void check_reads(Item *item, const void *at, size_t bytes) { check_access(item, false, at, bytes, 0, 1); }
static inline void check_writes(Item *item, void *at, size_t bytes) { check_access(item, true, at, bytes, 0, 1); }
void check_take_turn(Item *item);             // the item communicates
void check_drain(void);                       // runs all that is queued
int check_stream_number(cudaStream_t stream); // in cuda_runtime.c
int check_add_stream(unsigned flags);         // its number, or -1 if there are too many
void check_remove_stream(int stream);
Clock check_stream_clock(int stream); // what precedes an event recorded there now
void check_stream_wait(int stream, const Clock *clock);
void check_host_wait(const Clock *clock); // the host knows that all of this is done
bool check_is_before(const Work *work, const Clock *clock);
const Work *check_running(void);          // the item that runs, NULL: none
const Work *check_find_work(uint32_t id); // NULL: long ago
const Clock *check_running_clock(void);

// ---- check_memory.c
enum { CHECK_GRAIN = 4, CHECK_ALIGNMENT = 256 }; // bytes: of a shadow word; of a buffer in an arena
#define CHECK_POISON 0x7FF4DEADu                 // as a float, as two of them a double: not a number

typedef struct {
  char *base; // what the program was given
  size_t bytes;
  bool device;
  uint32_t *writer;                // by grain: the item that wrote it last, 0: none
  uint32_t *reader[CHECK_STREAMS]; // by stream and grain: the item that read it last; NULL: no item of the stream
} Allocation;

void *check_allocate(size_t bytes, bool device); // poisoned, between guard zones; NULL: out of memory
bool check_free(void *pointer);                  // false: not allocated here
// The allocation that holds the address, or whose guard zones do; NULL: neither.
Allocation *check_find(const void *at);
static inline bool check_inside(const Allocation *a, const void *at, size_t bytes) {
  return (const char *)at >= a->base && bytes <= a->bytes && (size_t)((const char *)at - a->base) <= a->bytes - bytes;
}
void check_guards(const Work *last, bool whole); // next to the allocations, or all of the zones, at the end of a drain
void check_poison(void *at, size_t bytes);
// Where there is poison in [at, at + bytes), NULL: nowhere.
const char *check_find_poison(const char *at, size_t bytes);
// "t.relu (device memory + 4096)", from the names seen in launches. Valid until the fourth next call.
const char *check_name(const void *at);
void check_learn_name(const void *at, const char *text, size_t length); // text: a literal of the program

// ---- check_launch.c: what check_launch.h calls
typedef void (*ParccKernel)(void);
ParccKernel parcc_check_launch(cudaStream_t stream, ParccKernel kernel, const char *name, const char *texts, const char *kinds);
typedef struct { void *at; size_t bytes; } ParccRange;
void parcc_check_lifetime_end(const ParccRange *ranges, size_t n, const char *text);
extern bool check_in_kernel; // loads and stores are those of a kernel

// ---- check_access.c
void check_touch(const char *at, size_t bytes, bool written); // by the item that runs; at lies in an allocation
void check_item_before(const Item *item);                     // its declared accesses: poison in what it reads, races
_Noreturn void check_poison_read(const char *at);

#endif
