#include "vocabulary.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { HEADER_WORDS = 256, MAGIC = 20240328 };

static uint32_t header_word(const unsigned char *p, int i) {
  return (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 | (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
}

static bool out_of_memory(Fault *fault) { return fault_set(fault, FAIL_RUN, "out of memory"); }

// Room for `most` words.
static bool make_room(Vocabulary *v, size_t most, Fault *fault) {
  v->word = calloc(most + 1, sizeof *v->word);
  for (v->slots = 16; v->slots < 2 * most;) v->slots *= 2;
  v->slot = malloc(v->slots * sizeof *v->slot);
  if (v->word == NULL || v->slot == NULL) return out_of_memory(fault);
  for (size_t i = 0; i < v->slots; i++) v->slot[i] = -1;
  return true;
}

static bool is_word(const Vocabulary *v, long i, const char *bytes, size_t length) {
  return v->word[i].length == length && memcmp(v->file.bytes + v->word[i].start, bytes, length) == 0;
}

// Where the word is in the table, or where it would be.
static size_t find_slot(const Vocabulary *v, const char *bytes, size_t length) {
  size_t at = (size_t)hash_bytes(0, bytes, length) & (v->slots - 1);
  while (v->slot[at] >= 0 && !is_word(v, v->slot[at], bytes, length)) at = (at + 1) & (v->slots - 1);
  return at;
}

// Returns the first word with these bytes, which may be this one.
static long add_word(Vocabulary *v, size_t start, size_t length) {
  const size_t at = find_slot(v, (const char *)v->file.bytes + start, length);
  v->word[v->n].start = start;
  v->word[v->n].length = length;
  if (v->slot[at] < 0) v->slot[at] = v->n;
  if (length > v->longest) v->longest = length;
  v->n++;
  return v->slot[at];
}

static bool read_lines(Vocabulary *v, Fault *fault) {
  const unsigned char *bytes = v->file.bytes;
  size_t lines = 0;
  for (size_t i = 0; i < v->file.size; i++) lines += bytes[i] == '\n';
  if (!make_room(v, lines + 1, fault)) return false;
  for (size_t start = 0; start < v->file.size;) {
    const unsigned char *end = memchr(bytes + start, '\n', v->file.size - start);
    const size_t length = (end == NULL ? v->file.size : (size_t)(end - bytes)) - start;
    const size_t word = length > 0 && bytes[start + length - 1] == '\r' ? length - 1 : length;
    const long first = add_word(v, start, word);
    if (first != v->n - 1)
      return fault_set(fault, FAIL_RUN, "%s: line %ld: the word '%.*s' stands in line %ld already", v->file.path, v->n, (int)word, bytes + start, first + 1);
    start += length + 1;
  }
  return true;
}

static bool read_pieces(Vocabulary *v, Fault *fault) {
  const char *path = v->file.path;
  if (v->file.size < 4 * HEADER_WORDS) return fault_set(fault, FAIL_RUN, "%s: truncated: its header is cut off", path);
  const uint32_t version = header_word(v->file.bytes, 1), count = header_word(v->file.bytes, 2);
  if (version != 1 && version != 2)
    return fault_set(fault, FAIL_RUN, "%s: version %u of its format, 1 and 2 can be read", path, version);
  size_t at = 4 * HEADER_WORDS;
  if (count > v->file.size - at) return fault_set(fault, FAIL_RUN, "%s: truncated: %u pieces do not fit", path, count);
  if (!make_room(v, count, fault)) return false;
  for (uint32_t i = 0; i < count; i++) {
    const size_t length = at < v->file.size ? v->file.bytes[at] : 0;
    if (at + 1 + length > v->file.size) return fault_set(fault, FAIL_RUN, "%s: truncated in piece %u", path, i);
    add_word(v, at + 1, length);
    at += 1 + length;
  }
  return at == v->file.size ||
         fault_set(fault, FAIL_RUN, "%s: %zu bytes behind the last piece", path, v->file.size - at);
}

bool vocabulary_open(Vocabulary *v, const char *path, long range, Fault *fault) {
  *v = (Vocabulary){0};
  if (!data_file_open(&v->file, path, DATA_FILE_ANY, fault)) return false;
  v->pieces = v->file.size >= 4 && header_word(v->file.bytes, 0) == MAGIC;
  if (!(v->pieces ? read_pieces(v, fault) : read_lines(v, fault))) return false;
  if (v->n == 0) return fault_set(fault, FAIL_RUN, "%s: no words", path);
  return v->n <= range || fault_set(fault, FAIL_RUN, "%s: %ld words, but tokens lie below %ld", path, v->n, range);
}

long vocabulary_find(const Vocabulary *v, const char *bytes, size_t length) {
  return v->slot[find_slot(v, bytes, length)];
}

void vocabulary_close(Vocabulary *v) {
  free(v->word);
  free(v->slot);
  data_file_close(&v->file);
  *v = (Vocabulary){0};
}
