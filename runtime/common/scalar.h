// Scalar functions of kernels and schedules that C's library has not, or not with the NaNs that training needs: a NaN in
// the first argument is the result, so that a run that diverges is seen.
#ifndef PARCC_SCALAR_H
#define PARCC_SCALAR_H

#include "random.h"

PARCC_PURE double parcc_max(double a, double b) { return b > a ? b : a; }
PARCC_PURE double parcc_min(double a, double b) { return b < a ? b : a; }
PARCC_PURE float parcc_maxf(float a, float b) { return b > a ? b : a; }
PARCC_PURE float parcc_minf(float a, float b) { return b < a ? b : a; }
PARCC_PURE long parcc_maxi(long a, long b) { return b > a ? b : a; }
PARCC_PURE long parcc_mini(long a, long b) { return b < a ? b : a; }

#endif
