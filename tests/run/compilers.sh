#!/bin/sh
# Every emitted golden compiles and links without a warning: compilers.sh gcc|clang|tcc|nvcc
# nvcc makes code for sm_75, sm_80 and sm_90 in one go.
. "$(dirname "$0")/common.sh"
compiler=$1
command -v "$compiler" >/dev/null || skip "there is no $compiler"
if [ "$compiler" = nvcc ]; then options="--target=cuda -arch sm_75,sm_80,sm_90"; else options="--target=host --cc=$compiler"; fi

programs=$(find "$root/tests/golden" -name '*.cu' | LC_ALL=C sort)
[ -n "$programs" ] || fail "there are no emitted goldens"
for program in $programs; do
  functions=${program%.cu}.functions.c # of opaque operators
  [ -f "$functions" ] || functions=
  # shellcheck disable=SC2086 # lists of options and files
  if "$PARCC_CC" $options "$program" $functions -o "$tmp/program" >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ]; then
    pass
  else
    fail "${program#"$root"/}: $compiler says"
    cat "$tmp/out"
  fi
done
finish
