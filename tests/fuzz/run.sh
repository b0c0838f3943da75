#!/bin/sh
# Fuzzes the frontend with libFuzzer, ASan and UBSan, beginning with the samples and the golden models: tests/fuzz/run.sh [SECONDS]
# (default 60). PARCC_BUILD is the build whose generated scanner, parser and prelude are taken.
. "$(dirname "$0")/../run/common.sh"
seconds=${1:-60}
build=${PARCC_BUILD:-$root/build}
command -v clang >/dev/null || skip "there is no clang"
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n > 0 && d[0] == 0; }' >"$tmp/probe.c"
clang -fsanitize=fuzzer,address "$tmp/probe.c" -o "$tmp/probe" 2>"$tmp/err" || skip "clang cannot link libFuzzer: $(head -n 1 "$tmp/err")"

mkdir "$tmp/corpus"
find "$root/samples" "$root/tests/golden" -name '*.dnn' | while IFS= read -r file; do
  cp "$file" "$tmp/corpus/$(echo "${file#"$root"/}" | tr / _)"
done
sources=$(find "$root/frontend" -name '*.c' ! -name main.c ! -name options.c)
# shellcheck disable=SC2086 # lists of files
clang -std=c17 -D_XOPEN_SOURCE=700 -O1 -g -w -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -I "$root" -I "$root/frontend" -I "$root/grammar" -I "$build/grammar" \
  "$root/tests/fuzz/fuzz_parse.c" $sources "$root"/ir/*.c "$build"/grammar/*.c "$build/prelude.c" -lm -o "$tmp/fuzz" || {
  fail "the fuzzer does not build"
  finish
  exit
}
cd "$tmp" || exit 1
if ./fuzz -max_total_time="$seconds" -seed=1 -timeout=20 -max_len=8192 -close_fd_mask=3 -print_final_stats=1 corpus >log 2>&1; then
  pass
else
  fail "an input that the frontend does not survive:"
  for input in crash-* leak-* timeout-* oom-*; do
    [ ! -f "$input" ] || { echo "$input:"; cat -A "$input" | head -n 40; ./fuzz "$input" 2>&1 | grep -A 15 -m 1 -e ERROR -e 'runtime error' -e 'internal error'; }
  done
fi
grep -E 'number_of_executed_units|new_units_added' log
finish
