// What changes of layout take between the ranks that a program of `parcc profile` was started on.
#ifndef PARCC_LINKS_H
#define PARCC_LINKS_H

// Collective; rank 0 prints lines of a profile. Of each set of ranks that are as far from each other as their neighbours, all such sets at
// once, each collective and sizes that are far from each other.
void links_measure(void);

#endif
