#!/bin/sh
# A deep network stays a program to read: what its layers, or its steps over time, repeat is there once, whatever their number.
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

# lines_of SAMPLE OPTION...
lines_of() {
  sample=$1
  shift
  "$PARCC" "$root/samples/$sample.dnn" "$@" --ranks 4 -o "$tmp/$sample.cu" || return
  wc -l <"$tmp/$sample.cu"
}
short=$(lines_of rnnlm -D context=20) long=$(lines_of rnnlm)
echo "rnnlm on 4 ranks: $short lines with 20 time steps, $long with 40"
check "40 time steps of two LSTM layers take more than 1300 lines" [ "${long:-9999}" -le 1300 ]
# 20 steps of two layers more: two rows of tables for each
check "20 time steps more take more than 100 lines" [ "$((${long:-9999} - ${short:-0}))" -le 100 ]
nmt=$(lines_of nmt)
echo "nmt on 4 ranks: $nmt lines"
check "nmt takes more than 2500 lines" [ "${nmt:-9999}" -le 2500 ]
finish
