// How the processes of a run reach each other: what world.c hands its calls on to.
#ifndef PARCC_WORLD_WAY_H
#define PARCC_WORLD_WAY_H

#include "world.h"

// As the functions of world.h. start: local_ranks 0 where it does not know, local_rank -1.
typedef struct {
  World (*start)(int *argc, char ***argv, const char *program);
  void (*broadcast)(void *data, size_t bytes, int root);
  void (*all_gather)(const void *send, void *recv, size_t bytes);
  void (*send)(const void *data, size_t bytes, int dst);
  void (*recv)(void *data, size_t bytes, int src);
  void (*finish)(void);
  void (*abort)(int code); // ends the others, and may end this process
  bool (*told)(void);
} WorldWay;

extern const WorldWay world_tcp;

// There where the program is linked with MPI: parcc-cc asks the linker for it by name. Else NULL.
extern const WorldWay world_mpi __attribute__((weak));

#endif
