#!/bin/sh
# Measures the cores of this machine and what is between them, and writes them as a machine file for parcc:
# scripts/measure-host.sh OUT.machine [CORES]. It takes a few seconds, in which nothing else should run. PARCC and PARCC_CC are the
# compiler and the driver that builds its programs, of the build in build/ unless they are given.
set -eu
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "usage: measure-host.sh OUT.machine [CORES]" >&2; exit 2; }
out=$1
cores=${2:-$(nproc)}
case "$cores" in '' | 0* | *[!0-9]*) echo "measure-host.sh: expected a number of cores, found '$cores'" >&2; exit 2 ;; esac
bin=$(cd "$(dirname "$0")/.." && pwd)/build/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

"${PARCC:-$bin/parcc}" detect -o "$tmp/detect.cu"
"${PARCC_CC:-$bin/parcc-cc}" --target=host "$tmp/detect.cu" -o "$tmp/detect"
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpiexec --oversubscribe --bind-to none -n "$cores" "$tmp/detect" >"$tmp/machine"
cp "$tmp/machine" "$out"
echo "wrote $out"
