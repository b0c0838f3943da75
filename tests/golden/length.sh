#!/bin/sh
# A deep network stays a program to read: what its layers, or its steps over time, repeat is there once, whatever their number.
. "$(dirname "$0")/../run/common.sh"

# lines MODEL --ranks N OPTIONS...: of a sample
lines() {
  model=$1
  shift
  "$PARCC" "$root/samples/$model.dnn" "$@" -o "$tmp/$model.cu" || return
  wc -l <"$tmp/$model.cu"
}
shallow=$(lines resnet --ranks 8 -D depth=101) deep=$(lines resnet --ranks 8 -D depth=152)
echo "resnet on 8 ranks: $shallow lines at depth 101, $deep at depth 152"
check "depth 152 takes more than 3000 lines" [ "${deep:-9999}" -le 3000 ]
# 17 blocks of three layers more: rows of tables, and no code
check "51 layers more take more than 300 lines" [ "$((${deep:-9999} - ${shallow:-0}))" -le 300 ]
check "there are more than 80 kernels" [ "$(grep -c '^__global__' "$tmp/resnet.cu")" -le 80 ]

short=$(lines rnnlm --ranks 4 -D context=20) long=$(lines rnnlm --ranks 4)
echo "rnnlm on 4 ranks: $short lines with 20 time steps, $long with 40"
check "40 time steps of two LSTM layers take more than 1300 lines" [ "${long:-9999}" -le 1300 ]
# 20 steps of two layers more: two rows of tables for each
check "20 time steps more take more than 100 lines" [ "$((${long:-9999} - ${short:-0}))" -le 100 ]
nmt=$(lines nmt --ranks 4)
echo "nmt on 4 ranks: $nmt lines"
check "nmt takes more than 2500 lines" [ "${nmt:-9999}" -le 2500 ]

few=$(lines gpt2 --ranks 8) many=$(lines gpt2 --ranks 8 -D layers=48 -D width=1600 -D heads=25)
echo "gpt2 on 8 ranks: $few lines with 12 layers, $many with 48"
check "gpt2 takes more than 2500 lines" [ "${few:-9999}" -le 2500 ]
# rows of tables, and what names the gradients of larger layers
check "36 layers more take more than 1200 lines" [ "$((${many:-9999} - ${few:-0}))" -le 1200 ]
check "the backward pass of layers is no loop" grep -q '^  for (long i = .*) backward_[a-z0-9]*(&' "$tmp/gpt2.cu"
finish
