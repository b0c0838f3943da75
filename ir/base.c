#define _DEFAULT_SOURCE // MAP_ANONYMOUS, madvise
#include "base.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { CHUNK_SIZE = 256 << 10, SLAB_SIZE = 4 << 20, KEPT_SIZE = 16 << 20 }; // larger ones are given back to the system

typedef struct Chunk {
  struct Chunk *next;
  size_t used, size; // bytes of data
  size_t dirty;      // bytes from the first one on that may not be zero, where they are not used
  max_align_t data[];
} Chunk;

typedef struct Hole { // memory that was given back
  struct Hole *next;
  size_t size; // with this
} Hole;

struct Arena {
  Chunk *chunk;
  Hole *hole;
  Arena *owned, *next_owned; // a list
};

_Noreturn void fatal(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("parcc: internal error: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(3);
}

double steady_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *checked(void *memory) {
  if (memory == NULL) fatal("out of memory");
  return memory;
}

Arena *arena_new(void) { return checked(calloc(1, sizeof(Arena))); }

static size_t rounded(size_t size) {
  const size_t align = sizeof(max_align_t);
  return (size + align - 1) / align * align;
}

// Chunks of no arena, of the usual size, of up to a slab, and larger: arenas come and go faster than pages can be had.
static Chunk *spare, *spare_large, *spare_huge;
// Fresh memory that chunks are cut from.
static struct { char *at; size_t left; } slab;

// Fresh pages are zero. Large ones spare most page faults, which otherwise take a quarter of a compilation.
static void *pages_new(size_t size) {
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fatal("out of memory");
#ifdef MADV_HUGEPAGE
  (void)madvise(pages, size, MADV_HUGEPAGE); // advice: nothing is lost where it is not taken
#endif
  return pages;
}

static Chunk *chunk_cut(size_t size) {
  Chunk *chunk = (Chunk *)slab.at;
  slab.at += size;
  slab.left -= size;
  chunk->size = size - sizeof(Chunk);
  return chunk;
}

static Chunk **spares_of(size_t size) { return size == CHUNK_SIZE ? &spare : size <= SLAB_SIZE ? &spare_large : &spare_huge; }

// What of a spare chunk is not needed becomes another spare one, if it is large enough for that.
static void chunk_split(Chunk *chunk, size_t size) {
  const size_t left = sizeof(Chunk) + chunk->size - size;
  if (left < CHUNK_SIZE) return;
  Chunk *rest = (Chunk *)((char *)chunk + size), **list = spares_of(left);
  const size_t dirty = chunk->dirty;
  chunk->size = size - sizeof(Chunk);
  if (dirty > chunk->size) chunk->dirty = chunk->size;
  *rest = (Chunk){*list, 0, left - sizeof(Chunk), dirty > size ? dirty - size : 0};
  *list = rest;
}

// The least of a list that is large enough, or NULL.
static Chunk **chunk_find(Chunk **list, size_t size) {
  Chunk **least = NULL;
  for (Chunk **at = list; *at != NULL; at = &(*at)->next)
    if (sizeof(Chunk) + (*at)->size >= size && (least == NULL || (*at)->size < (*least)->size)) least = at;
  return least;
}

// A spare one of the usual size, or else the least one that is large enough. NULL: there is none.
static Chunk *chunk_again(size_t size) {
  Chunk **at = size == CHUNK_SIZE && spare != NULL ? &spare : chunk_find(&spare_large, size);
  if (at == NULL) at = chunk_find(&spare_huge, size);
  if (at == NULL) return NULL;
  Chunk *chunk = *at;
  *at = chunk->next;
  chunk_split(chunk, size);
  return chunk;
}

static int by_address(const void *x, const void *y) {
  const char *a = *(const char *const *)x, *b = *(const char *const *)y;
  return (a > b) - (a < b);
}

static size_t bytes_of(const Chunk *chunk) { return sizeof(Chunk) + chunk->size; }

static bool touch(const Chunk *chunk, const Chunk *next) { return (const char *)chunk + bytes_of(chunk) == (const char *)next; }

static size_t chunks_of(const Chunk *list, size_t *bytes) {
  size_t n = 0;
  for (; list != NULL; list = list->next, n++) *bytes += bytes_of(list);
  return n;
}

// Spare ones that touch become one, if all together have so many bytes: none that is given back to the system, which takes whole
// pages. Of what is joined all but the end of the last one is dirty.
static void chunks_join(size_t size) {
  Chunk **lists[] = {&spare, &spare_large, &spare_huge};
  size_t bytes = 0, n = 0;
  for (int i = 0; i < 3; i++) n += chunks_of(*lists[i], &bytes);
  if (bytes < size) return;
  Chunk **all = checked(malloc(sizeof(Chunk *) * n));
  n = 0;
  for (int i = 0; i < 3; i++)
    for (; *lists[i] != NULL; *lists[i] = (*lists[i])->next) all[n++] = *lists[i];
  qsort(all, n, sizeof *all, by_address);
  for (size_t i = 0, next; i < n; i = next) {
    Chunk *chunk = all[i];
    for (next = i + 1; next < n && touch(chunk, all[next]) && bytes_of(chunk) + bytes_of(all[next]) <= KEPT_SIZE; next++) {
      chunk->dirty = chunk->size + sizeof(Chunk) + all[next]->dirty;
      chunk->size += bytes_of(all[next]);
    }
    Chunk **list = spares_of(bytes_of(chunk));
    chunk->next = *list;
    *list = chunk;
  }
  free(all);
}

static Chunk *chunk_new(size_t room) {
  const size_t size = rounded(sizeof(Chunk) + room);
  Chunk *again = chunk_again(size);
  if (again == NULL && size > CHUNK_SIZE) {
    chunks_join(size);
    again = chunk_again(size);
  }
  if (again != NULL) return again;
  if (size > SLAB_SIZE) {
    Chunk *chunk = pages_new(size);
    chunk->size = size - sizeof(Chunk);
    return chunk;
  }
  while (slab.left < size && slab.left >= CHUNK_SIZE) {
    Chunk *chunk = chunk_cut(CHUNK_SIZE);
    chunk->next = spare;
    spare = chunk;
  }
  if (slab.left < size) {
    slab.at = pages_new(SLAB_SIZE);
    slab.left = SLAB_SIZE;
  }
  return chunk_cut(size);
}

static void chunk_empty(Chunk *chunk) {
  if (chunk->dirty < chunk->used) chunk->dirty = chunk->used;
  chunk->used = 0;
}

static void chunks_free(Chunk *chunk) {
  for (Chunk *next; chunk != NULL; chunk = next) {
    next = chunk->next;
    const size_t size = sizeof(Chunk) + chunk->size;
    if (size > KEPT_SIZE) {
      munmap(chunk, size);
      continue;
    }
    Chunk **list = spares_of(size);
    chunk_empty(chunk);
    chunk->next = *list;
    *list = chunk;
  }
}

void arena_own(Arena *arena, Arena *other) {
  other->next_owned = arena->owned;
  arena->owned = other;
}

void arena_free(Arena *arena) {
  if (arena == NULL) return;
  for (Arena *owned = arena->owned, *next; owned != NULL; owned = next) {
    next = owned->next_owned;
    arena_free(owned);
  }
  chunks_free(arena->chunk);
  free(arena);
}

void arena_reset(Arena *arena) {
  arena->hole = NULL;
  Chunk *kept = arena->chunk;
  if (kept == NULL) return;
  chunks_free(kept->next);
  chunk_empty(kept);
  kept->next = NULL;
}

// The next bytes, zeroed; there is room for them.
static void *chunk_take(Chunk *chunk, size_t size) {
  void *memory = (char *)chunk->data + chunk->used;
  if (chunk->used < chunk->dirty) memset(memory, 0, size < chunk->dirty - chunk->used ? size : chunk->dirty - chunk->used);
  chunk->used += size;
  return memory;
}

enum { LEAST_HOLE = 256 }; // bytes: smaller ones are not worth looking at

void arena_give_back(Arena *arena, void *at, size_t size) {
  size = rounded(size);
  if (at == NULL || size < LEAST_HOLE) return;
  Hole *hole = at;
  *hole = (Hole){arena->hole, size};
  arena->hole = hole;
}

// The first bytes of a hole, zeroed.
static void *hole_take(Hole **at, size_t size) {
  Hole *hole = *at;
  const size_t left = hole->size - size;
  *at = hole->next;
  if (left >= LEAST_HOLE) {
    Hole *rest = (Hole *)((char *)hole + size);
    *rest = (Hole){*at, left};
    *at = rest;
  }
  return memset(hole, 0, size);
}

static void *from_hole(Arena *arena, size_t size) {
  Hole **at = &arena->hole;
  while (*at != NULL && (*at)->size < size) at = &(*at)->next;
  return *at != NULL ? hole_take(at, size) : NULL;
}

void *arena_alloc(Arena *arena, size_t size) {
  if (size > SIZE_MAX / 2) fatal("out of memory");
  size = rounded(size);
  void *again = arena->hole != NULL && size > 0 ? from_hole(arena, size) : NULL;
  if (again != NULL) return again;
  Chunk *chunk = arena->chunk;
  if (chunk == NULL || chunk->size - chunk->used < size) {
    const size_t usual = CHUNK_SIZE - sizeof(Chunk);
    const bool large = size > usual; // has a chunk of its own: the rest of the one at hand stays of use
    if (chunk != NULL && !large) { // the rest serves smaller objects
      arena_give_back(arena, (char *)chunk->data + chunk->used, chunk->size - chunk->used);
      chunk->used = chunk->size;
    }
    chunk = chunk_new(large ? size : usual);
    Chunk **at = large && arena->chunk != NULL ? &arena->chunk->next : &arena->chunk;
    chunk->next = *at;
    *at = chunk;
  }
  return chunk_take(chunk, size);
}

// A hole that begins where something ends gives of its beginning.
static bool hole_shrink(Arena *arena, const void *begin, size_t by) {
  Hole **at = &arena->hole;
  while (*at != NULL && (const void *)*at != begin) at = &(*at)->next;
  return *at != NULL && (*at)->size >= by && hole_take(at, by) != NULL;
}

bool arena_extend(Arena *arena, const void *at, size_t size, size_t bigger) {
  Chunk *chunk = arena->chunk;
  if (at == NULL || chunk == NULL || bigger > SIZE_MAX / 2) return false;
  size = rounded(size);
  bigger = rounded(bigger);
  if (bigger > size && hole_shrink(arena, (const char *)at + size, bigger - size)) return true;
  const bool last = (const char *)at + size == (char *)chunk->data + chunk->used && chunk->used >= size;
  if (!last || bigger < size || chunk->size - chunk->used < bigger - size) return false;
  chunk_take(chunk, bigger - size);
  return true;
}

char *arena_strndup(Arena *arena, const char *text, size_t len) {
  char *copy = arena_alloc(arena, len + 1);
  memcpy(copy, text, len);
  return copy;
}

void *arena_copy(Arena *arena, const void *from, size_t size) {
  return size == 0 ? NULL : memcpy(arena_alloc(arena, size), from, size);
}

char *arena_strdup(Arena *arena, const char *text) { return arena_strndup(arena, text, strlen(text)); }

char *arena_vprintf(Arena *arena, const char *format, va_list args) {
  char buffer[256]; // most texts fit
  Text text = {.arena = arena, .at = buffer, .cap = sizeof buffer};
  text_vprintf(&text, format, args);
  return text.at == buffer ? arena_strndup(arena, buffer, text.len) : text.at;
}

char *arena_printf(Arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}

void *vec_grow(Arena *arena, void *at, int len, int *cap, size_t size) {
  enum { FIRST = 256 }; // bytes: most lists stay short, and those of large elements would be mostly room
  const int first = size > FIRST / 2 ? 1 : size > FIRST / 8 ? (int)(FIRST / size) : 8;
  const int bigger = *cap == 0 ? first : *cap * 2, now = *cap;
  *cap = bigger;
  if (arena_extend(arena, at, size * (size_t)now, size * (size_t)bigger)) return at;
  void *copy = arena_alloc(arena, size * (size_t)bigger);
  if (len > 0) memcpy(copy, at, size * (size_t)len);
  return copy;
}

void *vec_grow_own(Arena *arena, void *at, int len, int *cap, size_t size) {
  const size_t now = size * (size_t)*cap;
  void *bigger = vec_grow(arena, at, len, cap, size);
  if (bigger != at) arena_give_back(arena, at, now);
  return bigger;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t content_hash(const void *from, size_t size) {
  const char *at = from;
  uint64_t hash = size, word;
  for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
    memcpy(&word, at, sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  memcpy(&word, at, size);
  hash = mix(hash, word);
  return hash ^ hash >> 32;
}

static bool is_name(const char *name, const char *key, size_t len) { return strncmp(name, key, len) == 0 && name[len] == '\0'; }

// The slot that holds the first `len` characters of `key`, or the empty one where they belong.
static int names_slot(const Names *names, const char *key, size_t len, uint32_t hash) {
  int i = (int)(hash & (uint32_t)(names->cap - 1));
  while (names->slot[i].key != NULL && (names->slot[i].hash != hash || !is_name(names->slot[i].key, key, len))) i = (i + 1) & (names->cap - 1);
  return i;
}

static uint32_t name_hash(const char *key, size_t len) { return (uint32_t)content_hash(key, len); }

int names_get_len(const Names *names, const char *key, size_t len) {
  if (names->cap == 0) return -1;
  const int i = names_slot(names, key, len, name_hash(key, len));
  return names->slot[i].key != NULL ? names->slot[i].value : -1;
}

int names_get(const Names *names, const char *key) { return names_get_len(names, key, strlen(key)); }

const char *names_key(const Names *names, const char *key) {
  const size_t len = strlen(key);
  return names->cap > 0 ? names->slot[names_slot(names, key, len, name_hash(key, len))].key : NULL;
}

// Makes room for one more.
static void names_grow(Names *names) {
  if (names->len * 2 < names->cap) return;
  const Names old = *names;
  names->cap = old.cap == 0 ? 16 : old.cap * 2;
  names->slot = arena_alloc(names->arena, sizeof *names->slot * (size_t)names->cap);
  for (int i = 0; i < old.cap; i++)
    if (old.slot[i].key != NULL) names->slot[names_slot(names, old.slot[i].key, strlen(old.slot[i].key), old.slot[i].hash)] = old.slot[i];
}

void names_set(Names *names, const char *key, int value) {
  names_grow(names);
  const size_t len = strlen(key);
  const uint32_t hash = name_hash(key, len);
  const int i = names_slot(names, key, len, hash);
  if (names->slot[i].key == NULL) names->len++;
  names->slot[i].key = key;
  names->slot[i].hash = hash;
  names->slot[i].value = value;
}

void names_set_own(Names *names, const char *key, int value) {
  const Names old = *names;
  names_grow(names);
  if (names->slot != old.slot) arena_give_back(names->arena, old.slot, sizeof *old.slot * (size_t)old.cap);
  names_set(names, key, value);
}

Names names_copy(Arena *arena, const Names *names) {
  Names copy = *names;
  copy.arena = arena;
  copy.slot = arena_copy(arena, names->slot, sizeof *names->slot * (size_t)names->cap);
  return copy;
}

// ---- numbers of contents -------------------------------------------------------------------------------------------

static int numbers_slot(const Numbers *numbers, uint64_t hash, const void *key, size_t size) {
  int i = (int)(hash & (uint64_t)(numbers->cap - 1));
  for (; numbers->slot[i].key != NULL; i = (i + 1) & (numbers->cap - 1))
    if (numbers->slot[i].hash == hash && numbers->slot[i].size == size && memcmp(numbers->slot[i].key, key, size) == 0) break;
  return i;
}

// Where it is kept; it is put in if it is new.
static int numbers_place(Numbers *numbers, const void *key, size_t size) {
  if (numbers->len * 2 >= numbers->cap) {
    const Numbers old = *numbers;
    numbers->cap = old.cap == 0 ? 64 : old.cap * 2;
    numbers->slot = arena_alloc(numbers->arena, sizeof *numbers->slot * (size_t)numbers->cap);
    for (int i = 0; i < old.cap; i++)
      if (old.slot[i].key != NULL) numbers->slot[numbers_slot(numbers, old.slot[i].hash, old.slot[i].key, old.slot[i].size)] = old.slot[i];
    arena_give_back(numbers->arena, old.slot, sizeof *old.slot * (size_t)old.cap);
  }
  const uint64_t hash = content_hash(key, size);
  const int i = numbers_slot(numbers, hash, key, size);
  if (numbers->slot[i].key != NULL) return i;
  void *copy = arena_alloc(numbers->arena, size);
  memcpy(copy, key, size);
  numbers->slot[i].hash = hash;
  numbers->slot[i].key = copy;
  numbers->slot[i].size = size;
  numbers->slot[i].number = numbers->len++;
  return i;
}

int numbers_of(Numbers *numbers, const void *key, size_t size) {
  const int i = numbers_place(numbers, key, size);
  return numbers->slot[i].number;
}

const void *numbers_key(Numbers *numbers, const void *key, size_t size) {
  const int i = numbers_place(numbers, key, size);
  return numbers->slot[i].key;
}

// ---- words ---------------------------------------------------------------------------------------------------------

static int word_map_slot(const WordMap *map, uint64_t key) {
  const uint64_t hash = key * 0x9e3779b97f4a7c15u;
  int i = (int)((hash ^ hash >> 32) & (uint64_t)(map->cap - 1));
  while (map->slot[i].used && map->slot[i].key != key) i = (i + 1) & (map->cap - 1);
  return i;
}

int *word_map_at(WordMap *map, uint64_t key) {
  if (map->len * 2 >= map->cap) {
    const WordMap old = *map;
    map->cap = old.cap == 0 ? 64 : old.cap * 2;
    map->slot = arena_alloc(map->arena, sizeof *map->slot * (size_t)map->cap);
    for (int i = 0; i < old.cap; i++)
      if (old.slot[i].used) map->slot[word_map_slot(map, old.slot[i].key)] = old.slot[i];
    arena_give_back(map->arena, old.slot, sizeof *old.slot * (size_t)old.cap);
  }
  const int i = word_map_slot(map, key);
  if (!map->slot[i].used) {
    map->slot[i].key = key;
    map->slot[i].value = -1;
    map->slot[i].used = true;
    map->len++;
  }
  return &map->slot[i].value;
}
