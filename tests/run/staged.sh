#!/bin/sh
# Collectives through host memory and MPI (parcc-cc --staged), on the host, whose device memory is host memory: they do what
# the others do, to the bit, also in the checking mode, in which a copy that nobody waited for is found; several ranks share
# a device, which other programs refuse; and programs for GPUs link without NCCL.
. "$(dirname "$0")/common.sh"
export OPENBLAS_NUM_THREADS=1
runtime=$root/tests/run/runtime

# quiet COMMAND...: succeeds without a word
quiet() { "$@" >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ]; }
# run COMMAND...: what it says is shown where it fails
run() { "$@" >"$tmp/out" 2>&1 || { head -n 20 "$tmp/out"; return 1; }; }
# train NAME RANKS PROGRAM: three steps, NAME.log and NAME.st
train() { run by_mpi "$2" "$3" --data synthetic --steps 3 --quiet --log "$tmp/$1.log" --save "$tmp/$1.st"; }
checked() { PARCC_HOST_CHECK=1 PARCC_HOST_SEED=$n "$@"; }
same() { run python3 "$root/tests/run/compare_runs.py" 0 3 "$tmp/plain.log" "$tmp/$1.log" "$tmp/plain.st" "$tmp/$1.st"; }

for n in 1 2 3 4; do
  check "compiling collectives for $n" quiet "$PARCC_CC" --target=host --staged -O1 -DRANKS=$n "$runtime/collectives.cu" -o "$tmp/collectives"
  check "collectives on $n ranks" run by_mpi $n "$tmp/collectives" --quiet
done
for n in 2 4; do
  check "compiling layouts for $n" quiet "$PARCC_CC" --target=host --staged --check -O0 -DRANKS=$n "$runtime/layouts.cu" -o "$tmp/layouts"
  check "changes of layout on $n ranks" run by_mpi $n "$tmp/layouts" --quiet
  check "changes of layout on $n ranks, checked" checked run by_mpi $n "$tmp/layouts" --quiet
done

# A batch that does not divide; data parallel, and plans drawn at random: messages, groups and axes of a mesh.
for case in "2 --ranks=2" "3 --ranks=3" "4 --ranks=4" "3 --mesh=gpu=3 --plan=random:5" "4 --mesh=a=2,b=2 --plan=random:3"; do
  n=${case%% *}
  # shellcheck disable=SC2086 # a list of options
  check "compiling mlp, $case" quiet "$PARCC" "$root/samples/mlp.dnn" -D batch=7 -D width=19 --dtype f64 ${case#* } -o "$tmp/mlp.cu"
  check "building mlp, $case" quiet "$PARCC_CC" --target=host --check -O0 "$tmp/mlp.cu" -o "$tmp/plain"
  check "building mlp staged, $case" quiet "$PARCC_CC" --target=host --staged --check -O0 "$tmp/mlp.cu" -o "$tmp/staged"
  check "mlp, $case" train plain "$n" "$tmp/plain"
  check "mlp staged, $case" train staged "$n" "$tmp/staged"
  check "mlp staged, $case, checked" checked train checked "$n" "$tmp/staged"
  check "mlp staged, $case: other values" same staged
  check "mlp staged, $case, checked: other values" same checked
done

# A machine with two devices, which tells which of them it was asked for.
cat >"$tmp/devices.c" <<'END'
#include <stdio.h>
#include "parcc.h"
cudaError_t __wrap_cudaGetDeviceCount(int *count);
cudaError_t __wrap_cudaSetDevice(int device);
cudaError_t __wrap_cudaGetDeviceCount(int *count) { *count = 2; return cudaSuccess; }
cudaError_t __wrap_cudaSetDevice(int device) { printf("device %d\n", device); return cudaSuccess; }
END
quiet "$PARCC" "$root/samples/mlp.dnn" -D batch=7 -D width=19 --ranks=4 -o "$tmp/mlp.cu"
for staged in '' --staged; do
  # shellcheck disable=SC2086 # a list of options
  check "building for two devices $staged" quiet "$PARCC_CC" --target=host $staged -O1 -Wl,--wrap=cudaGetDeviceCount,--wrap=cudaSetDevice \
    "$tmp/mlp.cu" "$tmp/devices.c" -o "$tmp/two$staged"
done
check "four ranks on two devices" by_mpi 4 "$tmp/two--staged" --data synthetic --steps 1 --quiet >"$tmp/devices"
check "two ranks on each of two devices" [ "$(grep '^device' "$tmp/devices" | LC_ALL=C sort | tr -d '\n')" = 'device 0device 0device 1device 1' ]
by_mpi 4 "$tmp/two" --data synthetic --steps 1 --quiet >"$tmp/out" 2>&1
check "four ranks on two devices are not refused" [ $? = 1 ]
check "it is not said that --staged shares devices" grep -q '4 ranks on this machine, but it has 2 devices.*--staged' "$tmp/out"

# Whoever waits for a rank that is gone ends.
timeout 60 mpiexec --oversubscribe --bind-to none -n 4 sh -c \
  'if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then (sleep 2; kill -9 $$) & fi; exec "$0" --data synthetic --steps 100000000 --quiet' \
  "$tmp/two--staged" >"$tmp/out" 2>&1
code=$?
check "a rank that dies: exit code $code" [ $code != 0 -a $code != 124 ]

if command -v nvcc >/dev/null 2>&1 && [ -f "$(dirname "$PARCC_CC")/../lib/libparcc_rt_cuda_staged.a" ]; then
  check "building for GPUs" quiet "$PARCC_CC" --target=cuda --staged -arch sm_80 "$tmp/mlp.cu" -o "$tmp/cuda"
  ldd "$tmp/cuda" >"$tmp/out"
  check "it links with NCCL" [ "$(grep -c libnccl "$tmp/out")" = 0 ]
  check "it does not link with MPI" grep -q libmpi "$tmp/out"
fi
finish
