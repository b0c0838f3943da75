#include "../../ir/base.h"
#include "check.h"

static void arena_memory_is_zeroed_and_apart(void) {
  Arena *arena = arena_new();
  for (size_t size = 0; size < 3u << 20; size = size * 2 + 1) {
    unsigned char *a = arena_alloc(arena, size), *b = arena_alloc(arena, size);
    bool zero = true;
    for (size_t i = 0; i < size; i++) zero = zero && a[i] == 0 && b[i] == 0;
    CHECK(zero);
    CHECK((uintptr_t)a % _Alignof(max_align_t) == 0);
    CHECK(size == 0 || a + size <= b || b + size <= a);
    memset(a, 0xff, size);
    memset(b, 0xff, size);
  }
  arena_free(arena);
}

static void text_grows(void) {
  Arena *arena = arena_new();
  Text text = {.arena = arena};
  CHECK_STR(text_str(&text), "");
  for (int i = 0; i < 1000; i++) text_printf(&text, "%03d,", i);
  CHECK_INT((int64_t)text.len, 4000);
  CHECK(strncmp(text_str(&text), "000,001,", 8) == 0);
  CHECK_STR(text_str(&text) + 3992, "998,999,");
  CHECK_STR(arena_printf(arena, "%s-%d", "a", 7), "a-7");
  CHECK_STR(arena_strndup(arena, "abcdef", 3), "abc");
  arena_free(arena);
}

// Every format gives what snprintf gives.
#define CHECK_FORMAT(...)                                                                                              \
  do {                                                                                                                 \
    char expected[256];                                                                                                \
    snprintf(expected, sizeof expected, __VA_ARGS__);                                                                  \
    Text text = {.arena = arena};                                                                                      \
    text_printf(&text, "before");                                                                                      \
    text_printf(&text, __VA_ARGS__);                                                                                   \
    CHECK_STR(text_str(&text), arena_printf(arena, "before%s", expected));                                             \
    CHECK_STR(arena_printf(arena, __VA_ARGS__), expected);                                                             \
  } while (0)

static void texts_are_formatted(void) {
  Arena *arena = arena_new();
  CHECK_FORMAT("plain");
  CHECK_FORMAT("%s and %s%c", "one", "", '.');
  CHECK_FORMAT("%d %d %d %d", 0, -1, INT32_MAX, INT32_MIN);
  CHECK_FORMAT("%lld %lld %lld", (long long)INT64_MAX, (long long)INT64_MIN, 10LL);
  CHECK_FORMAT("<%*s|%*s|%*s|%*s>", 5, "ab", 1, "abc", 0, "", -4, "d");
  CHECK_FORMAT("<%.*s|%.*s|%.*s>", 2, "abc", 9, "abc", -1, "abc");
  CHECK_FORMAT("%s: %.17g, %u%% of %-6s|", "a", 0.1, 7u, "b"); // others, behind one that is not
  CHECK_FORMAT("%03o %5d %s", 7u, 3, "end");
  arena_free(arena);
}

static void vectors_grow(void) {
  Arena *arena = arena_new();
  VEC(int) numbers = {0};
  for (int i = 0; i < 1000; i++) vec_push(arena, &numbers, i * i);
  CHECK_INT(numbers.len, 1000);
  for (int i = 0; i < 1000; i++) CHECK_INT(numbers.at[i], i * i);
  arena_free(arena);
}

static void names_are_found(void) {
  Arena *arena = arena_new();
  Names names = {.arena = arena};
  CHECK_INT(names_get(&names, "missing"), -1);
  for (int i = 0; i < 500; i++) names_set(&names, arena_printf(arena, "name%d", i), i);
  names_set(&names, "name7", 70);
  for (int i = 0; i < 500; i++) CHECK_INT(names_get(&names, arena_printf(arena, "name%d", i)), i == 7 ? 70 : i);
  CHECK_INT(names_get(&names, "name500"), -1);
  CHECK_INT(names.len, 500);
  arena_free(arena);
}

static void contents_are_numbered(void) {
  Arena *arena = arena_new();
  Numbers numbers = {.arena = arena};
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 1000; i++) {
      int key[5] = {i, i * i, 3};
      CHECK_INT(numbers_of(&numbers, key, sizeof *key * (size_t)(1 + i % 5)), i);
      key[0] = -1; // a copy is kept
    }
  CHECK_INT(numbers_of(&numbers, "", 0), 1000);
  CHECK_INT(numbers.len, 1001);
  arena_free(arena);
}

static void arenas_begin_empty(void) {
  for (int i = 0; i < 10; i++) {
    Arena *a = arena_new(), *b = arena_new();
    unsigned char *x = arena_alloc(a, 1000), *y = arena_alloc(b, 1000);
    bool zero = x != y;
    for (int k = 0; k < 1000; k++) zero = zero && x[k] == 0 && y[k] == 0;
    CHECK(zero);
    memset(x, 1, 1000);
    memset(y, 2, 1000);
    arena_free(a);
    arena_free(b);
  }
}

static bool is_all(const unsigned char *at, size_t size, unsigned char value) {
  for (size_t i = 0; i < size; i++)
    if (at[i] != value) return false;
  return true;
}

// What was large and full serves objects of other sizes, each empty at first and apart from the others.
static void large_memory_serves_again(void) {
  enum { LARGE = 3 << 20, N = 12 };
  static const size_t sizes[] = {1 << 20, 1000, 300 << 10, 100 << 10};
  for (int round = 0; round < 3; round++) {
    Arena *before = arena_new(), *arena = arena_new();
    memset(arena_alloc(before, LARGE), 0xFF, LARGE);
    arena_free(before);
    unsigned char *at[N];
    for (int i = 0; i < N; i++) {
      at[i] = arena_alloc(arena, sizes[i % 4]);
      CHECK(is_all(at[i], sizes[i % 4], 0));
      memset(at[i], i + 1, sizes[i % 4]);
    }
    for (int i = 0; i < N; i++) CHECK(is_all(at[i], sizes[i % 4], (unsigned char)(i + 1)));
    arena_free(arena);
  }
}

// Whether it all is zero, which it is not any more then.
static bool takes_zeroed(Arena *arena, size_t size) {
  const unsigned char *at = arena_alloc(arena, size);
  bool zero = true;
  for (size_t i = 0; i < size; i++) zero &= at[i] == 0;
  memset((void *)at, 0xFF, size);
  return zero;
}

// Of some sizes larger than any that came before, up to those that are given back to the system.
static void small_memory_serves_large_ones(void) {
  enum { SMALL = 200 << 10, N = 150, STEP = 2100 << 10, SIZES = 10 };
  for (int i = 1; i <= SIZES; i++) {
    Arena *small = arena_new(), *large = arena_new();
    bool zero = true;
    for (int k = 0; k < N; k++) zero &= takes_zeroed(small, SMALL);
    arena_free(small);
    zero &= takes_zeroed(large, (size_t)i * STEP) && takes_zeroed(large, SMALL);
    arena_free(large);
    CHECK(zero);
  }
}

CHECKS(TEST(arena_memory_is_zeroed_and_apart), TEST(text_grows), TEST(texts_are_formatted), TEST(vectors_grow), TEST(names_are_found),
       TEST(contents_are_numbered), TEST(arenas_begin_empty), TEST(large_memory_serves_again),
       TEST(small_memory_serves_large_ones))
