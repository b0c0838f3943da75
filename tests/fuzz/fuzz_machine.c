// Fuzzer of machine files: any bytes. There must be no crash, no leak, no sanitizer's complaint, and either problems, each with
// a place, or a machine that reads the same after it was printed, and has a mesh for all of its devices.
#include "ir/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *printed(Arena *arena, const Machine *machine) {
  Text text = {.arena = arena};
  machine_print(machine, &text);
  return text_str(&text);
}

static void check_print(Arena *arena, const Machine *machine) {
  Problems problems = {.arena = arena};
  const char *text = printed(arena, machine);
  const Machine again = machine_read("again.machine", text, strlen(text), &problems);
  if (problems.list.len > 0 || !str_eq(text, printed(arena, &again)))
    fatal("a machine changes when it is written and read: %s", text);
}

static void check_mesh(const Machine *machine, int devices, bool works) {
  Mesh mesh;
  int nearest[2];
  const bool found = machine_mesh(machine, devices, &mesh, nearest);
  if (works && !found) fatal("%d devices have no mesh", devices);
  if (found && mesh_ranks(&mesh) != devices) fatal("the mesh of %d devices is for %d", devices, mesh_ranks(&mesh));
  if (!found && nearest[0] > 0) check_mesh(machine, nearest[0], true);
  if (!found && nearest[1] > 0) check_mesh(machine, nearest[1], true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *arena = arena_new();
  Problems problems = {.arena = arena};
  const Machine machine = machine_read("fuzz.machine", (const char *)data, size, &problems);
  for (int i = 0; i < problems.list.len; i++)
    if (problems.list.at[i].loc.line == 0) fatal("a problem without a place: %s", problems.list.at[i].text);
  if (problems.list.len == 0) {
    check_print(arena, &machine);
    check_mesh(&machine, machine_devices(&machine), true);
    check_mesh(&machine, 1, true);
    check_mesh(&machine, (int)(size * 31 % 100), false);
  }
  arena_free(arena);
  return 0;
}
