#!/bin/sh
# The checking mode of the host layer: a right program passes with any seed, every planted fault is caught and named; and
# emitted programs run clean and give the same losses as without it, bit for bit.
. "$(dirname "$0")/../../common.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
export PARCC_HOST_TIMEOUT=60 OPENBLAS_NUM_THREADS=1

# make NAME FLAGS...: check.cu to $tmp/NAME
make() {
  name=$1
  shift
  "$PARCC_CC" --target=host --check "$@" "$here/check.cu" -o "$tmp/$name" >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ]
}
# checked SEED RANKS PROG ARGS...
checked() {
  seed=$1
  shift
  PARCC_HOST_CHECK=1 PARCC_HOST_SEED=$seed by_mpi "$@"
}
run() { "$@" >"$tmp/out" 2>&1; }
show() { sed 's/^/    /' "$tmp/out" | head -n 8; }

for cc in gcc clang; do
  command -v $cc >/dev/null 2>&1 || continue
  for n in 2 3; do
    check "compiling the right program with $cc for $n" make right$n --cc=$cc -DRANKS=$n || show
    check "the right program on $n without the checking mode" by_mpi $n "$tmp/right$n" --quiet >"$tmp/out"
    seed=0
    while [ $((seed += 1)) -le $((n == 2 ? 20 : 4)) ]; do
      if checked $seed $n "$tmp/right$n" --quiet >"$tmp/out" 2>&1; then pass; else fail "$cc, $n ranks, seed $seed" && show; fi
    done
  done
done

# caught FAULT RANKS TEXT...: ends with exit code 1, in time, and says every text on one line, for each seed
caught() {
  fault=$1 n=$2
  shift 2
  make "$fault" -DRANKS="$n" -DFAULT="$fault" || { fail "compiling $fault"; show; return; }
  for seed in 1 2 3; do
    PARCC_HOST_CHECK=1 PARCC_HOST_SEED=$seed timeout 40 mpiexec --oversubscribe --bind-to none -n "$n" "$tmp/$fault" --quiet \
      >"$tmp/out" 2>&1
    code=$?
    line=$(grep '^test: rank ' "$tmp/out" | head -n 1)
    [ $code = 1 ] || { fail "$fault, seed $seed: exit code $code"; show; return; }
    for text; do
      case $line in *"$text"*) ;; *) fail "$fault, seed $seed: does not say: $text"; show; return ;; esac
    done
  done
  pass
}

caught WAIT_MISSING 2 "race on t.w_grad" "ncclAllReduce in dense all_reduce (check.dnn:5) on stream comm" "in sgd (check.dnn:9) on stream compute" "no event"
caught RECORD_MISSING 2 "race on t.w_grad" "k_scale in dense gradient (check.dnn:5)" "ncclAllReduce in dense all_reduce (check.dnn:5)"
caught REUSE_EARLY 2 "race on t.w_grad" "k_fill in hidden (check.dnn:7)" "dense all_reduce"
caught OVERLAP 2 "k_add_to in loss (check.dnn:11) on stream compute: reads" "not defined since LIFETIME_END in output (check.dnn:10)"
caught ENDED 2 "k_add in sgd (check.dnn:9) on stream compute: reads" "not defined since LIFETIME_END in hidden (check.dnn:7)"
caught UNDEFINED 2 "k_add in output (check.dnn:10)" "reads t.y" "which nothing has written"
caught BEHIND 2 "k_fill in hidden (check.dnn:7)" "out of bounds" "behind the device memory"
caught BEFORE 2 "k_fill in hidden (check.dnn:7)" "out of bounds" "before the device memory"
caught FAR 2 "k_fill in hidden (check.dnn:7)" "out of bounds" "5000 bytes behind"
caught WIDE_PRODUCT 2 "cublasDgemm in hidden (check.dnn:7)" "are allocated"
caught LONG_COLLECTIVE 2 "ncclAllReduce in dense all_reduce (check.dnn:5)" "are allocated"
caught HOST_TOUCHES 2 "in input (check.dnn:3): the host writes byte 24 of device memory"
caught STAGING 2 "cudaMemcpyAsync in input (check.dnn:3)" "the host changed"
caught COUNT 2 "differs" "rank 0: ncclAllReduce of 600 double, sum in dense all_reduce (check.dnn:5)" "rank 1: ncclAllReduce of 599"
caught BLOCKS 2 "differs" "rank 0: ncclAllGather of 300 double in dense all_reduce (check.dnn:5)" "rank 1: ncclBroadcast of 300 double, root 0"
caught SWAPPED 3 "differs" "rank 0: ncclAllReduce of 600 double, sum in dense all_reduce (check.dnn:5)" "rank 1: ncclAllReduce of 600 double, sum in bias all_reduce (check.dnn:6)"
caught KIND 3 "differs" "rank 0: ncclAllReduce" "rank 1: ncclBroadcast of 600 double, root 0"
caught ROOT 2 "differs" "root 0 in loss all_reduce (check.dnn:11)" "root 1"
caught TYPE 2 "differs" "double" "int64"
caught REDUCTION 2 "differs" "sum" "max"
caught SKIPPED 2 "collective" "differs" "dense all_reduce (check.dnn:5)" "rank 1: ncclReduce of 1 double, sum, root 0 in loss all_reduce"
caught MESSAGE 2 "a message differs" "ncclRecv of 2 double in exchange (check.dnn:12)" "ncclSend of 1 double"
caught UNRECEIVED 2 "never received"
export PARCC_HOST_TIMEOUT=3
caught NEVER 2 "rank 0: ncclAllReduce of 600 double" "dense all_reduce (check.dnn:5)" "rank 1 has not come to it in 3 seconds"
export PARCC_HOST_TIMEOUT=60

# clean SAMPLE RANKS OPTIONS...: the same log with and without, but for times
clean() {
  sample=$1 n=$2
  shift 2
  "$PARCC" "$root/samples/$sample.dnn" -o "$tmp/$sample.cu" --ranks "$n" "$@" &&
    "$PARCC_CC" --target=host --check "$tmp/$sample.cu" -o "$tmp/$sample" || { fail "building $sample"; return; }
  set -- "$tmp/$sample" --data synthetic --steps 4 --eval --quiet
  run by_mpi "$n" "$@" --log "$tmp/plain" || { fail "$sample on $n"; show; return; }
  for seed in 1 2 3; do
    run checked $seed "$n" "$@" --log "$tmp/checked" || { fail "$sample on $n, seed $seed"; show; return; }
    for log in plain checked; do sed 's/, *"ms": *[^,]*//; s/, *"samples_per_second": *[^,}]*//' "$tmp/$log" >"$tmp/$log.bare"; done
    check "$sample on $n, seed $seed: the same losses" cmp "$tmp/plain.bare" "$tmp/checked.bare"
  done
}
# unreported SAMPLE RANKS: without a log most steps report nothing, and do not wait for what only a report needs
unreported() { run checked 4 "$2" "$tmp/$1" --data synthetic --steps 24 --quiet || { fail "$1 on $2, steps without a report"; show; }; }
for n in 1 2 3; do
  clean mlp $n -D batch=12 -D width=64
  unreported mlp $n
  clean lenet $n -D batch=12
done

# overlapping MODEL RANKS TENSOR OTHER TEXT...: TENSOR put where OTHER lies, in a program that is otherwise right, is caught
overlapping() {
  model=$1 n=$2 tensor=$3 other=$4
  shift 4
  "$PARCC" "$root/samples/$model.dnn" -o "$tmp/shifted.cu" --ranks "$n" -D batch=12 || { fail "compiling $model"; return; }
  sed -i "s/^  parcc_place_record(.*/&\n  t.$tensor = t.$other;/" "$tmp/shifted.cu"
  check "$tensor is put where $other lies" grep -q "^  t.$tensor = t.$other;" "$tmp/shifted.cu"
  "$PARCC_CC" --target=host --check "$tmp/shifted.cu" -o "$tmp/shifted" || { fail "building $model with an overlap"; return; }
  for seed in 1 2; do
    checked $seed "$n" "$tmp/shifted" --data synthetic --steps 2 --quiet >"$tmp/out" 2>&1 && fail "$model on $n: $tensor over $other"
    for text; do check "$model on $n, seed $seed: $tensor over $other: $text" grep -q "$text" "$tmp/out" || show; done
  done
}
overlapping mlp 1 dense2_w_grad dense1_w_grad 'in dense2 sgd (.*: reads t.dense2_w_grad' 'not defined since LIFETIME_END in dense1 sgd'
overlapping lenet 1 maxpool2d_pack_3 relu 'reads t.relu' 'not defined since LIFETIME_END in conv2 conv2d'
overlapping mlp 2 dense1_y_2_grad dense2_w_grad 'in dense2 sgd (.*: reads t.dense2_w_grad' 'not defined since ncclAllReduce'

# A program that was not built for it says so.
"$PARCC_CC" --target=host -O1 -DRANKS=1 "$here/check.cu" -o "$tmp/plain_build"
PARCC_HOST_CHECK=1 "$tmp/plain_build" --quiet >"$tmp/out" 2>&1
check "exit code of a program built without --check" [ $? = 2 ]
check "message of a program built without --check" grep -q 'not built by parcc-cc --check' "$tmp/out"
finish
