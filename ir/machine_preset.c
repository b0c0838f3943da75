// The machines that parcc knows by name.
#include "machine.h"

const char *machine_preset_name(Arena *arena, int preset) {
  const char *name = strrchr(machine_presets[preset].name, '/') + 1;
  return arena_strndup(arena, name, (size_t)(strrchr(name, '.') - name));
}

const char *machine_preset_summary(Arena *arena, int preset) {
  const char *text = machine_presets[preset].text + strspn(machine_presets[preset].text, "# ");
  return arena_strndup(arena, text, strcspn(text, "\n"));
}

const Machine *machine_preset(Arena *arena, const char *name) {
  for (int i = 0; i < machine_presets_len; i++) {
    if (!str_eq(machine_preset_name(arena, i), name)) continue;
    Problems problems = {.arena = arena};
    Machine *machine = NEW(arena, Machine);
    *machine = machine_read(machine_presets[i].name, machine_presets[i].text, machine_presets[i].len, &problems);
    if (problems.list.len > 0) fatal("the machine '%s': %s", name, problems.list.at[0].text);
    return machine;
  }
  return NULL;
}
