#include "../../ir/machine.h"
#include "check.h"

static Machine read(Arena *arena, const char *text, Problems *problems) {
  *problems = (Problems){.arena = arena};
  return machine_read("a.machine", text, strlen(text), problems);
}

static const char *printed(Arena *arena, const Machine *machine) {
  Text text = {.arena = arena};
  machine_print(machine, &text);
  return text_str(&text);
}

static const char text_of_three[] =
    "# a comment\nmachine three-levels{device gpu{launch=5us;f32=9.3 TFLOP/s;f64 = 4.7e3 GFLOP/s;\r\n"
    "memory = 16GiB; bandwidth = 732 GB/s;} # here, too\n"
    "level node = 4 gpu { link = nv-link2; bandwidth = 100 Gb/s; latency = 0.25 ms; }\n"
    "level rack = 3 node { shared; latency = 8 us; bandwidth = 25 MiB/s; link = ib; }\n"
    "level row = 1 rack { latency = 123456789 ns; bandwidth = 0.1 GB/s; link = _; } }";

static void a_machine_is_read(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Machine m = read(arena, text_of_three, &problems);
  CHECK_INT(problems.list.len, 0);
  CHECK_STR(m.name, "three-levels");
  CHECK_STR(m.device.name, "gpu");
  CHECK(m.device.f32 == 9.3e12 && m.device.f64 == 4.7e12 && m.device.memory == 17179869184.0);
  CHECK(m.device.bandwidth == 732e9 && m.device.launch == 5e-6);
  CHECK_INT(m.n_levels, 3);
  CHECK_STR(m.level[0].link, "nv-link2");
  CHECK(m.level[0].bandwidth == 12.5e9 && m.level[0].latency == 0.25e-3 && !m.level[0].shared);
  CHECK(m.level[1].count == 3 && m.level[1].shared && m.level[1].bandwidth == 25.0 * 1024 * 1024);
  CHECK(m.level[2].latency == 0.123456789);
  CHECK_STR(machine_unit_name(&m, 0), "gpu");
  CHECK_STR(machine_unit_name(&m, 2), "rack");
  CHECK_INT(machine_devices(&m), 12);
  CHECK_INT(machine_unit(&m, -1), 1);
  CHECK_INT(machine_unit(&m, 0), 4);
  CHECK_INT(machine_unit(&m, 1), 12);
  arena_free(arena);
}

static void a_machine_prints_as_it_is_read(void) {
  Arena *arena = arena_new();
  Problems problems;
  const Machine m = read(arena, text_of_three, &problems);
  CHECK_STR(
      printed(arena, &m),
      "machine three-levels {\n"
      "  device gpu { f32 = 9.3 TFLOP/s; f64 = 4.7 TFLOP/s; memory = 16 GiB; bandwidth = 732 GB/s; launch = 5 us; }\n"
      "  level node = 4 gpu { link = nv-link2; bandwidth = 12.5 GB/s; latency = 250 us; }\n"
      "  level rack = 3 node { link = ib; bandwidth = 26214400 B/s; latency = 8 us; shared; }\n"
      "  level row = 1 rack { link = _; bandwidth = 100 MB/s; latency = 123456789 ns; }\n"
      "}\n");
  const Machine again = read(arena, printed(arena, &m), &problems);
  CHECK_INT(problems.list.len, 0);
  CHECK_STR(printed(arena, &again), printed(arena, &m));
  arena_free(arena);
}

// Values drawn over the whole range, with all their digits.
static void no_bit_is_lost_in_print(void) {
  Arena *arena = arena_new();
  Problems problems;
  Machine m = read(arena, text_of_three, &problems);
  uint64_t bits = 1;
  for (int i = 0; i < 2000; i++) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double unit = 1 + (double)(bits >> 12) / 4503599627370496.0; // [1, 2)
    m.device.f32 = unit * (double)(1ull << (20 + i % 39));
    m.device.memory = unit * (double)(1ull << (20 + i % 32));
    m.device.bandwidth = unit * (double)(1ull << (10 + i % 46));
    m.device.launch = unit / (double)(1ull << (i % 39));
    const Machine again = read(arena, printed(arena, &m), &problems);
    CHECK(problems.list.len == 0 && again.device.f32 == m.device.f32 && again.device.memory == m.device.memory &&
          again.device.bandwidth == m.device.bandwidth && again.device.launch == m.device.launch);
    arena_reset(problems.arena);
    m = read(arena, text_of_three, &problems);
  }
  arena_free(arena);
}

static Machine of_counts(int n, const int *count) {
  static const char *const names[] = {"node", "rack", "row", "hall", "site"};
  Machine m = {.name = "m", .device = {.name = "gpu"}, .n_levels = n};
  for (int l = 0; l < n; l++) m.level[l] = (MachineLevel){.name = names[l], .link = "x", .count = count[l]};
  return m;
}

// "node=2,gpu=6", or "6 or 8" where nothing divides the devices.
static const char *mesh_of(Arena *arena, const Machine *m, int devices) {
  Mesh mesh;
  int nearest[2];
  if (!machine_mesh(m, devices, &mesh, nearest)) return arena_printf(arena, "%d or %d", nearest[0], nearest[1]);
  CHECK_INT(mesh_ranks(&mesh), devices);
  return mesh_text(arena, &mesh);
}

static void meshes_follow_from_machines(void) {
  Arena *arena = arena_new();
  const Machine m = of_counts(2, (int[]){8, 4}), one = of_counts(0, NULL), odd = of_counts(3, (int[]){3, 1, 5});
  CHECK_STR(mesh_of(arena, &m, 1), "gpu=1");
  CHECK_STR(mesh_of(arena, &m, 2), "gpu=2");
  CHECK_STR(mesh_of(arena, &m, 7), "gpu=7");
  CHECK_STR(mesh_of(arena, &m, 8), "gpu=8");
  CHECK_STR(mesh_of(arena, &m, 9), "node=3,gpu=3");
  CHECK_STR(mesh_of(arena, &m, 12), "node=2,gpu=6");
  CHECK_STR(mesh_of(arena, &m, 32), "node=4,gpu=8");
  CHECK_STR(mesh_of(arena, &m, 11), "10 or 12");
  CHECK_STR(mesh_of(arena, &m, 31), "28 or 32");
  CHECK_STR(mesh_of(arena, &m, 33), "32 or 0");
  CHECK_STR(mesh_of(arena, &m, 2147483647), "32 or 0");
  CHECK_STR(mesh_of(arena, &m, 0), "0 or 1");
  CHECK_STR(mesh_of(arena, &m, -5), "0 or 1");
  const Machine *presets[] = {machine_preset(arena, "titanxp8x6"), machine_preset(arena, "pcie4")};
  CHECK_INT(machine_on_node(presets[0], 48), 6);
  CHECK_INT(machine_on_node(presets[0], 4), 4);
  CHECK_INT(machine_on_node(presets[0], 8), 4); // of two nodes
  CHECK_INT(machine_on_node(presets[1], 4), 4);
  CHECK_STR(mesh_of(arena, &one, 1), "gpu=1");
  CHECK_STR(mesh_of(arena, &one, 2), "1 or 0");
  CHECK_STR(mesh_of(arena, &odd, 15), "rack=5,gpu=3");
  CHECK_STR(mesh_of(arena, &odd, 5), "rack=5");
  CHECK_STR(mesh_of(arena, &odd, 7), "6 or 8");
  arena_free(arena);
}

// Where a mesh exists it uses no more members than there are, and where none does, none could.
static bool some_product(const Machine *m, int level, int devices) {
  if (level < 0) return devices == 1;
  for (int c = 1; c <= m->level[level].count; c++)
    if (devices % c == 0 && some_product(m, level - 1, devices / c)) return true;
  return false;
}

static void every_number_of_devices_is_answered(void) {
  Arena *arena = arena_new();
  const Machine machines[] = {of_counts(1, (int[]){12}), of_counts(3, (int[]){2, 3, 7}), of_counts(3, (int[]){5, 1, 6}),
                              of_counts(5, (int[]){2, 3, 2, 3, 2}), of_counts(2, (int[]){8, 512})};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    const Machine *m = &machines[i];
    for (int devices = 1; devices <= machine_devices(m); devices++) {
      Mesh mesh;
      int nearest[2];
      const bool found = machine_mesh(m, devices, &mesh, nearest);
      if (found != some_product(m, m->n_levels - 1, devices)) check_fail("%d devices of machine %zu", devices, i);
      if (found) CHECK_INT(mesh_ranks(&mesh), devices);
      else CHECK(nearest[0] < devices && nearest[1] > devices);
      for (int a = 0; a < mesh.n_axes; a++)
        for (int l = 0; l < m->n_levels; l++)
          if (str_eq(mesh.axis[a].name, machine_unit_name(m, l))) CHECK(mesh.axis[a].size <= m->level[l].count);
    }
  }
  arena_free(arena);
}

static void no_text_breaks_the_reader(void) {
  Arena *arena = arena_new();
  Problems problems;
  const char *texts[] = {"",
                         "\n",
                         "#",
                         "machine",
                         "machine m",
                         "machine m {",
                         "machine m }",
                         "machine m {}",
                         "level",
                         "}",
                         "machine m { device",
                         "machine m { device x",
                         "machine m { device x {",
                         "machine m { level",
                         "machine m { x }"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    read(arena, texts[i], &problems);
    if (problems.list.len != 1 || problems.list.at[0].loc.line < 1)
      check_fail("%d problems with '%s'", problems.list.len, texts[i]);
  }
  // A text that ends anywhere, and one with any byte anywhere.
  char text[sizeof text_of_three];
  for (size_t i = 0; i + 1 < sizeof text; i++) {
    problems = (Problems){.arena = arena};
    machine_read("a.machine", text_of_three, i, &problems);
    CHECK(problems.list.len > 0 && problems.list.at[0].loc.line > 0);
    memcpy(text, text_of_three, sizeof text);
    text[i] = (char)(i * 7);
    problems = (Problems){.arena = arena};
    machine_read("a.machine", text, sizeof text - 1, &problems);
  }
  Text many = {.arena = arena};
  text_printf(&many, "machine m { device x { ");
  for (int i = 0; i < 1000; i++) text_printf(&many, "x%d = 3; ", i);
  read(arena, text_str(&many), &problems);
  CHECK(problems_are_many(&problems) && problems.list.len < 100);
  arena_free(arena);
}

static void presets_are_machines(void) {
  Arena *arena = arena_new();
  Problems problems;
  CHECK(machine_presets_len >= 12);
  for (int i = 0; i < machine_presets_len; i++) {
    const char *name = machine_preset_name(arena, i);
    const Machine *m = machine_preset(arena, name);
    CHECK_STR(m->name, name);
    CHECK_STR(m->device.name, "gpu"); // one plan is for machines of one shape
    CHECK(machine_preset_summary(arena, i)[0] != '\0');
    const Machine again = read(arena, printed(arena, m), &problems);
    CHECK_INT(problems.list.len, 0);
    CHECK_STR(printed(arena, &again), printed(arena, m));
  }
  CHECK_INT(machine_devices(machine_preset(arena, "dgx-h100")), 4096);
  CHECK(machine_preset(arena, "p100x4x4")->level[1].bandwidth == 12.5e9);
  CHECK(machine_preset(arena, "nothing") == NULL);
  arena_free(arena);
}

static void what_is_lacking_can_be_seen(void) {
  Arena *arena = arena_new();
  const Machine m = {.device.memory = 8e9};
  CHECK_STR(machine_lacks_text(arena, &m, 16.0 * GIB), "a device needs 16 GiB and has 7.45 GiB");
  CHECK_STR(machine_lacks_text(arena, &m, 8.001e9), "a device needs 7.452 GiB and has 7.451 GiB");
  CHECK_STR(machine_lacks_text(arena, &m, 8e9 + 1), "a device needs 7.450580598 GiB and has 7.450580597 GiB");
  arena_free(arena);
}

CHECKS(TEST(a_machine_is_read), TEST(a_machine_prints_as_it_is_read), TEST(no_bit_is_lost_in_print),
       TEST(meshes_follow_from_machines), TEST(every_number_of_devices_is_answered), TEST(no_text_breaks_the_reader),
       TEST(presets_are_machines), TEST(what_is_lacking_can_be_seen))
