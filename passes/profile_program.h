// A program that measures operators on one device, and prints a profile (ir/profile.h).
#ifndef PARCC_PASSES_PROFILE_PROGRAM_H
#define PARCC_PASSES_PROFILE_PROGRAM_H

#include "pipeline.h"

typedef struct ProfileProgram ProfileProgram;

// Of what operators is yet to be said. c: of the model that they are of.
ProfileProgram *profile_program_new(const Compilation *c);
// Adds the operators of a plan that was made for the compilation, before its pass "plan": each that is not there yet.
void profile_program_add(ProfileProgram *program, const Compilation *c, const Plan *plan);
// Runs all passes on it: for one device, whatever the plans are for.
const Program *profile_program_end(ProfileProgram *program);
// How many operators it measures, and how many seconds that takes, as predicted.
int profile_program_operators(const ProfileProgram *program);
double profile_program_seconds(const ProfileProgram *program);

#endif
