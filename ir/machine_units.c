#include "machine_units.h"

#include <stdlib.h>

const MachineUnit machine_units[] = {
    {"FLOP/s", QUANTITY_RATE, 1, 1, true},
    {"kFLOP/s", QUANTITY_RATE, 1e3, 1, true},
    {"MFLOP/s", QUANTITY_RATE, 1e6, 1, true},
    {"GFLOP/s", QUANTITY_RATE, 1e9, 1, true},
    {"TFLOP/s", QUANTITY_RATE, 1e12, 1, true},
    {"PFLOP/s", QUANTITY_RATE, 1e15, 1, true},
    {"B/s", QUANTITY_BANDWIDTH, 1, 1, true},
    {"kB/s", QUANTITY_BANDWIDTH, 1e3, 1, true},
    {"MB/s", QUANTITY_BANDWIDTH, 1e6, 1, true},
    {"GB/s", QUANTITY_BANDWIDTH, 1e9, 1, true},
    {"TB/s", QUANTITY_BANDWIDTH, 1e12, 1, true},
    {"KiB/s", QUANTITY_BANDWIDTH, 1024, 1, false},
    {"MiB/s", QUANTITY_BANDWIDTH, 1048576, 1, false},
    {"GiB/s", QUANTITY_BANDWIDTH, 1073741824, 1, false},
    {"TiB/s", QUANTITY_BANDWIDTH, 1099511627776, 1, false},
    {"kb/s", QUANTITY_BANDWIDTH, 1e3, 8, false},
    {"Mb/s", QUANTITY_BANDWIDTH, 1e6, 8, false},
    {"Gb/s", QUANTITY_BANDWIDTH, 1e9, 8, false},
    {"Tb/s", QUANTITY_BANDWIDTH, 1e12, 8, false},
    {"B", QUANTITY_MEMORY, 1, 1, true},
    {"kB", QUANTITY_MEMORY, 1e3, 1, true},
    {"MB", QUANTITY_MEMORY, 1e6, 1, true},
    {"GB", QUANTITY_MEMORY, 1e9, 1, true},
    {"TB", QUANTITY_MEMORY, 1e12, 1, true},
    {"KiB", QUANTITY_MEMORY, 1024, 1, true},
    {"MiB", QUANTITY_MEMORY, 1048576, 1, true},
    {"GiB", QUANTITY_MEMORY, 1073741824, 1, true},
    {"TiB", QUANTITY_MEMORY, 1099511627776, 1, true},
    {"s", QUANTITY_TIME, 1, 1, true},
    {"ms", QUANTITY_TIME, 1, 1e3, true},
    {"us", QUANTITY_TIME, 1, 1e6, true},
    {"ns", QUANTITY_TIME, 1, 1e9, true},
};
const int machine_units_len = sizeof machine_units / sizeof machine_units[0];

const QuantityInfo quantity_info[QUANTITIES] = {
    [QUANTITY_RATE] = {"a rate of operations", "TFLOP/s", 1e6, 1e18},
    [QUANTITY_BANDWIDTH] = {"a bandwidth", "GB/s", 1e3, 1e17},
    [QUANTITY_MEMORY] = {"an amount of memory", "GiB", 1e6, 1e16},
    [QUANTITY_TIME] = {"a time", "us", 1e-12, 10},
};

const MachineEntry machine_device_entries[MACHINE_DEVICE_ENTRIES] = {
    {"f32", QUANTITY_RATE, offsetof(MachineDevice, f32)},
    {"f64", QUANTITY_RATE, offsetof(MachineDevice, f64)},
    {"memory", QUANTITY_MEMORY, offsetof(MachineDevice, memory)},
    {"bandwidth", QUANTITY_BANDWIDTH, offsetof(MachineDevice, bandwidth)},
    {"launch", QUANTITY_TIME, offsetof(MachineDevice, launch)},
};

const MachineEntry machine_level_entries[MACHINE_LEVEL_ENTRIES] = {
    {"bandwidth", QUANTITY_BANDWIDTH, offsetof(MachineLevel, bandwidth)},
    {"latency", QUANTITY_TIME, offsetof(MachineLevel, latency)},
};

static bool has_exponent(const char *text) { return strpbrk(text, "eE") != NULL; } // no unit has an "e" in its name

// The fewest digits that give the value back, without an exponent where that is possible; NULL where none do.
static const char *text_in(Arena *arena, const MachineUnit *unit, double value) {
  const char *found = NULL;
  for (int digits = 1; digits <= 17; digits++) {
    const char *number = arena_printf(arena, "%.*g", digits, value / unit->scale * unit->divisor);
    if (machine_unit_value(unit, strtod(number, NULL)) != value) continue;
    const char *text = arena_printf(arena, "%s %s", number, unit->name);
    if (!has_exponent(text)) return text;
    if (found == NULL) found = text;
  }
  return found;
}

static bool is_nicer(const char *text, const char *than) {
  if (has_exponent(text) != has_exponent(than)) return has_exponent(than);
  return strlen(text) < strlen(than);
}

const char *quantity_text(Arena *arena, Quantity quantity, double value) {
  const char *best = NULL;
  for (int i = 0; i < machine_units_len; i++) {
    if (machine_units[i].quantity != quantity || !machine_units[i].printed) continue;
    const char *text = text_in(arena, &machine_units[i], value);
    if (text != NULL && (best == NULL || is_nicer(text, best))) best = text;
  }
  if (best == NULL) fatal("no unit writes %a", value);
  return best;
}
