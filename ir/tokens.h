// Tokens of the small languages that are read by hand, plans and machines: what was expected, and what stands there instead.
#ifndef PARCC_IR_TOKENS_H
#define PARCC_IR_TOKENS_H

#include "problems.h"

enum { TOKEN_SHOWN = 60 }; // characters of what stands there that a message has

typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN, TOKEN_BAD } TokenKind;

typedef struct Token {
  TokenKind kind;
  const char *text; // NUL-terminated; what ends is named at the end
  int64_t number;   // where the language has whole numbers only
  Loc loc;
} Token;

typedef struct Tokens Tokens;
struct Tokens {
  Arena *arena;
  Problems *problems;
  const char *file;
  const char *at, *end; // the rest of what is read
  const char *line_text;
  int line;
  Token token;            // the next one
  void (*next)(Tokens *); // the language's own: goes on to the next token
};

static inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_sign(const Tokens *r, char sign);
bool is_word(const Tokens *r, const char *word);
const char *token_shown(const Tokens *r);
// Adds the problem "expected ..., found ..."; false.
bool expected(Tokens *r, const char *what);
// Takes the next token where it is of this kind; else false, and a problem says what was expected.
bool take_token(Tokens *r, TokenKind kind, const char *what, Token *out);
bool take_sign(Tokens *r, char sign, const char *what);

#endif
