#include "emit_inputs.h"

#include "names.h"

static const char *file_text(Arena *arena, const char *name) {
  return name == NULL ? "NULL" : arena_printf(arena, "\"%s\"", name_in_string(arena, name));
}

static void print_lines(int input, const DataSource *source, Text *out) {
  text_printf(out, "\nstatic const ParccLines lines_%d = {%s, %lld, %lld, %lld, %lld, %s}; // vocabulary, begin, end, pad, unknown, part held out",
              input, file_text(out->arena, source->vocabulary), (long long)source->begin, (long long)source->end, (long long)source->pad,
              (long long)source->unknown, name_number(out->arena, source->held_out, TYPE_REAL, true));
}

// Of inputs that are windows of a sequence or lines: how those lie in the file.
static void print_windows(const Model *model, Text *out) {
  for (int i = 0; i < model->inputs.len; i++) {
    const DataSource *source = &model->inputs.at[i].source;
    if (source->form == FORM_LINES) print_lines(i, source, out);
    if (source->form != FORM_WINDOWS) continue;
    text_printf(out, "\nstatic const ParccWindows windows_%d = {%lld, %lld, %s, %s}; // shift, stride, part held out for the test split, vocabulary",
                i, (long long)source->shift, (long long)source->stride,
                name_number(out->arena, source->held_out, TYPE_REAL, true),
                file_text(out->arena, source->vocabulary));
  }
}

void emit_inputs(const Model *model, Text *out) {
  Arena *arena = out->arena;
  print_windows(model, out);
  text_printf(out, "\nstatic const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines\n");
  for (int i = 0; i < model->inputs.len; i++) {
    const Input *input = &model->inputs.at[i];
    const Tensor *tensor = graph_tensor(model->train, names_get(&model->train->tensor_names, input->name));
    text_printf(out, "    {\"%s\", %s, %d, {", name_in_string(arena, input->name),
                tensor->type != TYPE_REAL ? "PARCC_INT" : model->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT", tensor->rank);
    text_printf(out, "%lld", (long long)model->batch);
    for (int d = 1; d < tensor->rank; d++) text_printf(out, ", %lld", (long long)tensor->extent[d]);
    text_printf(out, "}, %lld, {", (long long)tensor->range);
    const char *files[3] = {input->source.kind, input->source.train_file, input->source.test_file};
    for (int f = 0; f < 3; f++) {
      if (input->source.kind == NULL || files[f] == NULL) text_printf(out, "NULL, ");
      else text_printf(out, "\"%s\", ", name_in_string(arena, files[f]));
    }
    const double scale = input->source.kind == NULL ? 1 : input->source.scale;
    const char *windows = input->source.form == FORM_WINDOWS ? arena_printf(arena, "&windows_%d", i) : "NULL";
    const char *lines = input->source.form == FORM_LINES ? arena_printf(arena, "&lines_%d", i) : "NULL";
    text_printf(out, "%s, %s, %s, %s}},\n", name_number(arena, scale, TYPE_REAL, true),
                name_number(arena, input->source.offset, TYPE_REAL, true), windows, lines);
  }
  text_printf(out, "};\n");
}
