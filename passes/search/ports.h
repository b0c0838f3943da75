// What groups make and want of tensors, and what they cost themselves, under each of their candidates.
#ifndef PARCC_PASSES_SEARCH_PORTS_H
#define PARCC_PASSES_SEARCH_PORTS_H

#include "problem.h"

// One way in which a group touches a tensor: layouts by their numbers (route.h).
typedef struct PortState {
  int made; // -1: it does not make it
  // Where an operator of the group says whether it is made again for the backward pass (../rematerialise.c):
  int again_want; // how that reads it, -1: it says that it is not
  int again_with; // it is only if another group has the group's result that is made of it made again: how that lies; -1: in any case
  double again;   // what it takes to make it again, with what it is made from in the group, if others say that it is
  int n;
  const int *want; // [n] different ones, in the order of the operators. Partial along an axis: if it is made so, else whole
} PortState;

typedef struct Port {
  int tensor, group;
  int n_states;
  const int *state;    // [n_states] the different ones: classes. Numbers of Ports.states
  int list;            // number of that list: ports with the same one have the same states
  const int *class_of; // by candidate
} Port;

typedef struct Ports {
  SearchProblem *p;
  VEC(Port) list; // group by group
  int *first;     // by group, and one more: its first port
  VEC(PortState) states;
  Numbers again_numbers;
  Numbers state_numbers, list_numbers;
  int *shore;     // by tensor, in the group at hand: its port + 1
  int *new_value; // by stored tensor: the tensor that it takes the value of, + 1
  int *place;     // by operator: its number in its group
} Ports;

Ports ports_new(SearchProblem *p);
// Adds the ports of the next group, and fills own[candidate]: what its operators cost.
void ports_add_group(Ports *ports, int group, double *own);
// Of a group that is like one whose ports are there.
void ports_add_alike(Ports *ports, int group, int like);

#endif
