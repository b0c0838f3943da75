// --machine: from a name or a file to the machine, and from it to the mesh; and what was measured, on it and in data.
#include "../ir/suggest.h"
#include "diag.h"
#include "options.h"
#include "output.h"

static int print_list(Arena *arena) {
  printf("%-10s %7s\n", "machine", "devices");
  for (int i = 0; i < machine_presets_len; i++) {
    const char *name = machine_preset_name(arena, i);
    printf("%-10s %7d  %s\n", name, machine_devices(machine_preset(arena, name)), machine_preset_summary(arena, i));
  }
  return EXIT_RIGHT;
}

static int no_such_machine(Arena *arena, const char *name) {
  Strings names = {0};
  for (int i = 0; i < machine_presets_len; i++) vec_push(arena, &names, machine_preset_name(arena, i));
  vec_push(arena, &names, "list");
  const char *nearest = suggest_nearest(name, names.at, names.len);
  if (nearest != NULL) return misuse("--machine: there is no machine '%s'; did you mean '%s'?", name, nearest);
  return misuse("--machine: there is no machine '%s'; --machine=list prints those there are, and the name of a file has a '.' or a '/'",
                        name);
}

int options_take_machine(Arena *arena, const char *value, Options *options) {
  if (str_eq(value, "list")) return print_list(arena);
  options->machine = machine_preset(arena, value);
  if (options->machine != NULL) return -1;
  if (strpbrk(value, "./") == NULL) return no_such_machine(arena, value);
  size_t len;
  const char *text = input_source(arena, value, value, &len);
  if (text == NULL) return EXIT_INPUT;
  Problems problems = {.arena = arena};
  Machine *machine = NEW(arena, Machine);
  *machine = machine_read(value, text, len, &problems);
  options->machine = machine;
  options->machine_file = value;
  return diag_problems(&problems) ? EXIT_INPUT : -1;
}

int options_take_profile(Arena *arena, const char *path, Options *options) {
  size_t len;
  const char *text = input_source(arena, path, path, &len);
  if (text == NULL) return EXIT_INPUT;
  Problems problems = {.arena = arena};
  Profile *profile = NEW(arena, Profile);
  *profile = profile_read(path, text, len, &problems);
  options->profile = profile;
  options->profile_in = path;
  return diag_problems(&problems) ? EXIT_INPUT : -1;
}

int options_take_data_stats(Arena *arena, const char *path, Options *options) {
  size_t len;
  const char *text = input_source(arena, path, path, &len);
  if (text == NULL) return EXIT_INPUT;
  Problems problems = {.arena = arena};
  DataStats *stats = NEW(arena, DataStats);
  *stats = data_stats_read(path, text, len, &problems);
  options->data_stats = stats;
  options->data_stats_in = path;
  return diag_problems(&problems) ? EXIT_INPUT : -1;
}

int options_attach_profile(Arena *arena, Options *o) {
  if ((o->profile != NULL || o->profile_out != NULL) && o->machine == NULL)
    return misuse("%s needs --machine: it is about the times of its devices", o->profile != NULL ? "--profile" : "--profile-out");
  if (o->profile == NULL) return -1;
  Machine *measured = NEW(arena, Machine);
  *measured = *o->machine;
  measured->profile = o->profile;
  o->machine = measured;
  return -1;
}

const char *options_mesh_of(Arena *arena, const Machine *machine, int64_t devices, Mesh *mesh) {
  const int all = machine_devices(machine);
  int nearest[2];
  if (devices > all)
    return arena_printf(arena, "%lld devices are asked for, the machine '%s' has %d", (long long)devices, machine->name, all);
  if (machine_mesh(machine, (int)devices, mesh, nearest)) return NULL;
  return arena_printf(arena, "%lld devices cannot be the same number on each unit of '%s' (%s); %d and %d can", (long long)devices,
                      machine->name, machine_levels_text(arena, machine), nearest[0], nearest[1]);
}

int options_fit_machine(Arena *arena, Options *o) {
  const int all = machine_devices(o->machine), devices = o->ranks_given ? mesh_ranks(&o->mesh) : all;
  if (o->mesh_given && devices <= all) return -1;
  const char *wrong = options_mesh_of(arena, o->machine, devices, &o->mesh);
  if (wrong == NULL) return -1;
  return misuse("%s%s", wrong, devices <= all ? ", or any with --mesh" : "");
}
