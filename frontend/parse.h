// Between the scanner, the parser (grammar/) and parse_text: the state of one parse, and constructors of tree nodes.
#ifndef PARCC_FRONTEND_PARSE_H
#define PARCC_FRONTEND_PARSE_H

#include "ast.h"
#include "diag.h"

typedef AstBlock ParseBlock;
typedef VEC(AstTarget) ParseTargets;
typedef VEC(AstWhere) ParseWheres;
typedef struct ParseBracket {
  Loc loc;
  char open;
} ParseBracket;

typedef struct Parse {
  Arena *arena;
  const char *name, *text; // the source, text[0 .. len)
  size_t len;
  AstFile *file;
  int line, col;          // of the next character
  size_t offset;          // of the next character
  Loc token, prev;        // the token last returned and the one before it
  const char *token_text; // its text, not NUL-terminated
  int token_len;
  ParseBracket open[AST_MAX_NESTING]; // brackets open at this point
  int n_open;
  ParseBracket closed; // what the last closing bracket closed; open 0: nothing
  bool stop;           // give up: the scanner returns the end of the file
} Parse;

// Scans and parses the text (defined beside the scanner).
void parse_run(Parse *p);

// Expressions. All report what is wrong with their operands (a pack outside of brackets, too deep a tree).
AstExpr *parse_number(Parse *p, Loc loc, double number, bool is_int);
AstExpr *parse_string(Parse *p, Loc loc, const char *text);
AstExpr *parse_name(Parse *p, Loc loc, const char *name);
AstExpr *parse_pack_or_error(Parse *p, Loc loc, AstExpr *of);
AstExpr *parse_range(Parse *p, Loc loc, AstExpr *lhs, AstExpr *rhs);
AstExpr *parse_unary(Parse *p, Loc loc, AstOp op, AstExpr *of);
AstExpr *parse_binary(Parse *p, Loc loc, AstOp op, AstExpr *lhs, AstExpr *rhs);
AstExpr *parse_list(Parse *p, Loc loc, const AstArgs *items);
AstExpr *parse_call(Parse *p, Loc loc, const char *name, const AstArgs *args);
AstExpr *parse_pipe(Parse *p, AstExpr *first, AstExpr *call);
AstExpr *parse_index(Parse *p, Loc loc, AstExpr *of, const AstArgs *positions);
AstExpr *parse_field(Parse *p, Loc loc, AstExpr *of, const char *field);
AstExpr *parse_reduce(Parse *p, Loc loc, const char *name, const AstArgs *vars, AstExpr *term);
// The expression itself, or an AST_ERROR after a message where it is a pack.
AstExpr *parse_no_pack(Parse *p, AstExpr *e);

AstArgs *parse_args(Parse *p, AstArgs *args, const char *name, AstExpr *value, Loc loc);
// The dimensions that a bracket declares: NAME, NAME = e, NAME.., NAME..e, e.
AstDecl *parse_decl(Parse *p, Loc loc, const char *name, const AstArgs *dims);
// One item of @shard(...).
AstShardItem *parse_shard_split(Parse *p, Loc loc, const char *dim, double unit, const ParseTargets *axes);
AstShardItem *parse_shard_word(Parse *p, Loc loc, const char *word, Loc axis_loc, const char *axis);
// The declaration itself, after a message where it has a @shard(...).
AstDecl *parse_no_shard(AstDecl *decl);
AstStmt *parse_stmt(Parse *p, AstStmtKind kind, Loc loc);
AstStmt *parse_stmt_value(Parse *p, AstStmtKind kind, Loc loc, const char *target, Loc target_loc, AstExpr *value);
AstDef *parse_def(Parse *p, AstDefKind kind, Loc loc, const char *name);

// The scanner's actions. Each reports what is wrong.
bool parse_scan_integer(Parse *p, Loc loc, const char *text, double *value);
bool parse_scan_real(Parse *p, Loc loc, const char *text, double *value);
bool parse_scan_string(Parse *p, Loc loc, const char *text, int len, const char **value);
bool parse_scan_name(Parse *p, Loc loc, const char *text, int len, const char **value);
void parse_scan_bad_bytes(Parse *p, Loc loc, const char *text, int len);
bool parse_scan_open(Parse *p, Loc loc, char bracket); // false: too deep
void parse_scan_close(Parse *p);

// Reports that a token was found where one of `expected` (names of terminals as the grammar spells them) should stand.
void parse_report(Parse *p, const char *const *expected, int n, const char *found, Loc loc);

#endif
