#include "c_names.h"

static const char *const keywords[] = {
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

static const char *const taken[] = {
    "arena", "argc", "argv", "blockDim", "blockIdx", "cos", "count", "dim3", "erf", "evaluate", "event", "exp", "fabs",
    "floor", "forward", "backward", "gamma", "gridDim", "i", "init", "inputs", "j0", "j1", "jn", "l", "lanes",
    "learning_rate", "linux", "list_stored", "log", "main", "model", "one", "parcc", "place_tensors", "pow", "report",
    "samples", "scalars", "sin", "sqrt", "stored", "t", "tanh", "threadIdx", "unix", "update", "y0", "y1", "yn", "zero",
};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool c_is_identifier(const char *name) {
  if (!is_letter(name[0])) return false;
  for (const char *c = name; *c != '\0'; c++)
    if (!is_letter(*c) && !(*c >= '0' && *c <= '9')) return false;
  return true;
}

static bool among(const char *const *words, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (str_eq(words[i], name)) return true;
  return false;
}

bool c_is_keyword(const char *name) { return among(keywords, sizeof keywords / sizeof *keywords, name); }

bool c_is_taken(const char *name) { return among(taken, sizeof taken / sizeof *taken, name); }
