// What ranks send each other is what the table of changes of layout says of the busiest of them.
#include <string.h>

#include "../../ir/graph.h"
#include "../../passes/report/traffic.h"
#include "check.h"

static const Mesh meshes[] = {{.n_axes = 2, .axis = {{"a", 5}, {"batch", 1}}}, {.n_axes = 3, .axis = {{"a", 2}, {"b", 3}, {"batch", 1}}}};

static int below(uint32_t *random, int n) {
  *random = *random * 1664525u + 1013904223u;
  return (int)(*random >> 8) % n;
}

static Layout draw_layout(uint32_t *random, const Mesh *mesh, const Shape *shape) {
  Layout layout = layout_replicated;
  for (int a = 0; a < mesh->n_axes; a++) {
    const int k = below(random, shape->rank + 2);
    if (k < shape->rank) layout.axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = (int8_t)k};
    else if (k == shape->rank) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = below(random, mesh->axis[a].size)};
  }
  for (int d = 0; d < shape->rank; d++)
    layout.cut[d] = layout_axes_of(&layout, mesh->n_axes, d) != 0 ? cut_plain(shape->extent[d], 1) : (Cut){0};
  return layout;
}

// Of a program of one collective: bytes that the busiest rank sends or receives; pairs: how many send something.
static double busiest(Arena *arena, const Mesh *mesh, Collective *collective, int *pairs) {
  Model model = {0};
  Program program = {.arena = arena, .mesh = *mesh, .model = &model, .microbatches = 1};
  Step step = {.kind = STEP_COLLECTIVE, .collective = collective};
  vec_push(arena, &program.tensors, (ProgTensor){.type = TYPE_REAL});
  vec_push(arena, &program.procedure[PROC_FORWARD].steps, &step);
  const int ranks = mesh_ranks(mesh);
  const double *bytes = traffic_of_program(arena, &program);
  double most = 0;
  *pairs = 0;
  for (int i = 0; i < ranks; i++) {
    double sent = 0, received = 0;
    for (int k = 0; k < ranks; k++) {
      sent += bytes[i * ranks + k];
      received += bytes[k * ranks + i];
      *pairs += bytes[i * ranks + k] > 0;
    }
    most = sent > most ? sent : most;
    most = received > most ? received : most;
  }
  return most;
}

static void messages_are_what_moves(void) {
  uint32_t random = 3;
  int moving = 0, pairs;
  for (int trial = 0; trial < 400; trial++) {
    Arena *arena = arena_new();
    const Mesh *mesh = &meshes[trial % 2];
    Shape shape = {.rank = 1 + below(&random, 3)};
    for (int d = 0; d < shape.rank; d++) shape.extent[d] = 1 + below(&random, 12);
    const Layout from = draw_layout(&random, mesh, &shape), to = draw_layout(&random, mesh, &shape);
    Collective c = {.kind = RESHARD_exchange, .axes = 1, .rank = shape.rank, .from = &from, .to = &to};
    memcpy(c.extent, shape.extent, sizeof shape.extent);
    const int64_t moved = reshard_moved(mesh, &shape, c.from, c.to);
    CHECK_INT((int64_t)busiest(arena, mesh, &c, &pairs), 4 * moved);
    moving += moved > 0;
    arena_free(arena);
  }
  CHECK(moving > 200);
}

static void rings_go_to_the_next_rank(void) {
  Arena *arena = arena_new();
  int pairs;
  Collective around = {.kind = RESHARD_all_reduce, .axes = 1, .bytes = 80};
  CHECK(busiest(arena, &meshes[0], &around, &pairs) == 80);
  CHECK_INT(pairs, 5);
  CHECK(busiest(arena, &meshes[1], &around, &pairs) == 80); // three rings of two
  CHECK_INT(pairs, 6);
  Collective to_one = {.kind = RESHARD_reduce, .axes = 1, .bytes = 80, .root = 2};
  CHECK(busiest(arena, &meshes[0], &to_one, &pairs) == 80);
  CHECK_INT(pairs, 4); // the root sends nothing
  arena_free(arena);
}

static void too_many_ranks_are_not_told(void) {
  Arena *arena = arena_new();
  const Program program = {.arena = arena, .mesh = {.n_axes = 1, .axis = {{"a", TRAFFIC_MAX_RANKS + 1}}}};
  CHECK(traffic_of_program(arena, &program) == NULL);
  arena_free(arena);
}

CHECKS(TEST(messages_are_what_moves), TEST(rings_go_to_the_next_rank), TEST(too_many_ranks_are_not_told))
