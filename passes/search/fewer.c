#include "fewer.h"

Mesh fewer_mesh(Arena *arena, const Mesh *mesh, int axis, int used) {
  Mesh fewer = *mesh;
  for (int a = mesh->n_axes; a > axis + 1; a--) fewer.axis[a] = mesh->axis[a - 1];
  fewer.n_axes++;
  for (int i = 0; i < 2; i++) fewer.axis[axis + i].name = mesh_name_factor(arena, mesh, axis, i + 1, 2);
  fewer.axis[axis].size = mesh->axis[axis].size / used;
  fewer.axis[axis + 1].size = used;
  return fewer;
}

int fewer_ranks(int size, int used) {
  do used--;
  while (used > 1 && size % used != 0);
  return used;
}

Plan fewer_plan(Arena *arena, const Plan *plan, const Mesh *mesh, int axis) {
  Plan fewer = *plan;
  fewer.mesh = *mesh;
  vec_own(arena, &fewer.lines);
  for (int i = 0; i < fewer.lines.len; i++) {
    PlanChoice *choice = fewer.lines.at[i].axis;
    for (int a = mesh->n_axes - 1; a > axis; a--) choice[a] = choice[a - 1];
    choice[axis] = (PlanChoice){.kind = CHOICE_REPLICATE};
  }
  return fewer;
}

Candidates fewer_candidates(const void *ctx, Arena *arena, const Groups *groups, int group, const Mesh *mesh) {
  Mesh without = *mesh;
  without.axis[*(const int *)ctx].size = 1;
  return problem_all_candidates(NULL, arena, groups, group, &without);
}
