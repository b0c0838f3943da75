#include "utf8.h"

// A second byte that makes a control character, one with more bytes than it needs, or none at all.
static bool is_wrong_second(unsigned char first, unsigned char second) {
  return (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
}

bool utf8_is_continuation(unsigned char c) { return (c & 0xc0) == 0x80; }

size_t utf8_shown(const char *text, size_t len) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
  size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
  if (n == 0 || n > len || is_wrong_second(s[0], s[1])) return 0;
  for (size_t i = 1; i < n; i++)
    if (!utf8_is_continuation(s[i])) return 0;
  return n;
}
