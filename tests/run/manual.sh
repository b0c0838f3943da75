#!/bin/sh
# Every example of the manual of the language that is a whole model (a ```dnn block) or a plan of a sample (a ```plan block)
# compiles, silently.
. "$(dirname "$0")/common.sh"

awk -v folder="$tmp" '
  /^```dnn$/ { inside = 1; file = folder "/example" ++n ".dnn"; start = NR; printf "# line %d of the manual\n", start > file; next }
  /^```/ { inside = 0 }
  inside { print > file }
  END { print n > (folder "/count") }' "$root/grammar/LANGUAGE.md"
n=$(cat "$tmp/count")
check "the manual has examples" [ "$n" -ge 8 ]
for i in $(seq 1 "$n"); do
  example=$tmp/example$i.dnn
  if "$PARCC" "$example" --ranks=3 -q -o "$tmp/out.cu" >"$tmp/said" 2>&1 && [ ! -s "$tmp/said" ]; then
    pass
  else
    fail "$(head -n 1 "$example")"
    cat "$tmp/said"
  fi
done

awk '/^```plan$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/grammar/LANGUAGE.md" >"$tmp/lenet.plan"
check "the manual has a plan" [ -s "$tmp/lenet.plan" ]
check "and it is one of lenet" "$PARCC" "$root/samples/lenet.dnn" --plan-in "$tmp/lenet.plan" -o "$tmp/out.cu"
finish
