// The clocks of the ranks beside that of rank 0, by the time that a message takes there and back (Cristian 1989,
// Probabilistic clock synchronization: the clock is read halfway, within half the time of the way).
#ifndef PARCC_CLOCKS_H
#define PARCC_CLOCKS_H

// Collective. Afterwards clocks_offset() is what clock_seconds of this rank is ahead of that of rank 0, within clocks_error()
// seconds; both 0 on rank 0. Of several ways there and back the shortest counts.
void clocks_align(void);
double clocks_offset(void);
double clocks_error(void);

#endif
