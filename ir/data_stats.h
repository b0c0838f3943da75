// How the rows of tables are looked up in data, as the program of `parcc data-stats` has counted it.
//
// As text, of each table its rows, and then how many of them are looked up equally often, by how many places together:
//
//     data-stats 1
//     table lookup1.table 100000 rows       # a comment
//     1 rows 7012 places
//     20111 rows 40222 places
#ifndef PARCC_IR_DATA_STATS_H
#define PARCC_IR_DATA_STATS_H

#include "problems.h"
#include "spread.h"

enum { DATA_STATS_VERSION = 1 };

typedef struct TableStats {
  const char *name;
  double rows; // of the table
  Spread spread;
  Loc loc;
} TableStats;

typedef struct DataStats {
  Names numbers; // of tables
  VEC(TableStats) tables;
} DataStats;

// Reads a text of any bytes. `name` is what places are called by. Mistakes are added to `problems`, whose arena holds the result.
DataStats data_stats_read(const char *name, const char *text, size_t len, Problems *problems);

#endif
