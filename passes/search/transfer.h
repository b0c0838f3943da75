// What it takes to bring a tensor from the blocks in which a layer makes it to those in which another one needs it: bytes over
// bandwidth, without latency, links always full. (Jia et al., ICML 2018, section 4: t_X.)
//
// Every device gets what it needs by itself: over the links of each level what no device of its unit (itself, its node, ...) has. Where few
// devices have what many need, each of them sends to as many. The slowest level counts.
#ifndef PARCC_PASSES_SEARCH_TRANSFER_H
#define PARCC_PASSES_SEARCH_TRANSFER_H

#include "../cost.h"

// One dimension of a tensor: cut by these axes into blocks that reach as far as the cut says.
typedef struct RegionDim { uint32_t axes; Cut cut; } RegionDim;

// Which block of a tensor is where. Devices whose coordinate along an axis that is not used is not 0 have none and need none.
typedef struct Region {
  uint32_t used; // axes
  RegionDim dim[LAYOUT_MAX_RANK];
} Region;

// Seconds from each of n regions to each of m: [n][m]. The model has all links.
void transfer_seconds(Arena *scratch, const CostModel *model, const Tensor *tensor, int n, const Region *made, int m,
                      const Region *needed, double *seconds);

#endif
