// The strategies that flexflow chooses from: sample, operation, attribute and parameter dimensions of every layer divided into equal
// parts, and a device for each part. (Jia, Zaharia, Aiken: Beyond Data and Model Parallelism for Deep Neural Networks, MLSys 2019,
// section 4.)
//
// Here the parts of a layer lie on the axes of a mesh: each axis divides a dimension, or the layer is on one coordinate of it, or all
// along it do the same. Other assignments of parts to devices cannot be lowered, and are not proposed.
#ifndef PARCC_PASSES_SEARCH_SOAP_H
#define PARCC_PASSES_SEARCH_SOAP_H

#include "layer_costs.h"

typedef struct Draw { uint64_t state; } Draw; // of random numbers: the same for the same seed
uint64_t draw_below(Draw *draw, uint64_t n);
double draw_share(Draw *draw); // in [0, 1)

// One of all configurations of a layer, each as likely; one with an axis drawn anew, or the same where blocks are not equal then: which is as
// likely there as back.
Configuration soap_draw(Draw *draw, const Layer *layer, const Mesh *mesh);
Configuration soap_draw_axis(Draw *draw, const Layer *layer, const Mesh *mesh, const Configuration *from);
// In how many ways an axis may be used: 0 where it has one device. What changes with the one with this number; false: nothing does, or
// blocks are not equal.
int soap_choices(const Layer *layer, const Mesh *mesh, int axis);
bool soap_choose(const Layer *layer, const Mesh *mesh, int axis, int number, Configuration *configuration);
// Changes as `from` does to `to`, another layer's, along each axis on which those differ; false: it did not do the same there, or can not.
bool soap_follow(const Layer *layer, const Mesh *mesh, const Configuration *from, const Configuration *to, Configuration *configuration);
// Dimensions of a layer that cut the tensors which it makes for another one as dimensions of that one do: those, or -1.
typedef struct SoapLink { signed char dim[LAYER_MAX_DIMS]; bool linked; } SoapLink;
SoapLink soap_link(const LayerCosts *costs, int from, int to);
// As soap_follow, where what the one layer divides the other one divides under another number, or does not have.
bool soap_follow_linked(const Layer *layer, const Mesh *mesh, const SoapLink *link, const Configuration *from, const Configuration *to, Configuration *configuration);
// As each layer lies by a plan on the same mesh, as far as its blocks are equal: where they are not, all along the outer axes do the
// same. Shardings of the costs' graph are overwritten.
Configuration *soap_of_plan(Arena *arena, const LayerCosts *costs, const Plan *plan);

// Powers of ten: how many strategies there are, and how many of them lie on the mesh.
typedef struct SoapSize { double all, on_mesh; } SoapSize;
SoapSize soap_size(const Layers *layers, const Mesh *mesh);

#endif
