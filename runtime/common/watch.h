// Whether the run goes on. A thread of every rank sees that the ranks are alive and get on, and ends the run with one
// message that names the rank at fault and the operator it is in, when
//   - a rank has died: at once;
//   - a communicator reports an error: within a second;
//   - a rank has been silent, or no rank has got on, for --timeout seconds: within a few seconds after.
//
// "Getting on" is what the main thread does: an operator begins (AT), a piece of a file is read or written. Rank 0 judges;
// the others tell it every second where they are, over TCP connections of their own (watch_link.c), as MPI, NCCL and the
// connections of mesh.h are just what may be stuck. When rank 0 is at fault the lowest of the others speaks. Where no connection comes about, a rank that
// does not get on ends the run by itself.
#ifndef PARCC_WATCH_H
#define PARCC_WATCH_H

#include <stdbool.h>

// Starts the thread. timeout: seconds; 0: nobody is ended for being slow.
void watch_start(double timeout);

// Collective. Connects the ranks.
void watch_connect(void);

// This rank gets on; it begins a step.
void watch_moved(void);
void watch_step(void);

// Whether this rank is to print the message that ends the run: true for one rank only. Otherwise another has, or is about
// to, and this one keeps silent.
bool watch_claim(void);

// A connection to another rank has ended, outside of the watching threads. Waits for what these make of it: whether a rank
// says why the run ends, so that this one is to keep silent.
bool watch_hears(void);

// This rank ends in order, and from now on others may leave, too.
void watch_goodbye(void);

// Ends the thread.
void watch_stop(void);

#endif
