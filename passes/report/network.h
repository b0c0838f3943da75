// The network as people draw it: a node for what a layer does in the forward pass, edges for the tensors between layers, with how the
// work of each is divided, what changes of layout lie on the way, and what each takes in a whole training step.
//
// Of   conv1 pack, conv1 conv2d, conv1 channel_bias, relu, conv2 pack, conv2 all_gather w, conv2 conv2d, ...
// are  conv1 [n=64 co=6 p=28 q=28 | ci=1 r=5 s=5]  ->  relu  ->  conv2 (changes: all_gather conv2.w)
#ifndef PARCC_PASSES_REPORT_NETWORK_H
#define PARCC_PASSES_REPORT_NETWORK_H

#include "../planning.h"

// A change of layout, by the table ir/reshard.def.
typedef struct NetworkChange {
  const char *kind, *tensor;
  bool nothing;      // is to be done
  const char *axes;  // "node,gpu"
  const char *level; // that is crossed, "local"; NULL: no machine is known
  double bytes;      // that the busiest rank sends or receives
  double seconds;    // 0 where no machine is known
} NetworkChange;

typedef VEC(NetworkChange) NetworkChanges;

typedef struct NetworkEdge { // into a node
  int from;                  // node
  const char *tensor;
  NetworkChanges changes; // on the way, where it is first read so
} NetworkEdge;

// What is done along an axis of the mesh.
typedef enum NetworkWay {
  WAY_BATCH,   // the dimension of the samples is divided
  WAY_RESULT,  // another dimension of the result
  WAY_REDUCED, // a dimension that is summed over, or the like
  WAY_PINNED,  // only the ranks at one place do anything
  WAY_WHOLE,   // all ranks do the same
  NETWORK_WAYS
} NetworkWay;
const char *network_way_text(NetworkWay way);

typedef struct NetworkNode {
  const char *layer;   // "transformer1.multihead1"; "" at the top
  const char *op;      // of the operator with most to do, or "input"
  const char *result;  // what that makes
  int n_ops;
  Space space;         // of it; the first n_out dimensions are those of its result
  int n_out;
  OpSharding sharding;
  double stored, held; // bytes of the parameters that it reads first: whole, and on the largest rank
  double seconds[PHASE_UPDATE + 1]; // of its operators, by phase
  double change_seconds, change_bytes; // of all changes of layout: its own, those of its edges, of the backward pass and the update
  NetworkChanges own;  // of the forward pass: of parameters that it reads, and within it
  VEC(NetworkEdge) in;
  int times; // stands for so many, of which seconds and bytes of changes are the mean: its part of the network follows itself so often
} NetworkNode;

// Nodes [first, first + n), which stand for `times` such parts, one after the other, within a layer of `depth` components.
typedef struct NetworkRepeat { int first, n, times, depth; } NetworkRepeat;

typedef VEC(NetworkNode) NetworkNodes;
typedef VEC(NetworkRepeat) NetworkRepeats;

typedef struct Network {
  Arena *arena;
  const char *model;
  const Machine *machine; // or NULL
  Mesh mesh;              // without the batch
  NetworkNodes nodes; // in the order in which they are computed
  NetworkRepeats repeats;
  double other_seconds;   // of operators and changes that are of no node
} Network;

// Of a compilation whose plan has just been applied, in its arena.
Network *network_of(const Compilation *c);
// Parts of the network that follow each other and are the same, with the same plan, are there once.
void network_fold(Network *network);
NetworkWay network_way(const Network *network, const NetworkNode *node, int axis);
// In how many blocks a dimension is divided; and what is done, in words: "n/node co*64/gpu", "on every rank".
int network_parts(const Network *network, const NetworkNode *node, int dim);
const char *network_split_text(const Network *network, const NetworkNode *node);
// Its layer, "conv1"; at the top its operators, "cross_entropy", or the result of its one, "relu.3".
const char *network_node_name(const NetworkNode *node);
// By node: the boxes that it is drawn in, outermost first, each with a '/' behind it: "transformer1/multihead1/" of layers that have
// others in them, "*0/" of a repeat by its number.
const char **network_boxes(const Network *network);
// Whether the innermost of them is its own layer.
bool network_is_box(const Network *network, const char *const *boxes, int node);

// As a drawing for GraphViz.
const char *network_dot(const Network *network);

#endif
