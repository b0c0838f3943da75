// The order in which samples are visited: another permutation of [0, n) in every epoch, computed and not stored, the same
// on all ranks and for all plans.
#ifndef PARCC_ORDER_H
#define PARCC_ORDER_H

// The sample at `position` of `epoch`. 0 <= position < n.
long order_sample(unsigned long long seed, long epoch, long n, long position);

#endif
