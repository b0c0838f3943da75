#!/bin/sh
# Holds what parcc writes against what is expected: tests/golden/run.sh [--update] [--parcc PROG] [FOLDER or NAME.dnn ...]
#
# Beside every NAME.dnn stands at least one of
#   NAME.err     standard error of  parcc OPTS NAME.dnn -o TMP
#   NAME.cu      what that writes to TMP
#   NAME.stats   standard output of  parcc OPTS --stats NAME.dnn;  NAME.json: of --stats --json
#   NAME.shown   standard output of  parcc OPTS --show-plan NAME.dnn;  NAME.written: of --plan-out -
#   NAME.dot     what parcc OPTS --dot - NAME.dnn writes
#   NAME.report  standard output of  parcc OPTS NAME.dnn, where OPTS ask for a report; times that something took are masked
#   NAME.PASS    standard output of  parcc OPTS --dump-after=PASS --stop-after=PASS NAME.dnn
# and NAME.opts holds OPTS, words separated by blanks. parcc runs in the folder of the model. It must end with code 0 and
# silently unless NAME.err says otherwise; where NAME.err has an error, with code 1 (2 where it is about the command line),
# and nothing may have been written. --update rewrites the expected files that differ (refused where CI is set).
set -u

here=$(cd "$(dirname "$0")" && pwd)
update=
parcc=${PARCC-}
targets=
while [ $# -gt 0 ]; do
  case "$1" in
  --update) update=1 ;;
  --parcc) parcc=$2; shift ;;
  -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  *) targets="$targets $1" ;;
  esac
  shift
done
[ -z "$update" ] || [ -z "${CI-}" ] || { echo "run.sh: --update is refused where CI is set" >&2; exit 2; }
parcc=${parcc:-$here/../../build/bin/parcc}
[ -x "$parcc" ] || { echo "run.sh: no compiler at '$parcc': give --parcc PROG" >&2; exit 2; }
parcc=$(cd "$(dirname "$parcc")" && pwd)/$(basename "$parcc")
[ -n "$targets" ] || targets=$here

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
passed=0 failed=0 updated=0

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED $1: $2"; }

# compare EXPECTED ACTUAL LABEL
compare() {
  if cmp -s "$1" "$2"; then
    pass
  elif [ -n "$update" ]; then
    cp "$2" "$1"
    updated=$((updated + 1))
    echo "updated $3"
  else
    fail "$3" "differs (- expected, + found)"
    diff -u "$1" "$2" | tail -n +3
  fi
}

# The exit code that goes with the messages in a file.
code_of() {
  if ! grep -q 'error:' "$1"; then echo 0
  elif grep -q "^parcc: try 'parcc --help'" "$1"; then echo 2
  else echo 1
  fi
}

# The whole compilation: NAME.err and NAME.cu.
check_compile() {
  rm -f "$tmp/out.cu"
  "$parcc" $opts "$name.dnn" -o "$tmp/out.cu" >"$tmp/stdout" 2>"$tmp/err"
  code=$?
  expected_err=$name.err
  [ -f "$name.err" ] || expected_err=/dev/null
  if [ "$code" -gt 2 ] || [ "$code" -ne "$(code_of "$tmp/err")" ]; then
    fail "$label" "exit code $code"
    cat "$tmp/err"
    return
  fi
  if [ "$expected_err" = /dev/null ] && [ -s "$tmp/err" ]; then
    fail "$label" "messages where none are expected"
    cat "$tmp/err"
    return
  fi
  [ "$expected_err" = /dev/null ] || compare "$name.err" "$tmp/err" "$label.err"
  [ "$code" -eq 0 ] || [ ! -e "$tmp/out.cu" ] || fail "$label" "a program was written although there are errors"
  [ ! -s "$tmp/stdout" ] || fail "$label" "text on standard output"
  [ ! -f "$name.cu" ] || compare "$name.cu" "$tmp/out.cu" "$label.cu"
}

# check_output EXPECTED OPTION...: standard output of a run that must succeed.
check_output() {
  expected=$1
  shift
  if "$parcc" $opts "$@" "$name.dnn" >"$tmp/stdout" 2>"$tmp/err"; then
    sed 's/[0-9]*\.[0-9]\{3\}s\>/_.___s/' "$tmp/stdout" >"$tmp/masked"
    compare "$expected" "$tmp/masked" "$folder/$expected"
  else
    fail "$folder/$expected" "exit code $?"
    cat "$tmp/err"
  fi
}

check_model() {
  name=$(basename "$1" .dnn)
  folder=$(dirname "$1")
  label=$folder/$name
  cd "$here" && cd "$folder" || exit 1
  opts=
  [ ! -f "$name.opts" ] || opts=$(cat "$name.opts")
  found=
  if [ -f "$name.err" ] || [ -f "$name.cu" ]; then
    found=1
    check_compile
  fi
  for expected in "$name".*; do
    stage=${expected#"$name".}
    case "$stage" in
    dnn | opts | err | cu) continue ;;
    stats) check_output "$expected" --stats ;;
    json) check_output "$expected" --stats --json ;;
    shown) check_output "$expected" --show-plan ;;
    written) check_output "$expected" --plan-out - ;;
    dot) check_output "$expected" --dot - ;;
    report) check_output "$expected" ;;
    *.*) continue ;;
    *) check_output "$expected" "--dump-after=$stage" "--stop-after=$stage" ;;
    esac
    found=1
  done
  [ -n "$found" ] || fail "$label" "nothing is expected of it: touch $name.err, $name.cu or $name.PASS and run --update"
}

for target in $targets; do
  [ -e "$target" ] || target=$here/$target
  [ -e "$target" ] || { echo "run.sh: no '$target'" >&2; exit 2; }
  find "$(cd "$(dirname "$target")" && pwd)/$(basename "$target")" -name '*.dnn' >>"$tmp/found"
done
sed "s|^$here/||" "$tmp/found" | LC_ALL=C sort >"$tmp/models"
while IFS= read -r model; do check_model "$model"; done <"$tmp/models"
[ -s "$tmp/models" ] || fail "run.sh" "no models in$targets"

# Expected files whose model is gone check nothing.
if [ "$targets" = "$here" ]; then
  find "$here" -type f ! -name '*.dnn' ! -name '*.md' ! -name '*.sh' | LC_ALL=C sort >"$tmp/others"
  while IFS= read -r file; do
    base=$(basename "$file")
    [ -f "$(dirname "$file")/${base%%.*}.dnn" ] || fail "${file#"$here"/}" "there is no model beside it"
  done <"$tmp/others"
fi

echo "golden: $passed passed, $failed failed$([ -z "$update" ] || echo ", $updated updated")"
[ "$failed" -eq 0 ]
