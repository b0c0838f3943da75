#!/bin/sh
# Measures the cores of this machine and what is between them, and writes them as a machine file for parcc:
# scripts/measure-host.sh OUT.machine [CORES]. It takes a few seconds, in which nothing else should run.
set -eu
[ $# -eq 1 ] || [ $# -eq 2 ] || { echo "usage: measure-host.sh OUT.machine [CORES]" >&2; exit 2; }
out=$1
cores=${2:-$(nproc)}
case "$cores" in '' | 0* | *[!0-9]*) echo "measure-host.sh: expected a number of cores, found '$cores'" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

mpicc -std=gnu17 -O3 -march=native "$here/measure_host.c" -lopenblas -o "$tmp/measure"
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpiexec --oversubscribe --bind-to none -n "$cores" "$tmp/measure" >"$tmp/machine"
cp "$tmp/machine" "$out"
echo "wrote $out"
