// The program of parcc data-stats, from top to bottom.
#include "codegen.h"

#include "emit_inputs.h"
#include "names.h"

static void print_lookups(const Model *model, const Lookups *lookups, const int *inputs, Text *out) {
  text_printf(out, "\nstatic const ParccLookup lookups[] = { // table, its rows, input, the one place along each of its dimensions (-1: all)\n");
  for (int i = 0; i < lookups->len; i++) {
    const Lookup *lookup = &lookups->at[i];
    if (lookup->input < 0) continue;
    const Tensor *table = graph_tensor(model->train, lookup->table);
    text_printf(out, "    {\"%s\", %lld, %d, {", name_in_string(out->arena, table->name), (long long)table->extent[0], inputs[lookup->input]);
    for (int d = 0; d < graph_tensor(model->train, lookup->input)->rank; d++) text_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)lookup->at[d]);
    text_printf(out, "}},\n");
  }
  text_printf(out, "};\n");
}

static void print_model(const Model *model, Text *out) {
  const char *name = name_in_string(out->arena, model->name), *source = name_in_string(out->arena, model->source);
  text_printf(out, "\nstatic const char *const scalars[] = {\"loss\"};\n\n"
                   "static double learning_rate(double step, double steps) {\n  (void)step;\n  (void)steps;\n  return 0;\n}\n\n"
                   "static const ParccModel model = {\n");
  text_printf(out, "    .name = \"%s_data_stats\",\n    .source = \"%s\",\n    .ranks = 1,\n    .batch = %lld,\n    .real = PARCC_FLOAT,\n", name, source,
              (long long)model->batch);
  text_printf(out, "    .inputs = inputs,\n    .n_inputs = %d,\n    .scalars = scalars,\n    .n_scalars = 1,\n    .steps = 1,\n    .epochs = 0,\n",
              model->inputs.len);
  text_printf(out, "    .learning_rate = learning_rate,\n    .whole_batches = NULL,\n    .sampled = -1,\n"
                   "    .measures = true, // prints counts, and nothing else\n};\n");
}

const char *codegen_print_data_stats(Arena *arena, const Model *model, const Lookups *lookups, const int *inputs) {
  Text out = {.arena = arena};
  text_printf(&out, "// Counts which rows of its tables %s looks up in data, and prints that as a file for parcc --data-stats.\n// Written by parcc data-stats from %s.\n//\n",
              name_in_comment(arena, model->name), name_in_comment(arena, model->source));
  text_printf(&out, "//   parcc-cc THIS.cu -o PROG && ./PROG --data DIR >data.stats\n\n#include \"parcc.h\"\n");
  emit_inputs(model, &out);
  print_lookups(model, lookups, inputs, &out);
  print_model(model, &out);
  text_printf(&out, "\nint main(int argc, char **argv) {\n  parcc_start(argc, argv, &model);\n"
                    "  parcc_data_stats(lookups, (int)(sizeof lookups / sizeof *lookups));\n  return parcc_finish();\n}\n");
  return text_str(&out);
}
