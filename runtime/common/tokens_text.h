// From text to the tokens of an input and back, as its data say: a text's tokens are its bytes; those of a file of tokens
// are words or pieces of a vocabulary. Without one, and for all other data, text is the numbers themselves.
#ifndef PARCC_TOKENS_TEXT_H
#define PARCC_TOKENS_TEXT_H

#include <stdbool.h>

#include "fail.h"
#include "parcc.h"

// directory: --data, or NULL.
bool tokens_text_open(const ParccInput *input, const char *directory, Fault *fault);

// At least one token, in *tokens, to be freed.
bool tokens_of_text(const char *text, long **tokens, long *n, Fault *fault);

// On stdout. The end ends the line.
void tokens_print(long token);
void tokens_print_end(void);

void tokens_text_close(void);

#endif
