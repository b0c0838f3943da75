// Printing a tree and parsing the text again gives the same tree: for the prelude, every sample and every golden model.
#include <glob.h>
#include <stdlib.h>

#include "../../frontend/ast_print.h"
#include "../../frontend/diag.h"
#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "check.h"

static const char *print_parsed(Arena *arena, const char *name, const char *text, size_t len) {
  diag_reset();
  Text out = {.arena = arena};
  const AstFile *file = parse_text(arena, name, text, len);
  if (diag_errors() > 0) return NULL;
  ast_print(file, &out);
  return text_str(&out);
}

static void round_trip(Arena *arena, const char *name, const char *text, size_t len) {
  const char *once = print_parsed(arena, name, text, len);
  if (once == NULL) {
    check_fail("%s: has errors", name);
    return;
  }
  const char *twice = print_parsed(arena, "printed", once, strlen(once));
  if (!CHECK(twice != NULL) || !CHECK_STR(twice, once))
    check_fail("%s: printed and parsed again it is different", name);
}

static void prelude_round_trips(void) {
  Arena *arena = arena_new();
  for (int i = 0; i < prelude_files_len; i++)
    round_trip(arena, prelude_files[i].name, prelude_files[i].text, prelude_files[i].len);
  diag_reset();
  arena_free(arena);
}

// Every construct once, so that the printer misses none even where no sample has it.
static void constructs_round_trip(void) {
  static const char text[] =
      "fn f(x, y) = x * y + 1 - -x;\n"
      "opaque op o(x[n, c]; k = 2) -> y[n, c] split(n) = 'o_forward' grad 'o_backward';\n"
      "op g(x[i.., c], id[i..]: int; n = 3, s = 'a', l = [1, 2.5, true]) -> (y[i.., p], z[i..]: int) where p = (c + 1) "
      "// 2, q = c % 2 {\n"
      "  t[i.., c] = (sum(r < 3, s..) x[i.., 2*c + r - 1] * 2) + select(c == 1 and not (c != 2) or c >= 3, 1e-3, "
      "inf);\n"
      "  y = t; z[i..] = argmax(c) x[i.., c];\n"
      "}\n"
      "layer l(x[n..2, c], units) -> y[n.., d] { param w[d = units, c] = normal() / sqrt(c.extent); state m[c] = 0; "
      "update m[c] = x[0, 0, c];\n"
      "  update m = m; y[n.., d] = sum(c) x[n.., c] * w[d, c]; }\n"
      "optimizer opt(w[i..], g[i..]; lr, m = 0.9) -> u[i..] { u[i..] = w[i..] - lr * g[i..]; }\n"
      "model m(batch = 8, k = 3) {\n"
      "  input image[n = batch, 3, 28]; input label[batch]: int < k;\n"
      "  x = image |> relu |> l(units = 4, name = \"it's\");\n"
      "  a, b = g(x, label);\n"
      "  for i in 0..3 { if i == 0 { x = x; } else if i < 2 { x = -x; } else { x = x[i]; } }\n"
      "  for w in [1, [2, 3], 'pool'] + [] { require len(w) > 0, \"message\"; require true; }\n"
      "  loss = x; loss aux = x / 2; metric accuracy = mean(argmax(x) == label);\n"
      "}\n"
      "train { data image = idx('a', test = 'b') / 255; optimizer = sgd(lr = 0.1); steps = 10; }\n";
  Arena *arena = arena_new();
  round_trip(arena, "constructs", text, sizeof text - 1);
  diag_reset();
  arena_free(arena);
}

static void samples_round_trip(void) {
  glob_t found;
  if (glob("samples/*.dnn", 0, NULL, &found) != 0) {
    check_fail("no samples (run from the root of the repository)");
    return;
  }
  for (size_t i = 0; i < found.gl_pathc; i++) {
    Arena *arena = arena_new();
    size_t len;
    const char *text = input_file(arena, found.gl_pathv[i], &len);
    if (CHECK(text != NULL)) round_trip(arena, found.gl_pathv[i], text, len);
    diag_reset();
    arena_free(arena);
  }
  globfree(&found);
}

CHECKS(TEST(prelude_round_trips), TEST(constructs_round_trip), TEST(samples_round_trip))
