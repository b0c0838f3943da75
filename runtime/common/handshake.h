// Whether all ranks run the same: another program, option or data set on some rank would show as a hang or, worse, as a
// wrong result. A difference ends the run with one message (exit code 2) that names what differs and between which ranks.
#ifndef PARCC_HANDSHAKE_H
#define PARCC_HANDSHAKE_H

// Collective, in this order. The version of the runtime, before anything else is exchanged whose form may differ; the
// program, its libraries and its options; what the machines and the data files hold.
void handshake_version(void);
void handshake_program(const char *program); // as in parcc_start_program
void handshake_data(void);

#endif
