// The quantities of machine files: their units, their limits, and which entry of a machine holds which.
#ifndef PARCC_IR_MACHINE_UNITS_H
#define PARCC_IR_MACHINE_UNITS_H

#include "machine.h"

typedef enum Quantity { QUANTITY_RATE, QUANTITY_BANDWIDTH, QUANTITY_MEMORY, QUANTITY_TIME, QUANTITIES } Quantity;

// A value is number * scale / divisor: in operations, bytes and seconds.
typedef struct MachineUnit {
  const char *name;
  Quantity quantity;
  double scale, divisor;
  bool printed; // false: only read
} MachineUnit;
extern const MachineUnit machine_units[];
extern const int machine_units_len;

typedef struct QuantityInfo {
  const char *name;   // "a bandwidth"
  const char *unit;   // one to show in messages
  double least, most; // what no machine exceeds
} QuantityInfo;
extern const QuantityInfo quantity_info[QUANTITIES];

// An entry "word = value", a double at `offset` in MachineDevice or MachineLevel.
typedef struct MachineEntry {
  const char *word;
  Quantity quantity;
  size_t offset;
} MachineEntry;
enum { MACHINE_DEVICE_ENTRIES = 5, MACHINE_LEVEL_ENTRIES = 2 };
extern const MachineEntry machine_device_entries[MACHINE_DEVICE_ENTRIES], machine_level_entries[MACHINE_LEVEL_ENTRIES];

static inline double machine_unit_value(const MachineUnit *unit, double number) {
  return number * unit->scale / unit->divisor;
}
// The shortest text of a value that reads as the same: "12.5 GB/s".
const char *quantity_text(Arena *arena, Quantity quantity, double value);

#endif
