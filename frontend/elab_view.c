// view(x, "n c (h p) -> n (c p) h", p = 2): patterns that split, permute and merge dimensions.
//
// Up to three operators: a view that splits, a permutation (an index statement), a view that merges.
#include <ctype.h>

#include "elab.h"

typedef struct Axis {
  const char *name;
  int64_t extent; // 0: not known yet
  int at;         // its place in the pattern's text
} Axis;

// One side of a pattern: its names in order, and which of them make one dimension. A dimension of no names is a 1.
typedef struct Side {
  int n_axes, n_dims;
  Axis axis[IR_MAX_RANK];
  struct {
    int first, n;
  } dim[IR_MAX_RANK];
} Side;

typedef struct Pattern {
  Elab *e;
  const char *text;
  int at;
  Loc loc;      // of the text
  bool in_text; // the text stands there literally: places inside of it can be shown
  Side lhs, rhs;
} Pattern;

static Loc place(const Pattern *p, int at, int len) {
  if (!p->in_text) return p->loc;
  Loc loc = p->loc;
  loc.col += 1 + at; // after the quote
  loc.end_col = loc.col + len;
  return loc;
}

static bool has_axis(const Side *side, const char *name, int *index) {
  for (int i = 0; i < side->n_axes; i++)
    if (str_eq(side->axis[i].name, name)) {
      *index = i;
      return true;
    }
  return false;
}

// ---- reading the text

static void skip_spaces(Pattern *p) {
  while (isspace((unsigned char)p->text[p->at])) p->at++;
}

// A name or a 1 at the place at hand, added to the last dimension of the side.
static bool read_axis(Pattern *p, Side *side) {
  Elab *e = p->e;
  const char *start = p->text + p->at;
  int len = 0, other;
  while (isalnum((unsigned char)start[len]) || start[len] == '_') len++;
  if (len == 1 && start[0] == '1') {
    p->at++;
    return true;
  }
  if (len == 0 || isdigit((unsigned char)start[0])) {
    const char *found = start[0] == '\0' ? "the end" : arena_printf(e->arena, "'%.*s'", len > 0 ? len : 1, start);
    elab_error(e, place(p, p->at, len > 0 ? len : 1), "expected a name, '1', '(' or ')' in the pattern, found %s",
               found);
    return false;
  }
  const char *name = arena_strndup(e->arena, start, (size_t)len);
  if (has_axis(side, name, &other)) {
    elab_error(e, place(p, p->at, len), "'%s' stands twice on one side of the pattern", name);
    return false;
  }
  if (side->n_axes == IR_MAX_RANK) {
    elab_error(e, place(p, p->at, len), "a pattern has at most %d names on a side", IR_MAX_RANK);
    return false;
  }
  side->axis[side->n_axes++] = (Axis){name, 0, p->at};
  side->dim[side->n_dims - 1].n++;
  p->at += len;
  return true;
}

static bool read_dim(Pattern *p, Side *side) {
  if (side->n_dims == IR_MAX_RANK) {
    elab_error(p->e, place(p, p->at, 1), "a tensor has at most %d dimensions", IR_MAX_RANK);
    return false;
  }
  side->dim[side->n_dims].first = side->n_axes;
  side->dim[side->n_dims++].n = 0;
  if (p->text[p->at] != '(') return read_axis(p, side);
  const int open = p->at++;
  for (skip_spaces(p); p->text[p->at] != ')'; skip_spaces(p)) {
    if (p->text[p->at] == '\0' || p->text[p->at] == '-') {
      elab_error(p->e, place(p, open, 1), "the '(' of the pattern is not closed");
      return false;
    }
    if (!read_axis(p, side)) return false;
  }
  p->at++;
  return true;
}

static bool read_side(Pattern *p, Side *side, bool ends_in_arrow) {
  for (skip_spaces(p); p->text[p->at] != '\0'; skip_spaces(p)) {
    if (ends_in_arrow && p->text[p->at] == '-' && p->text[p->at + 1] == '>') break;
    if (!read_dim(p, side)) return false;
  }
  if (!ends_in_arrow) return true;
  if (p->text[p->at] == '\0') {
    elab_error(p->e, place(p, 0, p->at > 0 ? p->at : 1), "expected '->' in the pattern");
    return false;
  }
  p->at += 2;
  return true;
}

static bool same_names(Pattern *p) {
  int other;
  for (int i = 0; i < p->rhs.n_axes; i++) {
    const Axis *axis = &p->rhs.axis[i];
    if (has_axis(&p->lhs, axis->name, &other)) continue;
    elab_error(p->e, place(p, axis->at, (int)strlen(axis->name)),
               "'%s' does not stand on the left of the pattern's '->'", axis->name);
    return false;
  }
  for (int i = 0; i < p->lhs.n_axes; i++) {
    const Axis *axis = &p->lhs.axis[i];
    if (has_axis(&p->rhs, axis->name, &other)) continue;
    elab_error(p->e, place(p, axis->at, (int)strlen(axis->name)),
               "'%s' does not stand on the right of the pattern's '->': a view keeps all elements", axis->name);
    return false;
  }
  return true;
}

// ---- extents

static bool given_extents(Pattern *p, const AstExpr *call) {
  bool sound = true;
  for (int i = 2; i < call->args.len; i++) {
    const AstArg *arg = &call->args.at[i];
    int axis;
    if (arg->name == NULL || !has_axis(&p->lhs, arg->name, &axis)) {
      if (arg->name == NULL) elab_error(p->e, arg->loc, "'view' takes a tensor, a pattern and extents (name = extent)");
      else elab_error(p->e, arg->loc, "'%s' does not stand in the pattern", arg->name);
      sound = false;
      continue;
    }
    sound &= value_whole(p->e, arg->value->loc, elab_expr(p->e, arg->value), "the extent of", arg->name, 1,
                         &p->lhs.axis[axis].extent);
  }
  return sound;
}

static bool solve_dim(Pattern *p, int d, int64_t extent, const char *shape) {
  Elab *e = p->e;
  Axis *axis = p->lhs.axis + p->lhs.dim[d].first;
  const int n = p->lhs.dim[d].n;
  const Loc loc = n > 0 ? place(p, axis[0].at, (int)strlen(axis[0].name)) : p->loc;
  int open = -1;
  int64_t known = 1;
  for (int i = 0; i < n; i++) {
    if (axis[i].extent == 0 && open >= 0) {
      elab_error(e, place(p, axis[i].at, (int)strlen(axis[i].name)),
                 "the extents of '%s' and '%s' are both not known: give one of them, as in view(..., %s = 2)",
                 axis[open].name, axis[i].name, axis[i].name);
      return false;
    }
    if (axis[i].extent == 0) open = i;
    else if (__builtin_mul_overflow(known, axis[i].extent, &known)) known = INT64_MAX;
  }
  if (open >= 0 && extent % known == 0) {
    axis[open].extent = extent / known;
    return true;
  }
  if (open < 0 && extent == known) return true;
  if (open >= 0)
    elab_error(e, loc, "dimension %d of the tensor %s is %lld, which %lld does not divide", d, shape, (long long)extent,
               (long long)known);
  else
    elab_error(e, loc, "dimension %d of the tensor %s is %lld, but the pattern makes it %lld", d, shape,
               (long long)extent, (long long)known);
  return false;
}

static bool solve(Pattern *p, int tensor) {
  const Tensor *t = graph_tensor(p->e->graph, tensor);
  const char *shape = shape_text(p->e, tensor);
  if (t->rank != p->lhs.n_dims) {
    elab_error(p->e, p->loc, "the pattern has %d dimension%s on the left, but the tensor %s has %d", p->lhs.n_dims,
               p->lhs.n_dims == 1 ? "" : "s", shape, t->rank);
    return false;
  }
  for (int d = 0; d < t->rank; d++)
    if (!solve_dim(p, d, t->extent[d], shape)) return false;
  for (int i = 0, from = 0; i < p->rhs.n_axes; i++)
    if (has_axis(&p->lhs, p->rhs.axis[i].name, &from)) p->rhs.axis[i].extent = p->lhs.axis[from].extent;
  return true;
}

// ---- operators

static int axes_as_dims(const Side *side, Dim *dims) {
  for (int i = 0; i < side->n_axes; i++) dims[i] = (Dim){side->axis[i].name, side->axis[i].extent};
  return side->n_axes;
}

// (c h w) is called c_h_w
static int merged_dims(Elab *e, const Side *side, Dim *dims) {
  for (int d = 0; d < side->n_dims; d++) {
    Text name = {.arena = e->arena};
    dims[d].extent = 1;
    for (int i = 0; i < side->dim[d].n; i++) {
      const Axis *axis = &side->axis[side->dim[d].first + i];
      text_printf(&name, "%s%s", i > 0 ? "_" : "", axis->name);
      dims[d].extent *= axis->extent;
    }
    dims[d].name = side->dim[d].n > 0 ? text_str(&name) : "one";
  }
  dims_make_unique(e, dims, side->n_dims);
  return side->n_dims;
}

static Value add_view(Pattern *p, Loc loc, Value x, const Dim *dims, int rank) {
  Elab *e = p->e;
  if (is_error(x) || !elab_can_add_op(e, loc)) return value_error();
  const Op proto = {
      .phase = e->phase, .name = elab_op_name(e, "view"), .layer = e->frame->layer, .loc = elab_site(e, loc)};
  return value_tensor(graph_add_view(e->graph, x.tensor, rank, dims, proto, elab_tensor_name(e, "view")));
}

static Value permute(Pattern *p, Loc loc, Value x) {
  Elab *e = p->e;
  if (is_error(x)) return x;
  Stmt s = stmt_begin(e, loc, elab_tensor_name(e, "permute"), elab_op_name(e, "permute"));
  Index index[IR_MAX_RANK];
  for (int i = 0; i < p->rhs.n_axes; i++) {
    int from = 0;
    if (!stmt_push_slot(&s, p->rhs.axis[i].name, p->rhs.axis[i].extent, loc)) return value_error();
    if (has_axis(&p->lhs, p->rhs.axis[i].name, &from)) index[from] = index_dim(i);
  }
  s.n_out = p->rhs.n_axes;
  return stmt_emit(&s, term_read(&s, x.tensor, index), false, TYPE_REAL, -1);
}

static bool all_single(const Side *side) {
  for (int d = 0; d < side->n_dims; d++)
    if (side->dim[d].n != 1) return false;
  return true;
}

static Value apply(Pattern *p, Loc loc, Value x) {
  Dim dims[IR_MAX_RANK];
  bool same_order = true;
  for (int i = 0; i < p->lhs.n_axes; i++) same_order = same_order && str_eq(p->lhs.axis[i].name, p->rhs.axis[i].name);
  if (same_order) {
    if (all_single(&p->lhs) && all_single(&p->rhs)) return x;
    const int rank = merged_dims(p->e, &p->rhs, dims);
    return add_view(p, loc, x, dims, rank);
  }
  if (!all_single(&p->lhs)) {
    const int rank = axes_as_dims(&p->lhs, dims);
    x = add_view(p, loc, x, dims, rank);
  }
  x = permute(p, loc, x);
  if (all_single(&p->rhs)) return x;
  const int rank = merged_dims(p->e, &p->rhs, dims);
  return add_view(p, loc, x, dims, rank);
}

Value elab_view(Elab *e, const AstExpr *call) {
  if (call->args.len < 2 || call->args.at[0].name != NULL || call->args.at[1].name != NULL) {
    elab_error(e, call->loc, "'view' takes a tensor, a pattern and extents: view(x, \"n (h w) -> n h w\", h = 2)");
    return value_error();
  }
  const AstExpr *x_arg = call->args.at[0].value, *text_arg = call->args.at[1].value;
  const Value x = elab_expr(e, x_arg), text = elab_expr(e, text_arg);
  if (is_error(x) || is_error(text)) return value_error();
  if (x.kind != VALUE_TENSOR || text.kind != VALUE_STRING) {
    const bool first = x.kind != VALUE_TENSOR;
    elab_error(e, first ? x_arg->loc : text_arg->loc, "'view' takes a tensor and a pattern, found %s",
               value_describe(e, first ? x : text));
    return value_error();
  }
  Pattern p = {.e = e, .text = text.string, .loc = text_arg->loc, .in_text = text_arg->kind == AST_STRING};
  if (!read_side(&p, &p.lhs, true) || !read_side(&p, &p.rhs, false) || !same_names(&p)) return value_error();
  if (!given_extents(&p, call) || !solve(&p, x.tensor)) return value_error();
  return apply(&p, call->loc, x);
}
