// bucket: reductions over the same ranks become one.
//
// Requires: a lowered program. Guarantees: all-reduces of one kind (same ranks, operation and type) that may wait for each
// other are one; what they reduce lies side by side in one buffer. It is issued where the last of them was, so before any of
// them is used; one of several layers behind the layer in which the last of them was.
//
//   kernel makes w.grad;  all_reduce w.grad;  kernel makes b.grad;  all_reduce b.grad
// becomes
//   kernel makes w.grad;  kernel makes b.grad;  all_reduce w.grad, b.grad
//
// A gradient is wanted only after the backward pass: it waits until the bucket is full or nothing more comes. Anything that is
// used before waits only where it is so small that the number of messages counts and not their length.
//
// Where layers repeat, buckets end at like places of them, so that the steps in between repeat, too: one that is full ends
// where an earlier one ended, if that makes it not much larger or smaller.
#include "passes.h"

enum { SHORT = 16384 }; // bytes: a message that takes as long as an empty one
enum {
  SMALLEST_PART = BUCKET_BYTES / 2,
  LARGEST_PART = BUCKET_BYTES + BUCKET_BYTES / 2
}; // to end at a like place

typedef struct Bucket {
  int id; // from 1
  uint32_t axes;
  Reduce reduce;
  bool soon; // used in the same procedure
  int64_t bytes, limit;
  VEC(int) places; // of its reductions, among the steps
} Bucket;

typedef struct Bucketer { // of one procedure
  Program *program;
  Arena *scratch;
  VEC(Bucket) open;
  int n_buckets;
  int *
      bucket_of; // by buffer, as there were when the procedure began: the id of the bucket that its reduction is in, or 0
  int n_buffers;
  int *tensor_in, *next_tensor; // see program_list_tensors
  Step *const *steps; // of the procedure
  int n_steps, at;
  const int *last_use; // by buffer: the last step that uses it
  const char **place;  // by step: what is like there in layers of one kind
  Names ends;          // places where buckets ended
  VEC(Step *) out;     // a reduction that has gone into a bucket is NULL
} Bucketer;

static Buffer *buffer_of(const Program *p, int tensor) { return &p->buffers.at[p->tensors.at[tensor].buffer]; }

// ---- members -----------------------------------------------------------------------------------------------------

// Along the last axis of the mesh the batch is cut, which may be shorter than planned.
static bool is_of_batch(const Program *p, int block) { return p->blocks.at[block].axes >> (p->mesh.n_axes - 1) & 1; }

static bool is_even(const Program *p, int block) { return p->blocks.at[block].least == p->blocks.at[block].most; }

// Of a bucket all ranks hold the same, in every batch.
static bool same_everywhere(const Program *p, Extent e) {
  if (e.block < 0) return true;
  bool of_batch = is_of_batch(p, e.block), even = is_even(p, e.block);
  for (int i = 0; i < e.n_more; i++) {
    of_batch |= is_of_batch(p, e.more[i]);
    even &= is_even(p, e.more[i]);
  }
  if (of_batch || even) return !of_batch;
  for (int rank = 1; rank < mesh_ranks(&p->mesh); rank++)
    if (extent_of_rank(p, e, rank) != extent_of_rank(p, e, 0)) return false;
  return true;
}

static bool may_wait(const Program *p, const Step *step) {
  if (step->kind != STEP_COLLECTIVE || step->collective->kind != RESHARD_all_reduce) return false;
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (step->pin[a] >= 0) return false;
  const ProgTensor *t = &p->tensors.at[step->collective->tensor];
  const Buffer *b = &p->buffers.at[t->buffer];
  return t->type == TYPE_REAL && !b->persistent && b->bytes == t->bytes && b->bytes <= BUCKET_BYTES &&
         same_everywhere(p, step->collective->count);
}

typedef struct Uses {
  const Program *program;
  int *last; // by buffer: the last step of the procedure that uses it
  int step;  // at hand
} Uses;

static void note_use(void *ctx, int tensor, bool written) {
  const Uses *uses = ctx;
  (void)written;
  uses->last[uses->program->tensors.at[tensor].buffer] = uses->step;
}

// ---- one reduction out of several --------------------------------------------------------------------------------

// What is more aligned comes first, so that every member begins at a multiple of as much as its size is a multiple of.
static int64_t alignment(const Program *p, int tensor) {
  int64_t a = 1;
  while (a < BUFFER_ALIGN && buffer_of(p, tensor)->bytes % (2 * a) == 0) a *= 2;
  return a;
}

static void order_members(const Program *p, int *members, int n) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && alignment(p, members[k - 1]) < alignment(p, members[k]); k--) {
      const int swap = members[k];
      members[k] = members[k - 1];
      members[k - 1] = swap;
    }
}

static void lay_side_by_side(Bucketer *k, const Collective *c, int64_t bytes) {
  Program *p = k->program;
  const int buffer = p->buffers.len;
  int64_t offset = 0;
  vec_push(p->arena, &p->buffers, (Buffer){.bytes = bytes, .first = -1, .last = -1});
  for (int i = 0; i < c->members.len; i++) {
    const int old = p->tensors.at[c->members.at[i]].buffer;
    for (int t = k->tensor_in[old]; t >= 0; t = k->next_tensor[t]) {
      p->tensors.at[t].buffer = buffer;
      p->tensors.at[t].offset = offset;
    }
    offset += p->buffers.at[old].bytes;
    p->buffers.at[old].bytes = 0;
  }
}

static const char *member_name(const Program *p, const Step *step, bool gradient) {
  const char *name = p->tensors.at[step->collective->tensor].name, *of = strstr(name, ".grad");
  if (!gradient) return name;
  if (step->layer[0] != '\0') return step->layer;
  return of == NULL ? name : arena_strndup(p->arena, name, (size_t)(of - name));
}

// "gradients of dense3, dense2, dense1": of as many layers as one can read.
static const char *purpose(const Bucketer *k, const Bucket *bucket) {
  enum { READABLE = 8 };
  const Program *p = k->program;
  VEC(const char *) names = {0};
  bool gradients = true;
  for (int i = 0; i < bucket->places.len; i++)
    gradients &= p->tensors.at[k->out.at[bucket->places.at[i]]->collective->tensor].role == ROLE_GRADIENT;
  for (int i = 0; i < bucket->places.len; i++) {
    const Step *step = k->out.at[bucket->places.at[i]];
    const char *name = member_name(p, step, gradients);
    if (names.len == 0 || !str_eq(names.at[names.len - 1], name)) vec_push(p->arena, &names, name);
  }
  Text text = {.arena = p->arena};
  text_printf(&text, gradients ? "gradients of " : "");
  if (names.len > READABLE) {
    text_printf(&text, "%s to %s, %d %s", names.at[0], names.at[names.len - 1], names.len,
                gradients ? "layers" : "tensors");
    return text_str(&text);
  }
  for (int i = 0; i < names.len; i++) text_printf(&text, "%s%s", i > 0 ? ", " : "", names.at[i]);
  return text_str(&text);
}

static void close_bucket(Bucketer *k, int number) {
  Program *p = k->program;
  Bucket bucket = k->open.at[number];
  k->open.at[number] = k->open.at[--k->open.len];
  if (bucket.places.len == 1) return;
  const int last = bucket.places.at[bucket.places.len - 1];
  Step *step = NEW(p->arena, Step);
  *step = *k->out.at[last];
  Collective *c = step->collective = arena_copy(p->arena, step->collective, sizeof *step->collective);
  c->purpose = purpose(k, &bucket);
  c->bytes = 0;
  for (int i = 0; i < bucket.places.len; i++) {
    Step **member = &k->out.at[bucket.places.at[i]];
    vec_push(p->arena, &c->members, (*member)->collective->tensor);
    c->bytes += (*member)->collective->bytes;
    step->scope = layer_common(p->arena, step->scope, (*member)->scope);
    *member = NULL;
  }
  step->layer = step->scope;
  order_members(p, c->members.at, c->members.len);
  lay_side_by_side(k, c, bucket.bytes);
  c->tensor = c->dst = c->members.at[0];
  c->count = extent_fixed(bucket.bytes / (p->model->f64 ? 8 : 4));
  k->out.at[last] = step;
}

// ---- the walk ----------------------------------------------------------------------------------------------------

typedef struct Closing {
  Bucketer *bucketer;
  int id; // of a bucket that the step uses something of, 0: none
} Closing;

static void note_member(void *ctx, int tensor, bool written) {
  Closing *c = ctx;
  const int buffer = c->bucketer->program->tensors.at[tensor].buffer;
  (void)written;
  for (int b = 0; b < c->bucketer->open.len && buffer < c->bucketer->n_buffers; b++)
    if (c->bucketer->open.at[b].id == c->bucketer->bucket_of[buffer]) c->id = c->bucketer->open.at[b].id;
}

static void close_used(Bucketer *k, const Step *step) {
  Closing c;
  do {
    c = (Closing){k, 0};
    step_visit_tensors(step, note_member, &c);
    for (int b = k->open.len - 1; b >= 0; b--)
      if (k->open.at[b].id == c.id) close_bucket(k, b);
  } while (c.id != 0);
}

// Whether the step, the i-th of the procedure, goes into a bucket, and into which kind.
static bool goes_into_bucket(const Bucketer *k, int i, bool *soon) {
  const Step *step = k->steps[i];
  if (!may_wait(k->program, step)) return false;
  *soon = k->last_use[k->program->tensors.at[step->collective->tensor].buffer] > i;
  return !*soon || buffer_of(k->program, step->collective->tensor)->bytes <= SHORT;
}

// What layers of one kind have in common: "multihead12.dense1.w.grad" gives "multihead.dense.w.grad", and the bytes.
static const char *name_of_place(const Bucketer *k, const Step *step) {
  const Program *p = k->program;
  Text name = {.arena = k->scratch};
  for (const char *c = p->tensors.at[step->collective->tensor].name; *c != '\0'; c++)
    if (*c < '0' || *c > '9') text_char(&name, *c);
  text_printf(&name, " %lld", (long long)buffer_of(p, step->collective->tensor)->bytes);
  return text_str(&name);
}

// A place is told by its name and those of the reductions before it.
static void name_places(Bucketer *k) {
  enum { BEFORE = 4 };
  const char *last[BEFORE] = {"", "", "", ""};
  bool soon;
  k->place = NEW_ARRAY(k->scratch, const char *, k->n_steps + 1);
  for (int i = 0; i < k->n_steps; i++) {
    if (!goes_into_bucket(k, i, &soon)) continue;
    const char *name = name_of_place(k, k->steps[i]);
    k->place[i] = arena_printf(k->scratch, "%s, %s, %s, %s, %s", name, last[0], last[1], last[2], last[3]);
    memmove(last + 1, last, sizeof *last * (BEFORE - 1));
    last[0] = name;
  }
}

static bool is_end(const Bucketer *k, int step) { return names_get(&k->ends, k->place[step]) >= 0; }

static bool belongs(const Bucket *bucket, const Collective *c, bool soon) {
  return bucket->axes == c->axes && bucket->reduce == c->reduce && bucket->soon == soon;
}

// The bytes up to where an earlier bucket ended, if that comes soon; 0: it does not.
static int64_t bytes_to_end(const Bucketer *k, const Bucket *bucket) {
  int64_t bytes = bucket->bytes;
  bool soon = false;
  for (int i = k->at; i < k->n_steps; i++) {
    const Step *step = k->steps[i];
    if (!goes_into_bucket(k, i, &soon) || !belongs(bucket, step->collective, soon)) continue;
    bytes += buffer_of(k->program, step->collective->tensor)->bytes;
    if (bytes > LARGEST_PART) return 0;
    if (is_end(k, i)) return bytes;
  }
  return 0;
}

// How many of its members come up to where an earlier bucket ended; 0: none did among them, or it would be too small.
static int members_to_end(const Bucketer *k, const Bucket *bucket, int64_t *bytes) {
  *bytes = bucket->bytes;
  for (int n = bucket->places.len; n > 0; n--) {
    const int step = bucket->places.at[n - 1];
    if (*bytes < SMALLEST_PART) return 0;
    if (is_end(k, step)) return n;
    *bytes -= buffer_of(k->program, k->steps[step]->collective->tensor)->bytes;
  }
  return 0;
}

// A bucket that is full: the number of the one that the next member goes into, or as many as are open for a new one.
static int make_way(Bucketer *k, int number) {
  Bucket *bucket = &k->open.at[number];
  int64_t bytes, further = bytes_to_end(k, bucket);
  const int n = members_to_end(k, bucket, &bytes);
  if (further > 0 && (n == 0 || further - BUCKET_BYTES < BUCKET_BYTES - bytes)) {
    bucket->limit = further;
    return number;
  }
  Bucket rest = *bucket;
  rest.places.at = NULL;
  rest.places.len = rest.places.cap = 0;
  rest.bytes = bucket->bytes - bytes;
  for (int i = n; n > 0 && i < bucket->places.len; i++) vec_push(k->scratch, &rest.places, bucket->places.at[i]);
  if (n > 0) bucket->places.len = n, bucket->bytes = bytes;
  names_set(&k->ends, k->place[bucket->places.at[bucket->places.len - 1]], 1);
  close_bucket(k, number);
  if (rest.places.len == 0) return k->open.len;
  rest.id = ++k->n_buckets;
  rest.limit = BUCKET_BYTES;
  for (int i = 0; i < rest.places.len; i++)
    k->bucket_of[k->program->tensors.at[k->out.at[rest.places.at[i]]->collective->tensor].buffer] = rest.id;
  vec_push(k->scratch, &k->open, rest);
  return k->open.len - 1;
}

static void join_bucket(Bucketer *k, const Step *step, bool soon) {
  const Collective *c = step->collective;
  const int buffer = k->program->tensors.at[c->tensor].buffer;
  const int64_t bytes = k->program->buffers.at[buffer].bytes;
  int i = 0;
  while (i < k->open.len && !belongs(&k->open.at[i], c, soon)) i++;
  while (i < k->open.len && k->open.at[i].bytes + bytes > k->open.at[i].limit) i = make_way(k, i);
  if (i == k->open.len)
    vec_push(
        k->scratch, &k->open,
        (Bucket){.id = ++k->n_buckets, .axes = c->axes, .reduce = c->reduce, .soon = soon, .limit = BUCKET_BYTES});
  k->open.at[i].bytes += bytes;
  k->bucket_of[buffer] = k->open.at[i].id;
  vec_push(k->scratch, &k->open.at[i].places, k->out.len);
}

typedef struct BufferUse {
  const Program *program;
  int buffer;
  bool any;
} BufferUse;

static void note_buffer(void *ctx, int tensor, bool written) {
  BufferUse *use = ctx;
  (void)written;
  use->any |= use->program->tensors.at[tensor].buffer == use->buffer;
}

static bool uses_buffer(const Program *p, const Step *step, int buffer) {
  BufferUse use = {p, buffer, false};
  step_visit_tensors(step, note_buffer, &use);
  return use.any;
}

// What is of several layers comes behind the one that it has ended up in: layers of one kind then stay the same steps.
static void leave_layer(const Program *p, Procedure *procedure, int i) {
  Step *step = procedure->steps.at[i];
  if (step->kind != STEP_COLLECTIVE || step->collective->members.len == 0 || step->scope[0] != '\0' || i == 0) return;
  const char *layer = procedure->steps.at[i - 1]->scope;
  const int buffer = p->tensors.at[step->collective->tensor].buffer;
  for (; i + 1 < procedure->steps.len; i++) {
    Step *next = procedure->steps.at[i + 1];
    if (!layer_same_outer(layer, next->scope) || uses_buffer(p, next, buffer)) break;
    procedure->steps.at[i] = next;
    procedure->steps.at[i + 1] = step;
  }
}

static void bucket_procedure(Bucketer *k, Procedure *procedure) {
  Program *p = k->program;
  Uses uses = {.program = p, .last = NEW_ARRAY(k->scratch, int, p->buffers.len)};
  for (; uses.step < procedure->steps.len; uses.step++)
    step_visit_tensors(procedure->steps.at[uses.step], note_use, &uses);
  k->steps = procedure->steps.at;
  k->n_steps = procedure->steps.len;
  k->last_use = uses.last;
  k->ends.arena = k->scratch;
  name_places(k);
  k->n_buffers = p->buffers.len;
  k->bucket_of = NEW_ARRAY(k->scratch, int, k->n_buffers);
  k->tensor_in = NEW_ARRAY(k->scratch, int, k->n_buffers);
  k->next_tensor = NEW_ARRAY(k->scratch, int, p->tensors.len);
  program_list_tensors(p, k->tensor_in, k->next_tensor);
  for (int i = 0; i < procedure->steps.len; i++) {
    Step *step = procedure->steps.at[i];
    bool soon;
    close_used(k, step);
    k->at = i;
    if (goes_into_bucket(k, i, &soon)) join_bucket(k, step, soon);
    vec_push(k->scratch, &k->out, step);
  }
  while (k->open.len > 0) close_bucket(k, k->open.len - 1);
  procedure->steps.len = 0;
  for (int i = 0; i < k->out.len; i++)
    if (k->out.at[i] != NULL) procedure->steps.at[procedure->steps.len++] = k->out.at[i];
  for (int i = procedure->steps.len - 1; i >= 0; i--) leave_layer(p, procedure, i);
}

void pass_bucket(Compilation *c) {
  Arena *scratch = arena_new();
  for (int k = 0; k < PROCEDURES; k++, arena_reset(scratch)) {
    Bucketer bucketer = {.program = c->program, .scratch = scratch};
    bucket_procedure(&bucketer, &c->program->procedure[k]);
  }
  arena_free(scratch);
}
