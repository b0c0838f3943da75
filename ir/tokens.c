#include "tokens.h"

bool is_sign(const Tokens *r, char sign) { return r->token.kind == TOKEN_SIGN && r->token.text[0] == sign; }
bool is_word(const Tokens *r, const char *word) { return r->token.kind == TOKEN_NAME && str_eq(r->token.text, word); }

const char *token_shown(const Tokens *r) {
  const unsigned char c = (unsigned char)r->token.text[0];
  if (r->token.kind == TOKEN_END) return r->token.text;
  if (r->token.kind == TOKEN_BAD && (c < 32 || c > 126)) return arena_printf(r->arena, "the byte 0x%02x", c);
  return arena_printf(r->arena, "'%.*s'", TOKEN_SHOWN, r->token.text);
}

bool expected(Tokens *r, const char *what) {
  problem_add(r->problems, r->token.loc, "expected %s, found %s", what, token_shown(r));
  return false;
}

bool take_token(Tokens *r, TokenKind kind, const char *what, Token *out) {
  if (r->token.kind != kind) return expected(r, what);
  *out = r->token;
  r->next(r);
  return true;
}

bool take_sign(Tokens *r, char sign, const char *what) {
  if (!is_sign(r, sign)) return expected(r, what);
  r->next(r);
  return true;
}
