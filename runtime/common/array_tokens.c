// Files of tokens: a .npy file of one dimension of whole numbers, or a .bin file with a header of 256 little-endian 32-bit
// words, as the training programs for GPT write them: a magic number, a version, the number of tokens, nothing else; then
// the tokens, of 16 bits or, in the second version, of 32.
#include "array.h"

enum { HEADER_WORDS = 256, MAGIC_16 = 20240520, VERSION_16 = 1, MAGIC_32 = 20240801, VERSION_32 = 7 };

static long word(const unsigned char *head, int i) {
  const unsigned char *p = head + 4 * i;
  return (long)p[0] | (long)p[1] << 8 | (long)p[2] << 16 | (long)p[3] << 24;
}

static bool parse_bin(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault) {
  const long magic = bytes >= 4 ? word(head, 0) : 0;
  if (magic != MAGIC_16 && magic != MAGIC_32)
    return fault_set(fault, FAIL_RUN,
                     "%s: no file of tokens: neither .npy nor a header of 256 words that begins with %d or %d", path,
                     MAGIC_16, MAGIC_32);
  if (bytes < 4 * HEADER_WORDS) return fault_set(fault, FAIL_RUN, "%s: truncated: its header is cut off", path);
  const long version = word(head, 1), wanted = magic == MAGIC_16 ? VERSION_16 : VERSION_32;
  if (version != wanted)
    return fault_set(fault, FAIL_RUN, "%s: version %ld of its format, %ld can be read", path, version, wanted);
  array->type = magic == MAGIC_16 ? ELEMENT_U16 : ELEMENT_U32;
  array->big_endian = false;
  array->rank = 1;
  array->extent[0] = word(head, 2);
  array->header_bytes = 4 * HEADER_WORDS;
  return true;
}

bool array_parse_tokens(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault) {
  if (bytes == 0 || head[0] != 0x93) return parse_bin(array, path, head, bytes, fault);
  if (!array_parse_npy(array, path, head, bytes, fault)) return false;
  if (!array_holds_integers(array)) return fault_set(fault, FAIL_RUN, "%s: it holds reals, tokens are integers", path);
  return array->rank == 1 ||
         fault_set(fault, FAIL_RUN, "%s: %d dimensions, a file of tokens has one", path, array->rank);
}
