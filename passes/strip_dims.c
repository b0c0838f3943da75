// The dimensions of a strip: which dimension of each of its operators is the same as one of the largest intermediate, and along which
// of them the strip can be a loop.
#include "rewrite.h"
#include "strip_finder.h"

// The class of a dimension of an operator in its group.
int strip_class_of(const Finder *f, int op, int d) {
  return group_at(f, f->g->group_of[op])->kind == GROUP_KERNEL ? f->g->class_of[op][d] : d;
}

static bool has_group(const Strip *s, int group) {
  for (int i = 0; i < s->groups.len; i++)
    if (s->groups.at[i] == group) return true;
  return false;
}

typedef struct Walk { // over the accesses of one operator to what the strip makes
  Finder *f;
  const Strip *s;
  int op;
  bool changed;
} Walk;

static void agree(Walk *w, int *known, int loop) {
  if (loop < 0 || *known == loop) return;
  if (*known >= 0) w->f->refused |= 1u << loop | 1u << *known;
  else *known = loop, w->changed = true;
}

static void match(Walk *w, int tensor, int position, int d) {
  int *at = &w->f->loop_at[tensor][position],
      *of = &w->f->loop_of[w->f->g->group_of[w->op]][strip_class_of(w->f, w->op, d)];
  agree(w, of, *at);
  agree(w, at, *of);
}

static void match_access(void *ctx, const Expr *e) {
  Walk *w = ctx;
  if (e->kind != EXPR_ACCESS || !has_group(w->s, w->f->maker[e->access.tensor])) return;
  for (int i = 0; i < e->access.rank; i++) {
    const int d = access_full_dim(w->f->graph, op_at(w->f, w->op), e, i);
    if (d >= 0) match(w, e->access.tensor, i, d);
  }
}

// The dimensions of the largest bulge, through all groups of the strip.
void strip_follow_dimensions(Finder *f, const Strip *s, int largest) {
  for (int i = 0; i < graph_tensor(f->graph, largest)->rank; i++) f->loop_at[largest][i] = i;
  f->refused = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < s->groups.len; i++)
      for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
        Walk w = {f, s, group_at(f, s->groups.at[i])->ops.at[k], false};
        const Op *op = op_at(f, w.op);
        for (int d = 0; d < op->n_out; d++) match(&w, op->out, d, d);
        expr_visit(op->body, match_access, &w);
        changed |= w.changed;
      }
  }
}

// The operator's dimension that is the loop's; -1: none, or several.
int strip_dim_of_loop(const Finder *f, int op, int loop) {
  int found = -1;
  for (int d = 0; d < op_at(f, op)->n_dims; d++) {
    if (f->loop_of[f->g->group_of[op]][strip_class_of(f, op, d)] != loop) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

// The loop's dimension goes through the operator row by row, or is summed over: *sums.
static bool runs_through(const Finder *f, int op, int loop, bool *sums) {
  const Group *group = group_at(f, f->g->group_of[op]);
  const int d = strip_dim_of_loop(f, op, loop);
  if (d < 0) return false;
  *sums = d >= op_at(f, op)->n_out;
  if (is_product(group)) return true;
  if (*sums) return op_at(f, op)->reduce == REDUCE_SUM;
  return (group->rows >> f->g->class_of[op][d] & 1) || op_at(f, op)->reduce == REDUCE_NONE;
}

typedef struct Flow { // of a result to a reader inside the strip
  const Finder *f;
  int tensor, position, reader, loop;
  bool aligned;
} Flow;

static void check_flow(void *ctx, const Expr *e) {
  Flow *flow = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != flow->tensor) return;
  const int d = access_full_dim(flow->f->graph, op_at(flow->f, flow->reader), e, flow->position);
  flow->aligned &= d >= 0 && d == strip_dim_of_loop(flow->f, flow->reader, flow->loop);
}

bool strip_has_op(const Finder *f, const Strip *s, int op) { return has_group(s, f->g->group_of[op]); }

// What the operator makes is read inside only at the interval at hand.
bool strip_flows_along(const Finder *f, const Strip *s, int op, int loop, bool sums) {
  const int out = op_at(f, op)->out;
  const IdList readers = readers_at(f, out);
  for (int i = 0; i < readers.len; i++) {
    const int reader = readers.at[i];
    if (!strip_has_op(f, s, reader)) continue;
    Flow flow = {f, out, strip_dim_of_loop(f, op, loop), reader, loop, !sums};
    if (!sums) expr_visit(op_at(f, reader)->body, check_flow, &flow);
    if (!flow.aligned) return false;
  }
  return true;
}

bool strip_is_loop(const Finder *f, const Strip *s, int loop, Extent *whole) {
  bool first = true;
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
      const int op = group_at(f, s->groups.at[i])->ops.at[k];
      bool sums;
      if (!runs_through(f, op, loop, &sums) || !strip_flows_along(f, s, op, loop, sums)) return false;
      const Extent extent = lowering_dim_extent(f->l, op_at(f, op), strip_dim_of_loop(f, op, loop));
      if (!first && !extent_equal(extent, *whole)) return false;
      *whole = extent;
      first = false;
    }
  return extent_max(f->l->program, *whole) > 1;
}
