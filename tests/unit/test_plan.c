#include "../../ir/plan.h"
#include "check.h"

static Plan read(Arena *arena, const char *text, Problems *problems) {
  *problems = (Problems){.arena = arena};
  return plan_read("a.plan", text, strlen(text), problems);
}

static const char *printed(Arena *arena, const Plan *plan) {
  Text text = {.arena = arena};
  plan_print(plan, &text);
  return text_str(&text);
}

static void a_plan_prints_as_it_is_read(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Plan plan = read(arena,
                         "# first a comment\n\nplan 1 net\r\nmesh a=2,b=3,c=1\n"
                         "relu n*4 / a , b\tpin c = 0\nop plan replicate b n/a\neval layer x.y pin a=1,b=2 # end\n"
                         "store w replicate\ninput i follow\nupdate w.2 h/b replicate",
                         &problems);
  CHECK_INT(problems.list.len, 0);
  CHECK_STR(printed(arena, &plan), "plan 1 net\nmesh a=2,b=3,c=1\n"
                                   "\nrelu            n*4/a,b replicate c\n"
                                   "\nop plan         n/a replicate b\n"
                                   "\neval layer x.y  pin a=1,b=2\n"
                                   "\nstore w         replicate\n"
                                   "\ninput i         follow\n"
                                   "\nupdate w.2      h/b replicate a,c\n");
  const Plan again = read(arena, printed(arena, &plan), &problems);
  CHECK_INT(problems.list.len, 0);
  CHECK_STR(printed(arena, &again), printed(arena, &plan));
  arena_free(arena);
}

static void lines_know_their_places(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Plan plan = read(arena, "plan 1 net\nmesh a=2\n  layer conv1  co/a", &problems);
  CHECK_INT(plan.lines.len, 1);
  const PlanLine *line = &plan.lines.at[0];
  CHECK_INT(line->loc.line, 3);
  CHECK_INT(line->loc.col, 9);
  CHECK_INT(line->axis[0].loc.col, 16);
  CHECK_STR(line->axis[0].dim, "co");
  CHECK(line->subject == PLAN_LAYER && line->axis[0].kind == CHOICE_SPLIT && line->axis[0].unit == 1);
  arena_free(arena);
}

static void mistakes_do_not_hide_what_is_right(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Plan plan = read(arena, "plan 1 net\nmesh a=2\nx n/b\ny n/a\nz n\n", &problems);
  CHECK_INT(problems.list.len, 2);
  CHECK_INT(problems.list.at[0].loc.line, 3);
  CHECK_INT(problems.list.at[1].loc.line, 5);
  CHECK_INT(plan.lines.len, 1);
  CHECK_STR(plan.lines.at[0].name, "y");
  arena_free(arena);
}

static void no_text_breaks_the_reader(void) {
  Arena *arena = arena_new();
  Problems problems;
  const char *texts[] = {
      "", "\n", "#", "plan", "plan 1", "plan 1 net", "plan 1 net\nmesh", "plan 1 net\nmesh a=1\n\n=", "mesh a=2"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    read(arena, texts[i], &problems);
    CHECK(problems.list.len == 1 && problems.list.at[0].loc.line > 0);
  }
  Plan plan = plan_read("a.plan", "plan 1 net\nmesh a=2\nx n/a\0\n", 27, &problems);
  CHECK_INT(plan.lines.len, 0);
  Text many = {.arena = arena};
  text_printf(&many, "plan 1 net\nmesh a=2\n");
  for (int i = 0; i < 1000; i++) text_printf(&many, "x%d n/b\n", i);
  read(arena, text_str(&many), &problems);
  CHECK(problems_are_many(&problems) && problems.list.len < 100);
  arena_free(arena);
}

static void plans_are_compared_by_what_they_say(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Plan a = read(arena, "plan 1 net\nmesh a=2\nx n/a\nop y co/a\nz follow\n", &problems);
  const Plan b = read(arena, "plan 1 net\nmesh a=2\nz follow\ny co/a\n\nx n/a # here\n", &problems);
  const Plan c = read(arena, "plan 1 tent\nmesh a=2,b=2\nx n/a,b\nstore y co/a\nz follow\n", &problems);
  Text text = {.arena = arena};
  CHECK(plan_diff(&a, &b, &text) && text.len == 0);
  CHECK(!plan_diff(&a, &c, &text));
  CHECK_STR(text_str(&text), "- plan  net\n+ plan  tent\n- mesh  a=2\n+ mesh  a=2,b=2\n- x  n/a\n+ x  n/a,b\n"
                             "- op y  co/a\n+ store y  co/a\n");
  arena_free(arena);
}

CHECKS(TEST(a_plan_prints_as_it_is_read), TEST(lines_know_their_places), TEST(mistakes_do_not_hide_what_is_right),
       TEST(no_text_breaks_the_reader), TEST(plans_are_compared_by_what_they_say))
