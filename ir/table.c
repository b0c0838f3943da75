#include "table.h"

static const char *cell_at(const TableRow *row, int column) { return row->cell[column] != NULL ? row->cell[column] : ""; }

static int width_of(const Table *t, int column) {
  int width = 0;
  for (int i = 0; i < t->rows.len; i++) {
    const int len = (int)strlen(cell_at(&t->rows.at[i], column));
    if (len > width && (t->widest[column] == 0 || len <= t->widest[column])) width = len;
  }
  return width;
}

void table_add_column(Table *t, const char *name, bool right) {
  if (t->n_columns == 0) vec_push(t->arena, &t->rows, (TableRow){0});
  if (t->n_columns == TABLE_MAX_COLUMNS) fatal("a table of more than %d columns", TABLE_MAX_COLUMNS);
  t->rows.at[0].cell[t->n_columns] = name;
  t->right[t->n_columns++] = right;
}

void table_print(const Table *t, Text *out) {
  int width[TABLE_MAX_COLUMNS];
  for (int c = 0; c < t->n_columns; c++) width[c] = width_of(t, c);
  for (int i = 0; i < t->rows.len; i++) {
    const TableRow *row = &t->rows.at[i];
    int last = t->n_columns - 1;
    while (last > 0 && cell_at(row, last)[0] == '\0') last--;
    for (int c = 0; c <= last; c++) {
      const int pad = t->right[c] ? width[c] : c < last ? -width[c] : 0;
      text_printf(out, "%s%*s", c > 0 ? "  " : "", pad, cell_at(row, c));
    }
    text_printf(out, "\n");
  }
}
