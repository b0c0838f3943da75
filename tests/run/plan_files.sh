#!/bin/sh
# Plans written and read again: plan_files.sh [SEEDS]
#
# For every sample and mesh, a plan that parcc made (data, and drawn at random) is written down and read back: the program
# is the same, byte for byte but for the line that says where the plan comes from, and so is the plan written of it.
. "$(dirname "$0")/common.sh"
seeds=${1:-1 2}

# round_trip MODEL OPTIONS...
round_trip() {
  model=$1
  shift
  "$PARCC" "$model" "$@" --plan-out "$tmp/1.plan" -o "$tmp/1.cu" &&
    "$PARCC" "$model" $defines --plan-in "$tmp/1.plan" --plan-out "$tmp/2.plan" -o "$tmp/2.cu" &&
    sed 's|^//   plan  .*||' "$tmp/1.cu" >"$tmp/1" && sed 's|^//   plan  .*||' "$tmp/2.cu" >"$tmp/2" &&
    cmp "$tmp/1.plan" "$tmp/2.plan" && cmp "$tmp/1" "$tmp/2"
}

# lines N: the plan has N lines
lines() { [ "$(grep -c . "$tmp/1.plan")" -eq "$1" ]; }

for model in "$root"/samples/*.dnn "$root"/tests/run/plans/*.dnn "$root"/tests/run/hand/*.dnn "$root"/tests/golden/emitted/*.dnn; do
  name=$(basename "$model" .dnn)
  defines=
  if [ "$name" = resnet ]; then defines='-D depth=18'; fi
  # Of layers and steps a few are as good as all.
  case $model in
  "$root"/samples/*)
    for few in layers=2 context=3; do
      ! grep -q "[( ]${few%=*} *=" "$model" || defines="$defines -D $few"
    done
    ;;
  esac
  meshes='data=3 a=2,b=2 a=2,b=1,c=3'
  if grep -q '@shard' "$model"; then meshes='data=2,gpu=2 gpu=3,data=2'; fi
  for mesh in $meshes; do
    # shellcheck disable=SC2086 # a list of options
    check "$name, $mesh, data" round_trip "$model" $defines --mesh "$mesh"
    grep -q '@shard' "$model" || check "$name, $mesh: a plan that only cuts inputs has a line for each" lines $((2 + $(grep -c '^input' "$tmp/1.plan")))
    for seed in $seeds; do
      # shellcheck disable=SC2086
      check "$name, $mesh, seed $seed" round_trip "$model" $defines --mesh "$mesh" --plan "random:$seed"
    done
  done
done
finish
