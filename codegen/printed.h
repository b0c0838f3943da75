// Steps as they are printed: text in which tensors and numbers can be told apart, so that steps that differ in nothing else
// are found.
#ifndef PARCC_CODEGEN_PRINTED_H
#define PARCC_CODEGEN_PRINTED_H

#include "../ir/program.h"

typedef enum PieceKind {
  PIECE_TEXT,
  PIECE_COMMENT, // a whole line
  PIECE_TENSOR,  // t.NAME
  PIECE_INTEGER,
  PIECE_REAL,
  PIECE_NAME, // of a stored tensor
} PieceKind;

typedef struct Nest {        // a call, or an index in brackets
  const char *name, *kernel; // kernel: that is launched; in the text of the step
  int len, kernel_len;
} Nest;

typedef struct Piece {
  const char *text; // as it is printed; equal texts of one printer are one pointer
  const Nest *nest; // numbers: where they stand, in which argument; or NULL
  int tensor;       // PIECE_TENSOR: of the program
  short argument;
  unsigned char kind; // a PieceKind
  bool factor : 1;    // of the loop around
  bool shift : 1;     // where a part begins in its tensor
} Piece; // small, as they are many

typedef struct Printed {
  const char *scope;        // the layer that it belongs to
  const char *layer, *name; // of its first operator
  const char *where;        // "model.dnn:5"; NULL: not a place of its own (records, waits, lists)
  Stream stream;            // that its work is on
  bool waits;               // a stream waits here: what it did before has ended
  const Step *step;         // that it is; NULL: of a list
  bool *placed;             // told, once it is printed: whether its place is printed before it
  int skeleton;             // equal for steps that differ in tensors and numbers only
  int lines;
  VEC(Piece) pieces;
} Printed;

typedef struct Printer {
  const Program *program;
  Arena *arena;
  Names tensors; // name in the emitted struct -> tensor
  Names texts;   // texts of pieces, each once
  VEC(const char *) text_at;
  Names skeletons;
  Names kernels;                // name -> its parameters
  VEC(const char *) parameters; // "N C PQ", in lower case
  VEC(Piece) pieces;            // of the step at hand
  Text key;                     // of its skeleton
  size_t seen;                  // how much of the text of the kernels is entered
} Printer;

// In the text of a step, around the name of a stored tensor.
#define NAME_MARK '\1'

Printer printer_new(const Program *program);
// kernels: the text of all kernels that the step may launch. `text` is to stay. What is said of the operator and its place is left to the caller.
Printed printer_read(Printer *printer, const char *scope, const char *text, const Text *kernels);
// What a number is for, as a name: "event", "m", "pq".
const char *printer_role(Printer *printer, const Piece *number);
// The one copy of a text.
const char *printer_text(Printer *printer, const char *text, size_t len);

#endif
