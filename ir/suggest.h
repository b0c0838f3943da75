// The word that was probably meant.
#ifndef PARCC_FRONTEND_SUGGEST_H
#define PARCC_FRONTEND_SUGGEST_H

// The candidate closest to `word` in edit distance (a swap of neighbours counts once), the first among equals; NULL where
// none is close enough to be a slip: at most one edit for every three letters of the word, and at least one.
const char *suggest_nearest(const char *word, const char *const *candidates, int n);

#endif
