#!/bin/sh
# failures.sh BUILD_DIR: a rank that differs, dies or does not get on ends the run on all ranks, in time, with one message.
. "$(dirname "$0")/checks.sh"

# once TEXT: the program has said exactly one line, and it is this (a pattern).
once() {
  if [ "$(grep -c '^test: ' out)" = 1 ] && grep -q -e "^test: $1" out; then pass; else fail "one message: $1"; fi
}

# none_left NAME: no rank is running any more, a second after the launcher has ended.
none_left() {
  sleep 1
  for pid in $(sed -n 's/^pid //p' out); do
    ! grep -qs '(stall) [^Z]' "/proc/$pid/stat" || fail "$1: process $pid is left" # Z: ended, and nobody has asked how
  done
  pass
}

ends() {
  ends_by by_mpi "$@"
  once "$4"
  none_left "rank $3, $2"
}

section "ranks that die"
make stall stall -DRANKS=4
ends 8 kill 2 "rank 2 has died, last seen in dense1 (stall.dnn:5), step 3$"
ends 8 kill 0 "rank 0 has died, last seen in"
ends 8 exit 3 "rank 3 has died, last seen in"

section "ranks that hang"
# The timeout, the beats that a hanging rank may miss, the rank's turn where rank 0 is silent, and what starting takes.
ends 18 stop 1 "rank 1 has not answered for [0-9]* s, last seen in dense1 (stall.dnn:5), step 3$" --timeout 4
ends 18 stop 0 "rank 0 has not answered for [0-9]* s, last seen in" --timeout 4
ends 18 hang 2 "no rank has got on for [0-9]* s (--timeout): rank 2 is behind, in dense1 (stall.dnn:5), step 3; rank 0 is in loss (stall.dnn:8), step 3$" --timeout 4
ends 18 hang 0 "no rank has got on for [0-9]* s (--timeout): rank 0 is behind, in dense1 (stall.dnn:5), step 3; rank 1 is in loss" --timeout 4
STALL=hang wrong 1 "test: rank 0 has not got on for" "one rank that hangs" sh -c "'$parcc_cc' --target=host '$here/stall.cu' -o one && ./one --timeout 2 --quiet"
STALL=hang wrong 1 "no rank has got on for" "all ranks hang" by_mpi 4 ./stall --timeout 3 --quiet
once ".*: all are in dense1 (stall.dnn:5), step 3$"

section "ranks that differ"
# differ TEXT NAME COMMAND...: as wrong 2, and said once
differ() {
  text=$1
  shift
  wrong 2 "$text" "$@"
  [ "$(grep -c 'the ranks differ' out)" = 1 ] && pass || fail "$1: said once"
}
make faults faults -DRANKS=3
make others faults -DRANKS=3 -DCASE=3
# two PROGRAM OPTIONS PROGRAM OPTIONS: the first on ranks 0 and 1, the other on rank 2
cat >two <<'TWO'
#!/bin/sh
exec mpiexec --oversubscribe --bind-to none -n 2 "./$1" $2 : -n 1 "./$3" $4
TWO
chmod +x two
differ "the ranks differ in the program: test x" "another program" two faults "" others ""
grep -q 'on rank 0, test x[0-9a-f]* on rank 2' out && pass || fail "both are named"
differ "the ranks differ in --seed: 1 on rank 0, 2 on rank 2" "another seed" two faults "" faults "--seed 2"
differ "the ranks differ in --steps: not given on rank 0, 3 on rank 2" "other steps" two faults "" faults "--steps 3"
differ "the ranks differ in --quiet: given on rank 0, not given on rank 2" "other scalars read" two faults "--quiet" faults ""
differ "the ranks differ in --help" "help on one rank only" two faults "" faults "--help"
wrong 2 "rank 2: unknown option '--stepz'" "a wrong option on one rank" two faults "" faults "--stepz 3"
cp faults renamed
right "the same program in another file" two faults --quiet renamed --quiet
python3 "$here/make_data.py" data >out 2>&1 || fail "make_data.py"
make npy3 reader -DRANKS=3
cp -r data/npy_f8 other && printf '\001' | dd of=other/x.npy bs=1 seek=200 conv=notrunc 2>/dev/null
differ "the ranks differ in the training data of input x" "other data" two npy3 "--data data/npy_f8" npy3 "--data other"
finish
