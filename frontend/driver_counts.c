// parcc data-stats: the program that counts which rows of tables are looked up in the data of a model.
#include "../codegen/codegen.h"
#include "../passes/lookups.h"
#include "diag.h"
#include "driver.h"

static int none_to_count(const Driver *d, const Model *model, const Lookups *lookups) {
  const char *name = str_eq(d->options.model, "-") ? "<stdin>" : d->options.model;
  bool any = false;
  for (int i = 0; i < lookups->len; i++) any |= lookups->at[i].input >= 0;
  if (!any) fprintf(stderr, "parcc: error: %s: no table is looked up by an input\n", name);
  for (int i = 0; i < model->inputs.len; i++)
    if (model->inputs.at[i].source.kind == NULL) {
      fprintf(stderr, "parcc: error: %s: the train block names no data for input '%s'\n", name, model->inputs.at[i].name);
      any = false;
    }
  return any ? -1 : EXIT_INPUT;
}

int driver_count(Driver *d, const AstFile *file) {
  const Compilation c = driver_begin(d, file, &d->options.elab, &d->options.mesh);
  if (c.model == NULL) return EXIT_INPUT;
  const Lookups lookups = lookups_find(d->arena, c.model->train);
  int *inputs = NEW_ARRAY(d->arena, int, c.model->train->tensors.len);
  const Model counted = lookups_model(d->arena, c.model, &lookups, inputs);
  const int code = none_to_count(d, &counted, &lookups);
  if (code >= 0) return code;
  return driver_write(d, d->options.out, codegen_print_data_stats(d->arena, &counted, &lookups, inputs)) ? EXIT_RIGHT : EXIT_INPUT;
}
