#include "factors.h"

#include <limits.h>

static int real_axes(const Mesh *mesh) {
  int n = 0;
  for (int a = 0; a < mesh->n_axes; a++) n += mesh->axis[a].size > 1;
  return n;
}

Factors factors_on(Arena *arena, const Mesh *mesh, const Mesh *finer) {
  Factors factors = {.mesh = *finer, .order = NEW(arena, DimOrder)};
  const Mesh finest = mesh_factors(arena, mesh, MESH_MAX_AXES - 1);
  const int levels = real_axes(mesh);
  for (int f = 0, a = 0, size = 1; f < finer->n_axes; f++) {
    factors.level[f] = a;
    size *= finer->axis[f].size;
    if (size < mesh->axis[a].size) continue;
    size = 1;
    a++;
  }
  if (real_axes(&finest) > 2) factors.most = levels > 2 ? levels : 2;
  return factors;
}

bool factors_of_mesh(Arena *arena, const Mesh *mesh, Factors *factors) {
  const Mesh finest = mesh_factors(arena, mesh, MESH_MAX_AXES - 1);
  *factors = factors_on(arena, mesh, &finest);
  return finest.n_axes > mesh->n_axes;
}

// ---- candidates ----------------------------------------------------------------------------------------------------

typedef struct Listing {
  const Factors *factors;
  Arena *arena;
  const Group *group;
  const int *place; // by dimension
  int choices;
  Candidate now;
  VEC(Candidate) list;
} Listing;

// Where in the order a choice stands. The update of a parameter alone is divided where the parameter is whole.
static int64_t place_of(const Listing *l, int choice) {
  const int dims = l->group->dims.len;
  if (choice == CANDIDATE_PENDING) return INT64_MAX;
  if (choice == CANDIDATE_NOTHING) return DIM_SAMPLES + 1;
  if (choice >= dims) return DIM_SAMPLES + 2 + choice - dims;
  return l->place[choice] == DIM_SAMPLES ? DIM_SAMPLES : DIM_SAMPLES + 2 + dims + (int64_t)l->place[choice];
}

// Whether a choice along a factor goes with those along the factors before it.
static bool goes_with(const Listing *l, int factor, int choice) {
  const Mesh *mesh = &l->factors->mesh;
  const signed char *before = l->now.choice;
  int things = 1;
  if (l->factors->most == 0) return true;
  for (int f = 0; f < factor; f++) {
    const bool alike = l->factors->level[f] == l->factors->level[factor] && gcd_i64(mesh->axis[f].size, mesh->axis[factor].size) > 1;
    if (alike && place_of(l, choice) < place_of(l, before[f])) return false;
    bool again = before[f] == choice || mesh->axis[f].size == 1;
    for (int e = 0; e < f; e++) again |= before[e] == before[f];
    things += !again;
  }
  return things <= l->factors->most;
}

static void list(Listing *l, int factor) {
  const Mesh *mesh = &l->factors->mesh;
  if (factor == mesh->n_axes) {
    if (problem_is_useful(l->group, &l->now, mesh)) vec_push(l->arena, &l->list, l->now);
    return;
  }
  for (int number = 0; number < l->choices && l->list.len <= MOST_CANDIDATES; number++) {
    const signed char choice = problem_choice(l->group, number);
    if (mesh->axis[factor].size == 1 ? number > 0 : !goes_with(l, factor, choice)) continue;
    l->now.choice[factor] = choice;
    list(l, factor + 1);
  }
}

Candidates factors_candidates(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const Factors *factors = ctx;
  (void)mesh;
  if (factors->order->place == NULL) *factors->order = dim_order(arena, groups);
  Listing l = {factors, arena, &groups->list.at[number], factors->order->place[number], problem_choices(&groups->list.at[number]), {{0}}, {0}};
  list(&l, 0);
  return (Candidates){l.list.len > MOST_CANDIDATES ? 0 : l.list.len, l.list.at};
}

// ---- fewer axes ----------------------------------------------------------------------------------------------------

static bool says_the_same(const PlanChoice *x, const PlanChoice *y) {
  return x->kind == y->kind && (x->kind != CHOICE_SPLIT || (str_eq(x->dim, y->dim) && x->unit == y->unit));
}

// Whether no line tells a factor from the one before it.
static bool is_as_before(const Factors *factors, const Plan *plan, int factor) {
  if (factor == 0 || factors->level[factor] != factors->level[factor - 1]) return false;
  for (int i = 0; i < plan->lines.len; i++)
    if (!says_the_same(&plan->lines.at[i].axis[factor - 1], &plan->lines.at[i].axis[factor])) return false;
  return true;
}

Plan factors_merge(Arena *arena, const Factors *factors, const Mesh *mesh, const Plan *plan) {
  Plan merged = *plan;
  int axis[MESH_MAX_AXES], of_level[MESH_MAX_AXES] = {0}, number[MESH_MAX_AXES] = {0};
  merged.mesh.n_axes = 0;
  for (int f = 0; f < factors->mesh.n_axes; f++) {
    const bool same = is_as_before(factors, plan, f);
    if (!same) {
      of_level[factors->level[f]]++;
      merged.mesh.axis[merged.mesh.n_axes++] = factors->mesh.axis[f];
    } else merged.mesh.axis[merged.mesh.n_axes - 1].size *= factors->mesh.axis[f].size;
    axis[f] = merged.mesh.n_axes - 1;
  }
  vec_own(arena, &merged.lines);
  for (int i = 0; i < merged.lines.len; i++)
    for (int f = 0; f < factors->mesh.n_axes; f++) merged.lines.at[i].axis[axis[f]] = plan->lines.at[i].axis[f];
  for (int f = 0; f < factors->mesh.n_axes; f++) {
    const int level = factors->level[f];
    if (f == 0 || axis[f] != axis[f - 1]) merged.mesh.axis[axis[f]].name = mesh_name_factor(arena, mesh, level, ++number[level], of_level[level]);
  }
  return merged;
}
