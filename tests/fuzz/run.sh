#!/bin/sh
# Fuzzes the readers of models, plans, machines and profiles with libFuzzer, ASan and UBSan, beginning with the samples and the golden files:
# tests/fuzz/run.sh [parse=SECONDS] [plan=SECONDS] [machine=SECONDS] [profile=SECONDS] (default 60 each). PARCC_BUILD is the build whose generated
# scanner, parser and prelude are taken.
. "$(dirname "$0")/../run/common.sh"
[ $# -gt 0 ] || set -- parse=60 plan=60 machine=60 profile=60
build=${PARCC_BUILD:-$root/build}
command -v clang >/dev/null || skip "there is no clang"
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n > 0 && d[0] == 0; }' >"$tmp/probe.c"
clang -fsanitize=fuzzer,address "$tmp/probe.c" -o "$tmp/probe" 2>"$tmp/err" || skip "clang cannot link libFuzzer: $(head -n 1 "$tmp/err")"

sanitize='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
compile() { # shellcheck disable=SC2086 # a list of options
  clang -std=c17 -D_XOPEN_SOURCE=700 -O1 -gline-tables-only -w $sanitize -I "$root" -I "$root/ir" -I "$root/frontend" -I "$root/grammar" -I "$build/grammar" "$@"
}

# What is fuzzed, compiled once.
mkdir "$tmp/objects"
{
  find "$root/ir" "$root/frontend" "$root/passes" "$build/grammar" -name '*.c' ! -name main.c ! -name 'driver*.c' ! -name 'options*.c'
  find "$build" -maxdepth 1 -name '*.c' # what is embedded
} | while IFS= read -r source; do
  compile -fsanitize=fuzzer-no-link -c "$source" -o "$tmp/objects/$(echo "$source" | tr / _).o" || exit 1
done || { fail "the sources do not build with clang"; finish; }

# fuzz NAME SUFFIX SECONDS [OPTION...]: fuzz_NAME.c, from all files that end so
fuzz() {
  name=$1 suffix=$2 seconds=$3
  shift 3
  mkdir -p "$tmp/$name/corpus"
  find "$root/samples" "$root/tests" -name "*.$suffix" -type f -size -16k | while IFS= read -r file; do
    cp "$file" "$tmp/$name/corpus/$(echo "${file#"$root"/}" | tr / _)"
  done
  compile -fsanitize=fuzzer "$root/tests/fuzz/fuzz_$name.c" "$tmp"/objects/*.o -lm -o "$tmp/$name/fuzz" || {
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

for what; do
  seconds=${what#*=}
  case $what in
  parse=*) fuzz parse dnn "$seconds" ;;
  plan=*) fuzz plan plan "$seconds" -dict="$root/tests/fuzz/plan.dict" ;;
  machine=*) fuzz machine machine "$seconds" -dict="$root/tests/fuzz/machine.dict" ;;
  profile=*) fuzz profile profile "$seconds" ;;
  *) fail "there is nothing to fuzz that is called $what" ;;
  esac
done
finish
