// The time line of a training step as a Chrome trace, which ui.perfetto.dev and chrome://tracing open: a process for each rank that
// does something of its own, in it a thread for each stream, and its memory. As the program itself writes one of what it measures
// (runtime/common/trace.h), with the same rows and names.
#ifndef PARCC_PASSES_REPORT_TRACE_H
#define PARCC_PASSES_REPORT_TRACE_H

#include "../../ir/program.h"

// NULL: too many ranks do different things (streams.h).
const char *trace_json(Arena *arena, const Program *program);

#endif
