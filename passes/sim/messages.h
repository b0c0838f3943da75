// What moves between two layers in their configurations, listed once: lists that were asked for lately are kept, as a search comes back to
// configurations, and layers are alike.
#ifndef PARCC_PASSES_SIM_MESSAGES_H
#define PARCC_PASSES_SIM_MESSAGES_H

#include "../search/configuration.h"

// From a rank to another one, over the link with this number (link_of), in so many picoseconds. Of one to itself nothing else counts.
typedef struct Message {
  uint16_t from, to;
  int link;
  int64_t time;
} Message;

typedef struct Messages {
  VEC(Message) list;
  // Each part that has some of what moves sends its longest message in at least so many picoseconds, or goes on itself: 0.
  // NOTHING_SENT: some part does neither.
  int64_t least;
} Messages;
enum { NOTHING_SENT = -1 };

typedef struct LayerTasks LayerTasks;
typedef struct MessageCache MessageCache;
MessageCache *message_cache_new(Arena *arena, int n_ranks);
// Of a bundle (layer_tasks.h), whose layers have these configurations; back: of its gradient. Until the next call.
const Messages *messages_between(LayerTasks *layers, int bundle, bool back, const Configuration *from, const Configuration *to);

#endif
