// Procedures as functions; layers that share code as functions over their records.
#ifndef PARCC_CODEGEN_EMIT_PROCEDURE_H
#define PARCC_CODEGEN_EMIT_PROCEDURE_H

#include "layers.h"
#include "record.h"

typedef struct ProcedureWriter {
  const Program *program;
  Arena *arena;
  Names *taken; // names of the program's globals
  Layers layers;
  Printer printer;
  Record **record;         // by kind of layer; NULL where nothing is shared
  const char **stands_for; // by tensor: the name of the first one that lies there and is used
  bool *used;              // by tensor: the text names it as a member of t
  Text functions;
} ProcedureWriter;

typedef struct ProcedureText { // one procedure
  const char *name, *what;     // "forward", "The losses of the batch."
  PrintedList steps;
  const LayerParts *parts;
} ProcedureText;

ProcedureWriter procedure_writer_new(const Program *program, Names *taken);
// After all steps are read: decides what is shared.
void procedure_writer_decide(ProcedureWriter *writer, ProcedureText *procedures, int n);
// Appends the functions of a procedure to writer->functions; those that layers share come first.
void emit_procedure(ProcedureWriter *writer, const ProcedureText *procedure);

#endif
