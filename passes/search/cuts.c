#include "cuts.h"

// What the cuts before have chosen, and the rule of this one.
typedef struct NextCut {
  const CutRule *rule;
  const SearchProblem *before;
  const int *chosen;
  bool ***allowed;
} NextCut;

static Candidates candidates_of_cut(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const NextCut *cut = ctx;
  const Group *group = &groups->list.at[number];
  const int axis = mesh->n_axes - 1;
  Candidates c = {0, NEW_ARRAY(arena, Candidate, group->dims.len + 1)};
  Candidate candidate = {{0}};
  if (*cut->allowed == NULL) *cut->allowed = cut->rule->allowed(arena, groups);
  if (cut->before != NULL) candidate = cut->before->of[number].list[cut->chosen[number]];
  for (int d = -1; d < group->dims.len; d++) {
    candidate.choice[axis] = (signed char)d;
    if ((*cut->allowed)[number][d + 1] && problem_is_useful(group, &candidate, mesh)) c.list[c.n++] = candidate;
  }
  candidate.choice[axis] = -1;
  if (c.n == 0) c.list[c.n++] = candidate;
  return c;
}

SearchProblem *cuts_problem(Arena *arena, Model *model, const Mesh *mesh, const Machine *machine, const CutRule *rule,
                            const SearchProblem *before, const int *chosen, bool ***allowed) {
  const NextCut cut = {rule, before, chosen, allowed};
  const ProblemSpace space = {.unit = SEARCH_BYTES, .parts = rule->parts, .before = before, .candidates = candidates_of_cut, .ctx = &cut};
  return problem_new(arena, model, mesh, machine, &space);
}

static Plan too_large(Compilation *c, const Mesh *mesh) {
  problem_add(&c->problems, (Loc){0}, "the cut along '%s', number %d, is too large a problem", mesh->axis[mesh->n_axes - 1].name, mesh->n_axes);
  return (Plan){.model = c->model->name, .mesh = *mesh};
}

// What cuts leave behind: the first one the groups, which all of them share, each of the others what the next one starts from.
typedef struct CutArenas { Arena *first, *last; } CutArenas;

static void close_cut(CutArenas *arenas, Arena *next) {
  if (arenas->last != arenas->first) arena_free(arenas->last);
  if (arenas->first == NULL) arenas->first = next;
  arenas->last = next;
}

// A cut that is the only one is proved to be; of several each is, after those before it.
Plan cuts_plan(Compilation *c, const CutRule *rule) {
  const Mesh all = c->mesh_given ? c->mesh : mesh_factors(c->arena, &c->mesh, CUTS_MOST);
  Text factors = {.arena = c->arena}, bytes = {.arena = c->arena};
  CutArenas arenas = {NULL, NULL};
  SearchProblem *problem = NULL;
  CfnSolution solution = {.cost = 0};
  bool proved = true, otherwise;
  int approximate = 0, n_otherwise = 0;
  Mesh mesh = {0};
  bool **allowed = NULL;
  while (mesh.n_axes < all.n_axes) {
    const char *comma = mesh.n_axes > 0 ? ", " : "";
    const double before = solution.cost;
    Arena *arena = arena_new();
    mesh.axis[mesh.n_axes] = all.axis[mesh.n_axes];
    mesh.n_axes++;
    problem = cuts_problem(arena, c->model, &mesh, c->machine, rule, problem, solution.value, &allowed);
    close_cut(&arenas, arena);
    if (problem == NULL) break;
    solution = rule->solve(arena, &problem->cfn, &otherwise);
    if (!solution.feasible) fatal("plan: nothing was found for the cut along '%s'", mesh.axis[mesh.n_axes - 1].name);
    proved &= solution.cost == solution.bound;
    n_otherwise += otherwise;
    approximate = problem->n_approximate;
    text_printf(&factors, "%s%d", comma, mesh.axis[mesh.n_axes - 1].size);
    text_printf(&bytes, "%s%.4g", comma, (solution.cost - before) * 1e-6);
  }
  const Plan plan = problem == NULL ? too_large(c, &mesh) : problem_plan(c->arena, problem, solution.value);
  close_cut(&arenas, NULL);
  arena_free(arenas.first);
  if (problem == NULL) return plan;
  text_printf(&bytes, " MB");
  c->search = (Search){.done = true, .unit = SEARCH_BYTES, .cost = solution.cost, .approximate = approximate};
  c->search.bound = mesh.n_axes == 1 ? solution.bound : 0;
  if (!proved) text_printf(&bytes, ", not all of them proved to be least");
  if (n_otherwise > 0) text_printf(&bytes, "; %d of %d cuts %s", n_otherwise, mesh.n_axes, rule->otherwise);
  c->search.how = arena_printf(c->arena, "factors %s; bytes by step %s", text_str(&factors), text_str(&bytes));
  return plan;
}
