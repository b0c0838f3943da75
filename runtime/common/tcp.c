#include "tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static int new_socket(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // only makes small messages earlier
  return fd;
}

static int close_for(int fd, int error) {
  close(fd);
  errno = error;
  return -1;
}

static int listen_at(const struct sockaddr *address, socklen_t size, int backlog) {
  const int fd = new_socket(address->sa_family), on = 1, off = 0;
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // a run that ended a moment ago may have been here
  if (address->sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
    return close_for(fd, errno);
  return bind(fd, address, size) == 0 && listen(fd, backlog) == 0 ? fd : close_for(fd, errno);
}

int tcp_listen(unsigned port, int backlog) {
  const struct sockaddr_in6 both = {.sin6_family = AF_INET6, .sin6_port = htons((in_port_t)port)};
  const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
  const int fd = listen_at((const struct sockaddr *)&both, sizeof both, backlog);
  if (fd >= 0 || errno == EADDRINUSE) return fd;
  return listen_at((const struct sockaddr *)&four, sizeof four, backlog); // a host without IPv6
}

unsigned tcp_port(int listening) {
  TcpAddress address = {.size = sizeof address.at};
  return getsockname(listening, (struct sockaddr *)&address.at, &address.size) == 0 ? tcp_port_of(&address) : 0;
}

int tcp_accept(int listening) {
  const int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

int tcp_connect(const TcpAddress *address, double seconds) {
  int error = 0;
  socklen_t size = sizeof error;
  const int fd = new_socket(address->at.ss_family);
  if (fd < 0 || connect(fd, (const struct sockaddr *)&address->at, address->size) == 0) return fd;
  if (errno != EINPROGRESS) return close_for(fd, errno);
  if (!tcp_wait(fd, POLLOUT, seconds)) return close_for(fd, ETIMEDOUT);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? fd : close_for(fd, error);
}

TcpAddress tcp_peer(int fd) {
  TcpAddress peer = {.size = sizeof peer.at};
  if (getpeername(fd, (struct sockaddr *)&peer.at, &peer.size) != 0) return (TcpAddress){.size = 0};
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&peer.at;
  if (six->sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) return peer;
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six->sin6_port};
  memcpy(&four.sin_addr, six->sin6_addr.s6_addr + 12, sizeof four.sin_addr);
  TcpAddress mapped = {.size = sizeof four};
  memcpy(&mapped.at, &four, sizeof four);
  return mapped;
}

unsigned tcp_port_of(const TcpAddress *address) {
  return ntohs(address->at.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address->at)->sin6_port
                                                 : ((const struct sockaddr_in *)&address->at)->sin_port);
}

void tcp_set_port(TcpAddress *address, unsigned port) {
  if (address->at.ss_family == AF_INET6) ((struct sockaddr_in6 *)&address->at)->sin6_port = htons((in_port_t)port);
  else ((struct sockaddr_in *)&address->at)->sin_port = htons((in_port_t)port);
}

bool tcp_is_loopback(const TcpAddress *address) {
  if (address->at.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address->at)->sin6_addr);
  return ntohl(((const struct sockaddr_in *)&address->at)->sin_addr.s_addr) >> 24 == 127;
}

bool tcp_is_link_local(const TcpAddress *address) {
  return address->at.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)&address->at)->sin6_addr);
}

TcpAddress tcp_loopback(unsigned port) {
  const struct sockaddr_in here = {
      .sin_family = AF_INET, .sin_port = htons((in_port_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  TcpAddress address = {.size = sizeof here};
  memcpy(&address.at, &here, sizeof here);
  return address;
}

bool tcp_wait(int fd, short events, double seconds) {
  struct pollfd wanted = {.fd = fd, .events = events};
  const double until = clock_seconds() + seconds;
  for (double left = seconds; left >= 0; left = until - clock_seconds()) {
    const int ready = poll(&wanted, 1, (int)(left * 1e3));
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
  return false;
}

// After a call that moved n bytes, 0 at the end of the stream, or -1: whether to go on.
static bool goes_on(int fd, short events, ssize_t n, double until) {
  if (n > 0 || (n < 0 && errno == EINTR)) return true;
  if (n == 0) errno = ECONNRESET;
  if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
  if (tcp_wait(fd, events, until - clock_seconds())) return true;
  errno = ETIMEDOUT;
  return false;
}

bool tcp_send_all(int fd, const void *data, size_t bytes, double until) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = send(fd, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
    if (!goes_on(fd, POLLOUT, n, until)) return false;
    if (n > 0) done += (size_t)n;
  }
  return true;
}

bool tcp_receive_all(int fd, void *data, size_t bytes, double until) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = recv(fd, (char *)data + done, bytes - done, 0);
    if (!goes_on(fd, POLLIN, n, until)) return false;
    if (n > 0) done += (size_t)n;
  }
  return true;
}
