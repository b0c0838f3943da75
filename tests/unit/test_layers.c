// Printed steps as text with holes, and which layers share code.
#include <string.h>

#include "../../codegen/layers.h"
#include "../../codegen/repeats.h"
#include "check.h"

enum { A_W, A_Y, B_W, B_Y, N_TENSORS };

typedef struct Fixture {
  Program program;
  Printer printer;
  Text kernels;
} Fixture;

static void open_fixture(Fixture *f) {
  static const char *const names[N_TENSORS] = {"block1.w", "block1.y", "block2.w", "block2.y"};
  static const char *const c_names[N_TENSORS] = {"block1_w", "block1_y", "block2_w", "block2_y"};
  *f = (Fixture){.program.arena = arena_new()};
  for (int t = 0; t < N_TENSORS; t++)
    vec_push(f->program.arena, &f->program.tensors,
             (ProgTensor){.name = names[t], .c_name = c_names[t], .type = TYPE_REAL});
  f->program.model = NEW(f->program.arena, Model);
  f->printer = printer_new(&f->program);
  f->kernels.arena = f->program.arena;
  text_printf(
      &f->kernels,
      "__global__ void k_scale(float *__restrict__ y, const float *__restrict__ w, long N, float factor) {\n}\n");
}

static Printed step(Fixture *f, const char *scope, const char *text) {
  return printer_read(&f->printer, scope, text, &f->kernels);
}

static const Piece *nth(const Printed *p, PieceKind kind, int n) {
  for (int i = 0; i < p->pieces.len; i++)
    if (p->pieces.at[i].kind == kind && n-- == 0) return &p->pieces.at[i];
  return NULL;
}

static void holes(void) {
  Fixture f;
  open_fixture(&f);
  const Printed p = step(&f, "block1",
                         "  // y = w * 2\n  LAUNCH_FLAT(k_scale, 8, t.block1_y, t.block1_w + i * 4, 8, 0.5f);\n"
                         "  CHECK_CUDA(cudaEventRecord(event[3], parcc.comm));\n");
  CHECK_INT(p.lines, 3);
  CHECK_STR(nth(&p, PIECE_COMMENT, 0)->text, "  // y = w * 2\n");
  CHECK_INT(nth(&p, PIECE_TENSOR, 0)->tensor, A_Y);
  CHECK_INT(nth(&p, PIECE_TENSOR, 1)->tensor, A_W);
  CHECK_STR(nth(&p, PIECE_INTEGER, 1)->text, "4");
  CHECK_STR(printer_role(&f.printer, nth(&p, PIECE_INTEGER, 0)), "elements");
  CHECK_STR(printer_role(&f.printer, nth(&p, PIECE_INTEGER, 1)), "stride");
  CHECK_STR(printer_role(&f.printer, nth(&p, PIECE_INTEGER, 2)), "n");
  CHECK_STR(printer_role(&f.printer, nth(&p, PIECE_REAL, 0)), "factor");
  CHECK_STR(printer_role(&f.printer, nth(&p, PIECE_INTEGER, 3)), "event");
  Text whole = {.arena = f.program.arena}; // the pieces are the text
  for (int i = 0; i < p.pieces.len; i++) text_printf(&whole, "%s", p.pieces.at[i].text);
  CHECK(strstr(text_str(&whole), "LAUNCH_FLAT(k_scale, 8, t.block1_y, t.block1_w + i * 4, 8, 0.5f);\n") != NULL);
  arena_free(f.program.arena);
}

static void skeletons(void) {
  Fixture f;
  open_fixture(&f);
  const Printed a = step(&f, "block1", "  f(t.block1_y,\n      t.block1_w, 8);\n"),
                b = step(&f, "block2", "  f(t.block2_y, t.block2_w, 9);\n");
  CHECK_INT(a.skeleton, b.skeleton); // wherever lines break
  CHECK(a.skeleton != step(&f, "block2", "  g(t.block2_y, t.block2_w, 9);\n").skeleton);
  CHECK(a.skeleton != step(&f, "block2", "  f(t.block2_y, t.block2_w, 9.0f);\n").skeleton);
  CHECK(step(&f, "", "  f(0.5);\n").skeleton !=
        step(&f, "", "  f(0.25);\n").skeleton); // no number of the program's type
  arena_free(f.program.arena);
}

// block1 and block2 do the same, `times` steps; a step between them that belongs to neither.
static void fill(Fixture *f, PrintedList *list, int times, const char *of_second) {
  for (int b = 1; b <= 2; b++) {
    const char *scope = b == 1 ? "block1" : "block2";
    for (int i = 0; i < times; i++) {
      const char *function = b == 2 && i == 0 ? of_second : "f";
      Printed p = step(f, scope, arena_printf(f->program.arena, "  %s%d(t.block%d_y, %d);\n", function, i, b, b));
      p.name = "relu";
      p.where = "m.dnn:5";
      vec_push(f->program.arena, list, p);
    }
  }
  vec_push(f->program.arena, list, step(f, "", "  end();\n"));
}

static void shares(int times, const char *of_second, bool expected) {
  Fixture f;
  open_fixture(&f);
  Layers layers = layers_new(&f.program);
  PrintedList list = {NULL, 0, 0};
  fill(&f, &list, times, of_second);
  const LayerParts *parts = layers_add(&layers, &list);
  layers_decide(&layers);
  CHECK_INT(parts->len, 3);
  CHECK_STR(parts->at[1].run->path, "block2");
  CHECK_INT(parts->at[1].run->parts.len, times);
  CHECK(parts->at[2].run == NULL);
  CHECK(layers_is_function(&layers, parts->at[0].run) == expected);
  CHECK(layers_is_function(&layers, parts->at[1].run) == expected);
  arena_free(f.program.arena);
}

static void sharing(void) {
  shares(300, "f", true);
  shares(3, "f", false);   // too short to be worth it
  shares(300, "g", false); // they do not do the same
}

// A step, `times` times three steps that no layer holds, and a step.
static void fill_repeat(Fixture *f, PrintedList *list, int times) {
  vec_push(f->program.arena, list, step(f, "", "  begin();\n"));
  for (int i = 0; i < 3 * times; i++) {
    const char *tensor = i % 2 == 0 ? "block1_y" : "block2_y";
    Printed p = step(f, "", arena_printf(f->program.arena, "  f%d(t.%s, %d);\n", i % 3, tensor, i));
    p.layer = arena_printf(f->program.arena, "dense%d", i / 3 + 1);
    p.name = "dense";
    p.where = "m.dnn:5";
    vec_push(f->program.arena, list, p);
  }
  vec_push(f->program.arena, list, step(f, "", "  end();\n"));
}

static void repeats_of_steps(void) {
  Fixture f;
  open_fixture(&f);
  Layers layers = layers_new(&f.program);
  PrintedList first = {NULL, 0, 0}, second = {NULL, 0, 0};
  fill_repeat(&f, &first, 60);
  fill_repeat(&f, &second, 59);
  const LayerParts *a = layers_add(&layers, &first), *b = layers_add(&layers, &second);
  layers_decide(&layers);
  CHECK_INT(a->len, 62);
  CHECK_INT(b->len, 61);
  const LayerRun *run = a->at[1].run, *other = b->at[59].run;
  CHECK_INT(run->parts.len, 3);
  CHECK_STR(run->path, "dense1");
  CHECK(layers_is_repeat(&layers, run) && layers_is_function(&layers, run));
  CHECK_INT(run->class, a->at[60].run->class);
  CHECK_INT(run->kind, other->kind); // of the same layers: one record
  CHECK_STR(other->path, "dense59");
  arena_free(f.program.arena);
}

static Repeat find(const char *text, const int *weights, long worth) {
  Arena *arena = arena_new();
  const int n = (int)strlen(text);
  int keys[64], ones[64];
  bool calls[64];
  for (int i = 0; i < n; i++) keys[i] = text[i], ones[i] = 1, calls[i] = text[i] >= 'A' && text[i] <= 'Z';
  const Repeat found = repeats_find(arena, keys, weights != NULL ? weights : ones, calls, 0, n, worth);
  arena_free(arena);
  return found;
}

static void check_find(const char *text, long worth, int start, int period, int times) {
  const Repeat found = find(text, NULL, worth);
  CHECK_INT(found.times, times);
  if (times == 0) return;
  CHECK_INT(found.start, start);
  CHECK_INT(found.period, period);
}

static void repeats(void) {
  check_find("", 1, 0, 0, 0);
  check_find("abcd", 1, 0, 0, 0);
  check_find("xabcabcabcy", 1, 1, 3, 3);
  check_find("abcabcabc", 1, 0, 3, 3);
  check_find("xabcabcabca", 1, 1, 3, 3); // what is left over stays behind
  check_find("aaaa", 1, 0, 1, 4);        // the shortest period
  check_find("ababxcdcdcd", 1, 5, 2, 3); // what saves most
  check_find("AAAA", 1, 0, 0, 0);        // a loop already
  check_find("AAbAAb", 1, 0, 3, 2);
  check_find("abab", 2, 0, 2, 2);
  check_find("abab", 3, 0, 0, 0); // worth less
  const int weights[] = {9, 1, 9, 1, 1, 1, 1, 1, 1};
  CHECK_INT(find("ababccccc", weights, 1).start, 0);
}

CHECKS(TEST(holes), TEST(skeletons), TEST(sharing), TEST(repeats_of_steps), TEST(repeats))
