#!/bin/sh
# Programs of plans drawn at random against the serial program, in f64: plans.sh MODEL [MESHES [SEEDS]]
#
# Losses, gradient norms and what is saved after 3 steps agree to 1e-11 (norms and saved values to ten times that). A plan
# divides, replicates or pins every operator, input and stored tensor by itself; a failure prints the command that repeats it.
. "$(dirname "$0")/common.sh"

case "$1" in
mlp) model=$root/samples/mlp.dnn settings='batch=7 width=9' ;;
lenet) model=$root/samples/lenet.dnn settings='batch=5' ;;
resnet) model=$root/samples/resnet.dnn settings='batch=3 size=32 depth=18 width=4 classes=5' ;;
alexnet) model=$root/samples/alexnet.dnn settings='batch=3 size=63 width=4 hidden=12 classes=5' ;;
inception_v3) model=$root/samples/inception_v3.dnn settings='batch=3 size=75 width=4 classes=5' ;;
*) model=$root/tests/run/plans/$1.dnn settings= ;;
esac
meshes=${2:-gpu=2 gpu=3 a=2,b=2 a=2,b=3 a=2,b=2,c=2}
seeds=${3:-1 2}
defines=
for setting in $settings; do defines="$defines -D $setting"; done

# program OUT OPTIONS...: -O0: what is tested is what is computed, and the C compiler takes most of the time
program() {
  out=$1
  shift
  # shellcheck disable=SC2086 # a list of options
  "$PARCC" "$model" -q --dtype f64 $defines -o "$tmp/$out.cu" "$@" && "$PARCC_CC" --target=host -O0 "$tmp/$out.cu" -o "$tmp/$out"
}

# train OUT RANKS
train() { ranks "$2" "$tmp/$1" --data synthetic --steps 3 --quiet --log "$tmp/$1.log" --save "$tmp/$1.st" >/dev/null; }

program serial && train serial 1 || { fail "the serial program"; finish; exit 1; }
for mesh in $meshes; do
  n=$(echo "$mesh" | awk -F'[=,]' '{ n = 1; for (i = 2; i <= NF; i += 2) n *= $i; print n }')
  for seed in $seeds; do
    printf '%s, seed %s: ' "$mesh" "$seed"
    if program plan "--mesh=$mesh" "--plan=random:$seed" && train plan "$n" &&
      python3 "$root/tests/run/compare_runs.py" 1e-11 3 "$tmp/serial.log" "$tmp/plan.log" "$tmp/serial.st" "$tmp/plan.st"; then
      pass
    else
      fail "parcc $model --dtype f64$defines --mesh=$mesh --plan=random:$seed"
    fi
  done
done
finish
