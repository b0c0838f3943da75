// One way to divide a group of operators, and the plan in which every group is divided in one way.
#ifndef PARCC_PASSES_SEARCH_CANDIDATE_H
#define PARCC_PASSES_SEARCH_CANDIDATE_H

#include "groups.h"

// What a group does along each axis: splits its dimension of that number, nothing, or as nothing, but its adders leave their results
// pending. Of a parameter a number behind its dimensions (dims.len + d) splits its update only: the parameter itself is on
// every rank.
// Or it is there for one coordinate of the axis only: CANDIDATE_PIN for 0, one less for each further one.
enum { CANDIDATE_NOTHING = -1, CANDIDATE_PENDING = -2, CANDIDATE_PIN = -3 };
typedef struct Candidate { signed char choice[MESH_MAX_AXES]; } Candidate;

typedef struct Candidates { int n; Candidate *list; } Candidates;

// What an operator of the group does then; op -1: the stored tensor or input of the group.
OpSharding candidate_sharding(const Group *group, const Candidate *candidate, int op, const Mesh *mesh);
// The plan that divides each group as is chosen for it: a line for every operator, input and parameter.
Plan candidates_plan(Arena *arena, const Model *model, const Groups *groups, const Mesh *mesh, const Candidate *chosen);
// The same of a sharding for every operator of the groups (of_op); what is stored and inputs as is chosen for their groups.
Plan shardings_plan(Arena *arena, const Model *model, const Groups *groups, const Mesh *mesh, const OpSharding *of_op, const Candidate *stored);

#endif
