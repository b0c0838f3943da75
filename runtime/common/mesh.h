// Connections over TCP from each rank to each other one, and what is done over them: transfers of which none waits for
// another, and two collectives made of these.
//
// Both ends of a connection transfer in the same order. Each transfer begins with a frame that says what it is, so that ranks
// that are not at the same place of the program are found out. A connection that ends, ends the run: whoever has said why sends
// a byte out of band before it ends (TCP's urgent data), as that comes through whatever lies in the stream; whoever saw no such
// byte says itself that it lost the other rank.
#ifndef PARCC_MESH_H
#define PARCC_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void mesh_open(int own, int ranks);
void mesh_add(int rank, int fd); // takes over the connection to the rank; fd is non-blocking
int mesh_connection(int rank);   // -1: there is none yet
void mesh_close(void);

void mesh_tell(void); // to all that are connected: this rank has said why the run ends. At any time
bool mesh_told(void); // whether one has

// Some ranks of the program, in an order.
typedef struct {
  const int *rank; // in the program
  int ranks, own;  // own: the place of this rank
  uint32_t tag;    // of what is sent among them
} MeshGroup;

const MeshGroup *mesh_all(void); // all ranks

typedef struct {
  uint32_t magic, tag;
  uint64_t bytes;
} MeshFrame;

typedef struct {
  int peer; // a rank of the program, another one
  uint32_t tag;
  bool sends;
  void *data; // only read where it sends
  size_t bytes;
  // Of mesh_exchange; 0 at first:
  size_t done; // of frame and data together
  MeshFrame frame;
} MeshTransfer;

MeshTransfer mesh_send(const MeshGroup *group, int place, const void *data, size_t bytes);
MeshTransfer mesh_receive(const MeshGroup *group, int place, void *data, size_t bytes);

// What this rank has sent to others so far, without frames.
uint64_t mesh_sent(void);

// All are done when it returns; those of no bytes need no other end. Those between the same two ranks in the same direction are done in their order.
void mesh_exchange(MeshTransfer *transfers, size_t n);

// Collective in the group. `count` elements, which are divided over the ranks as parcc_block says: each has written its own.
void mesh_all_gather(const MeshGroup *group, void *data, size_t count, size_t bytes);
void mesh_broadcast(const MeshGroup *group, void *data, size_t bytes, int root);

#endif
