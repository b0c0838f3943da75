// The .npy format of NumPy, versions 1 to 3: "\x93NUMPY", major and minor version, the length of the header (2 bytes in
// version 1, else 4), the header (a Python dictionary with the keys descr, fortran_order and shape), then the elements.
#include <ctype.h>
#include <string.h>

#include "array.h"

// The rest of the header that is still to be read; end is beyond its last character.
typedef struct {
  const char *at, *end;
} Text;

static void skip_blanks(Text *text) {
  while (text->at < text->end && isspace((unsigned char)*text->at)) text->at++;
}

static bool take(Text *text, char c) {
  skip_blanks(text);
  if (text->at == text->end || *text->at != c) return false;
  text->at++;
  return true;
}

static bool take_word(Text *text, const char *word) {
  const size_t length = strlen(word);
  skip_blanks(text);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) return false;
  text->at += length;
  return true;
}

// A quoted string without escapes, into a buffer of `size`.
static bool take_string(Text *text, char *string, size_t size) {
  const char quote = take(text, '\'') ? '\'' : take(text, '"') ? '"' : '\0';
  if (quote == '\0') return false;
  size_t length = 0;
  while (text->at < text->end && *text->at != quote && length + 1 < size) string[length++] = *text->at++;
  string[length] = '\0';
  return take(text, quote);
}

static bool take_extent(Text *text, long *extent) {
  skip_blanks(text);
  if (text->at == text->end || !isdigit((unsigned char)*text->at)) return false;
  for (*extent = 0; text->at < text->end && isdigit((unsigned char)*text->at); text->at++)
    if (__builtin_mul_overflow(*extent, 10, extent) || __builtin_add_overflow(*extent, *text->at - '0', extent))
      return false;
  return true;
}

static bool take_shape(Text *text, Array *array) {
  if (!take(text, '(')) return false;
  for (array->rank = 0; !take(text, ')');) {
    if (array->rank == ARRAY_MAX_RANK || !take_extent(text, &array->extent[array->rank])) return false;
    array->rank++;
    if (!take(text, ',')) return take(text, ')');
  }
  return true;
}

static bool find_type(const char *descr, ElementType *type) {
  static const struct {
    const char *name;
    ElementType type;
  } types[] = {{"u1", ELEMENT_U8},  {"i1", ELEMENT_I8},  {"u2", ELEMENT_U16}, {"i2", ELEMENT_I16}, {"u4", ELEMENT_U32},
               {"i4", ELEMENT_I32}, {"i8", ELEMENT_I64}, {"f4", ELEMENT_F32}, {"f8", ELEMENT_F64}};
  const bool one_byte = descr[0] != '\0' && descr[1] != '\0' && strcmp(descr + 2, "1") == 0;
  if (descr[0] != '<' && !(one_byte && descr[0] == '|')) return false;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(descr + 1, types[i].name) == 0) {
      *type = types[i].type;
      return true;
    }
  return false;
}

static bool parse_dictionary(Text text, Array *array, const char *path, Fault *fault) {
  char key[32], descr[64] = "";
  bool fortran = false, has_shape = false, has_order = false, right = take(&text, '{');
  while (right && !take(&text, '}')) {
    right = take_string(&text, key, sizeof key) && take(&text, ':');
    if (!right) break;
    if (strcmp(key, "descr") == 0) right = take_string(&text, descr, sizeof descr);
    else if (strcmp(key, "fortran_order") == 0)
      right = has_order = (fortran = take_word(&text, "True")) || take_word(&text, "False");
    else right = strcmp(key, "shape") == 0 && (has_shape = take_shape(&text, array));
    if (!take(&text, ',')) {
      right = right && take(&text, '}');
      break;
    }
  }
  if (!right || descr[0] == '\0' || !has_shape || !has_order)
    return fault_set(fault, FAIL_RUN, "%s: its .npy header cannot be read", path);
  if (!find_type(descr, &array->type))
    return fault_set(fault, FAIL_RUN, "%s: elements of type '%s'; little-endian u1 i1 u2 i2 u4 i4 i8 f4 f8 can be read",
                     path, descr);
  if (fortran) return fault_set(fault, FAIL_RUN, "%s: in Fortran order; save it in C order", path);
  if (array->rank < 1) return fault_set(fault, FAIL_RUN, "%s: a single number, not an array of samples", path);
  return true;
}

bool array_parse_npy(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault) {
  static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
  if (bytes < 10) return fault_set(fault, FAIL_RUN, "%s: truncated: no .npy header", path);
  if (memcmp(head, magic, sizeof magic) != 0) return fault_set(fault, FAIL_RUN, "%s: not a .npy file", path);
  if (head[6] < 1 || head[6] > 3)
    return fault_set(fault, FAIL_RUN, "%s: .npy version %d, from 1 to 3 can be read", path, head[6]);
  const size_t start = head[6] == 1 ? 10 : 12;
  if (bytes < start) return fault_set(fault, FAIL_RUN, "%s: truncated: no .npy header", path);
  size_t length = head[8] | (size_t)head[9] << 8;
  if (head[6] > 1) length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  if (length > bytes - start)
    return fault_set(fault, FAIL_RUN, "%s: its .npy header is cut off or longer than 64 KiB", path);
  array->big_endian = false;
  array->header_bytes = start + length;
  const char *text = (const char *)head + start;
  return parse_dictionary((Text){text, text + length}, array, path, fault);
}
