// A plan: how every operator and every stored tensor lies on the mesh, as a list of lines that speak by name.
//
// Whoever plans (a fixed plan, a draw, a search, a file) makes this list; the pass "plan" holds it against the model and
// finds the sharding of every operator. As text:
//
//     plan 1 lenet                                # version, model
//     mesh data=2,tensor=2                        # slowest first
//     input image       batch/data
//     conv1             n/data p/tensor           # every operator of the layer that has the dimension
//     dense1            n/data co/tensor          # ... and its parameters
//     relu.3            replicate tensor          # one operator, called by its result
//     store dense2.w    ci*4/data,tensor          # a dimension over two axes, in units of 4
//     update dense2.w   ci/data                   # the operators of its update, and the optimizer's states
//     eval accuracy.sum follow                    # in the evaluation graph only
//     branch3           pin tensor=1
//     w.grad            pending data              # of parts that are not reduced yet the sum is none, either
//     block*.dense1     co/tensor         # every layer block1.dense1, block2.dense1, ... that has no line of its own
//     microbatches = 4                    # a step goes over its batch in 4 parts, one after the other, and updates once
//     recompute: block*                   # what these layers make within themselves is made again for the backward pass
//
// What a line does not say, and what has no line, follows: an operator what it reads, an optimizer's state its parameter;
// inputs, parameters and other states are then on every rank.
#ifndef PARCC_IR_PLAN_H
#define PARCC_IR_PLAN_H

#include "layout.h"
#include "problems.h"

enum { PLAN_VERSION = 1, PLAN_MAX_MICROBATCHES = 1 << 20 };

typedef enum ChoiceKind {
  CHOICE_FOLLOW, // do as the operands do
  CHOICE_REPLICATE,
  CHOICE_SPLIT, // split dimension `dim`
  CHOICE_PIN,   // only the ranks with coordinate `pin`
  CHOICE_PENDING, // as on every rank, but sums that come in parts are added up in parts, and left so
} ChoiceKind;

// What is chosen along one axis.
typedef struct PlanChoice {
  ChoiceKind kind;
  int pin;
  const char *dim;
  int64_t unit;
  Loc loc;
} PlanChoice;

typedef enum PlanSubject {
  PLAN_NAME,   // an operator or, where there is none of that name, a layer
  PLAN_OP,     // an operator, called by its (first) result
  PLAN_LAYER,  // all operators of a layer and of the layers in it, its parameters and states; not their updates
  PLAN_INPUT,
  PLAN_STORE,  // a parameter or a state, as it lies between steps
  PLAN_UPDATE, // all operators that update a parameter, and the optimizer's states of it
  PLAN_SUBJECTS
} PlanSubject;

typedef struct PlanLine {
  PlanSubject subject;
  const char *graph; // the one graph that is meant ("init", "train", "eval"), or NULL
  const char *name;    // with a '*' for any characters but '.': whatever is called so and has no line of its own
  const char *pattern; // of a line that was made from such a one: its name, else NULL
  PlanChoice axis[MESH_MAX_AXES];
  Loc loc; // of the name
} PlanLine;

// Layers whose values are made again for the backward pass: the layer of that name, or all that a name with a '*' matches.
typedef struct PlanAgain {
  const char *name;
  Loc loc;
} PlanAgain;

typedef struct Plan {
  const char *model; // the name of the model it is for
  Mesh mesh;         // the axes that choices speak of, without the batch
  int microbatches;  // that a step goes over its batch in; 0: nothing is said, all at once
  Loc model_loc, mesh_loc, microbatches_loc;
  VEC(PlanAgain) recompute;
  VEC(PlanLine) lines;
} Plan;

// Where a plan comes from.
typedef enum PlanSourceKind {
  PLAN_DATA,     // inputs are cut along the batch, everything follows
  PLAN_SINGLE,   // every rank does everything
  PLAN_MODEL,    // layers with weights are divided along their outputs
  PLAN_OWT,      // one weird trick: the batch is divided in convolutions, the outputs in dense layers
  PLAN_MEGATRON, // attention by heads, feedforward layers by their hidden units, the vocabulary; the batch over slow axes
  PLAN_FSDP,     // fully sharded: as data, and all that is stored is divided
  PLAN_AUTO,     // the cheapest on a machine
  PLAN_OPTCNN,   // layer-wise: what layers make is divided into equal blocks, each layer in its own way
  PLAN_SOYBEAN,  // every tensor by rows, by columns or not at all, one axis after the other, so that few bytes move
  PLAN_TOFU,     // everything is divided, one axis after the other, so that few bytes move
  PLAN_FLEXFLOW, // what each layer makes is divided into equal blocks, each somewhere: a random walk, by simulation
  PLAN_PARALLAX, // as data, but tables of which a step touches few rows are divided over owners of rows
  PLAN_NAMED,    // how many have a name: those above
  PLAN_RANDOM = PLAN_NAMED, // every operator, input and stored tensor draws uniformly among what it could do
  PLAN_FILE,
  PLAN_MADE, // it is there already: somebody asks what it costs
} PlanSourceKind;

typedef struct PlanSource {
  PlanSourceKind kind;
  uint64_t seed;    // PLAN_RANDOM, PLAN_FLEXFLOW
  const char *file; // PLAN_FILE
} PlanSource;
bool plan_source_searched(PlanSourceKind kind); // by what plans cost on a machine: PLAN_AUTO and those behind it
const char *plan_source_name(PlanSourceKind kind); // "data" of PLAN_DATA; of those below PLAN_NAMED
const char *plan_source_text(Arena *arena, const PlanSource *source); // its name, "random:7", or its file

const char *plan_subject_word(PlanSubject subject); // "layer"; "" for PLAN_NAME
// True if the name begins a line only behind the word for what it is: it is one of these words itself.
bool plan_is_word(const char *name);

// A line without its choices: "eval op relu.2".
const char *plan_line_subject(Arena *arena, const PlanLine *line);
// The choices of a line as text: "n/data,tensor", "pin gpu=1", "follow".
void plan_print_choices(const PlanChoice *axis, const Mesh *mesh, Text *out);
// The whole plan; reading the text gives the same plan.
void plan_print(const Plan *plan, Text *out);
// Reads a text of any bytes. `name` is what places are called by; the text must live as long as the plan. What was
// understood is returned; mistakes are added to `problems`, whose arena holds the plan. Nothing is held against a model.
Plan plan_read(const char *name, const char *text, size_t len, Problems *problems);
// What differs between two plans, by what the lines say: "- relu  n/data" is in the first, "+ relu  co/data" in the second.
// True if nothing does.
bool plan_diff(const Plan *a, const Plan *b, Text *out);

#endif
