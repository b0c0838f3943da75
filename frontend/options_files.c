// The files of a command line in one table: what is written must fall neither on what is read nor on what else is written.
#include <sys/stat.h>

#include "options.h"

typedef struct NamedFile {
  const char *option; // that names it
  const char *path;   // or "-": standard input, output
  const char *what;
  bool written;
} NamedFile;

typedef VEC(NamedFile) NamedFiles;

// MODEL_par.cu in the current folder.
static const char *default_program(Arena *arena, const char *model) {
  const char *slash = strrchr(model, '/'), *base = slash != NULL ? slash + 1 : model;
  const char *dot = strrchr(base, '.');
  const size_t len = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  return arena_printf(arena, "%.*s_par.cu", (int)len, str_eq(base, "-") ? "model" : base);
}

const char *options_program(Arena *arena, const Options *o) {
  if (o->out != NULL) return o->out;
  const bool reports = o->compare || o->explain != NULL || o->sweep.parameter != NULL || o->strategies != NULL || o->stats || o->show_plan;
  const bool others = o->plan_out != NULL || o->profile_out != NULL || o->dot != NULL || o->report != NULL || o->trace != NULL || o->emit_problem != NULL || o->stop_after != NULL;
  return reports || others ? NULL : default_program(arena, o->model);
}

const char *options_dump(Arena *arena, const Options *o, const DriverStage *stages, int stage) {
  return arena_printf(arena, "%s/%02d.%s.txt", o->dump_dir, stage, stages[stage].name);
}

static bool same_inode(const struct stat *a, const struct stat *b) { return a->st_dev == b->st_dev && a->st_ino == b->st_ino; }

// Whether the folders of both are one, and their names in it are, too.
static bool same_entry(Arena *arena, const char *a, const char *b) {
  const char *const path[2] = {a, b}, *base[2];
  struct stat folder[2];
  for (int i = 0; i < 2; i++) {
    const char *slash = strrchr(path[i], '/');
    base[i] = slash != NULL ? slash + 1 : path[i];
    if (stat(arena_printf(arena, "%.*s.", (int)(base[i] - path[i]), path[i]), &folder[i]) != 0) return str_eq(a, b);
  }
  return same_inode(&folder[0], &folder[1]) && str_eq(base[0], base[1]);
}

// Whether what is written to one is lost or read in the other: devices such as /dev/null may be named twice.
static bool same_file(Arena *arena, const char *a, const char *b) {
  struct stat of_a, of_b;
  if (str_eq(a, "-") || str_eq(b, "-")) return str_eq(a, b);
  const bool is_a = stat(a, &of_a) == 0, is_b = stat(b, &of_b) == 0;
  if (is_a != is_b) return false;
  return is_a ? S_ISREG(of_a.st_mode) && same_inode(&of_a, &of_b) : same_entry(arena, a, b);
}

static void add_file(Arena *arena, NamedFiles *files, const char *option, const char *path, const char *what, bool written) {
  if (path != NULL) vec_push(arena, files, (NamedFile){option, path, what, written});
}

static NamedFiles list_files(Arena *arena, const Options *o, const DriverStage *stages, int n_stages) {
  NamedFiles files = {0};
  add_file(arena, &files, "the model", o->model, "the model", false);
  add_file(arena, &files, "--machine", o->machine_file, "the machine", false);
  add_file(arena, &files, "--profile", o->profile_in, "the profile that is read", false);
  add_file(arena, &files, "--data-stats", o->data_stats_in, "the counts that are read", false);
  add_file(arena, &files, "--plan-in", o->plan_in, "the plan that is read", false);
  add_file(arena, &files, o->out != NULL ? "-o" : "the default -o", options_program(arena, o), "the program", true);
  add_file(arena, &files, "--plan-out", o->plan_out, "the plan", true);
  add_file(arena, &files, "--profile-out", o->profile_out, "the profile", true);
  add_file(arena, &files, "--dot", o->dot, "the drawing", true);
  add_file(arena, &files, "--report", o->report, "the report", true);
  add_file(arena, &files, "--trace", o->trace, "the trace", true);
  add_file(arena, &files, "--emit-problem", o->emit_problem, "the problem", true);
  for (int i = 0; o->dump_dir != NULL && i < n_stages; i++)
    add_file(arena, &files, "--dump-dir", options_dump(arena, o, stages, i), "a dump", true);
  return files;
}

static int check_pair(Arena *arena, const NamedFile *before, const NamedFile *file) {
  if (!same_file(arena, before->path, file->path)) return -1;
  if (!str_eq(file->path, "-")) {
    return file->written ? misuse("%s %s: %s would overwrite %s", file->option, file->path, file->what, before->what) : -1;
  }
  if (file->written != before->written) return -1; // standard input and standard output
  if (file->written) return misuse("%s -: standard output is taken by %s", file->option, before->option);
  return misuse("%s -: standard input is %s already", file->option, before->what);
}

int options_check_files(Arena *arena, const Options *o, const DriverStage *stages, int n_stages) {
  const NamedFiles files = list_files(arena, o, stages, n_stages);
  const char *printed = o->stats ? "--stats" : o->show_plan ? "--show-plan" : o->dump_after.len > 0 ? "--dump-after" : NULL;
  for (int i = 0; i < files.len; i++) {
    const NamedFile *file = &files.at[i];
    if (file->written && printed != NULL && str_eq(file->path, "-"))
      return misuse("%s -: standard output is taken by %s", file->option, printed);
    for (int k = 0; k < i; k++) {
      const int code = check_pair(arena, &files.at[k], file);
      if (code >= 0) return code;
    }
  }
  return -1;
}
