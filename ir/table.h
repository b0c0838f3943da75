// A table for people: columns as wide as their widest cell.
#ifndef PARCC_IR_TABLE_H
#define PARCC_IR_TABLE_H

#include "base.h"

enum { TABLE_MAX_COLUMNS = 20 };

typedef struct TableRow {
  const char *cell[TABLE_MAX_COLUMNS]; // NULL: empty
} TableRow;

typedef struct Table {
  Arena *arena;
  int n_columns;
  bool right[TABLE_MAX_COLUMNS]; // numbers: they end where the column does
  int widest[TABLE_MAX_COLUMNS]; // cells that are wider do not widen the column; 0: none is too wide
  VEC(TableRow) rows;
} Table;

// Adds a column to a table without rows but for the first one, that of the names.
void table_add_column(Table *table, const char *name, bool right);
// Nothing stands behind the last cell of a row that is not empty.
void table_print(const Table *table, Text *out);

#endif
