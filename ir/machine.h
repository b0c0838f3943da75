// A machine: a tree of levels (nodes, racks) over devices of one kind, each level with the links between what it joins.
//
// As text (samples/machines/), every constant with its unit:
//
//     machine p100x4x4 {                  # a comment says where each constant comes from
//       device p100 { f32 = 9.3 TFLOP/s; f64 = 4.7 TFLOP/s; memory = 16 GiB; bandwidth = 732 GB/s; launch = 5 us; }
//       level node    = 4 p100 { link = nvlink; bandwidth = 40 GB/s; latency = 5 us; }             # of every device, each way
//       level cluster = 4 node { link = infiniband; bandwidth = 12.5 GB/s; latency = 8 us; shared; } # of every node, for all in it
//     }
#ifndef PARCC_IR_MACHINE_H
#define PARCC_IR_MACHINE_H

#include "layout.h"

enum { MACHINE_MAX_LEVELS = 5 };

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
} Machine;

int machine_devices(const Machine *machine);
// Devices in one unit of the level: 1 for the devices themselves (level -1), level[0].count for level 0, ...
int machine_unit(const Machine *machine, int level);

#endif
