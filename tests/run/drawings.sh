#!/bin/sh
# What --dot writes is a drawing for GraphViz: dot takes it without a word, deep networks stay small, and every edge is between nodes.
. "$(dirname "$0")/common.sh"
command -v dot >/dev/null || skip "no dot: apt install graphviz"

# draw MODEL OPTIONS...: to $tmp/MODEL.dot and .svg
draw() {
  model=$1
  shift
  "$PARCC" -q "$root/samples/$model.dnn" --dot "$tmp/$model.dot" "$@" && dot -Tsvg "$tmp/$model.dot" -o "$tmp/$model.svg" >"$tmp/said" 2>&1 &&
    [ ! -s "$tmp/said" ] && grep -q '</svg>' "$tmp/$model.svg"
}
nodes() { grep -c '^ *n[0-9]* \[label' "$tmp/$1.dot"; }

for plan in "mlp --mesh=a=2,b=2 --plan=random:3" "lenet --machine=p100x4x4 --devices=4" "rnnlm --mesh=data=4" "resnet --ranks=3 -D depth=101" \
            "gpt2 --mesh=data=2,tensor=4 --search=megatron" "inception_v3 --mesh=gpu=4 --plan-in $root/samples/plans/inception-branches.plan"; do
  # shellcheck disable=SC2086
  check "$plan" draw $plan
done
check "101 layers take more than 150 nodes" [ "$(nodes resnet)" -le 150 ]
check "40 steps of two layers take more than 20 nodes" [ "$(nodes rnnlm)" -le 20 ]
shallow=$(nodes gpt2)
check "gpt2 with 48 layers" draw gpt2 --mesh=data=2,tensor=4 --search=megatron -D layers=48
check "48 layers take more nodes than 12 ($shallow)" [ "$(nodes gpt2)" -eq "$shallow" ]
check "and they are told" grep -q 'label="48 times, one after the other"' "$tmp/gpt2.dot"
for model in mlp rnnlm resnet gpt2 inception_v3; do
  check "$model: edges between nodes that are drawn" awk '
    /^ *n[0-9]+ \[label/ { if ($1 in drawn) exit 1; drawn[$1] = 1 }
    / -> / && /^ *n/ { from = $1; to = $3; sub(/;$/, "", to); if (!(from in drawn) || !(to in drawn)) exit 1; edges++ }
    END { if (edges < 3) exit 1 }' "$tmp/$model.dot"
done
"$PARCC" -q "$root/samples/lenet.dnn" --machine=p100x4x4 --devices=4 --dot - >"$tmp/again.dot"
check "twice the same" cmp -s "$tmp/again.dot" "$tmp/lenet.dot"
finish
