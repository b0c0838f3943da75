// A tensor that many groups touch in many ways, with what a hub says of it (tables_hubs.c).
#ifndef PARCC_PASSES_SEARCH_TABLES_STAR_H
#define PARCC_PASSES_SEARCH_TABLES_STAR_H

#include "tables_inner.h"

enum { MOST_TOLD = 8, MOST_WHOLES = 7 }; // layouts that are told apart; wholes that are

typedef struct Star { // a tensor, and who touches it
  Tables *t;
  const Tensor *tensor;
  int shape;
  const Port *maker;    // that chooses how it is made; or NULL
  int n_made;
  const int *made;      // [n_made] states of the maker; of none -1
  VEC(const Port *) readers; // that choose how they read it
  LayoutList fixed;     // in which others read it
  LayoutList wants;     // in which readers may want it
  int most;             // that they want together
  bool single;          // each wants at most one
  LayoutList told;
  int n_sets, *set;     // [n_sets] bits of `told`
  int n_wholes;         // 1, none, or that and one along each of these axes
  uint32_t whole[1 + MOST_WHOLES];
  int n_values;         // of the hub: [set][whole]
  bool all;             // all of `wants` are told apart
  double *takes;        // [made][value]
  double **more;        // by layout of `wants`, once it is asked: what sets take with it, at least, [made][set]
} Star;

// The nearest of what may be there, by layout of `wants`; of those that are partial nothing is asked.
typedef struct StarWays {
  double *always; // [made][want] how it is made, what its maker reads, and what others do, whatever is chosen
  double *whole;  // [made][whole][want]
  double *told;   // [told][want]
  double *hidden; // [made][want] what may be there and no value of the hub says so, whoever reads it
  double *between; // [want][want]
  bool *offered;   // [reader][want]: other readers may want it, and it is not told apart
} StarWays;

Star star_of(Tables *t, const Approximated *a, bool *const *needed);
// Settles which layouts are told apart, of those that were seen as many as there is room for, and the values of the hub.
void star_tell_apart(Star *s, const LayoutList *seen);
bool star_is_partial(const Star *s, int layout);
const PortState *star_state(const Star *s, int state);
// How the tensor lies as the maker makes it, and the whole of that which goes with a value.
int star_root(const Star *s, int made);
int star_whole(const Star *s, int made, int whole);
// Which of the layouts that are told apart a state of a reader wants.
int star_told(const Star *s, const PortState *state);
StarWays star_ways(const Star *s);
// The way to a layout from what is there.
double star_way(const Star *s, const StarWays *ways, int made, int value, int want);
// How many readers may come by a layout from what the hub does not say.
int star_sharers(const Star *s, const StarWays *ways);

static inline int star_bits(int set) { return __builtin_popcount((unsigned)set); }

static inline int star_place(const LayoutList *list, int layout) {
  int i = 0;
  while (i < list->len && list->at[i] != layout) i++;
  return i;
}

#endif
