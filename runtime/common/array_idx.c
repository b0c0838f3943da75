// The IDX format of the MNIST data: two zero bytes, the element type, the number of dimensions, their extents as
// big-endian 32-bit numbers, then the elements, big-endian, in C order.
#include "array.h"

bool array_parse_idx(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault) {
  if (bytes < 4) return fault_set(fault, FAIL_RUN, "%s: truncated: no IDX header", path);
  if (head[0] != 0 || head[1] != 0) return fault_set(fault, FAIL_RUN, "%s: not an IDX file", path);
  switch (head[2]) {
  case 0x08: array->type = ELEMENT_U8; break;
  case 0x09: array->type = ELEMENT_I8; break;
  case 0x0B: array->type = ELEMENT_I16; break;
  case 0x0C: array->type = ELEMENT_I32; break;
  case 0x0D: array->type = ELEMENT_F32; break;
  case 0x0E: array->type = ELEMENT_F64; break;
  default: return fault_set(fault, FAIL_RUN, "%s: IDX element type 0x%02x is none of those there are", path, head[2]);
  }
  array->big_endian = true;
  array->rank = head[3];
  if (array->rank < 1 || array->rank > ARRAY_MAX_RANK)
    return fault_set(fault, FAIL_RUN, "%s: %d dimensions, from 1 to %d can be read", path, array->rank, ARRAY_MAX_RANK);
  array->header_bytes = 4 + 4 * (size_t)array->rank;
  if (bytes < array->header_bytes) return fault_set(fault, FAIL_RUN, "%s: truncated: its IDX header is cut off", path);
  for (int d = 0; d < array->rank; d++) {
    const unsigned char *p = head + 4 + 4 * d;
    array->extent[d] = (long)p[0] << 24 | (long)p[1] << 16 | (long)p[2] << 8 | (long)p[3];
  }
  return true;
}
