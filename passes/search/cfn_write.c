#include "cfn_write.h"

#include "cfn_views.h"

// ---- views ---------------------------------------------------------------------------------------------------------

// Entries of a table over values that is written: toulbar2 takes longer for the variables that it spares than for so few, and is
// slower again with some ten times as many.
enum { EXPANDED = 1000 };

static int add_view(CfnViews *views, Arena *arena, const CfnFunction *f, int arg) {
  const int var = f->var[arg], n_values = views->list.at[var].n;
  for (int v = views->list.at[var].next; v >= 0; v = views->list.at[v].next) {
    const CfnView *view = &views->list.at[v];
    if (view->n == f->n_classes[arg] && memcmp(view->class_of, f->class_of[arg], sizeof(int) * (size_t)n_values) == 0) return v;
  }
  vec_push(arena, &views->list, (CfnView){var, f->n_classes[arg], f->class_of[arg], views->list.at[var].next});
  return views->list.at[var].next = views->list.len - 1;
}

static bool is_small(const CfnViews *views, const CfnFunction *f) {
  int64_t size = 1;
  for (int i = 0; i < f->arity; i++) {
    size *= views->list.at[f->var[i]].n;
    if (size > EXPANDED) return false;
  }
  return true;
}

CfnViews cfn_views(const Cfn *cfn, Arena *arena) {
  CfnViews views = {.cfn = cfn};
  for (int x = 0; x < cfn->variables.len; x++) vec_push(arena, &views.list, (CfnView){x, cfn->variables.at[x].n_values, NULL, -1});
  for (int i = 0; i < cfn->functions.len; i++) {
    const CfnFunction *f = &cfn->functions.at[i];
    int *of = NEW_ARRAY(arena, int, f->arity);
    const bool small = is_small(&views, f);
    for (int arg = 0; arg < f->arity; arg++) of[arg] = small ? f->var[arg] : add_view(&views, arena, f, arg);
    vec_push(arena, &views.of, of);
  }
  return views;
}

int64_t cfn_views_size(const CfnViews *views, int function) {
  int64_t size = 1;
  for (int i = 0; i < views->cfn->functions.at[function].arity; i++) size *= views->list.at[views->of.at[function][i]].n;
  return size;
}

void cfn_views_values(const CfnViews *views, int function, int64_t entry, int *value) {
  for (int i = views->cfn->functions.at[function].arity - 1; i >= 0; i--) {
    const int n = views->list.at[views->of.at[function][i]].n;
    value[i] = (int)(entry % n);
    entry /= n;
  }
}

double cfn_views_cost(const CfnViews *views, int function, const int *value) {
  const CfnFunction *f = &views->cfn->functions.at[function];
  int64_t at = 0;
  for (int i = 0; i < f->arity; i++) {
    const bool is_class = views->list.at[views->of.at[function][i]].class_of != NULL;
    at = at * f->n_classes[i] + (is_class ? value[i] : f->class_of[i][value[i]]);
  }
  return f->cost[at];
}

// ---- files ---------------------------------------------------------------------------------------------------------

void cfn_write_name(FILE *out, const char *name) {
  for (const char *c = name; *c != '\0'; c++) {
    const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.';
    fputc(plain ? *c : '_', out);
  }
}

bool cfn_format_of(const char *path, CfnFormat *format) {
  static const char *const ends[] = {[CFN_FORMAT_TOULBAR2] = ".cfn", [CFN_FORMAT_LP] = ".lp"};
  const char *dot = strrchr(path, '.');
  for (int i = 0; i < 2 && dot != NULL; i++)
    if (str_eq(dot, ends[i])) return *format = (CfnFormat)i, true;
  return false;
}

int64_t cfn_write_entries(const Cfn *cfn) {
  Arena *arena = arena_new();
  const CfnViews views = cfn_views(cfn, arena);
  int64_t entries = 0;
  for (int v = 0; v < views.list.len; v++) entries += views.list.at[views.list.at[v].var].n;
  for (int i = 0; i < cfn->functions.len; i++) entries += cfn_views_size(&views, i);
  arena_free(arena);
  return entries;
}

void cfn_write(FILE *out, const Cfn *cfn, CfnFormat format, const char *name, double scale) {
  Arena *arena = arena_new();
  const CfnViews views = cfn_views(cfn, arena);
  if (format == CFN_FORMAT_TOULBAR2) cfn_write_toulbar2(out, &views, name, scale);
  else cfn_write_lp(out, &views, name, scale);
  arena_free(arena);
}
