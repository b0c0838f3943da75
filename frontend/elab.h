// Semantic analysis, internal: what the files elab_*.c share. The way in is elab_model (elab.c).
//
// Elaboration runs a model like a program. Values are compile-time numbers, lists and so on, and tensors of the graph
// being built; a call of an op or a layer runs its body in a frame of its own. All mistakes of the text are reported
// through elab_error and give a VALUE_ERROR, which silences what follows from it.
#ifndef PARCC_FRONTEND_ELAB_H
#define PARCC_FRONTEND_ELAB_H

#include "diag.h"
#include "frontend.h"

// Limits that keep a hostile text from exhausting time and memory; each is an error with a place.
enum {
  MAX_FRAMES = 100,     // calls inside each other
  MAX_OPS = 200000,     // operators of one graph
  MAX_STEPS = 1000000,  // statements executed
  MAX_WORK = 20000000,  // see elab_work
  MAX_EXPR_SIZE = 2000, // nodes of one index expression
  MAX_MISTAKES = 1000,  // with repetitions, which are not printed
  MAX_WARNINGS = 100,
};
#define MAX_INTEGER 9007199254740992.0 // 2^53: compile-time integers are held in doubles

// ---- values (elab_value.c)

typedef enum ValueKind {
  VALUE_ERROR,  // a mistake was reported
  VALUE_NUMBER, // number, is_int
  VALUE_BOOL,   // truth
  VALUE_STRING, // string
  VALUE_LIST,   // list; is_tuple: the results of a call with several results
  VALUE_RANGE,  // range: the integers lo .. hi - 1
  VALUE_TENSOR, // tensor: id in the graph
  VALUE_RUN,    // run: a number known only when the program runs (lr, step, steps and what is made of them)
  VALUE_TERM,   // term: an argument of an fn inside of an index expression
  VALUE_SOURCE, // source: where the data of an input comes from
} ValueKind;

typedef struct Term Term;
typedef struct Value Value;
struct Value {
  ValueKind kind;
  bool is_int, is_tuple;
  union {
    double number;
    bool truth;
    const char *string;
    struct {
      const Value *at;
      int len;
    } list;
    struct {
      int64_t lo, hi;
    } range;
    int tensor;
    struct {
      const Expr *expr;
      int size;
    } run;
    const Term *term;
    const DataSource *source;
  };
};

// ---- definitions, frames and names (elab_scope.c)

typedef struct Def {
  const AstDef *ast;
  bool prelude; // its body sees the definitions of the prelude only
} Def;

typedef struct Var {
  const char *name;
  Value value;
  Loc loc;
  const AstExpr *pending; // the default of an attribute that was not given: evaluated when it is first needed
  bool busy;              // that is under way
} Var;

// A dimension name of a definition and its extent; a pack has any number of them.
typedef struct DimVar {
  const char *name;
  bool pack;
  int n;
  Dim *dim;            // [n]
  const char *what;    // what bound it: "argument", ...; NULL: the definition itself
  const AstDecl *decl; // and which one,
  int tensor;          // with which tensor
  Loc loc;
} DimVar;

// A named argument that replaces a parameter of a layer.
typedef struct Tied {
  const char *name;
  Value value;
  Loc loc;
  bool used;
} Tied;

typedef struct Frame Frame;
struct Frame {
  int serial;         // a number of its own
  Frame *up;          // who called
  const Def *def;     // what runs
  Loc call;           // where it was called
  Loc site;           // the place in the model file that led here: see elab_site
  const char *layer;  // path of the layer instance, "" at the top
  const char *prefix; // of the names of tensors
  int shard;          // of what is made now: number of the @shard(...) around it, or 0
  VEC(Var) vars;
  VEC(DimVar) dims;
  VEC(Tied) tied;
  bool failed; // a requirement is not met: the rest of the body is skipped
  int binders; // index expressions: binders below this one are those of the caller
};

typedef struct Owned { // a parameter or a state
  int tensor;
  const char *layer;
  Loc loc;
  bool updated;
  Loc update;
} Owned;

typedef struct Setting { // of the train block
  bool given;
  Loc loc;
  Value value;
} Setting;

typedef struct DataUse {
  const char *input;
  Value value;
  Loc loc;
} DataUse;

typedef struct OptimizerArg {
  const char *name;
  Value value;
  Loc loc;
} OptimizerArg;

typedef struct Training {                        // what the train block says (elab_train.c)
  Setting chosen, clip, epochs, steps, schedule; // chosen: the optimizer
  const Def *optimizer;
  VEC(OptimizerArg) attrs; // of the optimizer
  Loc loc;                 // of the setting of the optimizer
  bool has_rate;           // the optimizer has an attribute 'lr' ...
  double rate;             // ... and this is it
  VEC(DataUse) data;
} Training;

typedef struct FunctionUse { // a C function that opaque operators call
  const char *types; // of its arguments
  Loc loc;
} FunctionUse;

typedef struct Elab {
  Arena *arena;
  const ElabOptions *options;
  const AstFile *file;
  VEC(Def) defs;
  Names file_defs, prelude_defs; // by name, into defs
  Names functions;               // by name, into function_uses
  VEC(FunctionUse) function_uses;
  Model *model;
  Graph *graph;  // being built
  bool training; // the value of `training`
  Phase phase;   // of operators added now
  Frame *frame;
  int n_frames;          // so far
  Frame *spare;          // frames that were left, to be used again
  bool run_lr, run_step; // `lr` may be used; `step` and `steps` may
  int of;                // the parameter whose optimizer runs, or -1
  const char *of_layer;  // the layer instance it belongs to
  const Frame *init;     // the frame of the initialiser being elaborated, or NULL: it reads no tensors
  VEC(Owned) owned;      // parameters and states of the graph, in the order of creation
  Names owned_names;     // by name, into owned
  Names counters;        // "PATH/LAYER" -> index in counts; names of instances -> index in instances
  VEC(int) counts;
  Names instances;
  VEC(Loc) instance_locs;
  Names scalar_fns; // by name
  Names shards;     // places of @shard(...) -> number
  Names streams;    // random numbers: text position and visit -> stream
  Names visits;
  VEC(int) visit_counts;
  int n_streams;
  VEC(Loc) loss_locs, metric_locs;
  bool has_loss; // a loss was declared, be it a right one or not
  Names declared_inputs; // likewise: inputs
  Training train;
  VEC(Value) params; // of the model, as they are at its start
  int64_t steps, work;
  int errors; // mistakes found, also those that were printed before
  int warnings;
  bool stopped; // a limit was exceeded: nothing more is elaborated
} Elab;

Def *elab_find_def(Elab *e, const char *name);
Var *elab_find_var(Frame *frame, const char *name);
DimVar *elab_find_dim(Frame *frame, const char *name, bool pack);
void elab_set(Elab *e, const char *name, Value value, Loc loc);
void elab_set_dim(Elab *e, DimVar dim);
bool elab_is_known(Elab *e, const char *name); // whether the name is anything outside of index expressions
// The value of a name outside of index expressions; reports an unknown one.
Value elab_name(Elab *e, const char *name, Loc loc);
// "; did you mean 'x'?" or "": from all names that could stand in an expression.
const char *elab_suggest(Elab *e, const char *name);
const char *elab_suggest_among(Elab *e, const char *word, const char *const *candidates, int n);
Frame *elab_push(Elab *e, const Def *def, Loc call);
void elab_pop(Elab *e);

// An error at a place, with notes on the calls in the model file that led there. elab_error_at_call is for mistakes of a
// call found while the callee's frame is in place already.
void elab_error(Elab *e, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
void elab_error_at_call(Elab *e, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
Loc elab_site(const Elab *e, Loc loc); // the place in the model file that an operator made at `loc` belongs to
void elab_warning(Elab *e, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Counts work, in units of about a hundred bytes of memory: expressions evaluated, elements of lists, nodes of index
// expressions, calls. False after reporting that it is too much.
bool elab_work(Elab *e, Loc loc, int64_t amount);
bool elab_step(Elab *e, Loc loc); // the same for one statement

static inline Value value_error(void) { return (Value){.kind = VALUE_ERROR}; }
static inline Value value_bool(bool truth) { return (Value){.kind = VALUE_BOOL, .truth = truth}; }
static inline Value value_int(int64_t n) { return (Value){.kind = VALUE_NUMBER, .is_int = true, .number = (double)n}; }
static inline Value value_real(double x) { return (Value){.kind = VALUE_NUMBER, .number = x}; }
static inline Value value_string(const char *s) { return (Value){.kind = VALUE_STRING, .string = s}; }
static inline Value value_tensor(int id) { return (Value){.kind = VALUE_TENSOR, .tensor = id}; }
static inline bool is_error(Value v) { return v.kind == VALUE_ERROR; }
// Numbers, truth values and run-time numbers: what a scalar function can be applied to.
static inline bool is_scalar(Value v) { return v.kind == VALUE_NUMBER || v.kind == VALUE_BOOL || v.kind == VALUE_RUN; }

const char *value_describe(Elab *e, Value v); // "the number 3", "a list of 2", "a tensor [8, 10]"
const char *value_text(Elab *e, Value v);     // as str() gives it
const char *shape_text(Elab *e, int tensor);  // "[8, 10]"
const char *dims_text(Elab *e, const Dim *dims, int n);
int value_len(Value v); // of a list or range, else -1
Value value_item(Value v, int i);
const Expr *value_expr(Elab *e, Value v);                         // of a scalar
Value value_binary(Elab *e, Loc loc, AstOp op, Value a, Value b); // no tensors
Value value_unary(Elab *e, Loc loc, AstOp op, Value a);
Value value_call(Elab *e, Loc loc, Fn fn, const Value *args); // scalars only
// A whole number (also 3.0) of at least `least`; reports anything else, speaking of it as `what` (and 'name', if that is
// not NULL). Errors give false.
bool value_whole(Elab *e, Loc loc, Value v, const char *what, const char *name, int64_t least, int64_t *out);

// ---- expressions outside of index statements (elab_expr.c, elab_tensor.c)

Value elab_expr(Elab *e, const AstExpr *expr);
bool elab_condition(Elab *e, const AstExpr *expr, bool *out);
int fn_of_op(AstOp op); // the scalar function of an operator, or -1 (floor division, modulo)
const char *op_symbol(AstOp op);
int elab_scalar_fn(Elab *e, const char *name); // the scalar function that may be called by this name, or -1
// Element-wise operators, with broadcasting. At least one argument is a tensor.
Value tensor_binary(Elab *e, Loc loc, AstOp op, Value a, Value b);
Value tensor_unary(Elab *e, Loc loc, AstOp op, Value a);
Value tensor_call(Elab *e, Loc loc, Fn fn, const Value *args);
Value tensor_macro(Elab *e, const AstExpr *call, Def *def, const Value *args);
Value tensor_slice(Elab *e, const AstExpr *index, int tensor); // t[i, j]

// ---- calls (elab_call.c, elab_bind.c, elab_builtin.c, elab_view.c)

typedef struct Arg {
  const char *name; // NULL: positional
  Value value;
  Loc loc;
} Arg;

Value elab_call(Elab *e, const AstExpr *call);
// Calls an op, layer or optimizer with evaluated arguments.
Value elab_call_def(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc);
// Pushes the frame of an fn and binds its arguments; false (nothing pushed) after an error.
bool elab_enter_fn(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc);
// Binds arguments to the parameters in the frame just pushed.
bool bind_args(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc);
// Matches the dims of a declaration with a tensor: binds new names, checks bound ones. `what`: "argument", "result", ...
bool bind_dims(Elab *e, const AstDecl *decl, const char *what, int tensor, Loc loc);
// The dims of a declaration whose extents must be known; false after errors.
bool declared_dims(Elab *e, const AstDecl *decl, Dim *dims, int *rank);
// Binds `name` to an extent in the frame; reports a different one.
bool bind_extent(Elab *e, const char *name, int64_t extent, Loc loc);
// Opaque operators (elab_opaque.c): checks a declaration; a call, once its arguments are bound in the frame.
void elab_check_opaque(Elab *e, const AstDef *def);
Value elab_opaque(Elab *e, const AstDef *def, Loc loc);
// Enters a @shard(...) of the text (NULL: none): what is made from then on belongs to it. Returns the one before, to be set
// again with elab_leave_shard (elab_shard.c).
int elab_enter_shard(Elab *e, const AstShard *shard);
void elab_leave_shard(Elab *e, int before);
// Reports a @shard(...) behind a call that makes no operators.
void elab_no_shard(Elab *e, const AstExpr *call);
bool elab_is_builtin(const char *name);
Value elab_builtin(Elab *e, const AstExpr *call);
Value elab_view(Elab *e, const AstExpr *call);

// ---- inputs (elab_spread.c)

// How the values of an input below `range` are spread, as its declaration says; NULL: it does not, or wrongly, which is reported.
const Spread *elab_spread(Elab *e, const AstDecl *decl, int64_t range);

// ---- data sources (elab_source.c)

bool elab_is_source(const char *name); // idx, npy, text, ...
Value elab_source(Elab *e, const AstExpr *call);
// A source times, divided by, plus or minus a number.
Value elab_source_binary(Elab *e, Loc loc, AstOp op, Value a, Value b);

// ---- index statements (elab_index.c, elab_term.c, elab_access.c, elab_free.c, elab_emit.c)

// A scalar inside of an index expression.
struct Term {
  bool failed;
  bool known;  // a compile-time value: `value`
  bool affine; // an affine index: `index`
  Value value;
  Index index;
  const Expr *expr; // else
  int size;         // nodes
};

typedef struct Binder { // a name of iteration dimensions
  const char *name;
  bool pack;
  int first, n; // slots; n < 0: not known yet
} Binder;

// A reduction inside of an index expression, until it becomes an operator. The expression refers to it by an access to
// the "tensor" REDUCTION_BASE - (its number).
enum { REDUCTION_BASE = -2 };
typedef struct Reduction {
  Reduce reduce;
  int first, n;          // its slots; the slots below are those around it
  Dim slot[IR_MAX_DIMS]; // all slots at its place
  const Expr *body;
  unsigned free; // the slots around it that it uses
  int tensor;    // that holds it once emitted, or -1
} Reduction;

typedef struct Accessed { // the value of what stands before the brackets of an access: evaluated once
  const AstExpr *node;
  int frame; // its serial: the body of an fn may be elaborated several times in one statement
  Value value;
} Accessed;

typedef struct Stmt {
  Elab *e;
  Loc loc;
  const char *tensor_name;
  const char *op_name;
  Dim slot[IR_MAX_DIMS]; // the iteration dimensions: first those of the left-hand side
  int n_slots, n_out;
  VEC(Binder) binders;
  VEC(Reduction *) reductions;
  VEC(Accessed) accessed;
  VEC(const char *) free; // names in indices that were reported
  Reduce around;
} Stmt;

// y[i, j] = e
Value elab_index_stmt(Elab *e, const AstDecl *decl, const AstExpr *value);
// A reduction outside of an index statement: of rank 0.
Value elab_reduce_expr(Elab *e, const AstExpr *reduce);
// out[dims] = value, with the dims called as in `decl` and of the extents of `dims`. out < 0: a new tensor called `name`.
Value elab_define(Elab *e, const AstDecl *decl, const Dim *dims, int rank, const AstExpr *value, int out,
                  ScalarType type, const char *name, const char *op_name);
Stmt stmt_begin(Elab *e, Loc loc, const char *tensor_name, const char *op_name);
bool stmt_push_slot(Stmt *s, const char *name, int64_t extent, Loc loc);
const Binder *stmt_binder(const Stmt *s, const char *name, bool pack);
// Finds the extent of `name` from the plain accesses in `expr`; 0: there is none, -1: reported that they disagree.
// For a pack: the number of dims, copied to `dims`; -1: not found; -2: reported.
int64_t stmt_infer(Stmt *s, const AstExpr *expr, const char *name);
int stmt_infer_pack(Stmt *s, const AstExpr *expr, const char *name, Dim *dims);
Value stmt_accessed(Stmt *s, const AstExpr *index);
// Where each position of an access stands: first dimension and number of dimensions. False after an error
// (`report`) or where more than one pack is unknown. *unknown: the position of an unknown pack, or -1.
bool stmt_positions(Stmt *s, const AstExpr *index, int rank, int *first, int *count, int *unknown, bool report);
// Reports a name in an index that is nothing at all; false if there is none.
bool stmt_report_free(Stmt *s, const AstExpr *index);
// Warns of a dimension in a constant index that stands for its extent, with what comes of it; false if there is none.
bool stmt_warn_extent(Stmt *s, const AstExpr *index, const char *effect);

Term term_failed(void);
Term term_known(Value v);
Term term_of(const Expr *expr, int size);
Term term_index(Index index);
const Expr *term_expr(Stmt *s, Term t, Loc loc); // NULL after an error
Term term_convert(Stmt *s, const AstExpr *expr);
Term term_access(Stmt *s, const AstExpr *index);
Term term_reduce(Stmt *s, const AstExpr *reduce);
Term term_read(Stmt *s, int tensor, const Index *index); // an access with finished indices
Term term_binary(Stmt *s, Loc loc, AstOp op, Term a, Term b);
Term term_unary(Stmt *s, Loc loc, AstOp op, Term a);
Term term_call(Stmt *s, Loc loc, Fn fn, const Term *args);
// Makes the operators of a statement; the result has the iteration dims [0, n_out). `type`: that of the result, if it is
// declared (as_declared). out as in elab_define.
Value stmt_emit(Stmt *s, Term value, bool as_declared, ScalarType type, int out);
int elab_stream(Elab *e, Loc loc);
bool elab_can_add_op(Elab *e, Loc loc);
// Checks that dims make a tensor: number of elements, rank. Reports.
bool elab_check_dims(Elab *e, Loc loc, const Dim *dims, int n, const char *what);
void dims_make_unique(Elab *e, Dim *dims, int n);
const char *elab_path(Elab *e, const char *path, const char *name); // PATH.NAME, or NAME where the path is empty
// What operators made here are called: in an op like it, elsewhere like what they do (`otherwise`). To index statements
// a layer gives its name too.
const char *elab_op_name(Elab *e, const char *otherwise);
const char *elab_stmt_name(Elab *e, const char *otherwise);
const char *elab_tensor_name(Elab *e, const char *target);

// ---- statements (elab_stmt.c, elab_decl.c)

void elab_block(Elab *e, const AstBlock *block);
void elab_assign(Elab *e, const AstStmt *stmt);
void elab_input(Elab *e, const AstStmt *stmt);
void elab_param(Elab *e, const AstStmt *stmt);
void elab_state(Elab *e, const AstStmt *stmt);
// Whether the elements of a tensor are made by an operator: not those of a view of something stored, which others may take new
// values of before this one is stored.
bool elab_is_computed(const Elab *e, int tensor);
void elab_update(Elab *e, const AstStmt *stmt);
void elab_loss(Elab *e, const AstStmt *stmt);
void elab_metric(Elab *e, const AstStmt *stmt);
void elab_sample(Elab *e, const AstStmt *stmt);

// ---- the model (elab_train.c, elab_optimize.c, elab_options.c, elab.c)

void elab_train_block(Elab *e, const AstDef *train);
void elab_train_stmt(Elab *e, const AstStmt *stmt); // one that only a train block has
void elab_attach_data(Elab *e);
// Reports integers that choose from a dimension which is shorter than their range (elab_range.c).
void elab_check_ranges(Elab *e, const Graph *graph);
void elab_optimize(Elab *e);
void elab_mark_reports(Elab *e);
bool elab_model_params(Elab *e, const AstDef *model); // defaults and -D, into the frame
bool elab_in_train_block(const Elab *e);

#endif
