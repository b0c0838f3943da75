// Networks as files of other solvers: their text. That solvers find the same optimum is tested in run/solvers.py.
#include "../../passes/search/cfn_write.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

// Two variables, a function of both, and a limit that leaves out what is heaviest.
static Cfn small_network(Arena *arena) {
  static const double a[] = {1, 0.5, 0}, b[] = {0, INFINITY}, weight[] = {3, 1, 3}, table[] = {0, 2.25, INFINITY, 1};
  static const int classes_of_a[] = {0, 1, 1}, classes_of_b[] = {1, 0};
  Cfn cfn = {.arena = arena, .constant = 0.125, .n_limits = 1, .limit = {2}};
  vec_push(arena, &cfn.variables, (CfnVariable){"layer(1).y", 3, a, {weight}});
  vec_push(arena, &cfn.variables, (CfnVariable){"a\" b", 2, b, {NULL}});
  vec_push(arena, &cfn.functions, (CfnFunction){2, {0, 1}, {2, 2}, {classes_of_a, classes_of_b}, 0, table});
  return cfn;
}

// A function with too many entries over values, so that it sees classes, twice the same; and one of no variable.
static Cfn network_of_classes(Arena *arena) {
  enum { N = 40 };
  static const double table[] = {1, 2, 3, 4};
  Cfn cfn = {.arena = arena};
  int *odd = NEW_ARRAY(arena, int, N);
  for (int v = 0; v < N; v++) odd[v] = v % 2;
  for (int x = 0; x < 2; x++) vec_push(arena, &cfn.variables, (CfnVariable){"v", N, NEW_ARRAY(arena, double, N), {NULL}});
  for (int i = 0; i < 2; i++) vec_push(arena, &cfn.functions, (CfnFunction){2, {0, 1}, {2, 2}, {odd, odd}, 0, table});
  vec_push(arena, &cfn.functions, (CfnFunction){.arity = 0, .cost = table});
  return cfn;
}

static const char *written(const Cfn *cfn, CfnFormat format) {
  FILE *file = tmpfile();
  if (!CHECK(file != NULL)) return "";
  cfn_write(file, cfn, format, "small", 1000);
  const long size = ftell(file);
  char *text = arena_alloc(cfn->arena, (size_t)size + 1);
  rewind(file);
  CHECK(fread(text, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  return text;
}

static void test_toulbar2(void) {
  Arena *arena = arena_new();
  const Cfn cfn = small_network(arena);
  CHECK_STR(written(&cfn, CFN_FORMAT_TOULBAR2),
            "{\"problem\": {\"name\": \"small\", \"mustbe\": \"<3375.0000033750\"},\n"
            "\"variables\": {\"x0.layer_1_.y\": 3, \"x1.a__b\": 2, \"s0\": 2},\n"
            "\"functions\": {\n"
            "\"constant\": {\"scope\": [], \"costs\": [125.0000000000]},\n"
            "\"x0\": {\"scope\": [0], \"costs\": [1000.0000000000,500.0000000000,0.0000000000]},\n"
            "\"x1\": {\"scope\": [1], \"costs\": [0.0000000000,3375.0000033750]},\n"
            "\"s0\": {\"scope\": [0,2], \"defaultcost\": 3375.0000033750, \"costs\": [0,1,0,1,0,0,2,1,0]},\n"
            "\"f0\": {\"scope\": [0,1], \"costs\": [2250.0000000000,0.0000000000,1000.0000000000,3375.0000033750,1000.0000000000,3375.0000033750]},\n"
            "\"limit0\": {\"scope\": [2], \"type\": \"knapsack\", \"params\": {\"capacity\": -1, \"weights\": [-2]}}}}\n");
  arena_free(arena);
}

static void test_lp(void) {
  Arena *arena = arena_new();
  const Cfn cfn = small_network(arena);
  CHECK_STR(written(&cfn, CFN_FORMAT_LP),
            "\\ small\n"
            "\\ x0: layer_1_.y\n"
            "\\ x1: a__b\n"
            "Minimize\n"
            " cost: 125 constant + 1000 x0_0 + 500 x0_1 + 2250 f0_0 + 1000 f0_2 + 1000 f0_4\n"
            "Subject To\n"
            " x0_0 + x0_1 + x0_2 = 1\n"
            " x1_0 + x1_1 = 1\n"
            " x1_1 = 0\n"
            " x0_0 - f0_0 - f0_1 = 0\n"
            " x0_1 - f0_2 = 0\n"
            " x0_2 - f0_4 = 0\n"
            " x1_0 - f0_0 - f0_2 - f0_4 = 0\n"
            " x1_1 - f0_1 = 0\n"
            " 0 constant + 3 x0_0 + x0_1 + 3 x0_2 <= 2\n"
            "Bounds\n"
            " constant = 1\n"
            "Binaries\n"
            " x0_0 x0_1 x0_2\n"
            " x1_0 x1_1\n"
            "End\n");
  arena_free(arena);
}

static void test_classes(void) {
  Arena *arena = arena_new();
  const Cfn cfn = network_of_classes(arena);
  CHECK_INT(cfn_write_entries(&cfn), 4 * 40 + 2 * 4 + 1);
  CHECK(strstr(written(&cfn, CFN_FORMAT_TOULBAR2), "\"f0\": {\"scope\": [2,3], \"costs\": [0.0000000000,1000.0000000000,2000.0") != NULL);
  CHECK(strstr(written(&cfn, CFN_FORMAT_LP), "y2_1 - f0_2 - f0_3 = 0") != NULL);
  CHECK(strstr(written(&cfn, CFN_FORMAT_LP), "constant - f2_0 = 0") != NULL);
  arena_free(arena);
}

static void test_formats(void) {
  CfnFormat format = CFN_FORMAT_LP;
  CHECK(cfn_format_of("a.cfn", &format) && format == CFN_FORMAT_TOULBAR2);
  CHECK(cfn_format_of("b.cfn/a.lp", &format) && format == CFN_FORMAT_LP);
  CHECK(!cfn_format_of("a.cfn/b", &format) && !cfn_format_of("lp", &format) && !cfn_format_of("a.lp.gz", &format) && !cfn_format_of("", &format));
}

CHECKS(TEST(test_toulbar2), TEST(test_lp), TEST(test_classes), TEST(test_formats))
