// The word that was probably meant.
#ifndef PARCC_FRONTEND_SUGGEST_H
#define PARCC_FRONTEND_SUGGEST_H

// The candidate closest to `word` in edit distance (a swap of neighbours counts once), the first among equals. Where none is
// close enough to be a slip (at most one edit for every three letters of the word, and at least one), the first candidate that
// the word, of three letters or more, is a part of; else NULL.
const char *suggest_nearest(const char *word, const char *const *candidates, int n);

#endif
