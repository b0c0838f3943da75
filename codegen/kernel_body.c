#include "kernel_text.h"
#include "names.h"

enum { WIDTH = 118 };

// ---- statements --------------------------------------------------------------------------------------------------

static const char *result_element(KernelText *e, const Statement *s) {
  const int t = kernel_text_find(e, s->out);
  e->pointer_used[t] = true;
  Index index[IR_MAX_RANK];
  const char *position[IR_MAX_RANK];
  for (int i = 0; i < s->out_rank; i++) {
    index[i] = index_dim(s->out_dim[i]);
    position[i] = kernel_text_position(e, t, i, &index[i]);
  }
  return arena_printf(e->arena, "%s[%s]", e->pointer[t], kernel_text_offset(e, t, s->out_rank, index, position));
}

static const char *value_type(const KernelText *e, const Statement *s) {
  return name_type(e->p, e->p->tensors.at[s->out].type);
}

static bool is_lanes(const KernelText *e) { return e->k->kind == KERNEL_LANES; }

static void open_lane(KernelText *e) {
  const int last = e->k->n_grid - 1;
  kernel_text_line(e, "LANE(l, lanes) {");
  e->indent += 2;
  e->lane_start = e->body->len;
  kernel_text_line(e, "const long %s = %s + l;", e->var[last], e->first_lane);
  e->lane_end = e->body->len;
}

static bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

static bool mentions(const char *text, const char *name) {
  const size_t len = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
    if (!is_word(at[len]) && (at == text || !is_word(at[-1]))) return true;
  return false;
}

// Ends the loop over lanes; its column goes undeclared where nothing mentions it.
static void close_lane(KernelText *e) {
  Text *body = e->body;
  if (!mentions(body->at + e->lane_end, e->var[e->k->n_grid - 1])) {
    memmove(body->at + e->lane_start, body->at + e->lane_end, body->len - e->lane_end + 1);
    body->len -= e->lane_end - e->lane_start;
  }
  e->indent -= 2;
  kernel_text_line(e, "}");
}

static void open_block(KernelText *e, const char *head) {
  e->block[e->n_blocks++] = e->body->len;
  kernel_text_line(e, "%s {", head);
  e->indent += 2;
}

// Goes two columns to the left.
static const char *outdented(const KernelText *e, const char *text) {
  Text out = {.arena = e->arena};
  for (const char *c = text; *c != '\0'; c++) {
    text_char(&out, *c);
    if (*c == '\n' && strncmp(c + 1, "  ", 2) == 0) c += 2;
  }
  return text_str(&out);
}

// A block of a single statement needs no braces: a loop follows its head in the same line, any other where there is room.
static void close(KernelText *e) {
  Text *body = e->body;
  const size_t block = e->block[--e->n_blocks], content = block + strcspn(body->at + block, "\n") + 1;
  const bool loop = e->last_block == content;
  e->indent -= 2;
  e->last_block = block;
  if (!loop && content + strcspn(body->at + content, "\n") + 1 != body->len) {
    kernel_text_line(e, "}");
    return;
  }
  const char *head = arena_strndup(e->arena, body->at + block, content - block - 3);
  const char *text = arena_strdup(e->arena, body->at + content), *statement = text + strspn(text, " ");
  body->len = block;
  const bool fits = strlen(head) + strlen(statement) <= WIDTH;
  if (loop) text_printf(body, "%s %s", head, outdented(e, statement));
  else text_printf(body, fits ? "%s %s" : "%s\n%s", head, fits ? statement : text);
}

typedef struct LaneDependence {
  const KernelText *e;
  bool found;
} LaneDependence;

static void find_lane(void *ctx, const Expr *e) {
  LaneDependence *d = ctx;
  if (e->kind == EXPR_ACCESS) d->found |= d->e->value[kernel_text_find(d->e, e->access.tensor)].kind != VALUE_NONE;
}

// Whether each lane has a place of its own.
static bool is_in_lane(const KernelText *e, const Expr *at) {
  LaneDependence d = {e, expr_uses_dim(at, e->k->n_grid - 1)};
  expr_visit(at, find_lane, &d);
  return d.found;
}

// Of the places of a result that is scattered to, the largest dimension is dealt out to parts.
static bool is_dealt_out(const KernelText *e, const Stage *stage, int i) {
  const Statement *s = &stage->statements.at[0];
  int dealt = -1;
  for (int j = 0; j < stage->n_inner && e->k->scatters; j++)
    for (int o = 0; o < s->out_rank; o++) {
      const int d = stage->inner[j];
      if (s->out_dim[o] == d && (dealt < 0 || e->k->dims[d].global > e->k->dims[stage->inner[dealt]].global)) dealt = j;
    }
  return i == dealt;
}

static const char *pin_head(KernelText *e, const Stage *stage, int i) {
  const int d = stage->inner[i];
  const char *place = kernel_text_place(e, d, stage->at[i]);
  return is_dealt_out(e, stage, i)
             ? arena_printf(e->arena, "PLACE_OF_PART(%s, %s, %s, %s)", e->var[d], place, e->len[d], e->part)
             : arena_printf(e->arena, "PLACE(%s, %s, %s)", e->var[d], place, e->len[d]);
}

// Loops over the inner dimensions, then the pinned places of all lanes, the lanes, and the pinned places of each.
static void open_lanes(KernelText *e, const Stage *stage) {
  for (int i = 0; i < stage->n_inner; i++) {
    const int d = stage->inner[i];
    if (stage->at[i] != NULL) continue;
    kernel_text_line(e, "for (long %s = 0; %s < %s; %s++)", e->var[d], e->var[d], e->len[d], e->var[d]);
    e->indent += 2;
  }
  for (int i = 0; i < stage->n_inner; i++) {
    if (stage->at[i] == NULL || is_in_lane(e, stage->at[i])) continue;
    kernel_text_line(e, "%s", pin_head(e, stage, i));
    e->indent += 2;
  }
  open_lane(e);
  for (int i = 0; i < stage->n_inner; i++) {
    if (stage->at[i] == NULL || !is_in_lane(e, stage->at[i])) continue;
    kernel_text_line(e, "%s {", pin_head(e, stage, i));
    e->indent += 2;
  }
}

static void close_inner(KernelText *e, const Stage *stage) {
  if (!is_lanes(e)) {
    close(e);
    return;
  }
  int loops = stage->n_inner;
  for (int i = 0; i < stage->n_inner; i++) {
    if (stage->at[i] == NULL || !is_in_lane(e, stage->at[i])) continue;
    e->indent -= 2;
    loops--;
    kernel_text_line(e, "}");
  }
  close_lane(e);
  e->indent -= 2 * loops;
}

static void set_value(KernelText *e, const Statement *s, ValueKind kind, const char *name) {
  e->value[kernel_text_find(e, s->out)] = (Value){kind, e->stage, name};
}

// A statement at one point: its value in a variable.
static void emit_point(KernelText *e, const Statement *s) {
  const char *text = kernel_text_value(e, s->body);
  const char *name =
      kernel_text_fresh(e, arena_printf(e->arena, "%s_", kernel_text_short_name(e, kernel_text_find(e, s->out))), "v");
  kernel_text_line(e, "const %s %s = %s;", value_type(e, s), name, text);
  set_value(e, s, VALUE_POINT, name);
}

typedef struct Accumulator {
  const char *name, *place; // place: argmax only
} Accumulator;

static void emit_accumulate(KernelText *e, const Statement *s, const Accumulator *acc) {
  const char *text = kernel_text_value(e, s->body), *lane = is_lanes(e) ? "[l]" : "";
  const char *real = name_type(e->p, TYPE_REAL);
  switch (s->reduce) {
  case REDUCE_SUM: kernel_text_line(e, "%s%s += %s;", acc->name, lane, text); return;
  case REDUCE_PROD: kernel_text_line(e, "%s%s *= %s;", acc->name, lane, text); return;
  case REDUCE_MAX:
  case REDUCE_MIN: {
    const char *v = kernel_text_fresh(e, "v", "v");
    kernel_text_line(e, "const %s %s = %s;", value_type(e, s), v, text);
    kernel_text_line(e, "%s%s = %s %c %s%s ? %s : %s%s;", acc->name, lane, v, s->reduce == REDUCE_MAX ? '>' : '<',
                     acc->name, lane, v, acc->name, lane);
    return;
  }
  case REDUCE_ARGMAX: {
    const char *v = kernel_text_fresh(e, "v", "v");
    kernel_text_line(e, "const %s %s = %s;", real, v, text);
    kernel_text_line(e, "if (%s > %s%s) {", v, acc->name, lane);
    kernel_text_line(e, "  %s%s = %s;", acc->name, lane, v);
    kernel_text_line(e, "  %s%s = %s;", acc->place, lane, kernel_text_expr(e, s->place));
    kernel_text_line(e, "}");
    return;
  }
  case REDUCE_NONE: return;
  }
}

static Accumulator declare_accumulator(KernelText *e, const Statement *s) {
  Accumulator acc = {
      kernel_text_fresh(e, arena_printf(e->arena, "%s_", kernel_text_short_name(e, kernel_text_find(e, s->out))), "v"),
      NULL};
  const bool counts = s->reduce == REDUCE_SUM || s->reduce == REDUCE_PROD; // in the result's own type
  const char *type = s->reduce == REDUCE_ARGMAX ? name_type(e->p, TYPE_REAL) : value_type(e, s);
  const char *start = name_number(e->arena, reduce_identity(s->reduce), counts ? e->p->tensors.at[s->out].type : TYPE_REAL,
                                  e->p->model->f64);
  if (s->reduce == REDUCE_ARGMAX) acc.place = kernel_text_fresh(e, arena_printf(e->arena, "%sat", acc.name), "at");
  if (is_lanes(e)) {
    kernel_text_line(e, "%s %s[LANES];", type, acc.name);
    kernel_text_line(e, "LANE(l, lanes) %s[l] = %s;", acc.name, start);
    if (acc.place == NULL) return acc;
    kernel_text_line(e, "long %s[LANES];", acc.place);
    kernel_text_line(e, "LANE(l, lanes) %s[l] = 0;", acc.place);
  } else {
    kernel_text_line(e, "%s %s = %s;", type, acc.name, start);
    if (acc.place != NULL) kernel_text_line(e, "long %s = 0;", acc.place);
  }
  return acc;
}

static void finish_accumulator(KernelText *e, const Statement *s, const Accumulator *acc) {
  static const char *const block[] = {
      [REDUCE_SUM] = "SUM", [REDUCE_MAX] = "MAX", [REDUCE_MIN] = "MIN", [REDUCE_PROD] = "PROD"};
  const char *result = acc->place != NULL ? arena_printf(e->arena, "(int)%s", acc->place) : acc->name;
  if (is_lanes(e)) {
    result = acc->place != NULL ? arena_printf(e->arena, "(int)%s[l]", acc->place)
                                : arena_printf(e->arena, "%s[l]", acc->name);
    set_value(e, s, VALUE_ROW, result);
    if (!s->store) return;
    open_lane(e);
    kernel_text_line(e, "%s %s %s;", result_element(e, s), s->accumulate ? "+=" : "=", result);
    close_lane(e);
    return;
  }
  if (acc->place != NULL) kernel_text_line(e, "BLOCK_ARGMAX(%s, %s);", acc->name, acc->place);
  else kernel_text_line(e, "%s = BLOCK_%s(%s);", acc->name, block[s->reduce], acc->name);
  set_value(e, s, VALUE_ROW, result);
  if (s->store) kernel_text_line(e, "ONCE %s %s %s;", result_element(e, s), s->accumulate ? "+=" : "=", result);
}

// ---- stages ------------------------------------------------------------------------------------------------------

// The loops over the block's threads.
static void print_block(const KernelText *e, const int *loop, int n, Text *head) {
  const int extra = n > KERNEL_MAX_GRID ? n - KERNEL_MAX_GRID : 0;
  for (int i = 0; i < extra; i++) {
    const char *var = e->var[loop[i]];
    text_printf(head, " for (long %s = 0; %s < %s; %s++)", var, var, e->len[loop[i]], var);
  }
  text_printf(head, " BLOCK");
  if (n - extra > 1) text_printf(head, "%d", n - extra);
  for (int i = extra; i < n; i++)
    text_printf(head, "%s%s, %s", i == extra ? "(" : ", ", e->var[loop[i]], e->len[loop[i]]);
  text_printf(head, ")");
}

// The pinned places that differ within a row, or those that do not.
static void print_pins(KernelText *e, const Stage *stage, bool within, Text *head) {
  for (int i = 0; i < stage->n_inner; i++) {
    if (stage->at[i] == NULL) continue;
    bool differs = false;
    for (int j = 0; j < stage->n_inner; j++) differs |= expr_uses_dim(stage->at[i], stage->inner[j]);
    if (differs == within) text_printf(head, " %s", pin_head(e, stage, i));
  }
}

static void open_inner(KernelText *e, const Stage *stage) {
  if (is_lanes(e)) {
    open_lanes(e, stage);
    return;
  }
  Text head = {.arena = e->arena};
  int loop[IR_MAX_DIMS], n = 0;
  for (int i = 0; i < stage->n_inner; i++)
    if (stage->at[i] == NULL) loop[n++] = stage->inner[i];
  if (n == 0) text_printf(&head, "ONCE");
  print_pins(e, stage, false, &head);
  if (n > 0) print_block(e, loop, n, &head);
  print_pins(e, stage, true, &head);
  open_block(e, text_str(&head) + strspn(text_str(&head), " "));
}

// The last statement of a stage is its only one that stores elements: nothing reads the value but the store.
static bool stores_last(const Stage *stage) {
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    const bool stores = s->store && (s->reduce == REDUCE_NONE || stage->n_inner == 0);
    if (stores != (i == stage->statements.len - 1)) return false;
  }
  return true;
}

static void emit_last_store(KernelText *e, const Stage *stage) {
  const Statement *s = &stage->statements.at[stage->statements.len - 1];
  const char *text = kernel_text_value(e, s->body);
  kernel_text_line(e, "%s = %s;", result_element(e, s), text);
}

// Results are stored once all statements of the stage have read what they need.
static void emit_stores(KernelText *e, const Stage *stage) {
  const bool once = stage->n_inner == 0 && e->k->kind == KERNEL_GRID;
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    if (s->store && (s->reduce == REDUCE_NONE || stage->n_inner == 0))
      kernel_text_line(e, "%s%s = %s;", once ? "ONCE " : "", result_element(e, s),
                       e->value[kernel_text_find(e, s->out)].name);
  }
}

// A maximum alone over one dim has a loop of its own in the runtime, which vectorises.
static bool emit_extreme(KernelText *e, const Stage *stage) {
  const Statement *s = &stage->statements.at[0];
  if (e->k->kind != KERNEL_GRID || stage->statements.len != 1 || stage->n_inner != 1 || s->body->type != TYPE_REAL)
    return false;
  if (s->reduce != REDUCE_MAX && s->reduce != REDUCE_MIN) return false;
  const size_t before = e->body->len;
  const Accumulator acc = declare_accumulator(e, s);
  const size_t declared = e->body->len;
  const char *text = kernel_text_expr(e, s->body);
  if (e->body->len != declared) { // it needs lines of its own
    e->body->len = before;
    e->body->at[before] = '\0';
    return false;
  }
  kernel_text_line(e, "BLOCK_%s_OF(%s, %s, %s, %s);", s->reduce == REDUCE_MAX ? "MAX" : "MIN", acc.name,
                   e->var[stage->inner[0]], e->len[stage->inner[0]], text);
  finish_accumulator(e, s, &acc);
  return true;
}

static void emit_scatter(KernelText *e, const Stage *stage) {
  const Statement *s = &stage->statements.at[0];
  open_inner(e, stage);
  const char *text = kernel_text_value(e, s->body);
  kernel_text_line(e, "%s += %s;", result_element(e, s), text);
  close_inner(e, stage);
}

static void emit_inner_stage(KernelText *e, const Stage *stage) {
  if (emit_extreme(e, stage)) return;
  if (e->k->scatters) {
    emit_scatter(e, stage);
    return;
  }
  Accumulator *acc = NEW_ARRAY(e->arena, Accumulator, stage->statements.len);
  for (int i = 0; i < stage->statements.len; i++)
    if (stage->statements.at[i].reduce != REDUCE_NONE) acc[i] = declare_accumulator(e, &stage->statements.at[i]);
  open_inner(e, stage);
  const bool last = stores_last(stage);
  for (int i = 0; i < stage->statements.len - last; i++) {
    const Statement *s = &stage->statements.at[i];
    if (s->reduce == REDUCE_NONE) emit_point(e, s);
    else emit_accumulate(e, s, &acc[i]);
  }
  if (last) emit_last_store(e, stage);
  else emit_stores(e, stage);
  close_inner(e, stage);
  for (int i = 0; i < stage->statements.len; i++)
    if (stage->statements.at[i].reduce != REDUCE_NONE) finish_accumulator(e, &stage->statements.at[i], &acc[i]);
}

// Values of the row itself.
static void emit_row_stage(KernelText *e, const Stage *stage) {
  if (!is_lanes(e)) {
    const bool last = e->k->kind == KERNEL_FLAT && e->stage == e->k->stages.len - 1 && stores_last(stage);
    for (int i = 0; i < stage->statements.len - last; i++) {
      const Statement *s = &stage->statements.at[i];
      emit_point(e, s);
      e->value[kernel_text_find(e, s->out)].kind = VALUE_ROW;
    }
    if (last) emit_last_store(e, stage);
    else emit_stores(e, stage);
    return;
  }
  const char **array = NEW_ARRAY(e->arena, const char *, stage->statements.len);
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    array[i] = kernel_text_fresh(
        e, arena_printf(e->arena, "%s_", kernel_text_short_name(e, kernel_text_find(e, s->out))), "v");
    kernel_text_line(e, "%s %s[LANES];", value_type(e, s), array[i]);
  }
  open_lane(e);
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    const char *name = arena_printf(e->arena, "%s[l]", array[i]);
    kernel_text_line(e, "%s = %s;", name, kernel_text_value(e, s->body));
    set_value(e, s, VALUE_ROW, name);
  }
  emit_stores(e, stage);
  close_lane(e);
}

// ---- the kernel --------------------------------------------------------------------------------------------------

int kernel_text_extra_rows(const Kernel *k) {
  const int n = k->n_grid + k->scatters;
  return n > KERNEL_MAX_GRID ? n - KERNEL_MAX_GRID : 0;
}

// The head of the loop over rows: GRID3(n, N, c, C, h, H), FLAT(i, count), GRID2_LANES(n, N, c0, lanes, C).
static void open_rows(KernelText *e) {
  const Kernel *k = e->k;
  if (k->kind == KERNEL_FLAT) {
    open_block(e, arena_printf(e->arena, "FLAT(i, %s)", k->n_dims == 0 ? "1" : e->len[0]));
    return;
  }
  Text head = {.arena = e->arena};
  const int n = k->n_grid, extra = kernel_text_extra_rows(k);
  for (int d = 0; d < extra; d++)
    text_printf(&head, "for (long %s = 0; %s < %s; %s++) ", e->var[d], e->var[d], e->len[d], e->var[d]);
  text_printf(&head, "GRID");
  if (n - extra + k->scatters > 1) text_printf(&head, "%d", n - extra + k->scatters);
  text_printf(&head, "%s(", is_lanes(e) ? "_LANES" : "");
  if (k->scatters) text_printf(&head, "%s, PARTS, ", e->part);
  for (int d = extra; d < n; d++) {
    const bool last = is_lanes(e) && d == n - 1;
    text_printf(&head, "%s%s%s, %s", d == extra ? "" : ", ", last ? e->first_lane : e->var[d], last ? ", lanes" : "",
                e->len[d]);
  }
  if (n == 0) text_printf(&head, "row, 1");
  text_printf(&head, ")");
  open_block(e, text_str(&head));
  if (n == 0) kernel_text_line(e, "(void)row;");
}

void kernel_text_body(KernelText *e) {
  const Kernel *k = e->k;
  open_rows(e);
  for (e->stage = 0; e->stage < k->stages.len; e->stage++) {
    const Stage *stage = &k->stages.at[e->stage];
    if (stage->sync_before && k->kind == KERNEL_GRID) kernel_text_line(e, "BLOCK_SYNC();");
    if (stage->n_inner > 0) emit_inner_stage(e, stage);
    else emit_row_stage(e, stage);
  }
  close(e);
}
