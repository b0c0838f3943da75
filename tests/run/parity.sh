#!/bin/sh
# One sample, reduced in size, on several ranks against one rank, and one rank against the interpreter: parity.sh SAMPLE
# (units, states and places are small models of their own)
#
#   f64  20 steps on 2, 3, 4 and 5 ranks: losses, metrics and gradient norms to 1e-10, what is saved to 1e-9
#   f32   5 steps on 2, 3, 4 and 5 ranks: to 2e-5
#   f64   3 steps on one rank against the interpreted graphs: to 1e-10
#
# (gradient norms to ten times that: they are sums over all parameters.) The batch of 7 divides over none of them; mlp also has
# one that divides and one smaller than the number of ranks. The two deepest networks, reduced so far, have gradients of norm
# 300 and 1000, and with steps of that size a difference of rounding grows tenfold a step: their gradients are clipped, and in
# f32 only their losses are compared; statistics of 7 numbers, as the smallest inception_v3 has, are too rough for f32 at all.
# A bias of keys adds the same to all scores of a query: its gradient is what rounding leaves of 0, of which Adam with a small
# eps makes whole steps. Models that have one get a larger eps, and in f32, too, only their losses are compared.
# mlp and charlm are started by mpiexec, the others over TCP.
. "$(dirname "$0")/common.sh"

sample=$1 clip= eps= settings_f32= folder=samples start=ranks
case "$sample" in
mlp) settings='batch=7 width=19' start=by_mpi ;;
mlp_divides) sample=mlp settings='batch=60 width=16' ;;
mlp_few) sample=mlp settings='batch=3 width=16' ;;
lenet) settings='batch=7' ;;
alexnet) settings='batch=7 size=63 width=6 hidden=24 classes=10' ;;
vgg16) settings='batch=7 size=32 width=4 hidden=24 classes=10' ;;
resnet) settings='batch=7 size=33 depth=18 width=4 classes=10' ;;
resnet50) sample=resnet settings='batch=7 size=33 depth=50 width=4 classes=10' clip=0.01 ;;
inception_v3) settings='batch=7 size=75 width=4 classes=10' clip=0.01 settings_f32='batch=7 size=115 width=8 classes=10' ;;
charlm) settings='batch=7 context=5 width=12 layers=2' start=by_mpi ;;
rnnlm) settings='batch=7 context=3 width=10 vocabulary=19' ;;
nmt) settings='batch=7 context=3 width=8 vocabulary=21' ;;
gnmt8) settings='batch=7 context=3 width=6 vocabulary=13 layers=3' ;;
lm1b) settings='batch=7 context=3 width=5 hidden=6 vocabulary=23 samples=8' ;;
gpt2) settings='batch=7 context=9 vocabulary=31 layers=2 width=12 heads=3 rate=0.1' eps=1e-4 ;;
bert_base) settings='batch=7 context=9 vocabulary=31 layers=2 width=12 heads=3 rate=0.1' eps=1e-4 ;;
vit_b16) settings='batch=7 size=9 patch=3 layers=2 width=12 heads=3 classes=5 rate=0.1' eps=1e-4 ;;
llama) settings='batch=7 context=9 vocabulary=31 layers=2 width=16 heads=4 kv_heads=2 hidden=21' ;;
mixtral) settings='batch=7 context=9 vocabulary=31 layers=2 width=16 heads=4 kv_heads=2 experts=5 hidden=11' ;;
units | states | places) settings='batch=7' folder=tests/run/plans ;;
*) echo "parity.sh: no settings for '$sample'" >&2; exit 2 ;;
esac
defines_f64=$(printf ' -D %s' $settings)
defines_f32=$(printf ' -D %s' ${settings_f32:-$settings})
text=$tmp/$sample.dnn
sed "${clip:+s/^train {\$/train { clip = $clip;/};${eps:+s/adamw(/&eps = $eps, /}" "$root/$folder/$sample.dnn" >"$text"
[ -z "$eps" ] || grep -q "adamw(eps" "$text" || { echo "parity.sh: no adamw in $sample" >&2; exit 1; }
[ -z "$clip" ] || grep -q 'clip = ' "$text" || { echo "parity.sh: cannot clip $sample" >&2; exit 1; }

# program DTYPE RANKS: builds $tmp/DTYPE_RANKS. Long sums of floats one after the other, as -O1 makes them, are too rough for the deepest
# networks.
program() {
  level=$quick
  [ "$1" = f64 ] || level=-O1
  [ "$1" = f64 ] || [ -z "$clip" ] || level=-O3
  if [ "$1" = f64 ]; then defines=$defines_f64; else defines=$defines_f32; fi
  # shellcheck disable=SC2086 # a list of options
  "$PARCC" "$text" -o "$tmp/$1_$2.cu" --dtype "$1" --ranks "$2" $defines &&
    "$PARCC_CC" --target=host $level "$tmp/$1_$2.cu" -o "$tmp/$1_$2"
}

# train DTYPE RANKS STEPS
train() {
  run=$1_$2
  $start "$2" "$tmp/$run" --data synthetic --steps "$3" --quiet --log "$tmp/$run.log" --save "$tmp/$run.st" >/dev/null
}

# against_one DTYPE STEPS TOLERANCE [--losses]
against_one() {
  program "$1" 1 && train "$1" 1 "$2" || { fail "$1 on 1 rank"; return; }
  for n in 2 3 4 5; do
    printf '%s on %d ranks: ' "$1" "$n"
    if program "$1" "$n" && train "$1" "$n" "$2" &&
      python3 "$root/tests/run/compare_runs.py" ${4-} "$3" "$2" "$tmp/$1_1.log" "$tmp/$1_$n.log" "$tmp/$1_1.st" "$tmp/$1_$n.st"; then
      pass
    else
      fail "$1 on $n ranks"
    fi
  done
}

against_one f64 20 1e-10
if [ -n "$clip$eps" ]; then against_one f32 5 2e-5 --losses; else against_one f32 5 2e-5; fi

printf 'f64 against the interpreter: '
# shellcheck disable=SC2086 # a list of options
if "$PARCC_TESTS/run/interpret" "$text" $defines_f64 --data synthetic --steps 3 --quiet \
  --log "$tmp/interpreted.log" --save "$tmp/interpreted.st" >/dev/null && train f64 1 3 &&
  python3 "$root/tests/run/compare_runs.py" 1e-10 3 "$tmp/f64_1.log" "$tmp/interpreted.log" "$tmp/f64_1.st" "$tmp/interpreted.st"; then
  pass
else
  fail "f64 against the interpreter"
fi
finish
