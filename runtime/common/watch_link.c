#include "watch_link.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "run.h"
#include "tcp.h"

enum { MAX_ADDRESSES = 16 };
static const double connect_seconds = 3, hello_seconds = 10;

// Where rank 0 listens.
typedef struct {
  char host[64];
  unsigned char token[16]; // who has it belongs to this run
  unsigned port;           // 0: it does not
  int n;
  TcpAddress address[MAX_ADDRESSES];
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

static void list_addresses(Invitation *invitation) {
  struct ifaddrs *all, *at;
  if (getifaddrs(&all) != 0) return;
  for (at = all; at != NULL && invitation->n < MAX_ADDRESSES; at = at->ifa_next) {
    const int family = at->ifa_addr == NULL ? AF_UNSPEC : at->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (at->ifa_flags & IFF_LOOPBACK)) continue;
    TcpAddress *address = &invitation->address[invitation->n];
    address->size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    memcpy(&address->at, at->ifa_addr, address->size);
    if (tcp_is_link_local(address)) continue; // means nothing on another host
    tcp_set_port(address, invitation->port);
    invitation->n++;
  }
  freeifaddrs(all);
}

// Returns the listening socket; -1: there is none, and the invitation has no port.
static int listen_for_ranks(Invitation *invitation) {
  memset(invitation, 0, sizeof *invitation);
  const int fd = tcp_listen(0, parcc.ranks + 8);
  if (fd < 0) return -1;
  if (gethostname(invitation->host, sizeof invitation->host - 1) != 0 ||
      getrandom(invitation->token, sizeof invitation->token, 0) != sizeof invitation->token ||
      (invitation->port = tcp_port(fd)) == 0) {
    close(fd);
    return -1;
  }
  list_addresses(invitation);
  return fd;
}

static void accept_invitation(const Invitation *invitation) {
  char host[sizeof invitation->host] = "";
  if (invitation->port == 0) return;
  int fd = -1;
  if (gethostname(host, sizeof host - 1) == 0 && strcmp(host, invitation->host) == 0) {
    const TcpAddress here = tcp_loopback(invitation->port);
    fd = tcp_connect(&here, connect_seconds);
  }
  for (int i = 0; i < invitation->n && fd < 0; i++) fd = tcp_connect(&invitation->address[i], connect_seconds);
  if (fd < 0) return;
  peers[0].fd = fd;
  Note hello = {.kind = NOTE_HELLO, .rank = parcc.rank};
  memcpy(hello.token, invitation->token, sizeof hello.token);
  link_send(0, &hello);
}

// Takes one connection; whoever does not have the token is turned away.
static bool accept_rank(int listening, const Invitation *invitation) {
  Note hello;
  const int fd = tcp_accept(listening);
  if (fd < 0) return false;
  if (tcp_wait(fd, POLLIN, connect_seconds) && recv(fd, &hello, sizeof hello, 0) == sizeof hello &&
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
    if (tcp_wait(listening, POLLIN, end - clock_seconds()) && accept_rank(listening, invitation)) expected--;
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
