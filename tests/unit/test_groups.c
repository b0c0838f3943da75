// Which operators are divided together, which of their dimensions are one, and which groups are alike.
#include "../../frontend/frontend.h"
#include "../../frontend/parse.h"
#include "../../passes/search/likeness.h"
#include "../../passes/search/problem.h"
#include "check.h"

typedef struct Fixture {
  Compilation c;
  Planner planner;
  Groups whole, groups; // groups: by dimensions
} Fixture;

// A model with the batch 8, what comes out of its body being y[n, c].
static Fixture open_model(const char *body) {
  static const Mesh two = {.n_axes = 1, .axis = {{"gpu", 2}}};
  Arena *arena = arena_new();
  const ElabOptions options = {0};
  const char *text = arena_printf(arena, "model net(batch = 8) {\n  input x[batch, 8];\n  input label[batch]: int < 8;\n%s"
                                         "  loss = cross_entropy(y, label);\n}\ntrain { optimizer = adam(lr = 0.1); steps = 1; }\n", body);
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, strlen(text));
  Fixture f = {.c = {.arena = arena, .machine = machine_preset(arena, "p100x4x4"), .mesh = two, .problems = {.arena = arena}}};
  f.c.model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&f.c, pass);
  Plan *nothing = NEW(arena, Plan);
  *nothing = (Plan){.model = f.c.model->name};
  f.planner = planner_new(arena, f.c.model, nothing, &f.c.mesh);
  return f;
}

static void find_groups(Fixture *f) {
  f->whole = groups_of_graph(&f->planner);
  f->groups = groups_in_parts(&f->whole, GROUPS_BY_DIMS);
}

static int group_of(const Fixture *f, const Groups *groups, const char *tensor) {
  const int t = names_get(&f->c.model->train->tensor_names, tensor);
  if (t < 0) check_fail("there is no tensor %s", tensor);
  return t < 0 ? -1 : groups->of_tensor[t];
}

static const GroupDim *find_dim(const Groups *groups, int group, const char *name) {
  for (int d = 0; d < groups->list.at[group].dims.len; d++)
    if (str_eq(groups->list.at[group].dims.at[d].name, name)) return &groups->list.at[group].dims.at[d];
  return NULL;
}

// ---- what holds of all groups

static void check_dim(const Groups *groups, const Group *group, const GroupDim *dim) {
  int64_t fewest = INT64_MAX;
  bool once = true, of_group = true;
  for (int i = 0; i < dim->members.len; i++) {
    const GroupMember *m = &dim->members.at[i];
    const int64_t extent = m->op < 0 ? graph_tensor(groups->graph, group->tensor)->extent[m->dim] : groups->graph->ops.at[m->op].dims[m->dim].extent;
    bool member = m->op < 0 && group->tensor >= 0;
    for (int k = 0; k < group->ops.len; k++) member |= group->ops.at[k] == m->op;
    of_group &= member;
    for (int k = 0; k < i; k++) once &= dim->members.at[k].op != m->op;
    fewest = min_i64(fewest, extent / m->unit);
  }
  CHECK(dim->members.len > 0 && once && of_group);
  CHECK(group->tensor >= 0 || dim->extent <= fewest); // no rank is left without a unit of any member
}

// Every operator is in one group, which its results are of; no dimension of an operator is in two of the group's.
static void check_groups(const Groups *groups) {
  int *seen = NEW_ARRAY(groups->planner->arena, int, groups->graph->ops.len);
  bool right = true;
  for (int g = 0; g < groups->list.len; g++) {
    const Group *group = &groups->list.at[g];
    for (int i = 0; i < group->ops.len; i++) {
      const Op *op = &groups->graph->ops.at[group->ops.at[i]];
      seen[group->ops.at[i]]++;
      right &= groups->of_op[group->ops.at[i]] == g && groups->of_tensor[op->out] == g;
    }
    for (int d = 0; d < group->dims.len; d++) {
      check_dim(groups, group, &group->dims.at[d]);
      for (int i = 0; i < group->dims.at[d].members.len; i++)
        for (int e = 0; e < d; e++)
          for (int k = 0; k < group->dims.at[e].members.len; k++) {
            const GroupMember *a = &group->dims.at[d].members.at[i], *b = &group->dims.at[e].members.at[k];
            right &= a->op != b->op || a->dim != b->dim;
          }
    }
  }
  for (int i = 0; i < groups->graph->ops.len; i++) right &= seen[i] == (groups->of_op[i] >= 0);
  CHECK(right);
}

static void check_all(Fixture *f) {
  find_groups(f);
  const Groups by_pass = groups_in_parts(&f->whole, GROUPS_BY_PASS);
  check_groups(&f->whole);
  check_groups(&f->groups);
  check_groups(&by_pass);
  CHECK(f->whole.list.len <= f->groups.list.len && f->groups.list.len <= by_pass.list.len);
  for (int i = 0; i < f->whole.graph->ops.len; i++) // parts are parts
    for (int k = 0; k < i; k++)
      if (by_pass.of_op[i] >= 0 && by_pass.of_op[i] == by_pass.of_op[k] && f->whole.of_op[i] != f->whole.of_op[k])
        check_fail("operators %d and %d are in one part of two groups", k, i);
}

// ---- known ones

// A product with both its gradients; the bias and what follows it element by element; a parameter with its states.
static void products_and_what_follows_them(void) {
  Fixture f = open_model("  y = dense(x, 6) |> relu |> dense(8);\n");
  check_all(&f);
  const int first = group_of(&f, &f.whole, "dense1.y"), second = group_of(&f, &f.whole, "dense2.y");
  CHECK(first >= 0 && second >= 0 && first != second);
  const int weight = group_of(&f, &f.whole, "dense2.w");
  CHECK(f.whole.list.at[weight].kind == GROUP_PARAM && f.whole.list.at[group_of(&f, &f.whole, "x")].kind == GROUP_INPUT);
  CHECK_INT(group_of(&f, &f.whole, "dense2.w.grad"), second);
  CHECK_INT(group_of(&f, &f.whole, "relu.grad"), second);
  CHECK_INT(group_of(&f, &f.whole, "relu"), group_of(&f, &f.whole, "dense1.y.2"));
  CHECK(group_of(&f, &f.whole, "relu") != first);
  const GroupDim *rows = find_dim(&f.whole, second, "batch"), *inner = find_dim(&f.whole, second, "ci"), *columns = find_dim(&f.whole, second, "co");
  CHECK(rows != NULL && rows->extent == 8 && rows->members.len == 3);
  CHECK(inner != NULL && inner->extent == 6 && inner->members.len == 3);
  CHECK(columns != NULL && columns->extent == 8 && columns->members.len == 3);
  int states = 0;
  for (int t = 0; t < f.c.model->train->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(f.c.model->train, t);
    if (tensor->role == ROLE_STATE && tensor->of >= 0 && str_eq(graph_tensor(f.c.model->train, tensor->of)->name, "dense2.w")) {
      CHECK_INT(f.whole.of_tensor[t], weight);
      states++;
    }
  }
  CHECK_INT(states, 2);
  CHECK(group_update(&f.whole, &f.whole.list.at[weight]) >= 0 && group_update(&f.whole, &f.whole.list.at[second]) < 0);
  arena_free(f.c.arena);
}

// Of a cross entropy what each class has and what each row has are two parts; a product by its passes is three.
static void parts(void) {
  Fixture f = open_model("  y = dense(softmax(x * dense(x, 8)), 8);\n");
  check_all(&f);
  CHECK_INT(group_of(&f, &f.whole, "cross_entropy.z"), group_of(&f, &f.whole, "cross_entropy.each"));
  CHECK(group_of(&f, &f.groups, "cross_entropy.z") != group_of(&f, &f.groups, "cross_entropy.each"));
  CHECK_INT(group_of(&f, &f.groups, "cross_entropy.z"), group_of(&f, &f.groups, "cross_entropy.total"));
  const Groups by_pass = groups_in_parts(&f.whole, GROUPS_BY_PASS), same = groups_in_parts(&f.whole, GROUPS_WHOLE);
  const int forward = group_of(&f, &by_pass, "dense2.y"), backward = group_of(&f, &by_pass, "softmax.grad"), weight = group_of(&f, &by_pass, "dense2.w.grad");
  CHECK(forward != backward && backward != weight && weight != forward);
  CHECK_INT(group_of(&f, &f.groups, "dense2.w.grad"), group_of(&f, &f.groups, "softmax.grad"));
  CHECK_INT(same.list.len, f.whole.list.len);
  arena_free(f.c.arena);
}

// All time steps are divided alike.
static void time_steps(void) {
  Fixture f = open_model("  s = view(x, \"n (t c) -> n t c\", t = 4);\n  h = lstm(s, 5);\n  y = dense(view(h, \"n t u -> n (t u)\"), 8);\n");
  check_all(&f);
  static const char *const of_step[] = {"lstm1.lstm_cell%d.a.sum", "lstm1.lstm_cell%d.lstm_gates.h", "lstm1.lstm_cell%d.lstm_gates.next"};
  for (int i = 0; i < 3; i++)
    for (int step = 3; step <= 4; step++)
      CHECK_INT(group_of(&f, &f.whole, arena_printf(f.c.arena, of_step[i], step)), group_of(&f, &f.whole, arena_printf(f.c.arena, of_step[i], 2)));
  const int product = group_of(&f, &f.whole, "lstm1.lstm_cell2.a.sum"), gates = group_of(&f, &f.whole, "lstm1.lstm_cell2.lstm_gates.h");
  CHECK(product != gates);
  const GroupDim *units = find_dim(&f.whole, product, "u");
  CHECK(units != NULL && units->extent == 5 && units->members.len >= 3);
  arena_free(f.c.arena);
}

// A dimension that a view splits is divided in units of what it is made of.
static void units_of_views(void) {
  Fixture f = open_model("  s = view(dense(x, 12), \"n (h d) -> n h d\", h = 4);\n  z[n, h, d] = s[n, h, d] * s[n, h, 0];\n  y = dense(view(z, \"n h d -> n (h d)\"), 8);\n");
  check_all(&f);
  const GroupDim *columns = find_dim(&f.whole, group_of(&f, &f.whole, "dense1.y.2"), "co");
  CHECK(columns != NULL && columns->extent == 4 && columns->members.at[0].unit == 3);
  arena_free(f.c.arena);
}

// ---- likeness

static const int *alike(const Fixture *f) {
  Candidates *of = NEW_ARRAY(f->c.arena, Candidates, f->groups.list.len);
  for (int g = 0; g < f->groups.list.len; g++) of[g] = problem_all_candidates(NULL, f->c.arena, &f->groups, g, &f->c.mesh);
  return groups_alike(f->c.arena, &f->groups, of);
}

// Layers of one size are alike, but for the first one, which has no gradient of what it reads; those of another size are not.
static void layers_that_repeat(void) {
  Fixture f = open_model("  h = x;\n  for l in 0..4 { h = dense(h, 8) |> tanh; }\n  y = dense(dense(h, 6) |> tanh, 8);\n");
  check_all(&f);
  const int *like = alike(&f);
  static const char *const of_layer[] = {"dense%d.y", "dense%d.w", "dense%d.b", "dense%d.y.2"};
  for (int i = 0; i < 4; i++) {
    int group[7];
    for (int l = 1; l <= 6; l++) group[l] = group_of(&f, &f.groups, arena_printf(f.c.arena, of_layer[i], l));
    CHECK(like[group[3]] == like[group[2]] && like[group[4]] == like[group[2]]);
    CHECK(i > 1 || (like[group[5]] != like[group[2]] && like[group[6]] != like[group[2]])); // 8 to 6, 6 to 8
  }
  CHECK(like[group_of(&f, &f.groups, "dense1.y")] != like[group_of(&f, &f.groups, "dense2.y")]);
  for (int g = 0; g < f.groups.list.len; g++) CHECK(like[g] <= g && like[like[g]] == like[g]);
  int n, first = -1;
  const int *ops = operators_alike(f.c.arena, &f.groups, &n);
  for (int i = 0; i < f.groups.graph->ops.len; i++) {
    CHECK(ops[i] < n && (ops[i] >= 0) == (f.groups.of_op[i] >= 0));
    const Op *op = &f.groups.graph->ops.at[i];
    if (op->phase != PHASE_FORWARD || !str_eq(op->name, "tanh") || op->dims[1].extent != 8) continue;
    if (first < 0) first = ops[i];
    CHECK_INT(ops[i], first);
  }
  arena_free(f.c.arena);
}

// What differs in a constant or in an index is not alike.
static void small_differences(void) {
  static const char *const second[] = {"tanh(b[i, j] * 2)", "tanh(b[i, j] * 3)", "tanh(b[i, 7 - j] * 2)"};
  for (int k = 0; k < 3; k++) {
    Arena *arena = arena_new();
    const char *body = arena_printf(arena, "  a = dense(x, 8);\n  p[i, j] = tanh(a[i, j] * 2);\n  b = dense(p, 8);\n  q[i, j = 8] = %s;\n  y = dense(q, 8);\n", second[k]);
    Fixture f = open_model(body);
    check_all(&f);
    const int *like = alike(&f);
    CHECK((like[group_of(&f, &f.groups, "q")] == like[group_of(&f, &f.groups, "p")]) == (k == 0));
    arena_free(f.c.arena);
    arena_free(arena);
  }
}

CHECKS(TEST(products_and_what_follows_them), TEST(parts), TEST(time_steps), TEST(units_of_views), TEST(layers_that_repeat), TEST(small_differences))
