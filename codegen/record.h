// What the layers that share code differ in: one record for each layer, in an array for each kind.
#ifndef PARCC_CODEGEN_RECORD_H
#define PARCC_CODEGEN_RECORD_H

#include "printed.h"

typedef enum MemberType {
  MEMBER_POINTER, // values are names of tensors in the emitted struct
  MEMBER_RECORD,  // of a layer inside; values are its paths
  MEMBER_TEXT,
  MEMBER_OWN,  // an integer that is a layer's own: an event, a stream of random numbers
  MEMBER_SIZE, // integers and reals that layers of the same size have in common
  MEMBER_FACTOR,
} MemberType;

typedef struct Record Record;

typedef struct Member {
  const char *name;
  MemberType type;
  ScalarType scalar;   // MEMBER_POINTER: of its elements
  const Record *other; // MEMBER_RECORD
  const char **value;  // by row; NULL: not used there. Equal values are one pointer
} Member;

struct Record {
  const Program *program;
  const Names *tensors;          // name in the emitted struct -> tensor
  const char *kind;              // of the layers
  bool named;                    // the layers have names
  const char *type, *array;      // "ConvNorm", "conv_norm"
  const char *size_type, *place; // "ConvNormSize", "place_conv_norm"
  Names row_of;                  // path of a layer -> its row
  VEC(const char *) rows, keys;  // the paths, and what row_of calls them
  Names names;                   // of members, and those of sizes
  VEC(Member) members;
};

// taken: names of the program's globals, where those of the record are entered.
Record *record_new(const Program *program, const Names *tensors, Names *taken, const char *kind, bool named);
// The row of a layer, made if it has none. again: how often the layer has come before.
int record_row(Record *record, const char *path, int again);
// The name of the member that holds values[i] in row rows[i]: one that is there already, or a new one. wish: a member to
// look like, its name is taken if that is free.
const char *record_member(Record *record, const Member *wish, const char *const *values, const int *rows, int n);

// The member that holds the value in the row; NULL: none does.
const char *record_find(const Record *record, int row, const char *value);

void record_print_type(const Record *record, Text *out);
void record_print_places(const Record *record, int64_t unit, Text *out);
// Where a tensor lies in the arena, in bytes, and what all these places are multiples of.
int64_t record_place(const Program *program, int tensor);
int64_t record_place_unit(const Program *program);

#endif
