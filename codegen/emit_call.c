// A function of the user's gets the stream, every tensor as a pointer with the extents of this rank's part behind it,
// where this rank's part begins in each dimension that can be divided, and the attributes:
//
//     void softplus(cudaStream_t stream, const float *x, const long *x_extent, float *y, const long *y_extent,
//                   const long *start, double beta);
#include "emit_call.h"

#include "names.h"

enum { WIDTH = 118 }; // of a line

// Items of a list, in lines of at most WIDTH characters; those after the first are indented.
typedef struct Line {
  Text *out;
  size_t start; // of the line at hand
  int indent;
} Line;

static void put(Line *line, const char *item) {
  if (line->out->len + strlen(item) + 2 > line->start + WIDTH) {
    text_printf(line->out, ",\n");
    line->start = line->out->len;
    text_printf(line->out, "%*s%s", line->indent, "", item);
  } else {
    text_printf(line->out, ", %s", item);
  }
}

static const char *extents_name(const Program *p, const char *name) {
  return arena_printf(p->arena, "%s_extent", name);
}

static void print_prototype(const Program *p, const Call *c, Text *out) {
  Names taken = {.arena = p->arena};
  names_set(&taken, "stream", 1);
  names_set(&taken, "start", 1);
  Line line = {out, out->len, 5 + (int)strlen(c->function) + 1};
  text_printf(out, "void %s(cudaStream_t stream", c->function);
  for (int i = 0; i < c->args.len; i++) {
    const CallArg *arg = &c->args.at[i];
    const char *name = name_unique(p->arena, &taken, arg->name), *type = name_type(p, arg->type);
    put(&line, arena_printf(p->arena, "%s%s *%s", arg->written ? "" : "const ", type, name));
    if (!arg->sized) continue;
    put(&line, arena_printf(p->arena, "const long *%s", name_unique(p->arena, &taken, extents_name(p, arg->name))));
  }
  put(&line, "const long *start");
  for (int i = 0; i < c->attrs.len; i++)
    put(&line, arena_printf(p->arena, "double %s", name_unique(p->arena, &taken, c->attrs.at[i].name)));
  text_printf(out, ");\n");
}

void emit_prototypes(const Program *p, Names *taken, Text *out) {
  bool any = false;
  for (int k = 0; k < PROCEDURES; k++)
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      const Step *step = p->procedure[k].steps.at[i];
      if (step->kind != STEP_CALL || names_get(taken, step->call.function) >= 0) continue;
      if (!any)
        text_printf(out,
                    "// Functions of the user's: extents are those of this rank's part, which begins at `start`.\n");
      any = true;
      names_set(taken, step->call.function, 1);
      print_prototype(p, &step->call, out);
    }
  if (any) text_printf(out, "\n");
}

static const char *start_text(const Program *p, Extent start) {
  if (start.block < 0) return "0";
  const char *block = p->blocks.at[start.block].c_name;
  if (start.fixed == 1) return arena_printf(p->arena, "%s.lo", block);
  return arena_printf(p->arena, "%lld * %s.lo", (long long)start.fixed, block);
}

// "x_extent[] = {n.len, 10}, start[] = {n.lo}", and the names of these arrays: "NULL" where there is nothing to say.
static void print_arrays(const Program *p, const Call *c, const char **extents, const char **start, Text *out) {
  Names taken = {.arena = p->arena}; // blocks are read here
  for (int b = 0; b < p->blocks.len; b++) names_set(&taken, p->blocks.at[b].c_name, 1);
  const char *comma = "";
  for (int i = 0; i < c->args.len; i++) {
    const CallArg *arg = &c->args.at[i];
    extents[i] = "NULL";
    if (!arg->sized || p->tensors.at[arg->tensor].rank == 0) continue;
    const ProgTensor *t = &p->tensors.at[arg->tensor];
    extents[i] = name_unique(p->arena, &taken, extents_name(p, arg->name));
    text_printf(out, "%s%s[] = {", comma, extents[i]);
    for (int d = 0; d < t->rank; d++)
      text_printf(out, "%s%s", d > 0 ? ", " : "", name_extent(p->arena, p, t->extent[d]));
    text_printf(out, "}");
    comma = ", ";
  }
  *start = "NULL";
  if (c->starts.len == 0) return;
  *start = name_unique(p->arena, &taken, "start");
  text_printf(out, "%s%s[] = {", comma, *start);
  for (int i = 0; i < c->starts.len; i++) text_printf(out, "%s%s", i > 0 ? ", " : "", start_text(p, c->starts.at[i]));
  text_printf(out, "}");
}

void emit_call(const Program *p, const Call *c, int indent, Text *out) {
  const char *pad = arena_printf(p->arena, "%*s", indent, "");
  const char **extents = NEW_ARRAY(p->arena, const char *, c->args.len), *start;
  Text arrays = {.arena = p->arena};
  print_arrays(p, c, extents, &start, &arrays);
  text_printf(out, "%s{\n", pad);
  if (arrays.len > 0) text_printf(out, "%s  const long %s;\n", pad, text_str(&arrays));
  Line line = {out, out->len, indent + 2 + (int)strlen(c->function) + 1};
  text_printf(out, "%s  %s(parcc.compute", pad, c->function);
  for (int i = 0; i < c->args.len; i++) {
    const CallArg *arg = &c->args.at[i];
    put(&line, arg->tensor < 0 ? "NULL" : name_tensor(p->arena, p, arg->tensor));
    if (arg->sized) put(&line, extents[i]);
  }
  put(&line, start);
  for (int i = 0; i < c->attrs.len; i++) put(&line, name_number(p->arena, c->attrs.at[i].value, TYPE_REAL, true));
  text_printf(out, ");\n%s}\n", pad);
}
