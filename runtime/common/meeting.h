// How the ranks of a run that no MPI started find each other. Rank 0 listens where the launcher says; the others come to it,
// tell who they are and where they listen, and are told where all are; then each connects to those before it.
//
// Whoever does not speak as this program does is turned away and counts for nothing: a stray connection does no harm, and
// keeps nobody waiting. Who does, but is of another program or number of ranks, or says that it is a rank that has come
// already, ends the run. There is no secret: ports of a run belong where only its owner reaches them, as with MPI and NCCL.
#ifndef PARCC_MEETING_H
#define PARCC_MEETING_H

#include "launcher.h"

// Connects this rank to all others, in the open mesh (mesh.h); ends the run where not all come in time. program: what tells
// it from others, or NULL.
void meeting_hold(const Launch *launch, const char *program);

#endif
