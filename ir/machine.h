// A machine: a tree of levels (nodes, racks) over devices of one kind, each level with the links between what it joins.
//
// As text (samples/machines/), every constant with its unit:
//
//     machine p100x4x4 {                  # a comment says where each constant comes from
//       device gpu { f32 = 9.3 TFLOP/s; f64 = 4.7 TFLOP/s; memory = 16 GiB; bandwidth = 732 GB/s; launch = 5 us; }
//       level node    = 4 gpu  { link = nvlink; bandwidth = 40 GB/s; latency = 5 us; }               # of every device, each way
//       level cluster = 4 node { link = infiniband; bandwidth = 100 Gb/s; latency = 8 us; shared; } # of every node, for all in it
//     }
//
// The names of the device and of all levels but the last are those of the axes of its mesh: node=4,gpu=4. Where one host ends is told by the
// names, too: the level "node" has the devices of one host, a level "cluster" joins hosts.
#ifndef PARCC_IR_MACHINE_H
#define PARCC_IR_MACHINE_H

#include "layout.h"
#include "problems.h"

enum { MACHINE_MAX_LEVELS = 5 };
#define GIB (1024.0 * 1024 * 1024) // bytes: in what reports give memory

typedef struct MachineDevice {
  const char *name;
  double f32, f64;   // floating-point operations per second of large matrix products
  double bandwidth;  // bytes per second of its memory
  double memory;     // bytes that a program may use
  double launch;     // seconds that any kernel takes at least
} MachineDevice;

// `count` devices or units of the level below, joined by links.
typedef struct MachineLevel {
  const char *name, *link;
  int count;
  double bandwidth;  // bytes per second, each way
  double latency;    // seconds from one end to the other
  bool shared;       // one link for all devices of a unit; else one for every device
} MachineLevel;

typedef struct Machine {
  const char *name;
  MachineDevice device;
  int n_levels;
  MachineLevel level[MACHINE_MAX_LEVELS]; // from the devices outwards: level[0] joins devices
  const struct Profile *profile; // times that were measured on it; NULL: none
} Machine;

int machine_devices(const Machine *machine);
// Devices in one unit of the level: 1 for the devices themselves (level -1), level[0].count for level 0, ...
int machine_unit(const Machine *machine, int level);
// What the level joins: the name of the level below, or of the device.
const char *machine_unit_name(const Machine *machine, int level);
const char *machine_devices_text(Arena *arena, const Machine *machine, int devices); // "8 devices of p100x4x4"
const char *machine_levels_text(Arena *arena, const Machine *machine);               // "4 nodes of 4 gpus"
// What of a device's memory is too much for it, in as many digits as tell the two apart: "a device needs 8.12 GiB and has 7.45 GiB".
const char *machine_lacks_text(Arena *arena, const Machine *machine, double need);
// The mesh of that many of its devices: an axis for every level that has more than one member, slowest first. As few units
// of the outer levels as divide them evenly: 12 devices on nodes of 8 are node=2,gpu=6. False where nothing divides them, or
// the machine has fewer: nearest[] are then the next smaller and larger numbers that work, 0 for none.
bool machine_mesh(const Machine *machine, int devices, Mesh *mesh, int nearest[2]);

// How many of so many devices are on one host, if each has as many; all, where no level says what a host is.
int machine_on_node(const Machine *machine, int devices);

// The text of a machine; reading it gives the same machine, to the last bit.
void machine_print(const Machine *machine, Text *out);
// Reads a text of any bytes. `name` is what places are called by. Mistakes are added to `problems`, whose arena holds the
// machine; where there are none, all of it is there, finite, positive, and has at most MESH_MAX_RANKS devices.
Machine machine_read(const char *name, const char *text, size_t len, Problems *problems);

// The machines of samples/machines, embedded in the binary.
typedef struct MachinePreset {
  const char *name, *text; // of the file
  size_t len;
} MachinePreset;
extern const MachinePreset machine_presets[];
extern const int machine_presets_len;
// "p100x4x4", and the comment that its text begins with.
const char *machine_preset_name(Arena *arena, int preset);
const char *machine_preset_summary(Arena *arena, int preset);
// The preset of that name; NULL: there is none.
const Machine *machine_preset(Arena *arena, const char *name);

#endif
