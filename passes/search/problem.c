#include "problem.h"

#include <math.h>

#include "likeness.h"
#include "tables.h"

// ---- candidates ----------------------------------------------------------------------------------------------------

static int splits_of(const Group *group) { return group->kind == GROUP_PARAM ? 2 * group->dims.len : group->dims.len; }

bool problem_is_useful(const Group *group, const Candidate *candidate, const Mesh *mesh) {
  for (int d = 0; d < group->dims.len; d++) {
    uint32_t axes = 0;
    for (int a = 0; a < mesh->n_axes; a++)
      if (candidate->choice[a] >= 0 && candidate->choice[a] % group->dims.len == d) axes |= 1u << a;
    if (!group_dim_allows(&group->dims.at[d], mesh, axes)) return false;
  }
  return true;
}

int problem_choices(const Group *group) { return splits_of(group) + 1 + (group->adders.len > 0); }

signed char problem_choice(const Group *group, int number) {
  return (signed char)(number - 1 == splits_of(group) ? CANDIDATE_PENDING : number - 1);
}

Candidates problem_all_candidates(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const Group *group = &groups->list.at[number];
  (void)ctx;
  const int choices = problem_choices(group);
  int64_t n = 1;
  for (int a = 0; a < mesh->n_axes && n <= MOST_CANDIDATES; a++) n *= mesh->axis[a].size > 1 ? choices : 1;
  if (n > MOST_CANDIDATES) return (Candidates){0, NULL};
  Candidates c = {0, NEW_ARRAY(arena, Candidate, n)};
  for (int64_t i = 0; i < n; i++) {
    Candidate *candidate = &c.list[c.n];
    for (int a = mesh->n_axes - 1, rest = (int)i; a >= 0; a--) {
      candidate->choice[a] = CANDIDATE_NOTHING;
      if (mesh->axis[a].size == 1) continue;
      candidate->choice[a] = problem_choice(group, rest % choices);
      rest /= choices;
    }
    c.n += problem_is_useful(group, candidate, mesh);
  }
  return c;
}

// ---- the network ---------------------------------------------------------------------------------------------------

// About how many steps of ways there are to try: between what each candidate of a group makes and what those of the next one want,
// over four states of each axis.
static double effort_of_group(const SearchProblem *p, int group) {
  double states = 1;
  for (int a = 0; a < p->cost.mesh->n_axes; a++)
    if (p->cost.mesh->axis[a].size > 1) states *= 4;
  return states * p->of[group].n * p->of[group].n;
}

// Fills p->of; false: there are too many.
static bool list_candidates(SearchProblem *p, const ProblemSpace *space) {
  p->of = NEW_ARRAY(p->arena, Candidates, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) {
    const bool loose = p->groups.list.at[g].kind == GROUP_LOOSE;
    p->of[g] = (loose ? problem_all_candidates : space->candidates)(space->ctx, p->arena, &p->groups, g, p->cost.mesh);
    if (p->of[g].n == 0 || (space->most > 0 && effort_of_group(p, g) > space->most)) return false;
  }
  return true;
}

// Groups that are alike count once.
static double effort_of(const SearchProblem *p, const int *like) {
  double effort = 0;
  for (int g = 0; g < p->groups.list.len; g++)
    if (like[g] == g) effort += effort_of_group(p, g);
  return effort;
}

// What groups cost, and what tensors do between them; false: it is too much, or the time is up.
static bool fill(SearchProblem *p, double most) {
  const int n = p->groups.list.len;
  const int *like = groups_alike(p->arena, &p->groups, p->of);
  if (most > 0 && effort_of(p, like) > most) return false;
  Ports *ports = NEW(p->arena, Ports);
  *ports = ports_new(p);
  double **own = NEW_ARRAY(p->arena, double *, n), **inner = NEW_ARRAY(p->arena, double *, n);
  for (int g = 0; g < n; g++) {
    if (problem_is_late(p)) return false;
    own[g] = like[g] == g ? NEW_ARRAY(p->arena, double, p->of[g].n) : own[like[g]];
    if (like[g] == g) ports_add_group(ports, g, own[g]);
    else ports_add_alike(ports, g, like[g]);
  }
  for (int g = 0; g < n; g++) {
    inner[g] = NEW_ARRAY(p->arena, double, p->of[g].n);
    memcpy(inner[g], own[g], sizeof *own[g] * (size_t)p->of[g].n);
    vec_push(p->arena, &p->cfn.variables, (CfnVariable){.name = p->groups.list.at[g].name, .n_values = p->of[g].n, .cost = inner[g]});
  }
  p->tables = tables_add(p, ports, inner);
  return p->tables != NULL;
}

bool problem_is_late(const SearchProblem *p) { return p->cfn.until > 0 && steady_seconds() >= p->cfn.until; }

SearchProblem *problem_new(Arena *arena, Model *model, const Mesh *mesh, const Machine *machine, const ProblemSpace *space) {
  SearchProblem *p = NEW(arena, SearchProblem);
  Plan *nothing = NEW(arena, Plan);
  Mesh *kept = NEW(arena, Mesh);
  *nothing = (Plan){.model = model->name};
  *kept = *mesh;
  *p = (SearchProblem){.arena = arena, .scratch = arena_new(), .model = model, .unit = space->unit, .cfn = {.arena = arena, .until = space->until}};
  p->cost = space->unit == SEARCH_SECONDS ? cost_model(arena, machine, kept, model->f64) : (CostModel){machine, kept, model->f64, NULL};
  p->routes = routes_new(arena, kept, space->unit == SEARCH_SECONDS ? &p->cost : NULL);
  p->planner = space->before != NULL ? space->before->planner : planner_new(arena, model, nothing, kept);
  p->planner.mesh = *kept;
  p->groups = space->before != NULL ? space->before->groups : groups_of_graph(&p->planner);
  if (space->before == NULL) p->groups = groups_in_parts(&p->groups, space->parts);
  p->groups.planner = &p->planner;
  for (int t = 0; t < p->groups.graph->tensors.len; t++) graph_tensor(p->groups.graph, t)->layout = &layout_replicated;
  for (int i = 0; i < p->groups.graph->ops.len; i++) p->model->train->ops.at[i].sharding = sharding_replicate();
  const bool built = list_candidates(p, space) && fill(p, space->most);
  arena_free(p->scratch);
  return built ? p : NULL;
}

// ---- the plan of an assignment -------------------------------------------------------------------------------------

Plan problem_plan(Arena *arena, const SearchProblem *p, const int *value) {
  Candidate *chosen = NEW_ARRAY(arena, Candidate, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) chosen[g] = p->of[g].list[value[g]];
  return candidates_plan(arena, p->model, &p->groups, p->cost.mesh, chosen);
}
