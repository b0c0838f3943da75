// The training graph as planners see it: groups of operators that are divided together.
//
// An operator and its gradients live in one iteration space, so they are one group. Element-wise operators and the statements of a
// composite, which can be one kernel, are one group as far as only they read what is between them; so are the time steps of an
// unrolled layer. The update of a parameter, the parameter and the optimizer's states of it are a group, with what sums up its
// gradient's squares; an input is one, and what is made of all parameters' sums.
// (Tofu, section 5.1, coarsens so, too.)
//
//   dense1.y = sum(ci) x * dense1.w        a group with the dimensions n, co, ci
//   x.grad = sum(co) ...
//   dense1.w.grad = sum(n) ...
//   dense1.y.2 = dense1.y + dense1.b       the next one, with n, co
//   relu = max(dense1.y.2, 0)
//   dense1.y.2.grad, dense1.b.grad
#ifndef PARCC_PASSES_SEARCH_GROUPS_H
#define PARCC_PASSES_SEARCH_GROUPS_H

#include "../planning.h"

// GROUP_LOOSE: an operator of the update that is of no single parameter.
typedef enum GroupKind { GROUP_OPS, GROUP_PARAM, GROUP_INPUT, GROUP_LOOSE } GroupKind;

// Dimension number `dim` of an operator, or of the stored tensor or input of the group (op -1), in units of `unit`.
typedef struct GroupMember {
  int op, dim;
  int64_t unit;
} GroupMember;

// A dimension that operators of a group have in common: an axis that splits it splits it in all of them.
typedef struct GroupDim {
  const char *name;   // that of its first member
  int64_t extent;     // units of the member that has fewest
  bool ragged;        // of an input, or plainly one of what its first member makes: it may have fewer units than there are ranks
  VEC(GroupMember) members;
} GroupDim;

typedef struct Group {
  GroupKind kind;
  const char *name;
  int tensor;       // GROUP_PARAM, GROUP_INPUT
  bool light;       // GROUP_OPS: all that it does forward is element-wise or a reduction that can be in one kernel with such
  VEC(int) ops;     // with those of views, in the order of the graph
  VEC(GroupDim) dims;
  VEC(int) adders;  // GROUP_OPS, GROUP_LOOSE: operators that may leave their results pending (adders.h)
} Group;

typedef struct Groups {
  const Planner *planner;
  const Graph *graph; // the training graph
  VEC(Group) list;
  int *of_op;         // by operator: its group; -1: none, it follows others (reports)
  int *of_tensor;     // by tensor: the group that makes or stores it; -1: it is on every rank
} Groups;

Groups groups_of_graph(const Planner *planner);
// Whether axes may split it together: every rank gets some of it, or it is ragged and on fewer of the axes ranks would get more.
bool group_dim_allows(const GroupDim *dim, const Mesh *mesh, uint32_t axes);
// The last operator of the update of a group's parameter, or -1.
int group_update(const Groups *groups, const Group *group);

typedef enum GroupParts {
  GROUPS_WHOLE,
  GROUPS_BY_DIMS, // operators that have all dimensions of their group, so that whichever is split all of them are divided: in the group
                  // of a softmax what each class has and what each row has are then two
  GROUPS_BY_PASS, // and, of these, the forward pass, the gradients of what it computes, and those of parameters
} GroupParts;
// The same, each as several.
Groups groups_in_parts(const Groups *groups, GroupParts parts);

#endif
