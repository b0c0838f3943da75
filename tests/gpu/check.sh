#!/bin/sh
# Programs built by nvcc against the same programs on the host: 10 steps of mlp, lenet and resnet on one rank, losses to 1e-4 in
# f32 and 1e-9 in f64.
#
#   check.sh                all of it, on a machine that has a GPU and everything that building takes
#   check.sh prepare DIR    here: compiles, builds for both targets, runs on the host; DIR then holds all that "run" needs
#   check.sh run DIR OUT    on a machine with a GPU (it needs a shell, the CUDA libraries and no MPI): runs the programs, writes
#                           logs to OUT
#   check.sh compare DIR OUT  here again
set -u
folder=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$folder/../.." && pwd)
steps=10
cases='mlp.f32 mlp.f64 lenet.f32 lenet.f64 resnet.f32 resnet.f64'
failed=0

settings() {
  case "$1" in
  mlp | lenet) echo '-D batch=64' ;;
  resnet) echo '-D batch=8 -D size=64 -D depth=50 -D width=16 -D classes=10' ;;
  esac
}

# The runtime of the programs is built without MPI, so that a machine without MPI can run them; the small libraries go along.
prepare() {
  parcc=${PARCC:-$root/build/bin/parcc} parcc_cc=${PARCC_CC:-$root/build/bin/parcc-cc}
  mkdir -p "$1/lib" && cd "$1" || exit 1
  cmake -S "$root/runtime" -B runtime -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >/dev/null 2>&1 && cmake --build runtime >/dev/null || exit 1
  for case in $cases; do
    sample=${case%.*} dtype=${case#*.}
    cp "$root/samples/$sample.dnn" .
    # The gradients of a small resnet are so large that differences of rounding grow tenfold a step.
    [ "$sample" != resnet ] || sed -i 's/^train {$/train { clip = 0.01;/' resnet.dnn
    # shellcheck disable=SC2046 # a list of options
    "$parcc" "$sample.dnn" -o "$case.cu" --dtype "$dtype" $(settings "$sample") || exit 1
    "$parcc_cc" --target=host "$case.cu" -o "$case.host" || exit 1
    runtime/bin/parcc-cc --target=cuda -arch "${ARCH:-sm_75,sm_80,sm_90}" "$case.cu" -o "$case.cuda" || exit 1
    "./$case.host" --data synthetic --steps $steps --quiet --log "$case.host.log" || exit 1
    ldd "$case.cuda" | sed -n 's/.*=> \(.*lib\(cjson\|z\)\.so[^ ]*\) .*/\1/p' | xargs -r cp -L -t lib
  done
}

run() {
  mkdir -p "$2" && out=$(cd "$2" && pwd) && cd "$1" || exit 1
  nvidia-smi -L || { echo "check.sh: there is no GPU" >&2; exit 1; }
  for case in $cases; do
    LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
      "./$case.cuda" --data synthetic --steps $steps --quiet --log "$out/$case.cuda.log" || { echo "FAILED $case: does not run"; failed=1; }
  done
}

compare() {
  for case in $cases; do
    tolerance=1e-4 what=--losses
    [ "${case#*.}" = f32 ] || tolerance=1e-9 what=
    printf '%s: ' "$case"
    python3 "$root/tests/run/compare_runs.py" $what $tolerance $steps "$1/$case.host.log" "$2/$case.cuda.log" || { echo "FAILED $case"; failed=1; }
  done
}

case "${1-}" in
prepare) prepare "$2" ;;
run) run "$2" "$3" ;;
compare) compare "$2" "$3" ;;
'')
  nvidia-smi -L 2>/dev/null | grep -q '^GPU' || { echo 'SKIPPED: there is no GPU'; exit 77; }
  tmp=$(mktemp -d) || exit 1
  trap 'rm -rf "$tmp"' EXIT
  (prepare "$tmp") && (run "$tmp" "$tmp") && compare "$tmp" "$tmp" || failed=1
  ;;
*) echo 'usage: check.sh [prepare DIR | run DIR OUT | compare DIR OUT]' >&2; exit 2 ;;
esac
exit $failed
