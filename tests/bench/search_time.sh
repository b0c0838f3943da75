#!/bin/sh
# How long --search=auto takes: models on their machines, then growth with layers and with devices. What is printed is what the compiler
# says: the whole search, with the plans of other planners that auto is held against.
. "$(dirname "$0")/../run/common.sh"

# row MODEL MACHINE DEVICES OPTIONS...
row() {
  model=$1 machine=$2 devices=$3
  shift 3
  said=$("$PARCC" "$root/samples/$model.dnn" --machine="$machine" --devices="$devices" --search=auto "$@" -o "$tmp/out.cu" 2>&1 | grep searched:)
  echo "$model $* on $devices of $machine: ${said#parcc: searched: }"
}
for model in alexnet vgg16 resnet inception_v3 gpt2 bert_base nmt rnnlm charlm wresnet; do row $model p100x4x4 8; done
row inception_v3 p100x4x4 16
row gpt2 dgx-h100 64 -D size=1558 -D batch=64
row gpt2 dgx-h100 1024 -D size=175000 -D batch=1024
for layers in 10 30 100 300 1000; do row gpt2 dgx-h100 64 -D layers=$layers -D width=768 -D heads=12 -D batch=64; done
for devices in 8 64 512 4096; do row gpt2 dgx-h100 $devices -D layers=12 -D width=768 -D heads=12 -D batch=$devices; done
finish
