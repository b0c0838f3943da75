#!/bin/sh
# Fuzzes the readers of models, plans and machines with libFuzzer, ASan and UBSan, beginning with the samples and the golden files:
# tests/fuzz/run.sh [SECONDS [parse|plan|machine]] (default 60 each). PARCC_BUILD is the build whose generated scanner, parser and
# prelude are taken.
. "$(dirname "$0")/../run/common.sh"
seconds=${1:-60}
build=${PARCC_BUILD:-$root/build}
command -v clang >/dev/null || skip "there is no clang"
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n > 0 && d[0] == 0; }' >"$tmp/probe.c"
clang -fsanitize=fuzzer,address "$tmp/probe.c" -o "$tmp/probe" 2>"$tmp/err" || skip "clang cannot link libFuzzer: $(head -n 1 "$tmp/err")"

# fuzz NAME SUFFIX [OPTION...]: fuzz_NAME.c, from all files that end so
fuzz() {
  name=$1 suffix=$2
  shift 2
  mkdir -p "$tmp/$name/corpus"
  find "$root/samples" "$root/tests" -name "*.$suffix" -type f -size -16k | while IFS= read -r file; do
    cp "$file" "$tmp/$name/corpus/$(echo "${file#"$root"/}" | tr / _)"
  done
  sources="$(echo "$root"/ir/*.c) $build/machines.c"
  [ "$name" = machine ] || sources="$sources $(find "$root/frontend" "$root/passes" "$build/grammar" -name '*.c' ! -name main.c ! -name 'options*.c') $build/prelude.c"
  # shellcheck disable=SC2086 # lists of files
  clang -std=c17 -D_XOPEN_SOURCE=700 -O1 -g -w -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -I "$root" -I "$root/ir" -I "$root/frontend" -I "$root/grammar" -I "$build/grammar" \
    "$root/tests/fuzz/fuzz_$name.c" $sources -lm -o "$tmp/$name/fuzz" || {
    fail "the fuzzer of $name does not build"
    return
  }
  cd "$tmp/$name" || exit 1
  if ./fuzz -max_total_time="$seconds" -seed=1 -timeout=20 -max_len=8192 -close_fd_mask=3 -print_final_stats=1 "$@" corpus >log 2>&1; then
    pass
  else
    fail "an input that $name does not survive:"
    for input in crash-* leak-* timeout-* oom-*; do
      [ ! -f "$input" ] || { echo "$input:"; cat -A "$input" | head -n 40; ./fuzz "$input" 2>&1 | grep -A 15 -m 1 -e ERROR -e 'runtime error' -e 'internal error'; }
    done
  fi
  grep -E 'number_of_executed_units|new_units_added' log
}

case "${2:-all}" in all | parse) fuzz parse dnn ;; esac
case "${2:-all}" in all | plan) fuzz plan plan -dict="$root/tests/fuzz/plan.dict" ;; esac
case "${2:-all}" in all | machine) fuzz machine machine -dict="$root/tests/fuzz/machine.dict" ;; esac
finish
