// What of a tensor an operator makes or needs where its layer is divided: the part that each dimension of the layer has in it.
//
//   y[n, co, p] = sum(ci, r) x[n, ci, p + r] * w[co, ci, r]        of a layer with the dimensions n, co, p
//   x: n cuts its n, co nothing, p its last dimension into windows;  w: co cuts its co;  y: each its own
#ifndef PARCC_PASSES_SEARCH_ACCESS_H
#define PARCC_PASSES_SEARCH_ACCESS_H

#include "configuration.h"
#include "transfer.h"

typedef struct Access {
  int dim[LAYER_MAX_DIMS]; // of the tensor, that each dimension of the layer cuts; -1: none
  Cut cut[LAYER_MAX_DIMS];
} Access;

// Of a result, and of a tensor that is read, by an operator with these dimensions of its layer, which has so many. The sharding of the
// operator is overwritten.
Access access_made(Graph *graph, int op, const OpDims *dims, int n_dims, int tensor);
Access access_read(Graph *graph, int op, const OpDims *dims, int n_dims, int tensor);
// What both need together: what they do not need alike is whole.
Access access_both(const Access *a, const Access *b, int n_dims);
bool access_same(const Access *a, const Access *b, int n_dims);
// Of what a tensor is a view of, down to `root`, as much as it takes to have that of the tensor.
Access access_through_views(const Graph *graph, const Access *access, int n_dims, int tensor, int root);
// The dimensions with which an operator makes its result so.
OpDims access_dims(const Access *access, int n_dims, const Op *op);
// The blocks in which the tensor is cut in a configuration of the layer.
Region access_region(const Access *access, const Configuration *configuration, int n_axes);

#endif
