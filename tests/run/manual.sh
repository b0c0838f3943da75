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

# What the manual says of attributes and defaults is what the prelude has.
check "defaults in the manual" python3 - "$root" <<'PY'
import glob, re, sys
manual = open(sys.argv[1] + "/grammar/LANGUAGE.md").read()
prelude = "".join(open(path).read() for path in glob.glob(sys.argv[1] + "/frontend/prelude/*.dnn"))
rows = re.findall(r"^\| (`.*?`) \|", manual[manual.index("## 12."):], re.M)
heads = [head for row in rows for head in re.findall(r"`(\w+)\((.*?)\)`", row)]
assert len(heads) >= 14, heads
for name, said in heads:
    has = re.search(rf"^(?:op|layer|optimizer|fn) {name}\((.*?)\)\s*(?:->|=)", prelude, re.M | re.S).group(1)
    defaults = lambda text: dict(re.findall(r"(\w+) = ([^,;\s]+)", text))
    assert defaults(said) == defaults(has), (name, defaults(said), defaults(has))
PY
finish
