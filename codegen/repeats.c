#include "repeats.h"

// Calls of one key in a row.
static bool is_loop(const int *keys, const bool *calls, int start, int period) {
  for (int i = start; i < start + period; i++)
    if (!calls[i] || keys[i] != keys[start]) return false;
  return true;
}

// keys[i] == keys[i + period] for `equal` parts from start on.
static void judge(const int *keys, const bool *calls, const long *sum, int start, int period, int equal, long *most,
                  Repeat *best) {
  const int times = equal / period + 1;
  const long saves = sum[start + times * period] - sum[start + period];
  if (saves < *most || (saves == *most && best->times > 0) || is_loop(keys, calls, start, period)) return;
  *most = saves;
  *best = (Repeat){start, period, times};
}

Repeat repeats_find(Arena *arena, const int *keys, const int *weights, const bool *calls, int from, int to,
                    long worth) {
  Repeat best = {0, 0, 0};
  long *sum = NEW_ARRAY(arena, long, to - from + 1); // of the weights before
  for (int i = from; i < to; i++) sum[i - from + 1] = sum[i - from] + weights[i];
  for (int period = 1; period <= REPEAT_LONGEST && 2 * period <= to - from; period++) {
    int equal = 0;
    for (int i = from; i + period < to; i++) {
      if (keys[i] == keys[i + period]) {
        equal++;
        if (i + period + 1 < to) continue;
        i++; // ends here
      }
      if (equal >= period) judge(keys + from, calls + from, sum, i - from - equal, period, equal, &worth, &best);
      equal = 0;
    }
  }
  if (best.times > 0) best.start += from;
  return best;
}
