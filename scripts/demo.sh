#!/bin/sh
# Shows parcc at work: scripts/demo.sh
# Installs what is missing, builds the compiler, compiles samples/lenet.dnn for 4 ranks, trains it on Fashion-MNIST, prints
# the accuracy on the test images, and shows that 1 rank and 4 ranks compute the same losses. All it writes is in build/.
set -eu
cd "$(dirname "$0")/.."

ranks=4          # the program that is trained
compare_steps=20 # how many steps the program for one rank is held against it
tolerance=1e-3   # of the losses, relative: they are sums of floats in another order
data=/usr/share/datasets/fashion-mnist
out=build/demo

say() { printf '\n== %s\n' "$*"; }
die() {
  echo "demo: $*" >&2
  exit 1
}

scripts/install-deps.sh
say "building parcc and its runtime"
mkdir -p build
[ -e build/CMakeCache.txt ] && tests="" || tests=-DPARCC_TESTS=OFF # a build that has tests keeps them
# shellcheck disable=SC2086
cmake -S . -B build -G Ninja $tests >build/demo-cmake.log || { cat build/demo-cmake.log; exit 1; }
ninja -C build --quiet
[ -d "$data" ] || die "no data in $data: is the package dataset-fashion-mnist installed?"

# A GPU for every rank, or none.
target=host
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
if [ "$gpus" -ge "$ranks" ] && command -v nvcc >/dev/null 2>&1; then target=cuda; fi

mkdir -p "$out"
for n in 1 $ranks; do
  say "samples/lenet.dnn -> $out/lenet_$n.cu ($n rank$([ "$n" -eq 1 ] || echo s), $target)"
  build/bin/parcc samples/lenet.dnn --ranks="$n" -o "$out/lenet_$n.cu"
  build/bin/parcc-cc --target="$target" "$out/lenet_$n.cu" -o "$out/lenet_$n"
done
wc -l "$out/lenet_$ranks.cu"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # Open MPI refuses root, as which containers run
launch="mpiexec --oversubscribe --bind-to none -n $ranks"

say "training on $ranks ranks"
$launch "$out/lenet_$ranks" --data "$data" --eval --log "$out/lenet_$ranks.log"

say "the first $compare_steps steps on 1 rank and on $ranks ranks"
# As many steps in the same run: the learning rate depends on how many there are.
"$out/lenet_1" --data "$data" --steps "$compare_steps" --quiet --log "$out/same_1.log" >/dev/null
$launch "$out/lenet_$ranks" --data "$data" --steps "$compare_steps" --quiet --log "$out/same_$ranks.log" >/dev/null

number() { sed -n "s/.*\"$2\": \([-+.e0-9]*\).*/\1/p" "$1"; }
number "$out/same_1.log" loss >"$out/same_1.txt"
number "$out/same_$ranks.log" loss >"$out/same_$ranks.txt"
paste "$out/same_1.txt" "$out/same_$ranks.txt" | awk -v n="$ranks" -v tolerance="$tolerance" -v steps="$compare_steps" '
  { difference = $1 > $2 ? $1 - $2 : $2 - $1; relative = difference / $1
    if (relative > worst) worst = relative
    if (NR <= 3 || NR == steps) printf "step %3d   1 rank %.9f   %d ranks %.9f\n", NR, $1, n, $2 }
  END {
    if (NR != steps) { printf "demo: %d steps in the logs, expected %d\n", NR, steps; exit 1 }
    printf "largest relative difference: %.1e\n", worst
    if (!(worst <= tolerance)) { print "demo: the losses differ"; exit 1 } }'

accuracy=$(number "$out/lenet_$ranks.log" accuracy | tail -n 1)
[ -n "$accuracy" ] || die "the log has no accuracy"
say "test accuracy: $(awk -v a="$accuracy" 'BEGIN { printf "%.2f %%", 100 * a }')"
