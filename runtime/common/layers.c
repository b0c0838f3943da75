// Layers of one kind share code in a program, and differ in the records that say their names, sizes and tensors.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

void parcc_place_record(char *arena, long unit, const long *place, int n, void *pointers) {
  for (int i = 0; i < n; i++) {
    char *const at = place[i] < 0 ? NULL : arena + unit * place[i];
    memcpy((char *)pointers + (size_t)i * sizeof at, &at, sizeof at);
  }
}

// Names live until the end of the run: messages point to them. A table with open addressing, by the two pointers.
typedef struct {
  const char *layer, *op, *name;
} Joined;
static Joined *table;
static size_t capacity, used;

static Joined *slot_of(Joined *slots, size_t n, const char *layer, const char *op) {
  size_t i = ((uintptr_t)layer * 31 + (uintptr_t)op) * 0x9e3779b97f4a7c15u >> 20 & (n - 1);
  while (slots[i].name != NULL && (slots[i].layer != layer || slots[i].op != op)) i = (i + 1) & (n - 1);
  return &slots[i];
}

static void grow(void) {
  const size_t larger = capacity == 0 ? 256 : 2 * capacity;
  Joined *slots = calloc(larger, sizeof *slots);
  if (slots == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (size_t i = 0; i < capacity; i++)
    if (table[i].name != NULL) *slot_of(slots, larger, table[i].layer, table[i].op) = table[i];
  free(table);
  table = slots;
  capacity = larger;
}

const char *parcc_op_of_layer(const char *layer, const char *op) {
  if (2 * used >= capacity) grow();
  Joined *slot = slot_of(table, capacity, layer, op);
  if (slot->name != NULL) return slot->name;
  const size_t size = strlen(layer) + strlen(op) + 2;
  const char *between = strchr(op, ' ') != NULL ? "." : " "; // a layer inside comes first, or the operator
  char *name = malloc(size);
  if (name == NULL) fail_alone(FAIL_RUN, "out of memory");
  snprintf(name, size, "%s%s%s", layer, between, op);
  *slot = (Joined){layer, op, name};
  used++;
  return name;
}
