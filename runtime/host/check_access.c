// Races: who read and wrote each word of memory last, compared with what streams and events order.
#include "check.h"

#include <stdlib.h>

#include "fail.h"

static _Noreturn void fail_race(const char *at, const Work *earlier, bool earlier_writes, bool writes) {
  const Work *work = check_running();
  fail_alone(FAIL_RUN, "race on %s: %s %s it, %s %s it, and no event orders the two", check_name(at),
             check_text(earlier), earlier_writes ? "writes" : "reads", check_text(work), writes ? "writes" : "reads");
}

void check_poison_read(const char *at) {
  const Allocation *a = check_find(at);
  const Work *work = check_running();
  const uint32_t id = a == NULL ? 0 : a->writer[(size_t)(at - a->base) / CHECK_GRAIN];
  const Work *writer = check_find_work(id);
  if (id == 0) fail_alone(FAIL_RUN, "%s: reads %s, which nothing has written", check_text(work), check_name(at));
  if (writer == NULL) fail_alone(FAIL_RUN, "%s: reads %s, which is not defined", check_text(work), check_name(at));
  fail_alone(FAIL_RUN, "%s: reads %s, which is not defined since %s", check_text(work), check_name(at),
             check_text(writer));
}

// Whether the item `id` certainly ran before the one that runs now. Remembers the last answer: neighbours were mostly
// written together.
static bool is_ordered(uint32_t id) {
  static uint32_t known_id, known_for;
  const Work *now = check_running();
  if (id == 0 || id == now->id || (id == known_id && now->id == known_for)) return true;
  const Work *work = check_find_work(id);
  if (work != NULL && work->stream != now->stream && !check_is_before(work, check_running_clock())) return false;
  known_id = id;
  known_for = now->id;
  return true;
}

static uint32_t *readers(Allocation *a, int stream) {
  if (a->reader[stream] == NULL) a->reader[stream] = calloc(a->bytes / CHECK_GRAIN + 1, sizeof *a->reader[stream]);
  if (a->reader[stream] == NULL) fail_alone(FAIL_RUN, "out of memory");
  return a->reader[stream];
}

void check_touch(const char *at, size_t bytes, bool written) {
  Allocation *a = check_find(at);
  const Work *now = check_running();
  if (a == NULL || now == NULL || bytes == 0) return;
  const size_t first = (size_t)(at - a->base) / CHECK_GRAIN, last = ((size_t)(at - a->base) + bytes - 1) / CHECK_GRAIN;
  for (size_t g = first; g <= last; g++)
    if (!is_ordered(a->writer[g])) fail_race(a->base + g * CHECK_GRAIN, check_find_work(a->writer[g]), true, written);
  if (!written) {
    uint32_t *reader = readers(a, now->stream);
    for (size_t g = first; g <= last; g++) reader[g] = now->id;
    return;
  }
  for (int s = 0; s < CHECK_STREAMS; s++) {
    if (a->reader[s] == NULL || s == now->stream) continue;
    for (size_t g = first; g <= last; g++)
      if (!is_ordered(a->reader[s][g]))
        fail_race(a->base + g * CHECK_GRAIN, check_find_work(a->reader[s][g]), false, true);
  }
  for (size_t g = first; g <= last; g++) a->writer[g] = now->id;
}

static void do_access(const Access *access) {
  for (size_t k = 0; k < access->count; k++) {
    const char *at = access->at + k * access->stride;
    const char *poison = access->written || access->hands_on ? NULL : check_find_poison(at, access->width);
    check_touch(at, access->width, access->written);
    if (poison != NULL) check_poison_read(poison);
  }
}

// First what is read: an item may write the same.
void check_item_before(const Item *item) {
  for (int written = 0; written < 2; written++)
    for (size_t i = 0; i < item->n_accesses; i++)
      if (item->accesses[i].written == (written == 1)) do_access(&item->accesses[i]);
}
