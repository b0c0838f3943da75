// The processes of a run, by TCP alone.
#include "world_way.h"

#include <string.h>
#include <time.h>

#include "fail.h"
#include "launcher.h"
#include "meeting.h"
#include "mesh.h"

static World start(int *argc, char ***argv, const char *program) {
  (void)argc, (void)argv;
  Launch launch;
  if (!launcher_read(&launch)) fail_alone(FAIL_INTERNAL, "no launcher");
  mesh_open(launch.rank, launch.ranks);
  meeting_hold(&launch, program);
  return (World){launch.rank, launch.ranks, launch.local_rank, launch.local_ranks};
}

static void broadcast(void *data, size_t bytes, int root) { mesh_broadcast(mesh_all(), data, bytes, root); }

static void all_gather(const void *send, void *recv, size_t bytes) {
  memmove((char *)recv + (size_t)mesh_all()->own * bytes, send, bytes);
  mesh_all_gather(mesh_all(), recv, (size_t)mesh_all()->ranks * bytes, 1);
}

static void send_to(const void *data, size_t bytes, int dst) {
  MeshTransfer transfer = mesh_send(mesh_all(), dst, data, bytes);
  mesh_exchange(&transfer, 1);
}

static void recv_from(void *data, size_t bytes, int src) {
  MeshTransfer transfer = mesh_receive(mesh_all(), src, data, bytes);
  mesh_exchange(&transfer, 1);
}

// Nobody closes a connection that another still waits on.
static void finish(void) {
  char here[1] = "";
  for (int r = 1; r < mesh_all()->ranks; r++) {
    if (mesh_all()->own == 0) recv_from(here, sizeof here, r);
    else if (mesh_all()->own == r) send_to(here, sizeof here, 0);
  }
  mesh_broadcast(mesh_all(), here, sizeof here, 0);
  mesh_close();
}

// The others end by themselves when they hear of it. A moment, so that it is on its way before the connections end.
static void abort_all(int code) {
  (void)code;
  mesh_tell();
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

const WorldWay world_tcp = {start, broadcast, all_gather, send_to, recv_from, finish, abort_all, mesh_told};
