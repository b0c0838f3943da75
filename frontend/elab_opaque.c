// Opaque operators: what their declarations must be, and calls of them.
//
//     opaque op sort(x[n, c]) -> y[n, c] split(n) = "sort_rows" grad "sort_rows_grad";
//
// A call is one operator (OP_OPAQUE of ir/graph.h). Its dimensions are those that may be divided; of every tensor it
// knows which dimension is which of these.
#include <ctype.h>

#include "../ir/c_names.h"
#include "elab.h"

// ---- declarations

static bool starts_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

// Names of the libraries and of the runtime, and those in capitals, which are macros.
static bool is_taken(const char *name) {
  static const char *const prefixes[] = {"_", "parcc", "cuda", "cublas", "nccl", "over_"};
  bool small = false;
  for (const char *c = name; *c != '\0'; c++) small |= islower((unsigned char)*c) != 0;
  bool taken = !small || c_is_taken(name) || fn_find(name) >= 0;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) taken |= starts_with(name, prefixes[i]);
  return taken;
}

static bool check_function(Elab *e, const char *name, Loc loc) {
  if (!c_is_identifier(name))
    elab_error(e, loc, "'%s' is not the name of a C function: expected letters, digits and '_', and no digit first",
               name);
  else if (c_is_keyword(name)) elab_error(e, loc, "'%s' is a keyword of C or C++: no function is called so", name);
  else if (is_taken(name))
    elab_error(e, loc, "the function '%s' is called like something that emitted programs use themselves", name);
  else return true;
  return false;
}

// The types of what a function is called with, as text: operators that share a function must agree on it.
static const char *signature(Elab *e, const AstDef *def, bool gradient) {
  Text text = {.arena = e->arena};
  for (int i = 0; i < def->params.len; i++)
    if (def->params.at[i].has_dims) text_printf(&text, "%s", def->params.at[i].is_int ? "i" : "r");
  text_printf(&text, " %s ", gradient ? "gradient" : "of");
  for (int i = 0; i < def->results.len; i++) text_printf(&text, "%s", def->results.at[i].is_int ? "i" : "r");
  int attrs = 0;
  for (int i = 0; i < def->params.len; i++) attrs += !def->params.at[i].has_dims;
  text_printf(&text, " %d", attrs);
  return text_str(&text);
}

static void enter_function(Elab *e, const AstDef *def, const char *name, Loc loc, bool gradient) {
  if (!check_function(e, name, loc)) return;
  const char *types = signature(e, def, gradient);
  const int known = names_get(&e->functions, name);
  if (known < 0) {
    names_set(&e->functions, name, e->function_uses.len);
    vec_push(e->arena, &e->function_uses, (FunctionUse){types, loc});
  } else if (!str_eq(e->function_uses.at[known].types, types)) {
    elab_error(e, loc, "the function '%s' gets other tensors or attributes here than in another place", name);
    diag_note(e->function_uses.at[known].loc, "which is this one");
  }
}

static bool is_dim(const AstDim *dim, const AstDim *of) {
  return of->name != NULL && of->pack == dim->pack && str_eq(of->name, dim->name);
}

static int count_dim(const AstDecl *decl, const AstDim *dim) {
  int n = 0;
  for (int i = 0; i < decl->dims.len; i++) n += is_dim(dim, &decl->dims.at[i]);
  return n;
}

static const AstDecl *decl_of(const AstDef *def, int i) {
  return i < def->params.len ? &def->params.at[i] : &def->results.at[i - def->params.len];
}

static void report_no_dim(Elab *e, const AstDef *def, const AstDim *dim) {
  VEC(const char *) all = {0};
  for (int i = 0; i < def->params.len + def->results.len; i++) {
    const AstDims *dims = &decl_of(def, i)->dims;
    for (int d = 0; d < dims->len; d++) {
      if (dims->at[d].name == NULL) continue;
      if (str_eq(dims->at[d].name, dim->name)) {
        if (dim->pack) elab_error(e, dim->loc, "'%s' is a single dimension: expected split(%s)", dim->name, dim->name);
        else elab_error(e, dim->loc, "'%s..' is a pack of dimensions: expected split(%s..)", dim->name, dim->name);
        return;
      }
      vec_push(e->arena, &all, dims->at[d].name);
    }
  }
  elab_error(e, dim->loc, "'%s' is no dimension of an argument or a result of '%s'%s", dim->name, def->name,
             elab_suggest_among(e, dim->name, all.at, all.len));
}

static void check_split(Elab *e, const AstDef *def, const AstDim *dim) {
  int uses = 0;
  for (int i = 0; i < def->params.len + def->results.len; i++) {
    const AstDecl *decl = decl_of(def, i);
    const int n = count_dim(decl, dim);
    uses += n;
    if (n < 2) continue;
    elab_error(e, dim->loc, "'%s' stands twice in '%s': such a dimension cannot be split", dim->name, decl->name);
    diag_note(decl->loc, "'%s' is declared here", decl->name);
  }
  if (uses == 0) {
    report_no_dim(e, def, dim);
    return;
  }
  for (int i = 0; i < def->results.len; i++) {
    const AstDecl *result = &def->results.at[i];
    if (!result->has_dims || count_dim(result, dim) > 0) continue;
    elab_error(e, dim->loc, "the result '%s' has no dimension '%s': what is split gives a part of every result",
               result->name, dim->name);
    diag_note(result->loc, "'%s' is declared here", result->name);
  }
}

void elab_check_opaque(Elab *e, const AstDef *def) {
  enter_function(e, def, def->function, def->function_loc, false);
  if (def->gradient != NULL && str_eq(def->gradient, def->function))
    elab_error(e, def->gradient_loc, "the gradient of '%s' is given as the function that computes the operator itself",
               def->name);
  else if (def->gradient != NULL) enter_function(e, def, def->gradient, def->gradient_loc, true);
  for (int i = 0; i < def->split.len; i++) {
    check_split(e, def, &def->split.at[i]);
    for (int j = 0; j < i; j++)
      if (is_dim(&def->split.at[i], &def->split.at[j]))
        elab_error(e, def->split.at[i].loc, "dimension '%s' is named twice", def->split.at[i].name);
  }
  for (int i = 0; i < def->results.len; i++)
    if (!def->results.at[i].has_dims)
      elab_error(e, def->results.at[i].loc, "the result '%s' of an opaque op must be declared with its dimensions",
                 def->results.at[i].name);
  for (int i = 0; i < def->params.len; i++)
    if (def->params.at[i].has_dims && def->params.at[i].value != NULL)
      elab_error(e, def->params.at[i].loc, "'%s' is a tensor, which has no default in an opaque op",
                 def->params.at[i].name);
}

// ---- calls

typedef struct Call {
  Elab *e;
  const AstDef *def;
  Loc loc;
  Op op;
  Opaque *opaque;
  const AstDecl **decl; // of each of its arguments
} Call;

typedef struct Place { // of a dimension of a tensor in its declaration
  const AstDim *dim;
  int within; // a pack: which of its dimensions
} Place;

static void find_places(Elab *e, const AstDecl *decl, Place *place) {
  int n = 0;
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    const int count = dim->pack ? elab_find_dim(e->frame, dim->name, true)->n : 1;
    for (int k = 0; k < count; k++) place[n++] = (Place){dim, k};
  }
}

// Dimension i of an argument is dimension d of the operator, which it makes where it is the first.
static bool join_dim(Call *c, int arg, int i, int d, const AstDim *dim) {
  Op *op = &c->op;
  const int tensor = c->opaque->args[arg].tensor;
  const Tensor *t = graph_tensor(c->e->graph, tensor);
  if (d >= IR_MAX_DIMS) {
    elab_error(c->e, dim->loc, "'%s' has more than %d dimensions that can be split", c->def->name, IR_MAX_DIMS);
    return false;
  }
  if (d >= op->n_dims) {
    op->dims[d] = (Dim){dim->pack ? t->dim[i] : dim->name, t->extent[i]};
    op->n_dims = d + 1;
  }
  c->opaque->args[arg].dim[i] = d;
  if (op->dims[d].extent == t->extent[i]) return true;
  elab_error_at_call(c->e, c->loc, "%s: dimension '%s' is %lld in one tensor but %lld in '%s' %s", c->def->name,
                     dim->name, (long long)op->dims[d].extent, (long long)t->extent[i], c->decl[arg]->name,
                     shape_text(c->e, tensor));
  return false;
}

// The dimensions of the operator that a name or pack in split(...) gives.
static bool add_split(Call *c, const AstDim *dim) {
  const int first = c->op.n_dims;
  for (int a = 0; a < c->opaque->n_args; a++) {
    Place place[IR_MAX_RANK];
    find_places(c->e, c->decl[a], place);
    for (int i = 0; i < c->opaque->args[a].rank; i++)
      if (is_dim(dim, place[i].dim) && !join_dim(c, a, i, first + place[i].within, dim)) return false;
  }
  return true;
}

static void add_arg(Call *c, const AstDecl *decl, int tensor, bool written) {
  OpaqueArg arg = {.name = decl->name, .tensor = tensor, .written = written, .sized = true};
  arg.type = decl->is_int ? TYPE_INT : TYPE_REAL;
  arg.rank = graph_tensor(c->e->graph, tensor)->rank;
  for (int i = 0; i < IR_MAX_RANK; i++) arg.dim[i] = -1;
  c->decl[c->opaque->n_args] = decl;
  c->opaque->args[c->opaque->n_args++] = arg;
}

static bool add_param(Call *c, const AstDecl *param) {
  const Var *var = elab_find_var(c->e->frame, param->name);
  const Value v = var->value;
  if (is_error(v)) return false;
  if (param->has_dims) {
    add_arg(c, param, v.tensor, false);
    return true;
  }
  if (v.kind == VALUE_NUMBER || v.kind == VALUE_BOOL) {
    const double value = v.kind == VALUE_BOOL ? v.truth : v.number;
    c->opaque->attrs[c->opaque->n_attrs++] = (OpaqueAttr){param->name, value};
    return true;
  }
  elab_error_at_call(c->e, var->loc,
                     "%s: attribute '%s' must be a number, which is all that a C function can be given, found %s",
                     c->def->name, param->name, value_describe(c->e, v));
  diag_note(param->loc, "'%s' is declared here%s", param->name,
            v.kind == VALUE_TENSOR ? "; a tensor is declared with its dimensions" : "");
  return false;
}

static bool add_result(Call *c, const AstDecl *result) {
  Elab *e = c->e;
  Dim dims[IR_MAX_RANK];
  Tensor t = {.name = elab_tensor_name(e, result->name), .role = ROLE_VALUE, .producer = -1, .of = -1};
  t.loc = c->op.loc;
  t.type = result->is_int ? TYPE_INT : TYPE_REAL;
  if (!declared_dims(e, result, dims, &t.rank)) return false;
  if (result->range != NULL &&
      !value_whole(e, result->range->loc, elab_expr(e, result->range), "the range of", result->name, 1, &t.range))
    return false;
  for (int d = 0; d < t.rank; d++) {
    t.extent[d] = dims[d].extent;
    t.dim[d] = dims[d].name;
  }
  add_arg(c, result, graph_add_tensor(e->graph, t), true);
  return true;
}

static Value results_of(Elab *e, const Op *op) {
  const int n = op_results(op);
  Value *value = NEW_ARRAY(e->arena, Value, n);
  for (int i = 0; i < n; i++) value[i] = value_tensor(op_result(op, i));
  return n == 1 ? value[0] : (Value){.kind = VALUE_LIST, .is_tuple = true, .list = {value, n}};
}

Value elab_opaque(Elab *e, const AstDef *def, Loc loc) {
  if (!elab_can_add_op(e, loc)) return value_error();
  const int n = def->params.len + def->results.len;
  Call c = {.e = e, .def = def, .loc = loc};
  c.op = (Op){.kind = OP_OPAQUE, .phase = e->phase, .name = def->name, .layer = e->frame->layer, .shard = e->frame->shard};
  c.op.loc = elab_site(e, loc);
  c.decl = NEW_ARRAY(e->arena, const AstDecl *, n);
  c.opaque = NEW(e->arena, Opaque);
  *c.opaque = (Opaque){.function = def->function, .gradient = def->gradient};
  c.opaque->args = NEW_ARRAY(e->arena, OpaqueArg, n);
  c.opaque->attrs = NEW_ARRAY(e->arena, OpaqueAttr, def->params.len);
  for (int i = 0; i < def->params.len; i++)
    if (!add_param(&c, &def->params.at[i])) return value_error();
  for (int i = 0; i < def->results.len; i++)
    if (!add_result(&c, &def->results.at[i])) return value_error();
  for (int i = 0; i < def->split.len; i++)
    if (!add_split(&c, &def->split.at[i])) return value_error();
  dims_make_unique(e, c.op.dims, c.op.n_dims);
  c.op.n_out = c.op.n_dims;
  c.op.opaque = c.opaque;
  c.op.out = op_result(&c.op, 0);
  graph_add_op(e->graph, c.op);
  return results_of(e, &c.op);
}
