// How places that choose rows of a table spread over its rows: as the model says (~ zipf(1.05)), or as counted in data
// (ir/data_stats.h). What a step touches of a table is what its places choose, each row once.
#ifndef PARCC_IR_SPREAD_H
#define PARCC_IR_SPREAD_H

#include "base.h"

// Rows that come up equally often, and the part of all places that choose one of them.
typedef struct SpreadClass { double rows, share; } SpreadClass;

// Classes of different rows. What their shares lack to 1 is of places of which nothing is known: each counts as a row of its own.
typedef struct Spread {
  const SpreadClass *classes;
  int n;
} Spread;

// Every row as often as any other.
Spread spread_uniform(Arena *arena, double rows);
// The k-th row comes up k^-exponent times as often as the first. exponent >= 0. Rows with nearly the same share are one class.
Spread spread_power(Arena *arena, double rows, double exponent);
// The same rows, chosen by a part of the places as one says and by the rest as the other does. Where these differ, their rows are taken
// to be different ones: what is counted is no less than what there is.
Spread spread_mix(Arena *arena, const Spread *a, double part, const Spread *b);

// The expected number of different rows that so many places choose, each by itself: of a class of n rows with share s
// n (1 - (1 - s/n)^places). spread NULL: nothing is known. At most `rows`, those of the table.
double spread_distinct(const Spread *spread, double rows, double places);

#endif
