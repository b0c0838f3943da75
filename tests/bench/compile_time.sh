#!/bin/sh
# The time that parcc takes for a large model, the best of five: at most 50 ms for vgg16, 150 ms for resnet.
. "$(dirname "$0")/../run/common.sh"

# within MODEL MS
within() {
  best=
  for _ in 1 2 3 4 5; do
    began=$(date +%s%N)
    "$PARCC" "$root/samples/$1.dnn" -o "$tmp/out.cu" || { fail "$1 does not compile"; return; }
    ms=$((($(date +%s%N) - began) / 1000000))
    if [ -z "$best" ] || [ "$ms" -lt "$best" ]; then best=$ms; fi
  done
  echo "$1: $best ms"
  check "$1 takes more than $2 ms" [ "$best" -le "$2" ]
}
within vgg16 50
within resnet 150
finish
