#include "messages.h"

#include "layer_tasks.h"

typedef struct MessageKey {
  int like;
  bool back;
  signed char from[MESH_MAX_AXES], to[MESH_MAX_AXES];
} MessageKey;

typedef struct Place {
  bool known;
  MessageKey key;
  Messages messages;
} Place;

// The place of a list follows from its key; another one with the same place is overwritten, in its memory.
struct MessageCache {
  Arena *arena;
  Place *places;
  int n;
  VEC(double) elements; // of the messages of a list that is being made
};

// Of very many ranks, each of which may send something to each, few.
MessageCache *message_cache_new(Arena *arena, int n_ranks) {
  enum { PLACES = 256, MANY_RANKS = 64 };
  const int64_t most = (int64_t)PLACES * MANY_RANKS * MANY_RANKS / n_ranks / n_ranks;
  MessageCache *cache = NEW(arena, MessageCache);
  *cache = (MessageCache){.arena = arena, .n = (int)max_i64(1, min_i64(PLACES, most))};
  cache->places = NEW_ARRAY(arena, Place, cache->n);
  return cache;
}

static MessageKey key_of(const Bundle *b, bool back, const Configuration *from, const Configuration *to) {
  MessageKey key;
  memset(&key, 0, sizeof key);
  key.like = b->like;
  key.back = back;
  memcpy(key.from, from->dim, sizeof key.from);
  memcpy(key.to, to->dim, sizeof key.to);
  return key;
}

// (Fowler, Noll, Vo: FNV-1a.)
static Place *place_of(const MessageCache *cache, const MessageKey *key) {
  const unsigned char *bytes = (const unsigned char *)key;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return &cache->places[(hash ^ hash >> 32) % (uint64_t)cache->n];
}

typedef struct Listing {
  LayerTasks *layers;
  Messages *messages;
  MessageCount count;
} Listing;

static void list_message(void *ctx, int from, int to, double elements) {
  Listing *l = ctx;
  MessageCache *cache = l->layers->messages;
  message_count(&l->count, from, to, elements);
  vec_push(cache->arena, &cache->elements, elements);
  vec_push(cache->arena, &l->messages->list, ((Message){(uint16_t)from, (uint16_t)to, link_of(l->layers, from, to), 0}));
}

static void find_least(Messages *messages, const Holding *held, int n_ranks, int64_t *longest) {
  messages->least = NOTHING_SENT;
  for (int r = 0; r < n_ranks; r++) longest[r] = NOTHING_SENT;
  for (int i = 0; i < messages->list.len; i++) {
    const Message *m = &messages->list.at[i];
    longest[m->from] = max_i64(longest[m->from], m->time);
  }
  for (int r = 0; r < n_ranks; r++) {
    if (!held->has[r]) continue;
    if (longest[r] == NOTHING_SENT) {
      messages->least = NOTHING_SENT;
      return;
    }
    if (messages->least == NOTHING_SENT || longest[r] < messages->least) messages->least = longest[r];
  }
}

static void list_all(LayerTasks *layers, const Bundle *b, bool back, const Configuration *from, const Configuration *to, Messages *messages) {
  Arena *arena = layers->costs->scratch;
  const Tensor *tensor = graph_tensor(layers->costs->graph, b->tensor);
  const Holding made = holding_of(arena, layers->mesh, tensor, &b->made, from), read = holding_of(arena, layers->mesh, tensor, &b->read, to);
  const Holding *held = back ? &read : &made, *wanted = back ? &made : &read;
  MessageCache *cache = layers->messages;
  Listing l = {layers, messages, message_count_new(arena, layers)};
  messages->list.len = cache->elements.len = 0;
  moves_visit(held, wanted, back, list_message, &l);
  for (int i = 0; i < messages->list.len; i++) {
    Message *m = &messages->list.at[i];
    if (m->from != m->to) m->time = time_of(message_seconds(&l.count, m->from, m->to, cache->elements.at[i] * b->bytes));
  }
  find_least(messages, held, layers->n_ranks, NEW_ARRAY(arena, int64_t, layers->n_ranks));
  arena_reset(arena);
}

const Messages *messages_between(LayerTasks *layers, int bundle, bool back, const Configuration *from, const Configuration *to) {
  const Bundle *b = &layers->bundles.at[bundle];
  const MessageKey key = key_of(b, back, from, to);
  Place *place = place_of(layers->messages, &key);
  if (!place->known || memcmp(&place->key, &key, sizeof key) != 0) {
    list_all(layers, b, back, from, to, &place->messages);
    place->key = key;
    place->known = true;
  }
  return &place->messages;
}
