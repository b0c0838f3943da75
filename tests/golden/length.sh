#!/bin/sh
# A deep network stays a program to read: what its layers repeat is there once, whatever their number.
. "$(dirname "$0")/../run/common.sh"

# lines DEPTH: of resnet on 8 ranks
lines() {
  "$PARCC" "$root/samples/resnet.dnn" -D depth="$1" --ranks 8 -o "$tmp/resnet.cu" || return
  wc -l <"$tmp/resnet.cu"
}
shallow=$(lines 101) deep=$(lines 152)
echo "resnet on 8 ranks: $shallow lines at depth 101, $deep at depth 152"
check "depth 152 takes more than 3000 lines" [ "${deep:-9999}" -le 3000 ]
# 17 blocks of three layers more: rows of tables, and no code
check "51 layers more take more than 300 lines" [ "$((${deep:-9999} - ${shallow:-0}))" -le 300 ]
check "there are more than 80 kernels" [ "$(grep -c '^__global__' "$tmp/resnet.cu")" -le 80 ]
finish
