// TCP sockets of either family, IPv4 or IPv6. None of them ever blocks; all are closed on exec. Where a function fails,
// errno says why. Times are those of clock_seconds.
#ifndef PARCC_TCP_H
#define PARCC_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct {
  struct sockaddr_storage at;
  socklen_t size; // 0: none
} TcpAddress;

// On all addresses of this host, at the port, or at any that is free (0). -1: it cannot.
int tcp_listen(unsigned port, int backlog);
unsigned tcp_port(int listening);                           // 0: it has none
int tcp_accept(int listening);                              // -1: nobody is there
int tcp_connect(const TcpAddress *address, double seconds); // -1: it cannot

// Who is at the other end: an IPv4 address as such, also where the socket is one of IPv6.
TcpAddress tcp_peer(int fd);
unsigned tcp_port_of(const TcpAddress *address);
void tcp_set_port(TcpAddress *address, unsigned port);
bool tcp_is_loopback(const TcpAddress *address);
bool tcp_is_link_local(const TcpAddress *address);
TcpAddress tcp_loopback(unsigned port);

bool tcp_wait(int fd, short events, double seconds);
// All of it, until then. False also where the other end has closed (ECONNRESET).
bool tcp_send_all(int fd, const void *data, size_t bytes, double until);
bool tcp_receive_all(int fd, void *data, size_t bytes, double until);

#endif
