#!/bin/sh
# plans.py finds planted faults, and makes the plan smaller until only the lines of the fault are left. The fault: a compiler
# that spoils the program of any plan in which all of certain lines stand.
. "$(dirname "$0")/common.sh"

cat >"$tmp/parcc" <<'END'
#!/bin/sh
# What a plan says is asked of the compiler, whether the plan was read or drawn.
"$REAL" "$@" || exit
case " $* " in *' --plan-out '*) exit 0 ;; esac
"$REAL" "$@" --plan-out "$FAULTY/whole.plan" || exit
tr -s ' ' <"$FAULTY/whole.plan" >"$FAULTY/written.plan"
while read -r line; do grep -qxF -- "$line" "$FAULTY/written.plan" || exit 0; done <"$FAULTY/lines"
[ "$SPOIL" != crash ] || exit 3
for word; do case $word in *.cu) sed -i "$SPOIL" "$word" ;; esac; done
END
chmod +x "$tmp/parcc"
export REAL="$PARCC" FAULTY="$tmp"

# found KIND SPOIL LINE...: the failure is of this kind, and the smallest plan has these lines after plan and mesh
found() {
  kind=$1 SPOIL=$2
  shift 2
  export SPOIL
  printf '%s\n' "$@" >"$tmp/lines"
  PARCC=$tmp/parcc python3 "$root/tests/run/plans.py" --ranks 4 --seeds 3 mlp >"$tmp/out" 2>&1
  check "exit code of $kind" [ $? = 1 ]
  check "kind $kind" grep -q "^  a=2,b=2: $kind" "$tmp/out"
  check "the command that repeats $kind" grep -q "^FAILED PARCC=$tmp/parcc .*python3 .*plans.py --ranks 4 --seeds 3..3 mlp\$" "$tmp/out"
  sed -n '/^mesh /,/^$/p' "$tmp/out" | sed '1d; /^$/d' | tr -s ' ' >"$tmp/left"
  check "lines of $kind" cmp "$tmp/lines" "$tmp/left"
  [ "$failed" -eq 0 ] || cat "$tmp/out"
}
"$PARCC" "$root/samples/mlp.dnn" -q -D batch=7 -D size=12 -D width=9 --mesh=a=2,b=2 --plan=random:3 \
  --plan-out "$tmp/whole.plan" -o "$tmp/drawn.cu" && tr -s ' ' <"$tmp/whole.plan" >"$tmp/drawn.plan"
found compare 's/0\.05/0.06/' "$(grep '^dense1.y ' "$tmp/drawn.plan")"
found compare 's/0\.05/0.06/' "$(grep '^store dense1.w ' "$tmp/drawn.plan")" "$(grep '^dense1.w.u ' "$tmp/drawn.plan")"
found "parcc-cc, exit code 1" '$s/$/spoilt/' "$(grep '^dense2.w.grad ' "$tmp/drawn.plan")"
found "parcc, exit code 3" crash "$(grep '^input label ' "$tmp/drawn.plan")"
finish
