// The inputs of the run.
#ifndef PARCC_DATA_H
#define PARCC_DATA_H

#include "run.h"
#include "source.h"

const Source *data_source(Split split, int input);

// Says on stderr what the samples leave out of a sequence.
void data_tell(void);

// Of the training split of all inputs.
uint64_t data_fingerprint(void);

#endif
