// The devices of every level of a machine in factors: 8 of a node are 2 x 2 x 2, over which an operator divides one of its dimensions,
// or two of them, 2 x 4 or 4 x 2.
//
// Over two factors in all a group does anything that it can. Over more it does at most two different things, or as many as there are
// levels: whatever it can do along the axes of the machine's mesh is among them, and hybrids of two. Which of a level's factors does
// which matters little to a group alone, but where groups agree there is nothing to move. So each does its things in one order,
// slowest factor first: samples, nothing, rows and columns, channels (dim_order.h), sums left pending; a parameter does nothing along
// the factors that divide its operator's samples. Along factors with no common divisor, 3 x 2, it does them in either order.
#ifndef PARCC_PASSES_SEARCH_FACTORS_H
#define PARCC_PASSES_SEARCH_FACTORS_H

#include "dim_order.h"
#include "problem.h"

typedef struct Factors {
  Mesh mesh;                // whose axes they are
  int level[MESH_MAX_AXES]; // by factor: the axis of the machine's mesh that it is of
  int most;                 // different things that a group does; 0: any, in any order
  DimOrder *order;          // once groups are known
} Factors;

// What a plan on a finer mesh can do that has as many axes as tell its lines apart.
Factors factors_on(Arena *arena, const Mesh *mesh, const Mesh *finer);
// All prime factors of a machine's mesh. False: no axis has several.
bool factors_of_mesh(Arena *arena, const Mesh *mesh, Factors *factors);
// About the most steps of ways between layouts that a search of them may take: some seconds.
static const double FACTORS_MOST = 20e6;
ProblemCandidates factors_candidates; // ctx: a Factors
// The plan on as few axes as tell its lines apart: factors of a level along which every line says the same become one.
Plan factors_merge(Arena *arena, const Factors *factors, const Mesh *mesh, const Plan *plan);

#endif
