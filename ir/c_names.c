#include "c_names.h"

static const char *const keywords[] = { // sorted
    "alignas",     "alignof",  "and",      "and_eq",    "asm",        "auto",         "bitand",
    "bitor",       "bool",     "break",    "case",      "catch",      "char",         "char16_t",
    "char32_t",    "class",    "compl",    "const",     "const_cast", "constexpr",    "continue",
    "decltype",    "default",  "delete",   "do",        "double",     "dynamic_cast", "else",
    "enum",        "explicit", "export",   "extern",    "false",      "float",        "for",
    "friend",      "goto",     "if",       "inline",    "int",        "long",         "mutable",
    "namespace",   "new",      "noexcept", "not",       "not_eq",     "nullptr",      "operator",
    "or",          "or_eq",    "private",  "protected", "public",     "register",     "reinterpret_cast",
    "restrict",    "return",   "short",    "signed",    "sizeof",     "static",       "static_assert",
    "static_cast", "struct",   "switch",   "template",  "this",       "thread_local", "throw",
    "true",        "try",      "typedef",  "typeid",    "typename",   "typeof",       "union",
    "unsigned",    "using",    "virtual",  "void",      "volatile",   "wchar_t",      "while",
    "xor",         "xor_eq",
};

static const char *const taken[] = { // sorted
    "Interval", "arena", "argc", "argv", "backward", "begin", "blockDim", "blockIdx", "combine", "cos", "count", "dim3",
    "division", "erf", "errno", "evaluate", "event", "everybody", "exp", "fabs", "floor", "forward", "gamma",
    "gridDim", "i", "init", "inputs", "j0", "j1", "jn", "l", "lanes", "layer", "learning_rate", "linux",
    "list_stored", "log", "main", "micro", "model", "one", "parcc", "place_tensors", "pow", "report", "row", "samples",
    "scalars", "sin", "sizes", "sqrt", "stderr", "stdin", "stdout", "stored", "t", "tanh", "threadIdx",
    "unix", "update", "warpSize", "y0", "y1", "yn", "zero",
};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool c_is_identifier(const char *name) {
  if (!is_letter(name[0])) return false;
  for (const char *c = name; *c != '\0'; c++)
    if (!is_letter(*c) && !(*c >= '0' && *c <= '9')) return false;
  return true;
}

static bool among(const char *const *words, size_t n, const char *name) {
  for (size_t low = 0, high = n; low < high;) {
    const size_t middle = (low + high) / 2;
    const int first = name[0] - words[middle][0], order = first != 0 ? first : strcmp(name, words[middle]);
    if (order == 0) return true;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return false;
}

bool c_is_keyword(const char *name) { return among(keywords, sizeof keywords / sizeof *keywords, name); }

bool c_is_taken(const char *name) { return among(taken, sizeof taken / sizeof *taken, name); }

// Macros are written in capitals (those of one or two letters are ours), types end with _t, the libraries' names begin with
// theirs, and those of the language with an underscore.
static bool may_be_foreign(const char *name) {
  static const char prefixes[][7] = {"cuda", "cublas", "nccl", "parcc", "Parcc", "__"};
  const size_t len = strlen(name);
  if (len > 2 && str_eq(name + len - 2, "_t")) return true;
  if (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z') return true;
  bool lower = false, upper = false;
  for (const char *c = name; *c != '\0'; c++) {
    lower |= *c >= 'a' && *c <= 'z';
    upper |= *c >= 'A' && *c <= 'Z';
  }
  if (upper && !lower && strlen(name) > 2) return true;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (name[0] == prefixes[i][0] && strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

const char *c_safe_identifier(Arena *arena, const char *text) {
  const bool starts = is_letter(text[0]);
  char *id = starts ? arena_strdup(arena, text) : arena_printf(arena, "_%s", text);
  for (char *c = id; *c != '\0'; c++)
    if (!is_letter(*c) && !(*c >= '0' && *c <= '9')) *c = '_';
  return c_is_keyword(id) || c_is_taken(id) || may_be_foreign(id) ? arena_printf(arena, "%s_", id) : id;
}
