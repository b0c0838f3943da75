// Places by lifetime: the lowest that is free, against a look at everything that was placed before.
#include "../../passes/occupancy.h"

#include "check.h"

enum { MOST_PLACED = 120, ROUNDS = 200 };

typedef struct Placed {
  int first, last;
  int64_t begin, end;
} Placed;

static uint64_t state = 1;

static int draw(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static bool is_free(const Placed *placed, int n, const Placed *wanted) {
  for (int i = 0; i < n; i++)
    if (placed[i].first <= wanted->last && placed[i].last >= wanted->first && placed[i].begin < wanted->end && placed[i].end > wanted->begin) return false;
  return true;
}

// It begins at `from`, or where something ends.
static int64_t lowest(const Placed *placed, int n, int first, int last, int64_t bytes, int64_t from) {
  int64_t best = INT64_MAX;
  for (int i = -1; i < n; i++) {
    const int64_t at = i < 0 ? from : placed[i].end;
    const Placed wanted = {first, last, at, at + bytes};
    if (at >= from && at < best && is_free(placed, n, &wanted)) best = at;
  }
  return best;
}

static void check_round(Occupancy *occupancy, int positions) {
  Placed placed[MOST_PLACED];
  const int longest = 1 + draw(positions);
  const int64_t from = draw(3) * 10;
  occupancy_clear(occupancy);
  for (int i = 0; i < MOST_PLACED; i++) {
    const int first = draw(positions), last = (int)min_i64(positions - 1, first + draw(longest));
    const int64_t bytes = 1 + draw(6), at = occupancy_lowest_gap(occupancy, first, last, bytes, from);
    if (!CHECK_INT(at, lowest(placed, i, first, last, bytes, from))) return;
    occupancy_take(occupancy, first, last, at, bytes);
    placed[i] = (Placed){first, last, at, at + bytes};
  }
}

static void gaps_are_the_lowest(void) {
  for (int round = 0; round < ROUNDS; round++) {
    Arena *arena = arena_new();
    const int positions = 1 + draw(40);
    Occupancy *occupancy = occupancy_new(arena, positions);
    check_round(occupancy, positions);
    check_round(occupancy, positions); // once more: nothing of before is left
    arena_free(arena);
  }
}

CHECKS(TEST(gaps_are_the_lowest))
