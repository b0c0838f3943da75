// Which bytes of a text can be shown.
#ifndef PARCC_IR_UTF8_H
#define PARCC_IR_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_is_continuation(unsigned char c);
// The length of the character at text[0 .. len), len > 0, if it is one to show: not a control character, and valid UTF-8. Else 0.
size_t utf8_shown(const char *text, size_t len);

#endif
