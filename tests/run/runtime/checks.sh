# Sourced by the scripts of this folder, which are called with the folder of the build: SCRIPT BUILD_DIR. Works in a folder
# of its own, and counts checks; the last command of a script is finish.
set -u

[ $# = 1 ] || { echo "Usage: $(basename "$0") BUILD_DIR" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
parcc=$build/bin/parcc
parcc_cc=$build/bin/parcc-cc
root=$(cd "$here/../../.." && pwd)
mnist=${DATASETS:-/usr/share/datasets}/fashion-mnist
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 3
export TMPDIR=$work # Open MPI starts badly beside others that start and end in the same place

export PYTHONDONTWRITEBYTECODE=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  echo "FAIL $1"
  [ ! -s out ] || sed 's/^/    /' out | head -n 20
}

# right NAME COMMAND...: succeeds.
right() {
  name=$1
  shift
  if timeout 120 "$@" >out 2>&1; then pass; else fail "$name"; fi
}

# wrong CODE TEXT NAME COMMAND...: ends with the exit code and says the text, on one line of the program's.
wrong() {
  code=$1 text=$2 name=$3
  shift 3
  timeout 120 "$@" >out 2>&1
  got=$?
  if [ $got = "$code" ] && grep -qF -e "$text" out; then pass; else fail "$name: exit code $got, wanted $code and: $text"; fi
}

# make PROGRAM SOURCE FLAGS...: compiles without a word.
make() {
  program=$1 source=$2
  shift 2
  if "$parcc_cc" --target=host "$@" "$here/$source.cu" -o "$program" >out 2>&1 && [ ! -s out ]; then
    pass
  else
    fail "compiling $source $*"
  fi
}

# How programs are compiled of which only counts what they compute: the C compiler would take most of the time.
quick=-O1
if command -v tcc >/dev/null 2>&1; then quick=--cc=tcc; fi

# on RANKS COMMAND...: over TCP, where nobody waits busily; by_mpi RANKS COMMAND...: by mpiexec. Scripts, so that they can stand behind
# timeout and in sh -c
ln -s "$root/tests/run/launch.py" on
cat >by_mpi <<'EOF'
#!/bin/sh
exec mpiexec --oversubscribe --bind-to none -n "$@"
EOF
chmod +x by_mpi
PATH=$PATH:$work

# ends_by LAUNCHER SECONDS HOW RANK TEXT OPTIONS...: a rank of ./stall misbehaves so, and the run has ended within the seconds. Whether it has
# said the text is for the caller to look.
ends_by() {
  launcher=$1 seconds=$2 how=$3 rank=$4
  shift 5
  begin=$(date +%s)
  STALL=$how STALL_RANK=$rank timeout 60 "$launcher" 4 ./stall "$@" --quiet --steps 1000000 >out 2>&1
  code=$? took=$(($(date +%s) - begin))
  if [ $code != 0 ] && [ $code != 124 ]; then pass; else fail "rank $rank, $how: exit code $code"; fi
  [ $took -le "$seconds" ] && pass || fail "rank $rank, $how: $took s, not $seconds"
}

# same NAME FILE FILE: they are, to the last bit.
same() { right "$1" cmp "$2" "$3"; }

section() { echo "== $1"; }

finish() {
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
}
