#!/bin/sh
# A run that was saved on 8 ranks with one plan goes on on 3 with another, and from there on one rank: in f64 losses and what is
# saved at the end are those of one rank that was never interrupted, to 1e-11 (saved values to ten times that).
. "$(dirname "$0")/common.sh"

# program MODEL OUT OPTIONS...: -O0: what is tested is what is computed
program() {
  model=$1 out=$tmp/$2
  shift 2
  "$PARCC" "$root/tests/run/plans/$model.dnn" -q --dtype f64 -o "$out.cu" "$@" && "$PARCC_CC" --target=host $quick "$out.cu" -o "$out"
}
# train OUT RANKS OPTIONS...
train() {
  out=$tmp/$1 n=$2
  shift 2
  ranks "$n" "$out" --data synthetic --quiet "$@" >/dev/null
}
# The steps of a log behind the Nth, as a log of their own.
behind() { tail -n +$(($1 + 1)) "$2" >"$tmp/behind.log"; }
# same STEPS LOG STATE OTHER_LOG OTHER_STATE
same() { python3 "$root/tests/run/compare_runs.py" 1e-11 "$1" "$2" "$4" "$3" "$5"; }

# resumed MODEL SEED SEED: saved after 7 steps and after 10; an interruption is a checkpoint that is taken away
resumed() {
  rm -rf "$tmp"/*
  program "$1" one && program "$1" eight --mesh=a=2,b=4 --plan=random:"$2" && program "$1" three --ranks=3 --plan=random:"$3" &&
    train one 1 --steps 12 --log "$tmp/one.log" --save "$tmp/one.st" || { fail "the programs of $1"; return; }
  if train eight 8 --steps 12 --save "$tmp/run" --save-every 7 && rm -r "$tmp/run/step-000000012" &&
    train three 3 --load "$tmp/run" --save "$tmp/run" --save-every 10 --log "$tmp/three.log"; then
    behind 7 "$tmp/one.log"
    check "$1: 8 ranks, then 3" same 5 "$tmp/behind.log" "$tmp/one.st" "$tmp/three.log" "$tmp/run/step-000000012/tensors.safetensors"
  else
    fail "$1: 8 ranks, then 3"
    return
  fi
  rm -r "$tmp/run/step-000000012"
  if train one 1 --load "$tmp/run" --log "$tmp/last.log" --save "$tmp/last.st"; then
    behind 10 "$tmp/one.log"
    check "$1: and then one" same 2 "$tmp/behind.log" "$tmp/one.st" "$tmp/last.log" "$tmp/last.st"
  else
    fail "$1: and then one"
  fi
}
for seeds in "1 2" "3 4"; do
  for model in halo views branches; do
    # shellcheck disable=SC2086 # two words
    resumed $model $seeds
  done
done
finish
