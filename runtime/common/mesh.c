#include "mesh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "parcc.h"
#include "watch.h"
#include "world.h"

static const uint32_t magic = 0x70636d31; // of a frame

enum { SENDING = 1, RECEIVING = 2 };

static struct {
  int ranks, own;
  int *fd;               // of each rank; -1: none
  unsigned char *busy;   // by rank: the directions in which a transfer waits
  struct pollfd *wanted; // two a rank
  int *everybody;
  MeshGroup all;
  uint64_t sent;
} mesh;

static volatile sig_atomic_t told; // a rank has ended the run and said why

static void on_urgent(int number) {
  (void)number;
  told = 1;
}

void mesh_open(int own, int ranks) {
  const struct sigaction action = {.sa_handler = on_urgent, .sa_flags = (int)SA_RESTART};
  mesh.fd = calloc((size_t)ranks, sizeof *mesh.fd);
  mesh.busy = calloc((size_t)ranks, 1);
  mesh.wanted = calloc((size_t)ranks, 2 * sizeof *mesh.wanted);
  mesh.everybody = calloc((size_t)ranks, sizeof *mesh.everybody);
  if (mesh.fd == NULL || mesh.busy == NULL || mesh.wanted == NULL || mesh.everybody == NULL)
    fail_alone(FAIL_RUN, "out of memory");
  for (int r = 0; r < ranks; r++) mesh.everybody[r] = r;
  for (int r = 0; r < ranks; r++) mesh.fd[r] = -1;
  if (sigaction(SIGURG, &action, NULL) != 0) fail_alone(FAIL_RUN, "sigaction: %s", strerror(errno));
  mesh.own = own;
  mesh.ranks = ranks;
  mesh.all = (MeshGroup){mesh.everybody, ranks, own, 0};
}

// The byte out of band comes as a signal, which neither reading nor the end of the connection undoes.
void mesh_add(int rank, int fd) {
  if (fcntl(fd, F_SETOWN, getpid()) != 0) fail_alone(FAIL_RUN, "fcntl: %s", strerror(errno));
  mesh.fd[rank] = fd;
}

int mesh_connection(int rank) { return mesh.fd[rank]; }

void mesh_close(void) {
  for (int r = 0; r < mesh.ranks; r++)
    if (mesh.fd[r] >= 0) close(mesh.fd[r]);
  free(mesh.fd);
  free(mesh.busy);
  free(mesh.wanted);
  free(mesh.everybody);
  memset(&mesh, 0, sizeof mesh);
}

const MeshGroup *mesh_all(void) { return &mesh.all; }

uint64_t mesh_sent(void) { return mesh.sent; }

void mesh_tell(void) {
  for (int r = 0; r < mesh.ranks; r++)
    if (mesh.fd[r] >= 0) send(mesh.fd[r], "", 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool mesh_told(void) { return told != 0; }

// A connection has ended: its rank, or another for whose word it does not wait, has ended the run, or has died, which the
// watching threads are about to find.
static _Noreturn void lost(int peer, int error) {
  if (watch_hears()) {
    mesh_tell(); // also those whom its word has not reached yet
    _exit(FAIL_RUN);
  }
  fail_alone(FAIL_RUN, "the connection to %s has ended: %s", world_name(peer),
             error == 0 ? "it was closed" : strerror(error));
}

// ---- transfers -----------------------------------------------------------------------------------------------------

MeshTransfer mesh_send(const MeshGroup *group, int place, const void *data, size_t bytes) {
  return (MeshTransfer){
      .peer = group->rank[place], .tag = group->tag, .sends = true, .data = (void *)data, .bytes = bytes};
}

MeshTransfer mesh_receive(const MeshGroup *group, int place, void *data, size_t bytes) {
  return (MeshTransfer){.peer = group->rank[place], .tag = group->tag, .data = data, .bytes = bytes};
}

static bool is_done(const MeshTransfer *t) { return t->done == sizeof t->frame + t->bytes; }

static void check_frame(const MeshTransfer *t) {
  const MeshFrame *frame = &t->frame;
  if (frame->magic != magic)
    fail_alone(FAIL_INTERNAL, "what comes from %s is no message of this program", world_name(t->peer));
  if (frame->tag != t->tag || frame->bytes != t->bytes)
    fail_alone(FAIL_INTERNAL,
               "%s is at another message: it sends %llu bytes in group %08x, expected were %zu in group %08x",
               world_name(t->peer), (unsigned long long)frame->bytes, (unsigned)frame->tag, t->bytes, (unsigned)t->tag);
}

// What is left of frame and data.
static int rest(MeshTransfer *t, struct iovec piece[2]) {
  const size_t head = sizeof t->frame;
  int n = 0;
  if (t->done < head) piece[n++] = (struct iovec){(char *)&t->frame + t->done, head - t->done};
  const size_t done = t->done < head ? 0 : t->done - head;
  if (done < t->bytes) piece[n++] = (struct iovec){(char *)t->data + done, t->bytes - done};
  return n;
}

// Goes as far as the connection takes or has it.
static void advance(MeshTransfer *t) {
  while (!is_done(t)) {
    struct iovec piece[2];
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)rest(t, piece)};
    const size_t before = t->done;
    const ssize_t n = t->sends ? sendmsg(mesh.fd[t->peer], &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                               : recvmsg(mesh.fd[t->peer], &message, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) lost(t->peer, n == 0 ? 0 : errno);
    t->done += (size_t)n;
    if (!t->sends && before < sizeof t->frame && t->done >= sizeof t->frame) check_frame(t);
  }
}

void mesh_exchange(MeshTransfer *transfers, size_t n) {
  size_t first = 0; // all before it are done
  for (size_t i = 0; i < n; i++) {
    transfers[i].frame = (MeshFrame){magic, transfers[i].tag, transfers[i].bytes};
    if (transfers[i].sends) mesh.sent += transfers[i].bytes;
    if (transfers[i].bytes == 0) transfers[i].done = sizeof transfers[i].frame; // neither end has to wait for nothing
  }
  for (;;) {
    nfds_t waiting = 0;
    memset(mesh.busy, 0, (size_t)mesh.ranks);
    for (size_t i = first; i < n; i++) {
      MeshTransfer *t = &transfers[i];
      const unsigned char direction = t->sends ? SENDING : RECEIVING;
      if (is_done(t) || (mesh.busy[t->peer] & direction)) continue;
      advance(t);
      if (is_done(t)) continue;
      mesh.busy[t->peer] |= direction;
      mesh.wanted[waiting++] = (struct pollfd){.fd = mesh.fd[t->peer], .events = t->sends ? POLLOUT : POLLIN};
    }
    if (waiting == 0) return;
    while (first < n && is_done(&transfers[first])) first++;
    if (poll(mesh.wanted, waiting, -1) < 0 && errno != EINTR) fail_alone(FAIL_RUN, "poll: %s", strerror(errno));
  }
}

// ---- collectives ---------------------------------------------------------------------------------------------------

// In a ring: each block goes round.
void mesh_all_gather(const MeshGroup *group, void *data, size_t count, size_t bytes) {
  const int n = group->ranks, own = group->own;
  char *at = data;
  for (int step = 0; step < n - 1; step++) {
    const Interval out = parcc_block((long)count, n, (own + n - step) % n);
    const Interval in = parcc_block((long)count, n, (own + n - step - 1) % n);
    MeshTransfer both[2] = {mesh_send(group, (own + 1) % n, at + (size_t)out.lo * bytes, (size_t)out.len * bytes),
                            mesh_receive(group, (own + n - 1) % n, at + (size_t)in.lo * bytes, (size_t)in.len * bytes)};
    mesh_exchange(both, 2);
  }
}

// Along a binomial tree.
void mesh_broadcast(const MeshGroup *group, void *data, size_t bytes, int root) {
  enum { DEPTH = 8 * sizeof(int) };
  const int n = group->ranks, place = (group->own + n - root) % n;
  int reach = 1;
  MeshTransfer below[DEPTH];
  size_t n_below = 0;
  while (reach < n && (place & reach) == 0) reach *= 2;
  if (reach < n) {
    MeshTransfer above = mesh_receive(group, (group->own + n - reach) % n, data, bytes);
    mesh_exchange(&above, 1);
  }
  for (reach /= 2; reach > 0; reach /= 2)
    if (place + reach < n) below[n_below++] = mesh_send(group, (group->own + reach) % n, data, bytes);
  mesh_exchange(below, n_below);
}
