#!/bin/sh
# Trains a language model on a book and lets it write: scripts/demo-text.sh [STEPS]
# Installs what is missing, builds the compiler, takes the text of the King James Bible from a Debian package, trains a small
# samples/charlm.dnn for STEPS steps (default 1000: some minutes on 2 cores) on 4 ranks under a plan that divides the batch, the
# hidden units and the vocabulary, tells the bits per byte on the last tenth of the text, and generates text on 1 rank. All it
# writes is in build/.
set -eu
cd "$(dirname "$0")/.."

steps=${1:-1000}
ranks=4
sizes='-D width=192 -D context=32 -D batch=64 -D lr=0.004'
out=build/demo-text

say() { printf '\n== %s\n' "$*"; }

scripts/install-deps.sh --text
say "building parcc and its runtime"
mkdir -p "$out"
[ -e build/CMakeCache.txt ] && tests="" || tests=-DPARCC_TESTS=OFF # a build that has tests keeps them
# shellcheck disable=SC2086
cmake -S . -B build -G Ninja $tests >build/demo-cmake.log || { cat build/demo-cmake.log; exit 1; }
ninja -C build --quiet

say "a text: $out/text.txt"
# Every verse is a line that begins with its place.
bible -f gen1:1-rev22:21 </dev/null | sed 's/^[^ ]* //' >"$out/text.txt"
wc "$out/text.txt"

say "samples/charlm.dnn -> $out/charlm_$ranks.cu ($ranks ranks), $out/charlm_1.cu (1 rank)"
# shellcheck disable=SC2086
build/bin/parcc samples/charlm.dnn $sizes --plan-in samples/plans/charlm-data-tensor.plan -o "$out/charlm_$ranks.cu"
# shellcheck disable=SC2086
build/bin/parcc samples/charlm.dnn $sizes -o "$out/charlm_1.cu"
for n in 1 $ranks; do build/bin/parcc-cc --target=host "$out/charlm_$n.cu" -o "$out/charlm_$n"; done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # Open MPI refuses root, as which containers run
export OPENBLAS_NUM_THREADS=1                                    # the ranks share the cores

say "training on $ranks ranks"
rm -rf "$out/run"
mpiexec --oversubscribe --bind-to none -n $ranks "$out/charlm_$ranks" --data "$out" --steps "$steps" --eval --log "$out/log" --save "$out/run"
say "bits per byte: $(sed -n 's/.*"eval": true.*"bits": \([0-9.]*\).*/\1/p' "$out/log")"

say "what it writes"
"$out/charlm_1" --load "$out/run" --sample "In the beginning" --tokens 400 --temperature 0.7
