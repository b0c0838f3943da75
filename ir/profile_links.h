// Measured times of changes of layout in a profile (ir/profile.h):
//
//     35.2 us  all_reduce [2 of 8 by 4] 1048576 bytes
//
// in a program of 8 ranks those that are 4 apart, 2 in each group, all groups at once, and a tensor that takes so many bytes as all ranks of
// a group hold it together (n in ir/reshard.def).
#ifndef PARCC_IR_PROFILE_LINKS_H
#define PARCC_IR_PROFILE_LINKS_H

#include "reshard.h"

typedef struct LinkRanks { int part, all, stride; } LinkRanks;

typedef struct ProfileLink {
  ReshardKind kind;
  LinkRanks ranks;
  double bytes;
} ProfileLink;

typedef struct LinkPoint { double bytes, seconds; } LinkPoint;

// One kind among the same ranks, by bytes.
typedef struct LinkCurve {
  ReshardKind kind;
  LinkRanks ranks;
  VEC(LinkPoint) points; // ascending
} LinkCurve;

typedef struct ProfileLinks { VEC(LinkCurve) curves; } ProfileLinks;

bool profile_link_begins(const char *text); // it is such a time, if it is right
// False: it is not; *at is then where it goes wrong, and *expected what belongs there.
bool profile_link_read(const char *text, ProfileLink *link, const char **at, const char **expected);
const char *profile_link_name(Arena *arena, const ProfileLink *link);

void profile_links_add(Arena *arena, ProfileLinks *links, const ProfileLink *link, double seconds);
const LinkCurve *profile_links_find(const ProfileLinks *links, ReshardKind kind, LinkRanks ranks); // NULL: not measured
// Between what was measured in proportion; below the smallest as long as that, above the largest at its rate.
double link_curve_seconds(const LinkCurve *curve, double bytes);

#endif
