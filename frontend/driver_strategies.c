// --show-strategies: the ways to divide an operator of the model, or of a definition by an example of its use.
#include "../ir/suggest.h"
#include "../passes/strategies.h"
#include "driver.h"
#include "example.h"
#include "output.h"

static int no_such_operator(const Driver *d, const Graph *train) {
  Strings names = {0};
  for (int i = 0; i < train->ops.len; i++) {
    vec_push(d->arena, &names, train->ops.at[i].name);
    vec_push(d->arena, &names, graph_tensor(train, train->ops.at[i].out)->name);
  }
  const char *nearest = suggest_nearest(d->options.strategies, names.at, names.len);
  fprintf(stderr, "parcc: error: --show-strategies: the model has no operator '%s'%s\n", d->options.strategies,
          nearest != NULL ? arena_printf(d->arena, "; did you mean '%s'?", nearest) : "");
  return EXIT_INPUT;
}

// The training graph of the operators as they are defined, with their gradients: before windows are packed. NULL after errors.
static const Graph *graph_of_definitions(Driver *d, const AstFile *file, const ElabOptions *elab) {
  Compilation c = driver_begin(d, file, elab, &d->options.mesh);
  if (c.model == NULL) return NULL;
  for (int pass = 0; pass <= pipeline_find("simplify"); pass++) pipeline_run(&c, pass);
  return c.model->train;
}

// A definition that is nothing but uses of others, or that is computed in whatever reads it.
static int no_operator_by_itself(const Driver *d, const Graph *train, const char *name, int line) {
  Text used = {.arena = d->arena};
  Names seen = {.arena = d->arena};
  for (int i = 0; i < train->ops.len; i++) {
    const Op *op = &train->ops.at[i];
    if (op->phase != PHASE_FORWARD || op->kind == OP_VIEW || op->loc.line != line || names_get(&seen, op->name) >= 0) continue;
    names_set(&seen, op->name, 1);
    text_printf(&used, "%s%s", used.len > 0 ? ", " : " it uses ", op->name);
  }
  fprintf(stderr, "parcc: error: --show-strategies: '%s' is no operator by itself:%s\n", name, used.len > 0 ? text_str(&used) : " it is part of what reads it");
  return EXIT_INPUT;
}

// Of a definition that the model does not use: of an example that does.
static int print_example(Driver *d, const AstFile *file, const AstDef *def) {
  const Example example = example_of(d->arena, def);
  const ElabOptions elab = {.f64 = d->options.elab.f64};
  Text text = {.arena = d->arena};
  const AstFile *used = parse_text(d->arena, "example", example.model, strlen(example.model));
  AstFile *both = NEW(d->arena, AstFile); // definitions may use others of the file
  *both = (AstFile){.path = used->path};
  for (int i = 0; i < file->defs.len; i++)
    if (file->defs.at[i]->kind != AST_MODEL && file->defs.at[i]->kind != AST_TRAIN) vec_push(d->arena, &both->defs, file->defs.at[i]);
  for (int i = 0; i < used->defs.len; i++) vec_push(d->arena, &both->defs, used->defs.at[i]);
  const Graph *train = graph_of_definitions(d, both, &elab);
  if (train == NULL) {
    fprintf(stderr, "parcc: note: the model has no operator '%s', and no example can be made of its definition: give a model that uses it\n", def->name);
    return EXIT_INPUT;
  }
  text_printf(&text, "the model has no operator '%s'; of an example, %s(%s):\n\n", def->name, def->name, example.operands);
  if (!strategies_print(train, def->name, &text)) return no_operator_by_itself(d, train, def->name, example.line);
  return output_stdout(text_str(&text)) ? EXIT_RIGHT : EXIT_INPUT;
}

int driver_strategies(Driver *d, const AstFile *file) {
  const char *name = d->options.strategies;
  Text text = {.arena = d->arena};
  const Graph *train = graph_of_definitions(d, file, &d->options.elab);
  if (train == NULL) return EXIT_INPUT;
  if (strategies_print(train, name, &text)) return output_stdout(text_str(&text)) ? EXIT_RIGHT : EXIT_INPUT;
  const AstDef *mine = example_find(file, name), *def = mine != NULL ? mine : example_find(d->prelude, name);
  return def != NULL ? print_example(d, file, def) : no_such_operator(d, train);
}
