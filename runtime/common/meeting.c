#include "meeting.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"
#include "mesh.h"
#include "run.h"
#include "tcp.h"

enum { TOKEN = 16, MOST_CALLERS = 256 };
static const double hello_seconds = 10;  // for who has connected to say who it is
static const double connect_seconds = 5; // for one address
static const double first_wait = 0.01, longest_wait = 0.2; // before rank 0 is tried again
static const double answer_seconds = 10; // more than rank 0 waits for the others

// The first words of either side. A processor of another byte order does not know the magic.
typedef struct {
  uint32_t magic, form;
} Words;
static const Words our_words = {0x70617263, 1};

typedef struct {
  Words words;
  int rank, ranks;
  unsigned port;              // at which the rank listens
  unsigned char token[TOKEN]; // who has it belongs to this run; to rank 0: nothing yet
  char host[64], program[80];
} Hello;

// Of rank 0, followed by the Members where all is well.
typedef struct {
  Words words;
  int refused; // the exit code: rank 0 has said why; 0: welcome
  unsigned char token[TOKEN];
} Answer;

typedef struct {
  TcpAddress address;
  char host[64];
} Member;

static struct {
  const Launch *launch;
  Hello mine;
  int listening;
  Member *members;
  double until;
} meeting;

// For messages: whatever may have come.
static void make_plain(char *text, size_t size) {
  text[size - 1] = '\0';
  for (; *text != '\0'; text++)
    if (*text < ' ' || *text > '~') *text = '?';
}

static bool same_words(const Words *words) { return memcmp(words, &our_words, sizeof our_words) == 0; }

// ---- who comes -----------------------------------------------------------------------------------------------------

// A connection that has not yet said who it is.
typedef struct {
  int fd;
  size_t have; // of the hello
  double until;
  Hello hello;
} Caller;

// Whether the caller belongs here: its connection is then kept.
typedef bool Admit(int fd, const Hello *hello);

// Reads what has come. True: the caller is done with, admitted (*admitted) or turned away.
static bool hear(Caller *caller, Admit *admit, int *admitted) {
  const ssize_t n =
      recv(caller->fd, (char *)&caller->hello + caller->have, sizeof caller->hello - caller->have, MSG_DONTWAIT);
  const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
  if (n > 0) caller->have += (size_t)n;
  if (later || (n > 0 && caller->have < sizeof caller->hello)) {
    if (clock_seconds() < caller->until) return false;
  } else if (n > 0 && same_words(&caller->hello.words)) {
    make_plain(caller->hello.host, sizeof caller->hello.host);
    make_plain(caller->hello.program, sizeof caller->hello.program);
    if (admit(caller->fd, &caller->hello)) {
      (*admitted)++;
      return true;
    }
  }
  close(caller->fd);
  return true;
}

// Until so many are admitted, or it is too late. None of them can keep another waiting.
static void take_callers(int expected, Admit *admit) {
  static Caller callers[MOST_CALLERS];
  struct pollfd wanted[MOST_CALLERS + 1];
  int n = 0, admitted = 0;
  while (admitted < expected && clock_seconds() < meeting.until) {
    wanted[0] = (struct pollfd){.fd = n < MOST_CALLERS ? meeting.listening : -1, .events = POLLIN};
    for (int i = 0; i < n; i++) wanted[i + 1] = (struct pollfd){.fd = callers[i].fd, .events = POLLIN};
    poll(wanted, (nfds_t)n + 1, 200);
    if (mesh_told()) _exit(FAIL_RUN);
    for (int i = 0; i < n;)
      if (hear(&callers[i], admit, &admitted)) callers[i] = callers[--n];
      else i++;
    const int fd = n < MOST_CALLERS ? tcp_accept(meeting.listening) : -1;
    if (fd >= 0) callers[n++] = (Caller){.fd = fd, .until = clock_seconds() + hello_seconds};
  }
  for (int i = 0; i < n; i++) close(callers[i].fd);
}

// ---- rank 0 --------------------------------------------------------------------------------------------------------

static void answer(int refused) {
  Answer answer = {.words = our_words, .refused = refused};
  memcpy(answer.token, meeting.mine.token, TOKEN);
  for (int r = 1; r < meeting.launch->ranks; r++) {
    const double until = clock_seconds() + hello_seconds;
    const int fd = mesh_connection(r);
    if (fd < 0) continue;
    if (!tcp_send_all(fd, &answer, sizeof answer, until) ||
        (refused == 0 &&
         !tcp_send_all(fd, meeting.members, (size_t)meeting.launch->ranks * sizeof *meeting.members, until)))
      fail_alone(FAIL_RUN, "cannot answer rank %d on %s: %s", r, meeting.members[r].host, strerror(errno));
  }
}

static _Noreturn void refuse(FailCode code, const char *reason) {
  answer((int)code);
  fail_alone(code, "%s", reason);
}

static bool admit_rank(int fd, const Hello *hello) {
  const Hello *mine = &meeting.mine;
  char reason[400] = "";
  if (hello->rank < 1 || hello->rank >= hello->ranks || hello->port == 0 || hello->port > 65535) return false;
  if (hello->ranks != mine->ranks)
    snprintf(reason, sizeof reason, "the ranks differ in their number: %d on rank 0 on %s, %d on rank %d on %s",
             mine->ranks, mine->host, hello->ranks, hello->rank, hello->host);
  else if (strcmp(hello->program, mine->program) != 0)
    snprintf(reason, sizeof reason, "the ranks differ in the program: %s on rank 0 on %s, %s on rank %d on %s",
             mine->program, mine->host, hello->program, hello->rank, hello->host);
  else if (mesh_connection(hello->rank) >= 0)
    snprintf(reason, sizeof reason, "two processes say that they are rank %d, on %s and on %s", hello->rank,
             meeting.members[hello->rank].host, hello->host);
  if (reason[0] != '\0') {
    const Answer no = {.words = our_words, .refused = FAIL_MISUSE};
    tcp_send_all(fd, &no, sizeof no, clock_seconds() + 1); // where it does not get there, it sees the connection end
    refuse(FAIL_MISUSE, reason);
  }
  Member *member = &meeting.members[hello->rank];
  mesh_add(hello->rank, fd);
  member->address = tcp_peer(fd);
  tcp_set_port(&member->address, hello->port);
  memcpy(member->host, hello->host, sizeof member->host);
  return true;
}

static void refuse_missing(void) {
  char missing[200] = "";
  size_t at = 0;
  int n = 0;
  for (int r = 1; r < meeting.launch->ranks; r++) {
    if (mesh_connection(r) >= 0) continue;
    if (n++ < 8) at += (size_t)snprintf(missing + at, sizeof missing - at, "%s%d", n > 1 ? ", " : "", r);
    else if (n == 10) snprintf(missing + at, sizeof missing - at, ", ...");
  }
  if (n == 0) return;
  char reason[400];
  snprintf(reason, sizeof reason, "rank%s %s of %d %s not come to %s port %s within %.0f s", n > 1 ? "s" : "", missing,
           meeting.launch->ranks, n > 1 ? "have" : "has", meeting.launch->address, meeting.launch->port,
           meeting.launch->seconds);
  refuse(FAIL_RUN, reason);
}

static void receive_ranks(void) {
  if (getrandom(meeting.mine.token, TOKEN, 0) != TOKEN) fail_alone(FAIL_RUN, "no random numbers: %s", strerror(errno));
  meeting.listening = tcp_listen((unsigned)atoi(meeting.launch->port), meeting.launch->ranks + MOST_CALLERS);
  if (meeting.listening < 0)
    fail_alone(FAIL_RUN, "cannot listen at port %s (MASTER_PORT): %s", meeting.launch->port, strerror(errno));
  memcpy(meeting.members[0].host, meeting.mine.host, sizeof meeting.mine.host);
  take_callers(meeting.launch->ranks - 1, admit_rank);
  refuse_missing();
  answer(FAIL_NONE);
}

// ---- the others ----------------------------------------------------------------------------------------------------

// A connection to rank 0, by the first of its addresses that takes one; -1 and why there is none.
static int call_first(const char **reason) {
  struct addrinfo *found, wanted = {.ai_socktype = SOCK_STREAM};
  const int error = getaddrinfo(meeting.launch->address, meeting.launch->port, &wanted, &found);
  int fd = -1;
  if (error != 0) *reason = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
  if (error != 0) return -1;
  for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
    TcpAddress address = {.size = at->ai_addrlen};
    if (at->ai_addrlen > sizeof address.at) continue;
    memcpy(&address.at, at->ai_addr, at->ai_addrlen);
    fd = tcp_connect(&address, connect_seconds);
    if (fd < 0) *reason = strerror(errno);
  }
  freeaddrinfo(found);
  return fd;
}

// One try to be answered by rank 0. False, and why, where it is not there (yet).
static bool visit_first(Answer *answer, const char **reason) {
  const double until = meeting.until + answer_seconds;
  const int fd = call_first(reason);
  if (fd < 0) return false;
  if (!tcp_send_all(fd, &meeting.mine, sizeof meeting.mine, until) ||
      !tcp_receive_all(fd, answer, sizeof *answer, until)) {
    *reason = strerror(errno);
    close(fd);
    return false;
  }
  if (!same_words(&answer->words))
    fail_alone(FAIL_RUN, "who listens on %s at port %s is not rank 0 of a program of this kind",
               meeting.launch->address, meeting.launch->port);
  if (answer->refused != 0) _exit(answer->refused);
  mesh_add(0, fd);
  return true;
}

static void visit(void) {
  const char *reason = "";
  Answer answer;
  for (double wait = first_wait; !visit_first(&answer, &reason); wait = fmin(2 * wait, longest_wait)) {
    if (clock_seconds() > meeting.until)
      fail_alone(FAIL_RUN, "on %s: cannot reach rank 0 on %s at port %s within %.0f s: %s", meeting.mine.host,
                 meeting.launch->address, meeting.launch->port, meeting.launch->seconds, reason);
    nanosleep(&(struct timespec){.tv_nsec = (long)(wait * 1e9)}, NULL);
  }
  memcpy(meeting.mine.token, answer.token, TOKEN);
  if (!tcp_receive_all(mesh_connection(0), meeting.members, (size_t)meeting.launch->ranks * sizeof *meeting.members,
                       meeting.until + answer_seconds))
    fail_alone(FAIL_RUN, "on %s: rank 0 on %s has ended: %s", meeting.mine.host, meeting.launch->address,
               strerror(errno));
  meeting.until = clock_seconds() + meeting.launch->seconds; // all are there
}

// A rank that came to rank 0 from this host itself is where rank 0 is.
static void call_rank(int rank) {
  Member *member = &meeting.members[rank];
  make_plain(member->host, sizeof member->host);
  const TcpAddress first = tcp_peer(mesh_connection(0));
  TcpAddress address = member->address;
  if (address.size > sizeof address.at) fail_alone(FAIL_RUN, "rank 0 does not say where rank %d is", rank);
  if (tcp_is_loopback(&address) && !tcp_is_loopback(&first)) {
    address = first;
    tcp_set_port(&address, tcp_port_of(&member->address));
  }
  const int fd = tcp_connect(&address, meeting.launch->seconds);
  if (fd < 0 || !tcp_send_all(fd, &meeting.mine, sizeof meeting.mine, meeting.until))
    fail_alone(FAIL_RUN, "on %s: cannot reach rank %d on %s: %s", meeting.mine.host, rank, member->host,
               strerror(errno));
  mesh_add(rank, fd);
}

static bool admit_later_rank(int fd, const Hello *hello) {
  if (hello->rank <= meeting.mine.rank || hello->rank >= meeting.mine.ranks || mesh_connection(hello->rank) >= 0 ||
      memcmp(hello->token, meeting.mine.token, TOKEN) != 0)
    return false;
  mesh_add(hello->rank, fd);
  return true;
}

static void meet_others(void) {
  const int own = meeting.mine.rank, ranks = meeting.mine.ranks;
  for (int r = 1; r < own; r++) call_rank(r);
  take_callers(ranks - 1 - own, admit_later_rank);
  for (int r = own + 1; r < ranks; r++)
    if (mesh_connection(r) < 0)
      fail_alone(FAIL_RUN, "on %s: rank %d on %s has not connected within %.0f s", meeting.mine.host, r,
                 meeting.members[r].host, meeting.launch->seconds);
}

// ---- both ----------------------------------------------------------------------------------------------------------

static void allow_connections(int ranks) {
  struct rlimit limit;
  const rlim_t needed = 2 * (rlim_t)ranks + MOST_CALLERS + 64; // the watching threads have theirs
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
  setrlimit(RLIMIT_NOFILE, &limit); // where it stays too low, a connection fails and says so
}

static void introduce(const Launch *launch, const char *program) {
  Hello *mine = &meeting.mine;
  *mine = (Hello){.words = our_words, .rank = launch->rank, .ranks = launch->ranks};
  if (gethostname(mine->host, sizeof mine->host - 1) != 0) strcpy(mine->host, "?");
  snprintf(mine->program, sizeof mine->program, "%.60s %.16s", run.model->name, program == NULL ? "" : program);
}

void meeting_hold(const Launch *launch, const char *program) {
  fail_set_speaker(run.model->name, launch->rank, launch->ranks);
  allow_connections(launch->ranks);
  meeting.launch = launch;
  meeting.until = clock_seconds() + launch->seconds;
  meeting.members = calloc((size_t)launch->ranks, sizeof *meeting.members);
  if (meeting.members == NULL) fail_alone(FAIL_RUN, "out of memory");
  introduce(launch, program);
  if (launch->rank == 0) receive_ranks();
  else {
    meeting.listening = tcp_listen(0, launch->ranks + MOST_CALLERS);
    meeting.mine.port = meeting.listening < 0 ? 0 : tcp_port(meeting.listening);
    if (meeting.mine.port == 0) fail_alone(FAIL_RUN, "on %s: cannot listen: %s", meeting.mine.host, strerror(errno));
    visit();
    meet_others();
  }
  close(meeting.listening);
  free(meeting.members);
}
