#!/bin/sh
# Opaque operators: the example of grammar/LANGUAGE.md, and one with several results, tensors that stay whole and a start
# (golden/emitted/opaque.dnn). In f64 on 1, 2 and 3 ranks they train and evaluate like the same operators written as index
# expressions on one rank, to 1e-10; also with more ranks than samples, and where nothing may be divided.
. "$(dirname "$0")/common.sh"

# block LANGUAGE: the fenced blocks of that language in the manual
block() { awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$root/grammar/LANGUAGE.md"; }

block dnn | sed -n '/^# y\[n, t\] = decay/,/^}/p' >"$tmp/recurrence.dnn"
block c >"$tmp/recurrence.c"
cat >"$tmp/recurrence.plain" <<'DNN'
op recurrence(x[n, t]; decay = 0.9) -> y[n, t] {
  y[n, t] = sum(s < t.extent) select(s <= t, pow(decay, 1.0 * (t - s)), 0) * x[n, s];
}
DNN
cp "$root/tests/golden/emitted/opaque.dnn" "$tmp/rows.dnn"
cp "$root/tests/golden/emitted/opaque.functions.c" "$tmp/rows.c"
cat >"$tmp/rows.plain" <<'DNN'
op sorted(x[n, c], weight[c]; slope = 0.5) -> y[n, c], place[n, c]: int {
  rank[n, c] = sum(d < c.extent) select(x[n, d] > x[n, c] or (x[n, d] == x[n, c] and d < c), 1, 0);
  y[n, r = c] = weight[r] * (sum(c) (rank[n, c] == r) * x[n, c]) + slope * n;
  place[n, r = c] = argmax(c) (rank[n, c] == r);
}
op distances(a[n, c], b[m, c], heat[]) -> d[n, m] {
  d[n, m] = heat * sum(c) (a[n, c] - b[m, c]) * (a[n, c] - b[m, c]);
}
DNN

# run TEXT FUNCTIONS NAME RANKS OPTIONS...: trains, and evaluates where $eval says so; NAME.log and NAME.st
level=$quick
run() {
  text=$1 functions=$2 name=$3 on=$4
  shift 4
  # shellcheck disable=SC2086 # no functions: no word
  "$PARCC" "$text" -o "$tmp/$name.cu" --ranks "$on" "$@" && "$PARCC_CC" --target=host $level "$tmp/$name.cu" $functions -o "$tmp/$name" &&
    ranks "$on" "$tmp/$name" --data synthetic --steps 20 $eval --quiet --log "$tmp/$name.log" --save "$tmp/$name.st" >/dev/null
}
# same TOLERANCE A B
same() { python3 "$root/tests/run/compare_runs.py" "$1" 20 "$tmp/$2.log" "$tmp/$3.log" "$tmp/$2.st" "$tmp/$3.st"; }

# What is not divided along the batch takes whole batches in an evaluation, so that recurrence evaluates other samples then.
for model in recurrence rows; do
  code=$tmp/$model.c
  check "$model.dnn is there" grep -q '^opaque op' "$tmp/$model.dnn"
  sed '/^opaque op/,/;$/d' "$tmp/$model.dnn" | cat "$tmp/$model.plain" - >"$tmp/plain.dnn"
  sed 's/split(n) =/split() =/' "$tmp/$model.dnn" >"$tmp/whole.dnn"
  for batch in 7 2; do
    for eval in --eval ''; do
      check "$model, batch $batch, as index expressions" run "$tmp/plain.dnn" '' "plain$eval" 1 --dtype f64 -D "batch=$batch"
    done
    for count in 1 2 3; do
      for kind in "$model" whole; do
        [ "$kind$batch" != whole2 ] || continue
        if [ "$model$kind" = recurrencewhole ]; then eval=; else eval=--eval; fi
        printf '%s, %s, batch %d, %d ranks: ' "$model" "$kind" "$batch" "$count"
        if run "$tmp/$kind.dnn" "$code" one "$count" --dtype f64 -D "batch=$batch" && same 1e-10 "plain$eval" one; then
          pass
        else
          fail "$model, $kind, batch $batch, $count ranks"
        fi
      done
    done
  done
done
level=-O1
printf 'f32, 2 ranks: '
check "f32 as index expressions" run "$tmp/plain.dnn" '' plain 1
check "f32" run "$tmp/rows.dnn" "$tmp/rows.c" one 2
check "f32 and index expressions differ" same 2e-5 plain one

# What parcc-cc says of files that it cannot take.
program=$tmp/one.cu
expect() { # CODE PATTERN ARGS...
  code=$1 pattern=$2
  shift 2
  "$PARCC_CC" --target=host "$@" -o "$tmp/out" >"$tmp/said" 2>&1
  found=$?
  if [ "$found" -eq "$code" ] && grep -q "$pattern" "$tmp/said"; then pass; else fail "parcc-cc $*: code $found"; cat "$tmp/said"; fi
}
expect 2 'cannot read .*missing.c' "$program" "$tmp/missing.c"
expect 2 'expected .c or .cu' "$program" "$tmp/rows.plain"
expect 1 "parcc-cc: none of the files defines sort_rows, .*: parcc-cc $program FILE.c -o" "$program"
expect 1 "none of the files defines distances_grad" "$program" "$tmp/recurrence.c"
sed 's/void distances(/void distance(/' "$tmp/rows.c" >"$tmp/misspelled.c"
expect 1 "none of the files defines distances," "$program" "$tmp/misspelled.c"
check "and only of those that are missing" sh -c "! grep -q 'defines sort_rows' '$tmp/said'"
finish
