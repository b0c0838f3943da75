// The list of what --save writes and --load reads.
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "run.h"

void parcc_stored(const ParccTensor *tensors, int n) {
  run.stored = tensors;
  run.n_stored = n;
}

static ParccTensor *list; // of parcc_store
static int n_list;

static const char *joined(const char *layer, const char *name) {
  if (layer == NULL) return name;
  const size_t layer_len = strlen(layer), name_len = strlen(name);
  char *both = malloc(layer_len + name_len + 2);
  if (both == NULL) fail_alone(FAIL_RUN, "out of memory");
  memcpy(both, layer, layer_len);
  both[layer_len] = '.';
  memcpy(both + layer_len + 1, name, name_len + 1);
  return both;
}

void parcc_store(const char *layer, const char *name, ParccKind kind, ParccType type, void *data, int rank,
                 const ParccDim *dims) {
  if ((n_list & (n_list - 1)) == 0) { // full: the capacity is the power of two behind it
    ParccTensor *grown = realloc(list, (n_list == 0 ? 1 : 2 * (size_t)n_list) * sizeof *list);
    if (grown == NULL) fail_alone(FAIL_RUN, "out of memory");
    list = grown;
  }
  ParccTensor *tensor = &list[n_list++];
  *tensor = (ParccTensor){
      .name = joined(layer, name), .type = type, .rank = dims[0].extent < 0 ? 0 : rank, .data = data, .kind = kind};
  for (int i = 0; i < rank; i++) {
    tensor->extent[i] = dims[i].extent < 0 ? 1 : dims[i].extent;
    tensor->own[i] = dims[i].own;
  }
  if (data == NULL) tensor->own[0].len = 0;
  parcc_stored(list, n_list);
}
