# Sourced by the scripts of this folder and of reference, bench and gpu: where things are, and how a check is counted.
# PARCC is the compiler, PARCC_CC the driver that builds emitted programs; both default to the build in build/.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
PARCC=${PARCC:-$root/build/bin/parcc}
PARCC_CC=${PARCC_CC:-$root/build/bin/parcc-cc}
PARCC_TESTS=${PARCC_TESTS:-$root/build/tests}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ -x "$PARCC" ] || { echo "no compiler at $PARCC" >&2; exit 1; }

tmp=$(mktemp -d) || exit 1
export OMPI_MCA_orte_tmpdir_base=$tmp # two runs that end at the same time would remove each other's session folder
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  echo "FAILED $*"
}
# check TEXT COMMAND...: the command must succeed
check() {
  text=$1
  shift
  if "$@"; then pass; else fail "$text"; fi
}
# The last line of every script; its exit code. A script that checked nothing has failed.
finish() {
  echo "$(basename "$0" .sh): $passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
skip() {
  echo "SKIPPED: $*"
  exit 77
}

# ranks N PROG ARGS...: runs an emitted program on N ranks of this machine, over TCP, where nobody waits busily
ranks() {
  n=$1
  shift
  if [ "$n" -eq 1 ]; then "$@"; else "$root/tests/run/launch.py" "$n" "$@"; fi
}
# by_mpi N PROG ARGS...: the same by mpiexec, as in the checking mode, in which ranks compare their calls by MPI
by_mpi() {
  n=$1
  shift
  if [ "$n" -eq 1 ]; then "$@"; else mpiexec --oversubscribe --bind-to none -n "$n" "$@"; fi
}
# How programs are compiled of which only counts what they compute: the C compiler would take most of the time.
quick=-O1
if command -v tcc >/dev/null 2>&1; then quick=--cc=tcc; fi
# build MODEL OUT OPTIONS...: model to OUT.cu to the program OUT, for the host
build() {
  model=$1 out=$2
  shift 2
  "$PARCC" "$model" -o "$out.cu" "$@" && "$PARCC_CC" --target=host $quick "$out.cu" -o "$out"
}
