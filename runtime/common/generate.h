// Text generation: --sample PROMPT. One value of an input after another is drawn from what the evaluation graph makes of the
// values before it.
#ifndef PARCC_GENERATE_H
#define PARCC_GENERATE_H

#include <stddef.h>

#include "fail.h"
#include "options.h"

// Turns the prompt into tokens. With --sample only.
bool generate_open(Fault *fault);

// The batch for the token at hand: the window of the sampled input, nothing of the others. Elements [first, first + count) of
// a sample, in the type of the input.
void generate_copy(int input, size_t first, size_t count, void *dst);

// Ends the line of text.
void generate_end(void);

void generate_close(void);

#endif
