// The command line of parcc.
#ifndef PARCC_FRONTEND_OPTIONS_H
#define PARCC_FRONTEND_OPTIONS_H

#include "../ir/data_stats.h"
#include "../ir/layout.h"
#include "../ir/machine.h"
#include "../ir/plan.h"
#include "../ir/profile.h"
#include "frontend.h"

typedef enum ExitCode {
  EXIT_RIGHT = 0,
  EXIT_INPUT = 1,    // the model or a file is at fault
  EXIT_MISUSE = 2,   // the command line is
  EXIT_INTERNAL = 3, // the compiler is
} ExitCode;

typedef VEC(const char *) Strings;

typedef VEC(PlanSource) PlanSources;

// A parameter of the model, or the number of devices, and the values that it takes one after the other.
typedef struct Sweep {
  const char *parameter; // NULL: there is no sweep
  bool of_devices;
  VEC(int64_t) values;
} Sweep;

typedef struct Options {
  const char *model; // path, or "-": standard input
  const char *out;   // path, or "-": standard output; NULL: not given
  ElabOptions elab;
  const Machine *machine; // or NULL
  const char *machine_file; // that it was read from, or NULL
  int devices, ranks; // by --devices, --ranks; 0: not given
  Mesh mesh; // without the batch axis
  bool ranks_given, mesh_given; // by --ranks, --devices or --mesh; by --mesh
  PlanSource plan;
  PlanSources searches; // all that --search names
  int64_t strip_bytes;
  bool by_sum, objective_given; // auto gives the plan with the least sum; by --objective
  double time_limit; // seconds; 0: not given
  uint64_t seed;     // of planners that draw
  bool seed_given;
  bool plan_given;
  const char *plan_in;  // path, or "-": standard input; NULL: not given
  const char *plan_out; // path, or "-": standard output; NULL: not given
  const char *report;   // path, or "-": standard output; NULL: not given
  const char *trace;    // path, or "-": standard output; NULL: not given
  const char *dot;      // path, or "-": standard output; NULL: not given
  const char *emit_problem; // path; NULL: not given
  Strings dump_after;     // names of stages
  const char *dump_dir;   // or NULL
  const char *stop_after; // or NULL
  const char *strategies; // of which operators; NULL: not asked for
  bool measure;            // parcc profile: the program measures
  bool count;              // parcc data-stats: the program counts lookups
  const DataStats *data_stats; // as it did, or NULL
  const char *data_stats_in;   // that it was read from, or NULL
  const Profile *profile;  // of the machine, or NULL
  const char *profile_in;  // that it was read from, or NULL
  const char *profile_out; // path, or "-": standard output; NULL: not given
  bool compare;
  const char *explain; // what is asked about; NULL: nothing
  bool candidates;
  Sweep sweep;
  bool show_plan, stats, json, quiet, verbose;
} Options;

// A stage of the compilation that can be dumped and stopped after.
typedef struct DriverStage {
  const char *name, *summary;
} DriverStage;

// Says what is wrong with the command line; EXIT_MISUSE.
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
// A preset or a file. Returns -1 to go on, else the exit code: the list was printed, or what was wrong has been said.
int options_take_machine(Arena *arena, const char *value, Options *options);
// Measured times of its operators, from a file. The same.
int options_take_profile(Arena *arena, const char *path, Options *options);
// Counts of lookups, from a file. The same.
int options_take_data_stats(Arena *arena, const char *path, Options *options);
// The mesh of so many of its devices. Returns NULL, or why there is none.
const char *options_mesh_of(Arena *arena, const Machine *machine, int64_t devices, Mesh *mesh);
// Gives the machine its profile; neither goes without a machine. The same.
int options_attach_profile(Arena *arena, Options *options);
// With a machine: the mesh that follows from it where none is given, and whether it has the ranks that are asked for.
int options_fit_machine(Arena *arena, Options *options);
// PARAMETER=VALUES of --sweep: numbers, and ranges A..B that double or, with +STEP behind, grow by steps.
int options_take_sweep(Arena *arena, const char *value, Sweep *sweep);
// Where the program is written: by -o, else MODEL_par.cu in the current folder; NULL: something else is asked for, and no program.
const char *options_program(Arena *arena, const Options *options);
// The file of --dump-dir for a stage.
const char *options_dump(Arena *arena, const Options *options, const DriverStage *stages, int stage);
// Whether no file that is written is one that is read or another one that is written. Returns -1 to go on, else the exit code.
int options_check_files(Arena *arena, const Options *options, const DriverStage *stages, int n_stages);
// Whether the options of reports go with the others.
int options_check_reports(const Options *options);
// Whether all do, once all are known; gives those that were not given what follows. The same.
int options_check_together(Arena *arena, Options *options, const DriverStage *stages, int n_stages);
// Reads the command line. Returns -1 to go on, else the exit code of the process: --help and --version have been printed,
// or what was wrong has been said. `stages` are the names --dump-after and --stop-after know.
int options_parse(Arena *arena, int argc, char **argv, const DriverStage *stages, int n_stages, Options *options);

#endif
