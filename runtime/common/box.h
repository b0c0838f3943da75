// Boxes: the parts of a tensor that ranks hold, one interval a dimension, dense and row-major in memory.
#ifndef PARCC_BOX_H
#define PARCC_BOX_H

#include "parcc.h"

typedef struct {
  long lo[PARCC_MAX_RANK], len[PARCC_MAX_RANK];
} Box;

// The coordinate of a rank on an axis.
static inline int box_coordinate(const ParccPlacing *axis, int rank) { return rank / axis->stride % axis->size; }
// How many ranks there are along some axes (bits), and the one at a place among them that is like this rank along the others.
int box_ranks_along(const ParccDivision *d, unsigned axes);
int box_rank_along(const ParccDivision *d, unsigned axes, int place);
// What `rank` holds of a tensor; samples: in the batch at hand.
Box box_of_rank(const ParccDivision *d, int rank, long samples);
long box_elements(const Box *box, int dims);
Box box_intersection(const Box *a, const Box *b, int dims);
// Where the first element of a part is in the memory of a box, in elements.
long box_offset(const Box *whole, const Box *part, int dims);
// Whether a part of a box is one run in its memory.
int box_is_run(const Box *part, const Box *whole, int dims);
// Copies the elements of `part` from the memory of one box that holds it to that of another: one call for each three
// dimensions that do not lie side by side. Nothing to do where they are at the same place already.
void box_copy(char *dst, const Box *dst_box, const char *src, const Box *src_box, const Box *part, int dims, size_t element,
              cudaStream_t stream);

#endif
