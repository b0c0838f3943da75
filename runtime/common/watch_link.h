// The connections between the watching threads: notes of a fixed size over TCP, between rank 0 and each other rank.
#ifndef PARCC_WATCH_LINK_H
#define PARCC_WATCH_LINK_H

#include <stdbool.h>

typedef enum {
  NOTE_HELLO,  // the first on a connection; with the token
  NOTE_BEAT,   // I am alive, and here
  NOTE_CLAIM,  // to rank 0: may I print the message that ends the run?
  NOTE_GRANT,  // from rank 0: yes
  NOTE_SPOKEN, // from rank 0: somebody else does; keep silent and leave
  NOTE_SIGNAL, // I was told to end by a signal
  NOTE_GOODBYE // I leave in order
} NoteKind;

typedef struct {
  int kind, rank;
  long step, moves; // the step from 0, and how often the rank got on in it
  char op[72], where[72];
  unsigned char token[16];
} Note;

// Collective. False: this rank is not connected (on rank 0: no other rank is).
bool link_open(void);

// Sends a note to a rank: of rank 0 to any, of any other to rank 0. What cannot be sent at once is dropped: the receiver is
// then long overdue. Can be called in a signal handler.
void link_send(int rank, const Note *note);

// Waits up to `seconds` for notes, or until link_wake.
void link_wait(double seconds);
void link_wake(void);

// Calls note(rank, note) for each note that has come, note(rank, NULL) for each connection that has ended.
void link_receive(void (*note)(int rank, const Note *note));

bool link_connected(int rank);

void link_close(void);

#endif
