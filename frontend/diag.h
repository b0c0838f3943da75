// Diagnostics in the manner of a C compiler: file:line:col: error: message, the source line, a caret.
#ifndef PARCC_FRONTEND_DIAG_H
#define PARCC_FRONTEND_DIAG_H

#include "../ir/problems.h"

// Registers the text of a file, so that its lines can be shown. `name` is the display name that Locs carry.
void diag_add_source(const char *name, const char *text, size_t len);
// Report at a place. An error counts; after 20 errors "too many errors" is printed and diag_gave_up() is true.
// Messages are sentences without a final full stop. A note belongs to the error before it.
void diag_error(Loc loc, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_warning(Loc loc, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_note(Loc loc, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Reports them all; true if there are some.
bool diag_problems(const Problems *problems);
int diag_errors(void);
// Until diag_release() errors and their notes are not printed: for trying what may be wrong. That gives the text of the first, NULL where
// there was none, and none of them has been counted.
void diag_hold(void);
const char *diag_release(void);
bool diag_gave_up(void);
void diag_reset(void); // forgets all sources and counts (for fuzzing)

#endif
