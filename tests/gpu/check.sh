#!/bin/sh
# Programs built by nvcc against the same model on the host: 10 steps, losses to 1e-4 in f32 and 1e-9 in f64.
#   - mlp, lenet and resnet on one rank;
#   - mlp, lenet and resnet on 2, 3 and 4 ranks that share the GPU, collectives staged through host memory and MPI
#     (parcc-cc --staged), and mlp on 4 under a plan drawn at random; held against one rank of the host;
#   - compute-sanitizer (memcheck, initcheck, synccheck) on a small program.
#
#   check.sh                all of it, on a machine that has a GPU and everything that building takes
#   check.sh prepare DIR    here: compiles, builds for both targets, runs on the host; DIR then holds all that "run" needs
#   check.sh run DIR OUT    on a machine with a GPU (it needs a shell, the CUDA libraries, compute-sanitizer, and no MPI): runs
#                           the programs, writes logs to OUT
#   check.sh compare DIR OUT  here again
#
# MPI goes along in DIR/mpi, a tree of Debian's Open MPI from MPI_FROM: a folder of .deb files (libopenmpi3, openmpi-bin,
# openmpi-common and what they need: libpmix2, libhwloc15, libevent-*, libmunge2), a folder with such a tree, unpacked, or, where
# it is not set, what is installed here.
set -u
folder=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$folder/../.." && pwd)
steps=10
# SAMPLE.DTYPE.RANKS; "4r" is 4 ranks under a plan drawn at random
cases='mlp.f32.1 mlp.f64.1 lenet.f32.1 lenet.f64.1 resnet.f32.1 resnet.f64.1
  mlp.f32.2 mlp.f32.3 mlp.f32.4 mlp.f64.2 mlp.f64.3 mlp.f64.4 mlp.f64.4r
  lenet.f64.2 lenet.f64.3 lenet.f64.4 resnet.f64.2 resnet.f64.3 resnet.f64.4'
sanitizers='memcheck initcheck synccheck'
failed=0

settings() {
  case "$1" in
  mlp | lenet) echo '-D batch=64' ;;
  resnet) echo '-D batch=8 -D size=64 -D depth=50 -D width=16 -D classes=10' ;;
  esac
}

# split CASE: sets sample, dtype, ranks and plan
split() {
  sample=${1%%.*} ranks=${1##*.} plan=
  dtype=${1#*.} dtype=${dtype%.*}
  case $ranks in *r) ranks=${ranks%r} plan='--mesh a=2,b=2 --plan=random:3' ;; esac
}

fail() {
  echo "FAILED $*"
  failed=1
}

# ---- prepare

libraries_of() { ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | LC_ALL=C sort -u; }

# The MPI that is installed: what its packages hold, and the libraries of others that it needs.
copy_installed_mpi() {
  for package in openmpi-bin openmpi-common libopenmpi3 libpmix2; do
    dpkg -L "$package" | grep -E '^/(usr/bin/orte|usr/lib|usr/share/(openmpi|pmix)|etc/openmpi)' || return
  done | while IFS= read -r file; do
    if [ -f "$file" ] || [ -h "$file" ]; then echo "$file"; fi
  done | LC_ALL=C sort -u | tar -C / --create --absolute-names --transform='s|^/||' --files-from=- | tar -C "$1" --extract || return
  libraries=$1$(dirname "$(libraries_of /usr/bin/orterun | grep libopen-rte)" | sed 's|^/lib|/usr/lib|')
  libraries_of /usr/bin/orterun "$libraries"/libmpi.so.* "$libraries"/openmpi/lib/openmpi3/mca_pmix_*.so |
    grep -v -E '/(libc|libm|libdl|librt|libpthread)\.so' | while IFS= read -r library; do
      [ -e "$libraries/$(basename "$library")" ] || cp -L "$library" "$libraries" || return
    done
}

bring_mpi() {
  from=${MPI_FROM-}
  mkdir -p "$1" || return
  if [ -z "$from" ]; then
    copy_installed_mpi "$1"
  elif ls "$from"/*.deb >/dev/null 2>&1; then
    for package in "$from"/*.deb; do dpkg -x "$package" "$1" || return; done
  else
    cp -a "$from/." "$1"
  fi
}

# build CASE: the program for GPUs; of one rank without MPI, so that it is all of the runtime that a machine without MPI has
build() {
  split "$1"
  # shellcheck disable=SC2046,SC2086 # lists of options
  "$parcc" "$sample.dnn" -o "$1.cu" --dtype "$dtype" $(settings "$sample") --ranks "$ranks" $plan || return
  if [ "$ranks" = 1 ]; then
    runtime/bin/parcc-cc --target=cuda -arch "$arch" "$1.cu" -o "$1.cuda" || return
  else
    "$parcc_cc" --target=cuda --staged -arch "$arch" "$1.cu" -o "$1.cuda" || return
  fi
  libraries_of "$1.cuda" | grep -E '/lib(cjson|z)\.so' | xargs -r cp -L -t lib
}

# host SAMPLE.DTYPE: the log that all numbers of ranks are held against
host() {
  [ ! -f "$1.host.log" ] || return 0
  "$parcc_cc" --target=host "$1.1.cu" -o "$1.host" && "./$1.host" --data synthetic --steps $steps --quiet --log "$1.host.log"
}

prepare() {
  parcc=${PARCC:-$root/build/bin/parcc} parcc_cc=${PARCC_CC:-$root/build/bin/parcc-cc} arch=${ARCH:-sm_75,sm_80,sm_90}
  mkdir -p "$1/lib" && cd "$1" || exit 1
  cmake -S "$root/runtime" -B runtime -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >/dev/null 2>&1 && cmake --build runtime >/dev/null || exit 1
  cp "$root/samples/mlp.dnn" "$root/samples/lenet.dnn" . || exit 1
  # The gradients of a small resnet are so large that differences of rounding grow tenfold a step.
  sed 's/^train {$/train { clip = 0.01;/' "$root/samples/resnet.dnn" >resnet.dnn || exit 1
  for case in $cases; do
    build "$case" && host "${case%.*}" || exit 1
  done
  bring_mpi mpi || { echo "check.sh: MPI cannot go along: MPI_FROM says where it is" >&2; exit 1; }
}

# ---- run

# The Open MPI in $PWD/mpi, whose files were meant to be elsewhere.
use_mpi() {
  mpi=$PWD/mpi
  libraries=$(dirname "$(find "$mpi" -name 'libmpi.so.*' | head -n 1)")
  export PATH="$mpi/usr/bin:$PATH" LD_LIBRARY_PATH="$libraries:$LD_LIBRARY_PATH"
  export OPAL_PREFIX="$mpi/usr" OPAL_LIBDIR="$libraries/openmpi/lib" OPAL_SYSCONFDIR="$mpi/etc/openmpi"
  export OMPI_MCA_mca_base_component_path="$libraries/openmpi/lib/openmpi3" OMPI_MCA_mca_base_component_show_load_errors=0
  export PMIX_INSTALL_PREFIX="$libraries/pmix2" PMIX_MCA_mca_base_component_path="$libraries/pmix2/lib/pmix"
  export PMIX_MCA_mca_base_component_show_load_errors=0 OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
  export OMPI_MCA_btl_vader_single_copy_mechanism=none # needs no right to look into other processes
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# train CASE: its log
train() {
  split "$1"
  set -- "./$1.cuda" --data synthetic --steps $steps --quiet --timeout 60 --log "$out/$1.cuda.log"
  if [ "$ranks" = 1 ]; then "$@"; else timeout 300 orterun --oversubscribe --bind-to none -n "$ranks" "$@"; fi
}

run() {
  mkdir -p "$2" && out=$(cd "$2" && pwd) && cd "$1" || exit 1
  nvidia-smi -L || { echo "check.sh: there is no GPU" >&2; exit 1; }
  export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  for tool in $sanitizers; do
    compute-sanitizer --tool "$tool" --error-exitcode 9 ./mlp.f32.1.cuda --data synthetic --steps 2 --quiet >"$out/$tool.txt" 2>&1 || {
      fail "compute-sanitizer --tool $tool"
      tail -n 20 "$out/$tool.txt"
    }
  done
  use_mpi
  for case in $cases; do
    train "$case" || fail "$case: does not run"
  done
}

# ---- compare

compare() {
  for case in $cases; do
    split "$case"
    tolerance=1e-4 what=--losses
    [ "$dtype" = f32 ] || tolerance=1e-9 what=
    printf '%s: ' "$case"
    python3 "$root/tests/run/compare_runs.py" $what $tolerance $steps "$1/$sample.$dtype.host.log" "$2/$case.cuda.log" || fail "$case"
  done
  for tool in $sanitizers; do
    grep -q 'ERROR SUMMARY: 0 errors' "$2/$tool.txt" || fail "compute-sanitizer --tool $tool"
  done
}

case "${1-}" in
prepare) prepare "$2" ;;
run) run "$2" "$3" ;;
compare) compare "$2" "$3" ;;
'')
  nvidia-smi -L 2>/dev/null | grep -q '^GPU' || { echo 'SKIPPED: there is no GPU'; exit 77; }
  tmp=$(mktemp -d) || exit 1
  trap 'rm -rf "$tmp"' EXIT
  (prepare "$tmp") && (run "$tmp" "$tmp" && exit $failed) && compare "$tmp" "$tmp" || failed=1
  ;;
*) echo 'usage: check.sh [prepare DIR | run DIR OUT | compare DIR OUT]' >&2; exit 2 ;;
esac
exit $failed
