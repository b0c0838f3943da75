#include "array.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const size_t element_bytes[] = {
    [ELEMENT_U8] = 1,  [ELEMENT_I8] = 1,  [ELEMENT_U16] = 2, [ELEMENT_I16] = 2, [ELEMENT_U32] = 4,
    [ELEMENT_I32] = 4, [ELEMENT_I64] = 8, [ELEMENT_F32] = 4, [ELEMENT_F64] = 8,
};

static bool measure(Array *array, const char *path, size_t *size, Fault *fault) {
  array->count = 1;
  for (int d = 0; d < array->rank; d++)
    if (__builtin_mul_overflow(array->count, (size_t)array->extent[d], &array->count) || array->count > SIZE_MAX / 16)
      return fault_set(fault, FAIL_RUN, "%s: its header describes more elements than any file can hold", path);
  *size = array->header_bytes + array->count * element_bytes[array->type];
  return true;
}

static bool open_text(Array *array, const char *path, Fault *fault) {
  if (!data_file_open(&array->file, path, DATA_FILE_ANY, fault)) return false;
  array->type = ELEMENT_U8;
  array->rank = 1;
  array->count = array->file.size;
  array->extent[0] = (long)array->count;
  return true;
}

bool array_open(Array *array, const char *path, const char *kind, Fault *fault) {
  static unsigned char head[DATA_HEAD_BYTES];
  size_t bytes = 0, size = 0;
  memset(array, 0, sizeof *array);
  if (strcmp(kind, "text") == 0) return open_text(array, path, fault);
  if (!data_file_read_head(path, head, &bytes, fault)) return false;
  bool known;
  if (strcmp(kind, "idx") == 0) known = array_parse_idx(array, path, head, bytes, fault);
  else if (strcmp(kind, "npy") == 0) known = array_parse_npy(array, path, head, bytes, fault);
  else if (strcmp(kind, "tokens") == 0) known = array_parse_tokens(array, path, head, bytes, fault);
  else known = fault_set(fault, FAIL_INTERNAL, "no reader for data of kind %s", kind);
  if (!known || !measure(array, path, &size, fault)) return false;
  return data_file_open(&array->file, path, size, fault);
}

void array_close(Array *array) { data_file_close(&array->file); }

bool array_holds_integers(const Array *array) { return array->type != ELEMENT_F32 && array->type != ELEMENT_F64; }

double array_largest(const Array *array) {
  switch (array->type) {
  case ELEMENT_U8: return UINT8_MAX;
  case ELEMENT_I8: return INT8_MAX;
  case ELEMENT_U16: return UINT16_MAX;
  case ELEMENT_I16: return INT16_MAX;
  case ELEMENT_U32: return UINT32_MAX;
  case ELEMENT_I32: return INT32_MAX;
  default: return INFINITY;
  }
}

// Loads element i of the array, which may lie at any address, in the file's byte order.
#define LOADER(name, type, bits, swap)                                                                                 \
  static inline type load_##name(const unsigned char *p, bool big) {                                                   \
    uint##bits##_t word;                                                                                               \
    type value;                                                                                                        \
    memcpy(&word, p, sizeof word);                                                                                     \
    if (big) word = swap(word);                                                                                        \
    memcpy(&value, &word, sizeof value);                                                                               \
    return value;                                                                                                      \
  }
#define SAME(word) (word)
LOADER(u8, uint8_t, 8, SAME)
LOADER(i8, int8_t, 8, SAME)
LOADER(u16, uint16_t, 16, __builtin_bswap16)
LOADER(i16, int16_t, 16, __builtin_bswap16)
LOADER(u32, uint32_t, 32, __builtin_bswap32)
LOADER(i32, int32_t, 32, __builtin_bswap32)
LOADER(i64, int64_t, 64, __builtin_bswap64)
LOADER(f32, float, 32, __builtin_bswap32)
LOADER(f64, double, 64, __builtin_bswap64)

static const unsigned char *element_at(const Array *array, size_t index) {
  return array->file.bytes + array->header_bytes + index * element_bytes[array->type];
}

// One loop for each pair of types, so that the compiler can vectorise it. All arithmetic is in double: the value does not
// depend on the type of the program but for the last rounding.
#define CONVERT(name, dst_type)                                                                                        \
  for (size_t i = 0; i < count; i++)                                                                                   \
    ((dst_type *)dst)[i] =                                                                                             \
        (dst_type)((double)load_##name(src + i * sizeof load_##name(src, false), big) * scale + offset);               \
  break
#define CONVERT_ALL(dst_type)                                                                                          \
  switch (array->type) {                                                                                               \
  case ELEMENT_U8: CONVERT(u8, dst_type);                                                                              \
  case ELEMENT_I8: CONVERT(i8, dst_type);                                                                              \
  case ELEMENT_U16: CONVERT(u16, dst_type);                                                                            \
  case ELEMENT_I16: CONVERT(i16, dst_type);                                                                            \
  case ELEMENT_U32: CONVERT(u32, dst_type);                                                                            \
  case ELEMENT_I32: CONVERT(i32, dst_type);                                                                            \
  case ELEMENT_I64: CONVERT(i64, dst_type);                                                                            \
  case ELEMENT_F32: CONVERT(f32, dst_type);                                                                            \
  case ELEMENT_F64: CONVERT(f64, dst_type);                                                                            \
  }

void array_copy(const Array *array, size_t first, size_t count, double scale, double offset, ParccType type,
                void *dst) {
  const unsigned char *src = element_at(array, first);
  const bool big = array->big_endian;
  switch (type) {
  case PARCC_FLOAT: CONVERT_ALL(float) return;
  case PARCC_DOUBLE: CONVERT_ALL(double) return;
  case PARCC_INT: CONVERT_ALL(int32_t) return;
  }
}
