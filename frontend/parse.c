// parse_text: from a text to its syntax tree; the words come from grammar/parcc.l, the rules from grammar/parcc.y.
//
// Below it: constructors of nodes, what the scanner's actions check, and the wording of syntax errors.
#include "parse.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "frontend.h"

enum { MAX_NAME = 255, MAX_FILE = 64 << 20 };

AstFile *parse_text(Arena *arena, const char *name, const char *text, size_t len) {
  AstFile *file = NEW(arena, AstFile);
  file->path = arena_strdup(arena, name);
  diag_add_source(file->path, text, len);
  if (len > MAX_FILE) {
    diag_error((Loc){.file = file->path}, "the file is larger than %d MiB", MAX_FILE >> 20);
    return file;
  }
  Parse *p = NEW(arena, Parse);
  *p = (Parse){.arena = arena, .name = file->path, .text = text, .len = len, .file = file, .line = 1, .col = 1};
  p->token = p->prev = (Loc){file->path, 1, 1, 0};
  parse_run(p);
  return file;
}

AstFile *parse_prelude(Arena *arena) {
  AstFile *all = NEW(arena, AstFile);
  all->path = "frontend/prelude";
  for (int i = 0; i < prelude_files_len; i++) {
    const AstFile *file = parse_text(arena, prelude_files[i].name, prelude_files[i].text, prelude_files[i].len);
    for (int k = 0; k < file->defs.len; k++) vec_push(arena, &all->defs, file->defs.at[k]);
  }
  return all;
}

// ---- nodes

static AstExpr *new_expr(Parse *p, AstExprKind kind, Loc loc) {
  AstExpr *e = NEW(p->arena, AstExpr);
  e->kind = kind;
  e->loc = loc;
  return e;
}

// True if the child is what is left of a tree that was too deep.
static bool grow_depth(AstExpr *e, const AstExpr *child) {
  if (!child) return false;
  if (child->depth + 1 > e->depth) e->depth = child->depth + 1;
  return child->kind == AST_ERROR && child->depth == AST_MAX_DEPTH;
}

// Sets the depth of a finished node; a tree that is too deep is reported once and replaced by a leaf of full depth.
static AstExpr *finish(AstExpr *e) {
  bool reported = grow_depth(e, e->lhs);
  reported |= grow_depth(e, e->rhs);
  for (int i = 0; i < e->args.len; i++) reported |= grow_depth(e, e->args.at[i].value);
  if (e->depth <= AST_MAX_DEPTH) return e;
  if (!reported)
    diag_error(e->loc, "the expression is nested too deeply: more than %d operators inside each other", AST_MAX_DEPTH);
  *e = (AstExpr){.kind = AST_ERROR, .loc = e->loc, .depth = AST_MAX_DEPTH};
  return e;
}

AstExpr *parse_no_pack(Parse *p, AstExpr *e) {
  if (e->kind != AST_PACK) return e;
  diag_error(e->loc, "'%s..' stands for several dimensions, which is possible only in brackets and in reductions",
             e->text);
  return new_expr(p, AST_ERROR, e->loc);
}

AstExpr *parse_number(Parse *p, Loc loc, double number, bool is_int) {
  AstExpr *e = new_expr(p, AST_NUMBER, loc);
  e->number = number;
  e->is_int = is_int;
  return e;
}

AstExpr *parse_string(Parse *p, Loc loc, const char *text) {
  AstExpr *e = new_expr(p, AST_STRING, loc);
  e->text = text;
  return e;
}

AstExpr *parse_name(Parse *p, Loc loc, const char *name) {
  AstExpr *e = new_expr(p, AST_NAME, loc);
  e->text = name;
  return e;
}

AstExpr *parse_pack_or_error(Parse *p, Loc loc, AstExpr *of) {
  AstExpr *e = new_expr(p, AST_PACK, loc);
  e->text = of->text;
  if (of->kind == AST_NAME) return e;
  diag_error(loc, "expected the end of the range after '..'");
  e->kind = AST_ERROR;
  return e;
}

AstExpr *parse_range(Parse *p, Loc loc, AstExpr *lhs, AstExpr *rhs) {
  AstExpr *e = new_expr(p, AST_RANGE, loc);
  e->lhs = parse_no_pack(p, lhs);
  e->rhs = parse_no_pack(p, rhs);
  return finish(e);
}

AstExpr *parse_unary(Parse *p, Loc loc, AstOp op, AstExpr *of) {
  AstExpr *e = new_expr(p, AST_UNARY, loc);
  e->op = op;
  e->lhs = parse_no_pack(p, of);
  return finish(e);
}

AstExpr *parse_binary(Parse *p, Loc loc, AstOp op, AstExpr *lhs, AstExpr *rhs) {
  AstExpr *e = new_expr(p, AST_BINARY, loc);
  e->op = op;
  e->lhs = parse_no_pack(p, lhs);
  e->rhs = parse_no_pack(p, rhs);
  return finish(e);
}

static void no_named(const AstArgs *args, const char *where) {
  for (int i = 0; i < args->len; i++)
    if (args->at[i].name) {
      diag_error(args->at[i].loc, "unexpected '%s =' in %s", args->at[i].name, where);
      return;
    }
}

static void no_packs(Parse *p, AstArgs *args) {
  for (int i = 0; i < args->len; i++) args->at[i].value = parse_no_pack(p, args->at[i].value);
}

AstExpr *parse_list(Parse *p, Loc loc, const AstArgs *items) {
  AstExpr *e = new_expr(p, AST_LIST, loc);
  e->args = *items;
  no_named(items, "a list");
  no_packs(p, &e->args);
  return finish(e);
}

AstExpr *parse_call(Parse *p, Loc loc, const char *name, const AstArgs *args) {
  AstExpr *e = new_expr(p, AST_CALL, loc);
  e->text = name;
  if (args) e->args = *args;
  bool named = false;
  for (int i = 0; i < e->args.len; i++) {
    if (named && !e->args.at[i].name) {
      diag_error(e->args.at[i].loc, "a positional argument after a named one");
      break;
    }
    named = e->args.at[i].name;
  }
  no_packs(p, &e->args);
  return finish(e);
}

AstExpr *parse_pipe(Parse *p, AstExpr *first, AstExpr *call) {
  AstArgs args = {0};
  vec_push(p->arena, &args, (AstArg){NULL, first, first->loc});
  for (int i = 0; i < call->args.len; i++) vec_push(p->arena, &args, call->args.at[i]);
  call->args = args;
  return finish(call);
}

AstExpr *parse_index(Parse *p, Loc loc, AstExpr *of, const AstArgs *positions) {
  AstExpr *e = new_expr(p, AST_INDEX, loc);
  e->lhs = parse_no_pack(p, of);
  e->args = *positions;
  no_named(positions, "an index");
  return finish(e);
}

AstExpr *parse_field(Parse *p, Loc loc, AstExpr *of, const char *field) {
  AstExpr *e = new_expr(p, AST_FIELD, loc);
  e->lhs = parse_no_pack(p, of);
  e->text = field;
  return finish(e);
}

AstExpr *parse_reduce(Parse *p, Loc loc, const char *name, const AstArgs *vars, AstExpr *term) {
  AstExpr *e = new_expr(p, AST_REDUCE, loc);
  e->text = name;
  e->args = *vars;
  e->rhs = parse_no_pack(p, term);
  no_named(vars, "a reduction");
  if (vars->len == 0) diag_error(loc, "'%s()' reduces over nothing: expected the names of dimensions", name);
  for (int i = 0; i < vars->len; i++) {
    const AstExpr *var = vars->at[i].value;
    bool bounded = var->kind == AST_BINARY && var->op == AST_LT && var->lhs->kind == AST_NAME;
    if (bounded || var->kind == AST_NAME || var->kind == AST_PACK || var->kind == AST_ERROR) continue;
    diag_error(var->loc, "expected a dimension ('k', 'k < extent' or 'k..') in the reduction '%s'", name);
  }
  return finish(e);
}

AstArgs *parse_args(Parse *p, AstArgs *args, const char *name, AstExpr *value, Loc loc) {
  if (!args) args = NEW(p->arena, AstArgs);
  vec_push(p->arena, args, (AstArg){name, value, loc});
  return args;
}

AstDecl *parse_decl(Parse *p, Loc loc, const char *name, const AstArgs *dims) {
  AstDecl *decl = NEW(p->arena, AstDecl);
  decl->name = name;
  decl->loc = loc;
  decl->has_dims = dims;
  for (int i = 0; dims && i < dims->len; i++) {
    const AstArg *arg = &dims->at[i];
    AstExpr *e = arg->value;
    AstDim dim = {.loc = arg->loc};
    if (arg->name) {
      dim.name = arg->name;
      dim.extent = parse_no_pack(p, e);
    } else if (e->kind == AST_NAME) {
      dim.name = e->text;
    } else if (e->kind == AST_PACK) {
      dim.name = e->text;
      dim.pack = true;
    } else if (e->kind == AST_RANGE && e->lhs->kind == AST_NAME) {
      dim.name = e->lhs->text;
      dim.pack = true;
      dim.extent = e->rhs;
    } else {
      dim.extent = e;
    }
    vec_push(p->arena, &decl->dims, dim);
  }
  return decl;
}

AstShardItem *parse_shard_split(Parse *p, Loc loc, const char *dim, double unit, const ParseTargets *axes) {
  AstShardItem *item = NEW(p->arena, AstShardItem);
  *item = (AstShardItem){.dim = dim, .unit = unit, .loc = loc};
  memcpy(&item->axes, axes, sizeof item->axes);
  return item;
}

AstShardItem *parse_shard_word(Parse *p, Loc loc, const char *word, Loc axis_loc, const char *axis) {
  AstShardItem *item = NEW(p->arena, AstShardItem);
  *item = (AstShardItem){.word = word, .loc = loc};
  vec_push(p->arena, &item->axes, (AstTarget){axis, axis_loc});
  return item;
}

AstDecl *parse_no_shard(AstDecl *decl) {
  if (decl->shard) diag_error(decl->shard->loc, "'@shard' stands in statements and behind calls, not in a signature or an update");
  decl->shard = NULL;
  return decl;
}

AstStmt *parse_stmt(Parse *p, AstStmtKind kind, Loc loc) {
  AstStmt *s = NEW(p->arena, AstStmt);
  s->kind = kind;
  s->loc = loc;
  return s;
}

AstStmt *parse_stmt_value(Parse *p, AstStmtKind kind, Loc loc, const char *target, Loc target_loc, AstExpr *value) {
  AstStmt *s = parse_stmt(p, kind, loc);
  vec_push(p->arena, &s->targets, (AstTarget){target, target_loc});
  s->value = value;
  return s;
}

AstDef *parse_def(Parse *p, AstDefKind kind, Loc loc, const char *name) {
  AstDef *def = NEW(p->arena, AstDef);
  def->kind = kind;
  def->loc = loc;
  def->name = name;
  return def;
}

// ---- what the scanner checks

bool parse_scan_integer(Parse *p, Loc loc, const char *text, double *value) {
  (void)p;
  errno = 0;
  unsigned long long n = strtoull(text, NULL, 10);
  *value = (double)n;
  if (!errno && n <= 1ull << 53) return true;
  diag_error(loc, "the number %.40s%s is too large: integers go up to 2^53", text, strlen(text) > 40 ? "..." : "");
  return false;
}

bool parse_scan_real(Parse *p, Loc loc, const char *text, double *value) {
  (void)p;
  *value = strtod(text, NULL);
  if (isfinite(*value)) return true;
  diag_error(loc, "the number %.40s%s is too large", text, strlen(text) > 40 ? "..." : "");
  return false;
}

// The length of the UTF-8 character at s (of n bytes), or 0 where the bytes are not UTF-8.
static int utf8_len(const unsigned char *s, int n) {
  int len = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
  if (len > n) return 0;
  for (int i = 1; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  bool overlong = (s[0] == 0xe0 && len == 3 && s[1] < 0xa0) || (s[0] == 0xf0 && len == 4 && s[1] < 0x90);
  bool surrogate = s[0] == 0xed && len == 3 && s[1] >= 0xa0;
  bool beyond = s[0] == 0xf4 && len == 4 && s[1] >= 0x90;
  return overlong || surrogate || beyond ? 0 : len;
}

bool parse_scan_string(Parse *p, Loc loc, const char *text, int len, const char **value) {
  const unsigned char *s = (const unsigned char *)text;
  for (int i = 1; i < len - 1;) {
    int n = utf8_len(s + i, len - 1 - i);
    Loc at = {loc.file, loc.line, loc.col + i, 0};
    if (n == 0) {
      diag_error(at, "the string is not valid UTF-8: byte 0x%02x", s[i]);
      return false;
    }
    if ((s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f) {
      diag_error(at, "control character 0x%02x in a string", s[i]);
      return false;
    }
    i += n;
  }
  *value = arena_strndup(p->arena, text + 1, (size_t)len - 2);
  return true;
}

bool parse_scan_name(Parse *p, Loc loc, const char *text, int len, const char **value) {
  if (len > MAX_NAME) {
    diag_error(loc, "the name '%.40s...' is longer than %d characters", text, MAX_NAME);
    return false;
  }
  *value = arena_strndup(p->arena, text, (size_t)len);
  return true;
}

void parse_scan_bad_bytes(Parse *p, Loc loc, const char *text, int len) {
  (void)p;
  const unsigned char *s = (const unsigned char *)text;
  int n = utf8_len(s, len);
  if (n == 0 || s[0] < 0x20 || s[0] == 0x7f) diag_error(loc, "unexpected byte 0x%02x", s[0]);
  else diag_error(loc, "unexpected character '%.*s'", n, text);
}

bool parse_scan_open(Parse *p, Loc loc, char bracket) {
  if (p->n_open == AST_MAX_NESTING) {
    diag_error(loc, "nested too deeply: more than %d brackets and blocks inside each other", AST_MAX_NESTING);
    p->stop = true;
    return false;
  }
  p->open[p->n_open++] = (ParseBracket){loc, bracket};
  return true;
}

void parse_scan_close(Parse *p) {
  p->closed = (ParseBracket){0};
  if (p->n_open) p->closed = p->open[--p->n_open];
}

// ---- the wording of syntax errors

static bool has(const char *const *expected, int n, const char *token) {
  for (int i = 0; i < n; i++)
    if (str_eq(expected[i], token)) return true;
  return false;
}

// What to say was expected: "an expression", "',' or ')'", in terms of the language rather than of single tokens.
static void word_expected(Text *out, const char *const *expected, int n) {
  const char *part[8];
  int n_parts = 0;
  bool statement = has(expected, n, "'for'"), definition = has(expected, n, "'layer'");
  bool expression = has(expected, n, "a number");
  if (definition) part[n_parts++] = "a definition ('op', 'layer', 'optimizer', 'fn', 'model' or 'train')";
  else if (statement) part[n_parts++] = "a statement";
  else if (expression) part[n_parts++] = "an expression";
  else if (has(expected, n, "a reduction")) part[n_parts++] = "the name of an operator, a layer or a function";
  else if (has(expected, n, "a name")) part[n_parts++] = "a name";
  else if (has(expected, n, "a string")) part[n_parts++] = "a string";

  static const char *const structure[] = {"','", "';'", "')'",  "']'", "'}'",  "'->'",   "'{'",
                                          "'='", "'['", "'in'", "'('", "'op'", "'split'"};
  // After a complete expression or declaration only what ends it is worth saying.
  bool ends = has(expected, n, "';'") || has(expected, n, "')'") || has(expected, n, "']'") || has(expected, n, "'{'");
  bool inside = has(expected, n, "')'") || has(expected, n, "']'");
  for (size_t i = 0; i < sizeof structure / sizeof *structure && n_parts < 8; i++) {
    const char *s = structure[i];
    if (!has(expected, n, s) || definition) continue;
    if (str_eq(s, "'['") && has(expected, n, "'.'")) continue; // an index: an operator like others
    bool closer = str_eq(s, "';'") || str_eq(s, "')'") || str_eq(s, "']'") || str_eq(s, "'}'");
    bool opener = str_eq(s, "'{'") || str_eq(s, "'->'");
    if ((statement || expression) && !closer) continue;
    if (ends && !closer && !opener && !(inside && str_eq(s, "','"))) continue;
    part[n_parts++] = s;
  }
  if (n_parts == 0) part[n_parts++] = "an operator";
  for (int i = 0; i < n_parts; i++) text_printf(out, "%s%s", i == 0 ? "" : i == n_parts - 1 ? " or " : ", ", part[i]);
}

static bool is_keyword(const char *terminal) { return terminal[0] == '\'' && terminal[1] >= 'a' && terminal[1] <= 'z'; }

static bool is_comparison(const char *terminal) {
  static const char *const comparison[] = {"'=='", "'!='", "'<'", "'<='", "'>'", "'>='"};
  return has(comparison, 6, terminal);
}

void parse_report(Parse *p, const char *const *expected, int n, const char *found, Loc loc) {
  bool at_end = p->token_len == 0;
  Text message = {.arena = p->arena};
  text_printf(&message, "expected ");
  word_expected(&message, expected, n);
  if (at_end) text_printf(&message, " before the end of the file");
  else
    text_printf(&message, " before '%.*s%s'", p->token_len > 40 ? 40 : p->token_len, p->token_text,
                p->token_len > 40 ? "..." : "");
  if (is_comparison(found) && has(expected, n, "'*'") && !has(expected, n, "'<'")) {
    diag_error(loc, "comparisons do not chain: write 'a < b and b < c'");
    return;
  }
  bool wants_name = has(expected, n, "a name") || has(expected, n, "a number");
  if (is_keyword(found) && wants_name && !has(expected, n, "'for'") && !at_end)
    text_printf(&message, ", which is a keyword");
  if (str_eq(found, "a reduction") && wants_name && !has(expected, n, "a reduction"))
    text_printf(&message, ", which is the name of a reduction");

  // What is missing at the end of a line is shown there, not at the start of the next one.
  bool missing = has(expected, n, "';'") || has(expected, n, "')'") || has(expected, n, "']'");
  if (missing && p->prev.line < loc.line && p->prev.end_col) loc = (Loc){loc.file, p->prev.line, p->prev.end_col, 0};
  diag_error(loc, "%s", text_str(&message));

  bool close = found[0] == '\'' && strchr(")]}", found[1]) && found[1];
  const ParseBracket *open = close ? &p->closed : p->n_open ? &p->open[p->n_open - 1] : NULL;
  if ((close || at_end) && open && open->open && open->loc.line != loc.line) {
    const char closer[] = {open->open == '(' ? ')' : open->open == '[' ? ']' : '}', 0};
    const char quoted[] = {'\'', closer[0], '\'', 0};
    if (has(expected, n, quoted)) diag_note(open->loc, "to match this '%c'", open->open);
  }
}
