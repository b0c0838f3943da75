// Machines: what is asked of them, and their text.
#include "machine.h"

#include "machine_units.h"

int machine_unit(const Machine *machine, int level) {
  int devices = 1;
  for (int l = 0; l <= level; l++) devices *= machine->level[l].count;
  return devices;
}

int machine_devices(const Machine *machine) { return machine_unit(machine, machine->n_levels - 1); }

const char *machine_unit_name(const Machine *machine, int level) {
  return level > 0 ? machine->level[level - 1].name : machine->device.name;
}

static bool hisses(const char *word) { // its plural is "boxes", not "boxs"
  static const char *const ends[] = {"s", "x", "z", "ch", "sh"};
  const size_t len = strlen(word);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (len > strlen(ends[i]) && str_eq(word + len - strlen(ends[i]), ends[i])) return true;
  return false;
}

// "4 nodes"
static const char *count_text(Arena *arena, int count, const char *unit) {
  return arena_printf(arena, "%d %s%s", count, unit, count == 1 ? "" : hisses(unit) ? "es" : "s");
}

const char *machine_devices_text(Arena *arena, const Machine *machine, int devices) {
  return arena_printf(arena, "%s of %s", count_text(arena, devices, "device"), machine->name);
}

const char *machine_levels_text(Arena *arena, const Machine *machine) {
  Text text = {.arena = arena};
  for (int l = machine->n_levels - 1; l >= 0; l--)
    text_printf(&text, "%s%s", text.len > 0 ? " of " : "", count_text(arena, machine->level[l].count, machine_unit_name(machine, l)));
  return text.len > 0 ? text_str(&text) : "one device";
}

const char *machine_lacks_text(Arena *arena, const Machine *machine, double need) {
  for (int digits = 3;; digits++) {
    const char *needs = arena_printf(arena, "%.*g", digits, need / GIB);
    const char *has = arena_printf(arena, "%.*g", digits, machine->device.memory / GIB);
    if (digits == 17 || !str_eq(needs, has)) return arena_printf(arena, "a device needs %s GiB and has %s GiB", needs, has);
  }
}

// ---- meshes --------------------------------------------------------------------------------------------------------

// The members in use at every level up to `level`: the fewest of the outermost that leave what the inner ones can divide.
static bool divide(const Machine *machine, int level, int devices, int *members) {
  if (level < 0) return devices == 1;
  const int room = machine_unit(machine, level - 1);
  for (int m = (devices + room - 1) / room; m <= machine->level[level].count && m <= devices; m++) {
    members[level] = m;
    if (devices % m == 0 && divide(machine, level - 1, devices / m, members)) return true;
  }
  return false;
}

static bool can_divide(const Machine *machine, int devices) {
  int members[MACHINE_MAX_LEVELS] = {0};
  return devices >= 1 && devices <= machine_devices(machine) &&
         divide(machine, machine->n_levels - 1, devices, members);
}

static void find_nearest(const Machine *machine, int devices, int nearest[2]) {
  const int all = machine_devices(machine);
  if (devices > all) devices = all + 1;
  if (devices < 1) devices = 0;
  for (nearest[0] = devices - 1; nearest[0] > 0 && !can_divide(machine, nearest[0]);) nearest[0]--;
  for (nearest[1] = devices + 1; nearest[1] <= all && !can_divide(machine, nearest[1]);) nearest[1]++;
  if (nearest[0] < 0) nearest[0] = 0;
  if (nearest[1] > all) nearest[1] = 0;
}

bool machine_mesh(const Machine *machine, int devices, Mesh *mesh, int nearest[2]) {
  *mesh = (Mesh){0};
  nearest[0] = nearest[1] = 0;
  if (!can_divide(machine, devices)) {
    find_nearest(machine, devices, nearest);
    return false;
  }
  int members[MACHINE_MAX_LEVELS] = {0};
  divide(machine, machine->n_levels - 1, devices, members);
  for (int l = machine->n_levels - 1; l >= 0; l--)
    if (members[l] > 1) mesh->axis[mesh->n_axes++] = (MeshAxis){machine_unit_name(machine, l), members[l]};
  if (mesh->n_axes == 0) mesh->axis[mesh->n_axes++] = (MeshAxis){machine->device.name, 1};
  return true;
}

int machine_on_node(const Machine *machine, int devices) {
  int members[MACHINE_MAX_LEVELS] = {0}, inner = 1;
  if (!can_divide(machine, devices)) return devices;
  divide(machine, machine->n_levels - 1, devices, members);
  for (int l = 0; l < machine->n_levels; l++) {
    if (str_eq(machine->level[l].name, "cluster")) return inner;
    inner *= members[l];
    if (str_eq(machine->level[l].name, "node")) return inner;
  }
  return devices;
}

// ---- printing ------------------------------------------------------------------------------------------------------

static void print_entries(const void *at, const MachineEntry *entry, int n, Text *out) {
  for (int i = 0; i < n; i++) {
    const double *value = (const double *)((const char *)at + entry[i].offset);
    text_printf(out, " %s = %s;", entry[i].word, quantity_text(out->arena, entry[i].quantity, *value));
  }
}

void machine_print(const Machine *machine, Text *out) {
  text_printf(out, "machine %s {\n  device %s {", machine->name, machine->device.name);
  print_entries(&machine->device, machine_device_entries, MACHINE_DEVICE_ENTRIES, out);
  text_printf(out, " }\n");
  for (int l = 0; l < machine->n_levels; l++) {
    const MachineLevel *level = &machine->level[l];
    text_printf(out, "  level %s = %d %s { link = %s;", level->name, level->count, machine_unit_name(machine, l),
                level->link);
    print_entries(level, machine_level_entries, MACHINE_LEVEL_ENTRIES, out);
    text_printf(out, "%s }\n", level->shared ? " shared;" : "");
  }
  text_printf(out, "}\n");
}
