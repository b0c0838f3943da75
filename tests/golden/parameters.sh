#!/bin/sh
# The samples have as many parameters as samples/README.md says, and as the networks they are named after.
. "$(dirname "$0")/../run/common.sh"

# count PARAMETERS SAMPLE [DEFINITION...]; PARAMETERS with commas, as people read them
count() {
  expected=$1 sample=$2
  shift 2
  found=$("$PARCC" --stats "$root/samples/$sample.dnn" "$@" | sed -n 's/^parameters  *//p')
  echo "$sample $*: $found parameters"
  check "$sample $* has $found parameters, not $expected" [ "$found" = "$(echo "$expected" | tr -d ,)" ]
}

# stated PARAMETERS SAMPLE: with the settings it has; the table of the README says the same.
stated() {
  count "$1" "$2"
  check "samples/README.md does not say $1 of $2" grep -q "^| \`$2.dnn\` | $1" "$root/samples/README.md"
}

stated 669,706 mlp
stated 61,706 lenet
stated 61,100,840 alexnet
stated 138,357,544 vgg16
stated 25,557,032 resnet
stated 27,161,264 inception_v3
stated 3,249,792 bigram
stated 2,363,648 charlm
stated 54,069,250 rnntc
stated 108,111,632 rnnlm
stated 807,600,384 rnn_big
stated 135,068,928 nmt
stated 280,858,880 gnmt8
stated 822,752,126 lm1b
stated 166,899,521 dlrm
count 512,338,241 dlrm -D tables=8 -D rows=1000000
stated 383,571,176 wresnet
count 11,689,512 resnet -D depth=18
count 60,192,808 resnet -D depth=152
stated 124,439,808 gpt2
count 354,823,168 gpt2 -D size=355
count 774,030,080 gpt2 -D size=774
count 1,557,611,200 gpt2 -D size=1558
count 124,475,904 gpt2 -D vocabulary=50304
count 174,604,259,328 gpt2 -D size=175000
# Layers of 8 H^2 + 8 H, and bytes in and out: within a hundredth of the 8 L H^2 that RNN-L-H stands for.
count 1,344,602,368 rnn_big -D layers=10
count 5,373,559,040 rnn_big -D layers=10 -D width=8192
# With W = 1 the network that is widened; nearly all weights grow by W^2.
count 25,557,032 wresnet -D widening=1
count 5,820,386,920 wresnet -D depth=152 -D widening=10
stated 109,482,240 bert_base
count 110,106,428 bert_base -D head=own
stated 335,141,888 bert_large
stated 86,567,656 vit_b16
stated 6,738,415,616 llama
count 13,015,864,320 llama -D size=13
stated 46,702,792,704 mixtral
finish
