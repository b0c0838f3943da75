// Which places of memory are taken, and when: what plan-memory places buffers by.
#ifndef PARCC_PASSES_OCCUPANCY_H
#define PARCC_PASSES_OCCUPANCY_H

#include "../ir/base.h"

typedef struct Occupancy Occupancy;

// Of positions 0 to n - 1, all of it free.
Occupancy *occupancy_new(Arena *arena, int n);
void occupancy_clear(Occupancy *occupancy);

// The lowest offset from `from` on, where `bytes` are free at all positions from `first` to `last`.
int64_t occupancy_lowest_gap(const Occupancy *occupancy, int first, int last, int64_t bytes, int64_t from);

void occupancy_take(Occupancy *occupancy, int first, int last, int64_t offset, int64_t bytes);

#endif
