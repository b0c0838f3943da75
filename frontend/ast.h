// The syntax tree: what the parser builds and the elaborator walks. Nodes live in the arena of the compilation.
#ifndef PARCC_FRONTEND_AST_H
#define PARCC_FRONTEND_AST_H

#include "../ir/base.h"

typedef struct AstExpr AstExpr;
typedef struct AstStmt AstStmt;

typedef enum AstExprKind {
  AST_NUMBER, // 12, 0.5           number, is_int
  AST_STRING, // 'text'            text
  AST_NAME,   // x                 text
  AST_PACK,   // i..               text                      (only inside brackets and reductions)
  AST_LIST,   // [a, b]            args
  AST_RANGE,  // a..b              lhs, rhs
  AST_UNARY,  // -x, not x         op, lhs
  AST_BINARY, // a + b             op, lhs, rhs
  AST_CALL,   // f(a, k = b)       text, args
  AST_INDEX,  // x[i, j]           lhs, args
  AST_FIELD,  // c.extent          lhs, text
  AST_REDUCE, // sum(k, r < 3) e   text, args (the variables), rhs (the term)
  AST_ERROR,  // where a syntax error was reported
} AstExprKind;

typedef enum AstOp {
  AST_ADD, AST_SUB, AST_MUL, AST_DIV, AST_FLOORDIV, AST_MOD, AST_NEG, AST_NOT,
  AST_EQ, AST_NE, AST_LT, AST_LE, AST_GT, AST_GE, AST_AND, AST_OR,
} AstOp;

typedef struct AstTarget { const char *name; Loc loc; } AstTarget;

// One item of @shard(...): co: gpu,  h*64: [data, gpu],  pin gpu = 1,  replicate gpu.
typedef struct AstShardItem {
  const char *word; // "pin" or "replicate"; NULL: a split
  const char *dim;
  double unit, pin;
  VEC(AstTarget) axes;
  Loc loc;
} AstShardItem;
typedef struct AstShard {
  Loc loc;
  VEC(AstShardItem) items;
} AstShard;

typedef struct AstArg {
  const char *name; // named argument, or NULL
  AstExpr *value;
  Loc loc;
} AstArg;
typedef VEC(AstArg) AstArgs;

struct AstExpr {
  AstExprKind kind;
  Loc loc;
  double number;
  bool is_int;
  const char *text;
  AstOp op;
  AstExpr *lhs, *rhs;
  AstArgs args;
  AstShard *shard; // AST_CALL, or NULL
  int depth; // height of the tree below, at most AST_MAX_DEPTH: a walk may recurse
};
enum { AST_MAX_DEPTH = 400, AST_MAX_NESTING = 100 }; // of expressions; of brackets and blocks

// One dimension in the brackets of a declaration.
typedef struct AstDim {
  const char *name; // NULL: only an extent
  bool pack;        // name..   extent is then the number of dims, or NULL
  AstExpr *extent;  // NULL: bound by the argument
  Loc loc;
} AstDim;
typedef VEC(AstDim) AstDims;

typedef struct AstDecl { // parameter or result of a definition; input, param, state
  const char *name;
  bool has_dims; // false: an attribute
  AstDims dims;
  bool is_int;
  AstExpr *range;        // int < range, or NULL
  AstExpr *spread;       // of an input: ~ zipf(1.05), or NULL
  AstExpr *value;        // default of an attribute, initialiser of a param or state; or NULL
  AstShard *shard;       // or NULL
  Loc loc;
} AstDecl;
typedef VEC(AstDecl) AstDecls;

typedef VEC(AstStmt *) AstBlock;

typedef enum AstStmtKind {
  AST_ASSIGN,      // a, b = e           targets, value
  AST_INDEX_STMT,  // y[i, j] = e        decl (name, dims), value
  AST_INPUT,       //                    decl
  AST_PARAM,       //                    decl
  AST_STATE,       //                    decl
  AST_UPDATE,      // update v[i] = e    decl (has_dims or not), value
  AST_LOSS,        // loss name = e      targets[0] (name "loss" if none was given), value
  AST_METRIC,      //                    targets[0], value
  AST_FOR,         // for v in e {}      targets[0], value, body
  AST_IF,          // if e {} else {}    value, body, orelse
  AST_REQUIRE,     // require e, "msg"   value, text
  AST_DATA,        // data x = e         targets[0], value     (in train)
  AST_SAMPLE,      // sample x = e       targets[0], value     (in the model)
} AstStmtKind;

struct AstStmt {
  AstStmtKind kind;
  Loc loc;
  VEC(AstTarget) targets;
  AstDecl decl;
  AstExpr *value;
  AstBlock body, orelse;
  const char *text;
};

typedef enum AstDefKind { AST_OP, AST_LAYER, AST_OPTIMIZER, AST_FN, AST_MODEL, AST_TRAIN, AST_OPAQUE } AstDefKind;

typedef struct AstWhere { const char *name; AstExpr *value; Loc loc; } AstWhere;

typedef struct AstDef {
  AstDefKind kind;
  const char *name; // NULL for train
  Loc loc;
  AstDecls params, results;
  VEC(AstWhere) wheres;
  AstBlock body;
  AstExpr *value; // fn
  AstDims split;                   // opaque: dimensions that can be split, names and packs
  const char *function, *gradient; // opaque: C functions
  Loc function_loc, gradient_loc;
} AstDef;

typedef struct AstFile {
  const char *path;
  VEC(AstDef *) defs;
} AstFile;

#endif
