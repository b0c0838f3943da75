#include "suggest.h"

#include <string.h>

enum { LONGEST = 64, PART = 3 };

static int smaller(int a, int b) { return a < b ? a : b; }

// Optimal string alignment distance; words longer than LONGEST are far from everything.
static int edit_distance(const char *a, const char *b) {
  const int n = (int)strlen(a), m = (int)strlen(b);
  if (n > LONGEST || m > LONGEST) return LONGEST;
  int row[3][LONGEST + 1]; // rows i - 2, i - 1 and i of the table, by turns
  for (int j = 0; j <= m; j++) row[0][j] = j;
  for (int i = 1; i <= n; i++) {
    int *now = row[i % 3];
    const int *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= m; j++) {
      now[j] = smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], now[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = smaller(now[j], above2[j - 2] + 1);
    }
  }
  return row[n % 3][m];
}

const char *suggest_nearest(const char *word, const char *const *candidates, int n) {
  const int letters = (int)strlen(word);
  int limit = letters / 3 > 1 ? letters / 3 : 1;
  const char *nearest = NULL;
  for (int i = 0; i < n; i++) {
    const int distance = edit_distance(word, candidates[i]);
    if (distance > limit || distance >= (int)strlen(candidates[i])) continue;
    nearest = candidates[i];
    limit = distance - 1;
  }
  for (int i = 0; i < n && nearest == NULL && letters >= PART; i++)
    if (strstr(candidates[i], word) != NULL) nearest = candidates[i];
  return nearest;
}
