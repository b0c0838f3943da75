// The choice that --search=optcnn makes, for others that begin with it.
#ifndef PARCC_PASSES_SEARCH_OPTCNN_H
#define PARCC_PASSES_SEARCH_OPTCNN_H

#include "layer_costs.h"

// Whether layers have few enough configurations on a mesh.
bool optcnn_is_small(const Layers *layers, const Mesh *mesh);
// Of each layer one of costs->of, which are found then: those with the least sum (layer_costs.h), or the least that was found.
Elimination optcnn_choose(LayerCosts *costs);

#endif
