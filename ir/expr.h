// Index expressions: the right-hand side of an operator, over the dimensions of its iteration space.
//
// An operator with the iteration space d0, d1, ... computes
//     out[d0, ..., dm-1] = reduce(dm, ..., dn-1)  body(d0, ..., dn-1)
// and `body` is an Expr: a tree without reductions. Trees are immutable, shared freely and owned by an arena.
#ifndef PARCC_IR_EXPR_H
#define PARCC_IR_EXPR_H

#include "base.h"

enum { IR_MAX_DIMS = 14 }; // dimensions of one iteration space
enum { IR_MAX_RANK = 10 }; // dimensions of one tensor

typedef enum ScalarType { TYPE_REAL, TYPE_INT, TYPE_BOOL } ScalarType; // real is f32 or f64: the model's dtype

// base + sum of coef[d] * d over the iteration dimensions, divided by div >= 1. A value that div does not divide
// lies outside of every tensor (it comes from inverting a stride).
typedef struct Index {
  int64_t base, div;
  int64_t coef[IR_MAX_DIMS];
} Index;

Index index_const(int64_t value);
Index index_dim(int dim);
Index index_add(Index a, Index b); // both with div 1
Index index_scale(Index a, int64_t factor);
bool index_equal(const Index *a, const Index *b);
bool index_is_const(const Index *a);
int index_plain_dim(const Index *a); // the dimension d if the index is exactly d, else -1
bool index_uses(const Index *a, int dim);
// Smallest and largest numerator over the box 0 <= d < extent[d].
void index_range(const Index *a, const int64_t *extent, int n_dims, int64_t *lo, int64_t *hi);
// Every dimension d replaced by by[d].
Index index_substitute(const Index *a, const Index *by, int n_dims);

typedef enum Fn {
#define FN(name, ...) FN_##name,
#include "functions.def"
#undef FN
  FN_COUNT
} Fn;
const char *fn_name(Fn fn);
int fn_arity(Fn fn);
int fn_find(const char *name); // the Fn of that name, or -1

typedef enum RunScalar {
  RUN_LR,
  RUN_STEP,
  RUN_STEPS,
  RUN_NAMED,             // those that a model can name: above
  RUN_MICRO = RUN_NAMED, // the number of the microbatch at hand, an integer
  RUN_SCALARS
} RunScalar; // numbers known only when the program runs
const char *run_scalar_name(RunScalar scalar);

typedef enum ExprKind {
  EXPR_CONST,  // a number
  EXPR_INDEX,  // the value of an affine index, as an integer
  EXPR_ACCESS, // an element of a tensor; outside the tensor: `outside`
  EXPR_CALL,   // a scalar function
  EXPR_RANDOM, // a random number: uniform in [0, 1) or standard normal
  EXPR_RUN     // a run-time scalar, the same for all elements
} ExprKind;

typedef struct Expr Expr;
struct Expr {
  ExprKind kind;
  ScalarType type;
  union {
    double value;
    const Index *index;
    struct {
      int tensor; // id in the graph
      int rank;
      const Index *index; // [rank]
      double outside; // 0 for sum, -inf for max, +inf for min, 1 for prod: the identity of the reduction around it
    } access;
    struct {
      Fn fn;
      const Expr *arg[3];
    } call;
    struct {
      bool normal;
      int stream;     // a number of its own for every random() of the model text
      const Index *element; // the global element index: the same number whatever the plan
      int64_t apart;        // elements from a point of one microbatch to that of the next
    } random;
    RunScalar run;
  };
};

const Expr *expr_const(Arena *arena, double value, ScalarType type);
const Expr *expr_real(Arena *arena, double value);
const Expr *expr_int(Arena *arena, int64_t value);
const Expr *expr_index(Arena *arena, Index index);
const Expr *expr_access(Arena *arena, int tensor, ScalarType type, int rank, const Index *index, double outside);
// The same element of another tensor.
const Expr *expr_access_of(Arena *arena, const Expr *access, int tensor);
// A call with constants folded and neutral elements dropped (x*1, x+0, x*0, select of a constant, ...).
// Unused arguments are NULL. Integer and boolean operands are converted as C does.
const Expr *expr_call(Arena *arena, Fn fn, const Expr *a, const Expr *b, const Expr *c);
const Expr *expr_copy(Arena *arena, const Expr *e); // all of it
const Expr *expr_random(Arena *arena, bool normal, int stream, Index element);
const Expr *expr_random_of(Arena *arena, const Expr *random, Index element, int64_t apart); // the same numbers, counted otherwise
const Expr *expr_run(Arena *arena, RunScalar scalar);

bool expr_is_const(const Expr *e, double value);
bool expr_equal(const Expr *a, const Expr *b);
uint64_t expr_hash(const Expr *e);
double fn_eval(Fn fn, double a, double b, double c);
double fn_flops(Fn fn);

// Rebuild `e` bottom-up: `leaf` gives the replacement of every node that is not a call (or the node itself).
typedef const Expr *ExprLeafFn(void *ctx, const Expr *leaf);
const Expr *expr_map(Arena *arena, const Expr *e, ExprLeafFn *leaf, void *ctx);
// Call `visit` on every node, parents first.
typedef void ExprVisitFn(void *ctx, const Expr *node);
void expr_visit(const Expr *e, ExprVisitFn *visit, void *ctx);
void expr_visit_accesses(const Expr *e, ExprVisitFn *visit, void *ctx); // of these alone, in half the time
// Every iteration dimension d replaced by by[d].
const Expr *expr_substitute(Arena *arena, const Expr *e, const Index *by, int n_dims);
bool expr_uses_dim(const Expr *e, int dim);
bool expr_reads(const Expr *e, int tensor);
double expr_flops(const Expr *e);

#endif
