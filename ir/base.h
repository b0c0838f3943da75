// Memory, growing arrays, strings and source locations: what every other file of the compiler stands on.
//
// All compiler data lives in arenas and is never freed one by one. Running out of memory ends the process with exit code 3.
#ifndef PARCC_IR_BASE_H
#define PARCC_IR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena);
void arena_own(Arena *arena, Arena *other); // the other one is freed with it
// Forgets everything in the arena but keeps its memory for reuse: for work that is done over and over.
void arena_reset(Arena *arena);
// Zeroed memory of `size` bytes, aligned for any object, owned by the arena.
void *arena_alloc(Arena *arena, size_t size);
// Makes the object of `size` bytes `bigger` where it lies, the rest zeroed. False: it is not the last one, or there is no room.
bool arena_extend(Arena *arena, const void *at, size_t size, size_t bigger);
// Of an object that nobody uses any more: its memory serves others.
void arena_give_back(Arena *arena, void *at, size_t size);
void *arena_copy(Arena *arena, const void *from, size_t size); // NULL of nothing
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t len);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, type, n) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(n)))

// A growing array in an arena: struct { T *at; int len, cap; }.  VEC(T) names the type, vec_push appends.
#define VEC(T) struct { T *at; int len, cap; }
#define vec_push(arena, vec, ...)                                                                                      \
  do {                                                                                                                 \
    if ((vec)->len == (vec)->cap)                                                                                      \
      (vec)->at = vec_grow((arena), (vec)->at, (vec)->len, &(vec)->cap, sizeof *(vec)->at);                            \
    (vec)->at[(vec)->len++] = (__VA_ARGS__);                                                                           \
  } while (0)
void *vec_grow(Arena *arena, void *at, int len, int *cap, size_t size);
// The same of an array that is held in this one place: what it grows out of is given back.
#define vec_push_own(arena, vec, ...)                                                                                  \
  do {                                                                                                                 \
    if ((vec)->len == (vec)->cap)                                                                                      \
      (vec)->at = vec_grow_own((arena), (vec)->at, (vec)->len, &(vec)->cap, sizeof *(vec)->at);                        \
    (vec)->at[(vec)->len++] = (__VA_ARGS__);                                                                           \
  } while (0)
void *vec_grow_own(Arena *arena, void *at, int len, int *cap, size_t size);
// Makes the array empty, with room for n elements; what it held stays where it is.
#define vec_renew(arena, vec, n)                                                                                       \
  do {                                                                                                                 \
    (vec)->len = 0;                                                                                                    \
    (vec)->cap = (n);                                                                                                  \
    (vec)->at = arena_alloc((arena), sizeof *(vec)->at * (size_t)(n));                                                 \
  } while (0)

// Of an array that was copied as a struct: gives it memory of its own.
#define vec_own(arena, vec) ((vec)->at = arena_copy((arena), (vec)->at, sizeof *(vec)->at * (size_t)((vec)->cap = (vec)->len)))

// A text buffer that grows; `at` is always NUL-terminated once something was written.
typedef struct Text {
  Arena *arena;
  char *at;
  size_t len, cap;
} Text;
void text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(Text *text, const char *format, va_list args);
void text_append(Text *text, const char *from, size_t len);
void text_char(Text *text, char c);
const char *text_str(const Text *text);

// Map from strings to int, insertion only; keys are not copied. Lookup of a missing key gives -1.
typedef struct Names {
  Arena *arena;
  struct { const char *key; int value; uint32_t hash; } *slot;
  int len, cap;
} Names;
int names_get(const Names *names, const char *key);
int names_get_len(const Names *names, const char *key, size_t len); // of a key that is not all of the text
const char *names_key(const Names *names, const char *key); // as it was put in; NULL: it was not
void names_set(Names *names, const char *key, int value);
void names_set_own(Names *names, const char *key, int value); // of a map that is held in this one place, as vec_push_own
Names names_copy(Arena *arena, const Names *names);

// Numbers contents of memory 0, 1, 2, ... in the order in which they first come; they are copied. Keys have no padding, or all of
// it is zero.
typedef struct Numbers {
  Arena *arena;
  struct { uint64_t hash; const void *key; size_t size; int number; } *slot;
  int len, cap;
} Numbers;
int numbers_of(Numbers *numbers, const void *key, size_t size); // of something new: numbers->len as it was
const void *numbers_key(Numbers *numbers, const void *key, size_t size); // the one copy of it

// Map from words to int, insertion only.
typedef struct WordMap {
  Arena *arena;
  struct { uint64_t key; int value; bool used; } *slot;
  int len, cap;
} WordMap;
// Where the value of a key is kept until the next key is put in; a new one begins as -1.
int *word_map_at(WordMap *map, uint64_t key);

// Where in which text something was written. file is a display name; line and col count from 1; line 0: nowhere.
typedef struct Loc {
  const char *file;
  int line, col;
  int end_col; // one past the last column, for the caret's tail; 0: a single column
} Loc;

double steady_seconds(void); // of a clock that only goes forward

// An internal error: prints "parcc: internal error: ..." and exits with code 3.
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
// Of sizes: the product, or INT64_MAX where that is larger.
static inline int64_t times_i64(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
static inline int64_t gcd_i64(int64_t a, int64_t b) { return b == 0 ? a : gcd_i64(b, a % b); } // their greatest common divisor
static inline bool str_eq(const char *a, const char *b) { return strcmp(a, b) == 0; }

#endif
