// @shard(...): what the text says of where something is computed or kept.
#include "elab.h"

static void add_item(Elab *e, Shard *shard, const AstTarget *axis, PlanChoice choice) {
  for (int i = 0; i < shard->items.len; i++) {
    const ShardItem *other = &shard->items.at[i];
    const PlanChoice *before = &other->choice;
    const bool split = before->kind == CHOICE_SPLIT && choice.kind == CHOICE_SPLIT && str_eq(before->dim, choice.dim);
    if (str_eq(other->axis, axis->name)) elab_error(e, axis->loc, "@shard: the axis '%s' is used twice", axis->name);
    else if (split && before->unit != choice.unit)
      elab_error(e, choice.loc, "@shard: '%s' is split in units of %lld here, but of %lld before", choice.dim,
                 (long long)choice.unit, (long long)before->unit);
    else continue;
    diag_note(before->loc, "what stands before is here");
    return;
  }
  vec_push(e->arena, &shard->items, (ShardItem){axis->name, axis->loc, choice});
}

static PlanChoice choice_of(const AstShardItem *item) {
  if (item->word == NULL)
    return (PlanChoice){.kind = CHOICE_SPLIT, .dim = item->dim, .unit = (int64_t)item->unit, .loc = item->loc};
  if (str_eq(item->word, "replicate")) return (PlanChoice){.kind = CHOICE_REPLICATE, .loc = item->loc};
  return (PlanChoice){
      .kind = CHOICE_PIN, .pin = (int)(item->pin < MESH_MAX_RANKS ? item->pin : MESH_MAX_RANKS), .loc = item->loc};
}

int elab_enter_shard(Elab *e, const AstShard *ast) {
  const int before = e->frame->shard;
  if (ast == NULL) return before;
  // One place of the text inside of one other is one number: in all turns of a loop, and in both graphs.
  const char *key = arena_printf(e->arena, "%s:%d:%d %d", ast->loc.file, ast->loc.line, ast->loc.col, before);
  e->frame->shard = names_get(&e->shards, key);
  if (e->frame->shard > 0) return before;
  Shard shard = {.outer = before, .loc = ast->loc};
  for (int i = 0; i < ast->items.len; i++)
    for (int a = 0; a < ast->items.at[i].axes.len; a++)
      add_item(e, &shard, &ast->items.at[i].axes.at[a], choice_of(&ast->items.at[i]));
  vec_push(e->arena, &e->model->shards, shard);
  e->frame->shard = e->model->shards.len;
  names_set(&e->shards, key, e->frame->shard);
  return before;
}

void elab_leave_shard(Elab *e, int before) { e->frame->shard = before; }

void elab_no_shard(Elab *e, const AstExpr *call) {
  if (call->shard == NULL) return;
  elab_error(e, call->shard->loc,
             "'@shard' stands behind the call of an op or a layer; '%s' makes no operator of its own here", call->text);
}
