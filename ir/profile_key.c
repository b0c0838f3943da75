#include "profile_key.h"

#include <string.h>

#include "print.h"
#include "tokens.h"

enum { MAX_DEPTH = 4000 }; // of brackets in an expression

typedef struct Key {
  const char *at, *expected;
  int n_dims, depth;
} Key;

static bool expect(Key *k, const char *what) {
  k->expected = what;
  return false;
}

static bool take(Key *k, const char *text) {
  const size_t len = strlen(text);
  if (strncmp(k->at, text, len) != 0) return false;
  k->at += len;
  return true;
}

static bool take_blanks(Key *k) {
  const size_t n = strspn(k->at, " \t\r");
  k->at += n;
  return n > 0;
}

static size_t word_len(const char *at) {
  size_t n = 0;
  while (is_letter(at[n]) || (n > 0 && is_digit(at[n]))) n++;
  return n;
}

// The whole word at hand, if it is this one.
static bool take_word(Key *k, const char *word) {
  const size_t len = strlen(word);
  if (word_len(k->at) != len || strncmp(k->at, word, len) != 0) return false;
  k->at += len;
  return true;
}

// ---- before the expression -----------------------------------------------------------------------------------------

static bool take_extent(Key *k) {
  const bool right = k->n_dims < IR_MAX_DIMS && *k->at == 'a' + k->n_dims && k->at[1] == '=' && is_digit(k->at[2]) && k->at[2] != '0';
  if (!right) return expect(k, "the next dimension and its extent, such as a=64");
  k->n_dims++;
  k->at += 2;
  while (is_digit(*k->at)) k->at++;
  return true;
}

// [a=128 b=64 | c=512]
static bool take_extents(Key *k) {
  bool barred = false;
  if (!take(k, "[")) return expect(k, "'[' and the extents");
  while (!take(k, "]")) {
    if (k->n_dims > 0 && !take_blanks(k)) return expect(k, "']', or a blank and the next extent");
    if (!barred && (barred = take(k, "|")) && !take_blanks(k)) return expect(k, "a blank behind '|'");
    if (!take_extent(k)) return false;
  }
  return true;
}

// call, each, sum, ...
static bool take_kind(Key *k, bool *is_call) {
  *is_call = take_word(k, "call");
  if (*is_call || take_word(k, "each")) return true;
  for (Reduce reduce = REDUCE_SUM; reduce <= REDUCE_ARGMAX; reduce++)
    if (take_word(k, reduce_name(reduce))) return true;
  return expect(k, "what is computed: call, each, sum, max, min, prod or argmax");
}

// ---- expressions ---------------------------------------------------------------------------------------------------

static bool take_sum(Key *k);

// (A, B), n of them; n < 0: any number.
static bool take_list(Key *k, const char *open, const char *close, int n) {
  int found = 0;
  if (!take(k, open)) return expect(k, "'(' and its arguments");
  do {
    if (found > 0 && !take_blanks(k)) return expect(k, "a blank behind ','");
    if (!take_sum(k)) return false;
    found++;
  } while (found != n && take(k, ","));
  if (n > 0 && found < n) return expect(k, "',' and another argument");
  return take(k, close) || expect(k, close[0] == ')' ? "')'" : "']'");
}

// 12, 0.5, 1e-08
static bool take_number(Key *k) {
  const char *const start = k->at;
  while (is_digit(*k->at)) k->at++;
  if (k->at == start) return expect(k, "a number");
  if (take(k, "."))
    while (is_digit(*k->at)) k->at++;
  if (*k->at == 'e' && (k->at[1] == '-' || k->at[1] == '+') && is_digit(k->at[2])) {
    k->at += 2;
    while (is_digit(*k->at)) k->at++;
  }
  return true;
}

static bool take_dim(Key *k) {
  const bool is_dim = word_len(k->at) == 1 && *k->at >= 'a' && *k->at < 'a' + k->n_dims;
  k->at += is_dim;
  return is_dim || expect(k, "one of the dimensions, a number, a tensor such as x0[a], a call or '('");
}

// x0[a, c]: reals, k1[a]: integers
static bool is_tensor(const Key *k) { return (*k->at == 'x' || *k->at == 'k') && is_digit(k->at[1]); }

static bool take_tensor(Key *k) {
  k->at += word_len(k->at);
  return *k->at != '[' || take_list(k, "[", "]", -1);
}

static bool take_name(Key *k) {
  for (RunScalar scalar = 0; scalar < RUN_SCALARS; scalar++)
    if (take_word(k, run_scalar_name(scalar))) return true;
  for (Fn fn = 0; fn < FN_COUNT; fn++)
    if (fn_infix(fn) == NULL && take_word(k, fn_name(fn))) return take_list(k, "(", ")", fn_arity(fn));
  if (take_word(k, "uniform") || take_word(k, "normal")) return take_list(k, "(", ")", 2);
  return take_word(k, "inf") || take_word(k, "nan") || take_dim(k);
}

// A number, n*a, a name, a call, a tensor's element or (...), also (...)/n.
static bool take_operand(Key *k) {
  take(k, "-");
  if (*k->at == '(') return take_list(k, "(", ")", 1) && (!take(k, "/") || take_number(k));
  if (is_digit(*k->at)) return take_number(k) && (!take(k, "*") || take_dim(k));
  return is_tensor(k) ? take_tensor(k) : take_name(k);
}

static bool take_infix(Key *k) {
  for (Fn fn = 0; fn < FN_COUNT; fn++) {
    const char *infix = fn_infix(fn);
    const size_t len = infix != NULL ? strlen(infix) : 0;
    if (len > 0 && strncmp(k->at, infix, len) == 0 && k->at[len] == ' ') return take(k, infix) && take_blanks(k);
  }
  return expect(k, "an operator such as + between blanks");
}

// A + B - C
static bool take_sum(Key *k) {
  if (++k->depth > MAX_DEPTH) return expect(k, "fewer brackets");
  while (take_operand(k)) {
    if (!take_blanks(k)) {
      k->depth--;
      return true;
    }
    if (!take_infix(k)) return false;
  }
  return false;
}

static bool take_function(Key *k) {
  const size_t len = word_len(k->at);
  k->at += len;
  return len > 0 || expect(k, "the function that is called");
}

static bool take_key(Key *k) {
  bool is_call;
  if (!take_word(k, "f32") && !take_word(k, "f64")) return expect(k, "a type, f32 or f64, and what takes the time");
  take_blanks(k);
  if (!take_kind(k, &is_call)) return false;
  take_blanks(k);
  if (!take_extents(k)) return false;
  if (!take_blanks(k)) return expect(k, "what is computed of each element");
  if (is_call ? !take_function(k) : !take_sum(k)) return false;
  return *k->at == '\0' || expect(k, "the end of the line");
}

bool profile_key_right(const char *text, const char **at, const char **expected) {
  Key key = {.at = text};
  const bool right = take_key(&key);
  *at = key.at;
  *expected = right ? "the end of the line" : key.expected;
  return right;
}
