// Texts that grow. Much of a compilation is formatting, nearly all of it with a few directives: these are done here, for a fraction of
// what vsnprintf takes, which does the formats that have others.
#include "base.h"

// Room for `more` characters and the end.
static void grow(Text *text, size_t more) {
  const size_t cap = (text->cap + more + 1) * 2 + 16, now = text->cap;
  text->cap = cap;
  if (arena_extend(text->arena, text->at, now, cap)) return;
  char *bigger = arena_alloc(text->arena, cap);
  if (text->len > 0) memcpy(bigger, text->at, text->len);
  text->at = bigger;
}

static inline void reserve(Text *text, size_t more) {
  if (text->cap - text->len <= more) grow(text, more);
}

// Without the end, for which there is room.
static inline void put(Text *text, const char *from, size_t len) {
  reserve(text, len);
  if (len > 0) memcpy(text->at + text->len, from, len);
  text->len += len;
}

void text_append(Text *text, const char *from, size_t len) {
  put(text, from, len);
  text->at[text->len] = '\0';
}

void text_char(Text *text, char c) { text_append(text, &c, 1); }

static void append_integer(Text *text, long long value) {
  char digits[24], *at = digits + sizeof digits;
  unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
  do *--at = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) *--at = '-';
  put(text, at, (size_t)(digits + sizeof digits - at));
}

// With blanks before it where it is shorter.
static void append_right(Text *text, int width, const char *from) {
  const size_t len = strlen(from), pad = width > 0 && (size_t)width > len ? (size_t)width - len : 0;
  reserve(text, pad + len);
  memset(text->at + text->len, ' ', pad);
  text->len += pad;
  put(text, from, len);
}

// What is printed to say that it is wrong may lack a name.
static void append_str(Text *text, const char *from) {
  if (from == NULL) from = "(null)";
  put(text, from, strlen(from));
}

// Without the end. False where the format has another directive; what was appended until then is part of it.
static bool append_plain(Text *text, const char *format, va_list args) {
  for (;;) {
    const char *end = format;
    while (*end != '%' && *end != '\0') end++;
    if (end > format) put(text, format, (size_t)(end - format));
    if (*end == '\0') return true;
    format = end + 2;
    switch (end[1]) {
    case 's': append_str(text, va_arg(args, const char *)); break;
    case 'd': append_integer(text, va_arg(args, int)); break;
    case 'c': put(text, (char[]){(char)va_arg(args, int)}, 1); break;
    case 'l': // lld
      if (format[0] != 'l' || format[1] != 'd') return false;
      append_integer(text, va_arg(args, long long));
      format += 2;
      break;
    case '.': { // .*s: at most so many characters
      if (format[0] != '*' || format[1] != 's') return false;
      const int most = va_arg(args, int);
      const char *from = va_arg(args, const char *);
      put(text, from, most < 0 ? strlen(from) : strnlen(from, (size_t)most));
      format += 2;
      break;
    }
    case '*': { // *s: at least so many
      const int width = format[0] == 's' ? va_arg(args, int) : -1;
      if (width < 0) return false; // to the left
      append_right(text, width, va_arg(args, const char *));
      format += 1;
      break;
    }
    default: return false;
    }
  }
}

static void append_any(Text *text, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  size_t room = text->cap - text->len;
  const size_t len = (size_t)vsnprintf(room > 0 ? text->at + text->len : NULL, room, format, args);
  if (len >= room) {
    reserve(text, len);
    room = text->cap - text->len;
    vsnprintf(text->at + text->len, room, format, again);
  }
  va_end(again);
  text->len += len;
}

void text_vprintf(Text *text, const char *format, va_list args) {
  const size_t start = text->len;
  va_list again;
  va_copy(again, args);
  if (append_plain(text, format, args)) {
    reserve(text, 0);
    text->at[text->len] = '\0';
  } else {
    text->len = start;
    append_any(text, format, again);
  }
  va_end(again);
}

void text_printf(Text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_vprintf(text, format, args);
  va_end(args);
}

const char *text_str(const Text *text) { return text->at != NULL ? text->at : ""; }
