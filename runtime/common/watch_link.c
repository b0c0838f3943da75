#include "watch_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "run.h"

enum { MAX_ADDRESSES = 16 };
static const double connect_seconds = 3, hello_seconds = 10;

// Where rank 0 listens.
typedef struct {
  char host[64];
  unsigned char token[16]; // who has it belongs to this run
  in_port_t port;          // as on the wire; 0: it does not
  int n;
  in_addr_t address[MAX_ADDRESSES];
} Invitation;

// A connection, and the part of a note that has come.
typedef struct {
  int fd; // -1: none
  size_t have;
  Note note;
} Peer;

static Peer *peers; // of each rank; a rank other than 0 has only that of rank 0
static int wake_pipe[2] = {-1, -1};

// ---- setting up

static int new_socket(void) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // only makes notes earlier
  return fd;
}

static void list_addresses(Invitation *invitation) {
  struct ifaddrs *all, *at;
  if (getifaddrs(&all) != 0) return;
  for (at = all; at != NULL && invitation->n < MAX_ADDRESSES; at = at->ifa_next) {
    if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_LOOPBACK)) continue;
    struct sockaddr_in address;
    memcpy(&address, at->ifa_addr, sizeof address);
    invitation->address[invitation->n++] = address.sin_addr.s_addr;
  }
  freeifaddrs(all);
}

// Returns the listening socket; -1: there is none, and the invitation has no port.
static int listen_for_ranks(Invitation *invitation) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t size = sizeof address;
  memset(invitation, 0, sizeof *invitation);
  const int fd = new_socket();
  if (fd < 0) return -1;
  if (gethostname(invitation->host, sizeof invitation->host - 1) != 0 ||
      getrandom(invitation->token, sizeof invitation->token, 0) != sizeof invitation->token ||
      bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, parcc.ranks + 8) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
    close(fd);
    return -1;
  }
  list_addresses(invitation);
  invitation->port = address.sin_port;
  return fd;
}

static bool wait_for(int fd, short events, double seconds) {
  struct pollfd wanted = {.fd = fd, .events = events};
  return poll(&wanted, 1, (int)(seconds * 1e3)) == 1;
}

static int connect_to(in_addr_t host, in_port_t port) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = host};
  int error = 0;
  socklen_t size = sizeof error;
  const int fd = new_socket();
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
  if (errno == EINPROGRESS && wait_for(fd, POLLOUT, connect_seconds) &&
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
    return fd;
  close(fd);
  return -1;
}

static void accept_invitation(const Invitation *invitation) {
  char host[sizeof invitation->host] = "";
  if (invitation->port == 0) return;
  int fd = -1;
  if (gethostname(host, sizeof host - 1) == 0 && strcmp(host, invitation->host) == 0)
    fd = connect_to(htonl(INADDR_LOOPBACK), invitation->port);
  for (int i = 0; i < invitation->n && fd < 0; i++) fd = connect_to(invitation->address[i], invitation->port);
  if (fd < 0) return;
  peers[0].fd = fd;
  Note hello = {.kind = NOTE_HELLO, .rank = parcc.rank};
  memcpy(hello.token, invitation->token, sizeof hello.token);
  link_send(0, &hello);
}

// Takes one connection; whoever does not have the token is turned away.
static bool accept_rank(int listening, const Invitation *invitation) {
  Note hello;
  const int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return false;
  if (wait_for(fd, POLLIN, connect_seconds) && recv(fd, &hello, sizeof hello, 0) == sizeof hello &&
      hello.kind == NOTE_HELLO && hello.rank > 0 && hello.rank < parcc.ranks && peers[hello.rank].fd < 0 &&
      memcmp(hello.token, invitation->token, sizeof hello.token) == 0) {
    peers[hello.rank].fd = fd;
    return true;
  }
  close(fd);
  return false;
}

// Takes the connections of as many ranks as have one.
static void accept_ranks(int listening, const Invitation *invitation, int expected) {
  const double end = clock_seconds() + hello_seconds;
  while (expected > 0 && clock_seconds() < end)
    if (wait_for(listening, POLLIN, end - clock_seconds()) && accept_rank(listening, invitation)) expected--;
}

bool link_open(void) {
  const int n = parcc.rank == 0 ? parcc.ranks : 1;
  Peer *opened = calloc((size_t)n, sizeof *opened);
  int *connected = calloc((size_t)parcc.ranks, sizeof *connected), mine, expected = 0;
  if (opened == NULL || connected == NULL || pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    fail_alone(FAIL_RUN, "out of memory");
  for (int r = 0; r < n; r++) opened[r].fd = -1;
  peers = opened;
  Invitation invitation;
  int listening = -1;
  if (parcc.rank == 0) listening = listen_for_ranks(&invitation);
  world_broadcast(&invitation, sizeof invitation, 0);
  if (parcc.rank != 0) accept_invitation(&invitation);
  mine = parcc.rank != 0 && peers[0].fd >= 0;
  world_all_gather(&mine, connected, sizeof mine);
  for (int r = 0; r < parcc.ranks; r++) expected += connected[r];
  free(connected);
  if (listening >= 0) {
    accept_ranks(listening, &invitation, expected);
    close(listening);
  }
  return parcc.rank == 0 ? expected > 0 : mine;
}

// ---- notes

bool link_connected(int rank) { return peers != NULL && peers[rank].fd >= 0; }

void link_send(int rank, const Note *note) {
  const Peer *peer = &peers[rank];
  if (peer->fd < 0) return;
  const ssize_t sent = send(peer->fd, note, sizeof *note, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0 && (size_t)sent < sizeof *note) shutdown(peer->fd, SHUT_WR); // half a note: no more can follow
}

static void receive(int rank, void (*note)(int rank, const Note *note)) {
  Peer *peer = &peers[rank];
  for (;;) {
    const ssize_t n = recv(peer->fd, (char *)&peer->note + peer->have, sizeof peer->note - peer->have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      close(peer->fd);
      peer->fd = -1;
      note(rank, NULL);
      return;
    }
    peer->have += (size_t)n;
    if (peer->have < sizeof peer->note) continue;
    peer->have = 0;
    peer->note.op[sizeof peer->note.op - 1] = peer->note.where[sizeof peer->note.where - 1] = '\0';
    note(rank, &peer->note);
  }
}

static int n_peers(void) { return peers == NULL ? 0 : parcc.rank == 0 ? parcc.ranks : 1; }

void link_receive(void (*note)(int rank, const Note *note)) {
  for (int r = 0; r < n_peers(); r++)
    if (peers[r].fd >= 0) receive(r, note);
}

void link_wait(double seconds) {
  const int n = n_peers();
  struct pollfd wanted[n + 1];
  for (int r = 0; r < n; r++) wanted[r] = (struct pollfd){.fd = peers[r].fd, .events = POLLIN};
  wanted[n] = (struct pollfd){.fd = wake_pipe[0], .events = POLLIN};
  if (poll(wanted, (nfds_t)n + 1, (int)(seconds * 1e3)) <= 0) return;
  char woken[64];
  if (read(wake_pipe[0], woken, sizeof woken) < 0) return; // empty: it was a note
}

void link_wake(void) {
  if (wake_pipe[1] >= 0 && write(wake_pipe[1], "", 1) < 0) return; // full: it will wake
}

void link_close(void) {
  for (int r = 0; r < n_peers(); r++)
    if (peers[r].fd >= 0) close(peers[r].fd);
  free(peers);
  peers = NULL;
  for (int i = 0; i < 2; i++) {
    if (wake_pipe[i] >= 0) close(wake_pipe[i]);
    wake_pipe[i] = -1;
  }
}
