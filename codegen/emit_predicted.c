#include "emit_predicted.h"

#include "names.h"

typedef struct Predicted {
  Arena *arena;
  Names numbers;    // of the operators that are printed, by their lines
  Numbers parts;    // of operators that have come
  VEC(int) of_part; // their numbers
  Text *operators;
  List places; // numbers of operators, and -1 behind those of each place
} Predicted;

static int number_of_line(Predicted *p, const StepPart *part) {
  const char *what = part->what != NULL ? arena_printf(p->arena, "\"%s\"", name_in_string(p->arena, part->what)) : "NULL";
  const char *line = arena_printf(p->arena, "    {%.4g, %s},\n", part->seconds * 1e6, what);
  int number = names_get(&p->numbers, line);
  if (number >= 0) return number;
  number = p->numbers.len;
  names_set(&p->numbers, line, number);
  text_printf(p->operators, "%s", line);
  return number;
}

static int number_of(Predicted *p, const StepPart *part) {
  const int known = numbers_of(&p->parts, part, sizeof *part);
  if (known == p->of_part.len) vec_push(p->arena, &p->of_part, number_of_line(p, part));
  return p->of_part.at[known];
}

static void add_parts(Predicted *p, const StepParts *parts) {
  for (int i = 0; i < parts->len; i++) list_add(&p->places, arena_printf(p->arena, "%d", number_of(p, &parts->at[i])));
}

static void add_procedure(Predicted *p, const ProcedureText *procedure) {
  bool open = false;
  for (int i = 0; i < procedure->steps.len; i++) {
    const Printed *step = &procedure->steps.at[i];
    if (*step->placed && open) list_add(&p->places, "-1");
    open |= *step->placed;
    if (open) add_parts(p, &step->step->parts);
  }
  if (open) list_add(&p->places, "-1");
}

// In the order in which a step comes to them.
static void add_step(Predicted *p, const Program *program, const ProcedureText *procedures) {
  const bool several = program->microbatches > 1;
  if (several) add_procedure(p, &procedures[PROC_BEGIN]);
  for (int micro = 0; micro < program->microbatches; micro++) {
    add_procedure(p, &procedures[PROC_FORWARD]);
    add_procedure(p, &procedures[PROC_BACKWARD]);
  }
  if (several) add_procedure(p, &procedures[PROC_COMBINE]);
  add_procedure(p, &procedures[PROC_UPDATE]);
}

static Predicted begin(const Program *program, Text *out, Text *places) {
  *places = (Text){.arena = program->arena};
  Predicted p = {.arena = program->arena, .numbers.arena = program->arena, .parts.arena = program->arena, .operators = out};
  p.places = (List){.out = places, .open = "static const int predicted_at[] = {", .between = ", ", .close = "};\n", .indent = 4, .width = 180};
  text_printf(out, "\n// What operators were predicted to take, in us, and what a profile calls them (NULL: it has no name for them).\n"
                   "static const ParccPredicted predicted[] = {\n");
  return p;
}

static int end(Predicted *p, const char *behind, const Text *places) {
  list_end(&p->places);
  text_printf(p->operators, "};\n\n// Those behind each %s, in order; -1 ends them.\n%s", behind, text_str(places));
  return p->places.n;
}

int emit_predicted(const Program *program, const ProcedureText *procedures, Text *out) {
  Text places;
  Predicted p = begin(program, out, &places);
  add_step(&p, program, procedures);
  return end(&p, "AT of a step that does not report", &places);
}

int emit_measured(const Program *program, Text *out) {
  Text places;
  Predicted p = begin(program, out, &places);
  for (int i = 0; i < program->measured.len; i++) {
    add_parts(&p, &program->measured.at[i]);
    list_add(&p.places, "-1");
  }
  return end(&p, "lap", &places);
}
