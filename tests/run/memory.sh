#!/bin/sh
# The planned memory: a program allocates it to the byte, once, and it is at most 1.1 times what lives at one time.
. "$(dirname "$0")/common.sh"

# figure KEY: of the JSON in $tmp/stats
figure() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$tmp/stats"; }
# stats MODEL OPTIONS...
stats() {
  model=$1
  shift
  "$PARCC" "$root/samples/$model.dnn" --stats --json "$@" >"$tmp/stats"
}

# bounded MODEL OPTIONS...
bounded() {
  stats "$@" || { fail "figures of $*"; return; }
  peak=$(figure peak_bytes) bound=$(figure peak_lower_bound_bytes)
  check "$*: $peak bytes, of which $bound live at one time" [ $((peak * 100)) -le $((bound * 110)) ] && check "$*: the bound" [ "$bound" -gt 0 ]
}
reduced() {
  for plan in "--ranks=1" "--ranks=6" "--mesh=gpu=3 --plan=random:1" "--mesh=a=2,b=3 --plan=random:2" "--mesh=a=2,b=2,c=2 --plan=random:3"; do
    # shellcheck disable=SC2086 # a list of options
    bounded "$@" $plan
  done
}
for model in mlp lenet alexnet vgg16 resnet inception_v3; do
  bounded $model --ranks=1
  bounded $model --ranks=8
  bounded $model --mesh=a=2,b=3 --plan=random:1
done
reduced mlp -D batch=7 -D width=9
reduced lenet -D batch=5
reduced alexnet -D batch=3 -D size=63 -D width=4 -D hidden=12 -D classes=5
reduced resnet -D batch=3 -D size=32 -D depth=18 -D width=4 -D classes=5
reduced inception_v3 -D batch=3 -D size=75 -D width=4 -D classes=5

# Attention: what is needed grows with the context, not with its square.
peak_at() {
  stats gpt2 -D layers=2 -D width=128 -D heads=4 -D vocabulary=512 -D batch=1 -D context="$1" && figure peak_bytes
}
for context in 512 1024 2048; do
  near=$(peak_at $context) far=$(peak_at $((2 * context)))
  check "gpt2 needs $near bytes for a context of $context, $far for twice that" [ $((far * 10)) -le $((near * 21)) ]
done
bounded gpt2 -D layers=2 -D width=128 -D heads=4 -D vocabulary=512 -D context=1024 --ranks=2
# The logits of a loss and their gradients: no more than strips of them.
stats ../tests/run/plans/strips -D words=50257 -D batch=8 -D context=128
check "8 * 128 * 50257 logits are not in $(figure peak_bytes) bytes" [ "$(figure peak_bytes)" -lt $((8 * 128 * 50257 * 4 / 4)) ]

# allocated RANKS MODEL OPTIONS...
allocated() {
  n=$1
  shift
  stats "$@" || { fail "figures of $*"; return; }
  model=$1
  shift
  if "$PARCC" "$root/samples/$model.dnn" -q -o "$tmp/one.cu" "$@" && "$PARCC_CC" --target=host $quick "$tmp/one.cu" -o "$tmp/one" &&
    ranks "$n" "$tmp/one" --data synthetic --steps 1 --quiet --eval >"$tmp/out"; then
    check "$model $*: $(figure peak_bytes) bytes are planned: $(cat "$tmp/out")" grep -q ", $(figure peak_bytes) bytes of device memory\$" "$tmp/out"
  else
    fail "$model $*: the program"
  fi
}
allocated 1 mlp -D batch=7
allocated 3 mlp -D batch=7 --ranks=3
allocated 2 lenet -D batch=5 --dtype f64 --ranks=2
allocated 4 lenet -D batch=5 --mesh=a=2,b=2 --plan=random:5
allocated 2 gpt2 -D layers=2 -D width=24 -D heads=4 -D vocabulary=300 -D batch=3 -D context=50 --strip-bytes=4000 --ranks=2
# links.c and detect.c measure links and devices, in programs that train nothing.
allocating=$(grep -l 'cudaMalloc(' "$tmp/one.cu" "$root"/runtime/common/*.c | grep -vE '/(links|detect)\.c$')
check "parcc_arena alone allocates, and is called once" [ "$(grep -c parcc_arena "$tmp/one.cu") $allocating" = "1 $root/runtime/common/device.c" ]
finish
