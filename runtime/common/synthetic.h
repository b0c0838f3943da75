// Made-up samples. A value depends on (seed, stream, sample, element) only, to the last bit.
#ifndef PARCC_SYNTHETIC_H
#define PARCC_SYNTHETIC_H

#include <stddef.h>

#include "parcc.h"

// dst[i] = element first + i of a sample. range: of integers; 0: 2^31.
void synthetic_copy(unsigned long long seed, unsigned stream, long sample, size_t first, size_t count, ParccType type,
                    long range, void *dst);

#endif
