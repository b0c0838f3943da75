#!/bin/sh
# run.sh BUILD_DIR: the runtime and parcc-cc, by programs in the style of emitted ones, on 1 to 5 ranks.
# In the environment: CCS, the C compilers to try (default: gcc and clang, where they are); DATASETS, the directory of
# fashion-mnist.
. "$(dirname "$0")/checks.sh"

if [ -z "${CCS:-}" ]; then
  CCS=
  for cc in gcc clang; do if command -v $cc >/dev/null 2>&1; then CCS="$CCS $cc"; fi; done
fi

section "kernels, random numbers, BLAS"
for cc in $CCS; do
  for program in kernels random blas; do
    make $program $program --cc="$cc"
    right "$program with $cc" ./$program --quiet
  done
done

section "loops vectorise"
# has KERNEL PATTERN: the code of a kernel in ./vectorise contains it
has() { objdump -d --no-show-raw-insn vectorise | awk -v k="<$1" 'index($0, k) && /^[0-9a-f]+ </ {on = 1} /^$/ {on = 0} on' | grep -qE "$2"; }
if [ "$(uname -m)" = x86_64 ] && command -v objdump >/dev/null 2>&1 && [ -z "${PARCC_SANITIZED-}" ]; then
  for cc in $CCS; do
    make vectorise vectorise --cc="$cc"
    : >out
    for loop in 'k_exp_sum _ZGV.*expf' 'k_sum v?addps' 'k_max v?pmaxsd' 'k_relu v?(max|and|cmp)[a-z_]*ps' 'k_columns v?addps'; do
      if has "${loop%% *}" "${loop#* }"; then pass; else fail "$cc: ${loop%% *} is not vectorised"; fi
    done
    if has k_tanh '_ZGV.*(tanh|exp)f'; then pass; else fail "$cc: k_tanh is not vectorised"; fi
  done
fi

section "collectives"
for n in 1 2 3 4 5; do
  make collectives collectives -DRANKS=$n
  right "collectives on $n ranks" by_mpi $n ./collectives --quiet
done
right "collectives on 1 rank without mpiexec" sh -c "'$parcc_cc' --target=host '$here/collectives.cu' -o one && ./one --quiet"

section "changes of layout"
for n in 2 3 4 5 6; do
  make layouts$n layouts --check -DRANKS=$n
  right "changes of layout on $n ranks" by_mpi $n ./layouts$n --quiet
  right "changes of layout on $n ranks, in the checking mode" env PARCC_HOST_CHECK=1 PARCC_HOST_SEED=$n by_mpi $n ./layouts$n --quiet
done

section "data"
python3 "$here/make_data.py" data >out 2>&1 || fail "make_data.py"
read -r train_sum eval_sum <data/expected

# same LOG: the sum of five losses and the evaluation are those expected
same() {
  python3 - "$1" "$train_sum" "$eval_sum" <<'EOF'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 6 and lines[5]["eval"] and lines[5]["samples"] == 6, lines
assert abs(sum(l["loss"] for l in lines[:5]) / float(sys.argv[2]) - 1) < 1e-12, lines
assert abs(lines[5]["loss"] / float(sys.argv[3]) - 1) < 1e-12, lines
assert len({l["ids"] for l in lines[:5]}) > 1, lines
EOF
}
reads() { # NAME RANKS PROGRAM SET
  right "$1" sh -c "rm -f log; by_mpi $2 ./$3 --quiet --data data/$4 --steps 5 --eval --log log"
  if same log >out 2>&1; then pass; else fail "$1: other values"; fi
}
for n in 1 2 3 4; do
  make npy$n reader -DRANKS=$n
  reads "rows over $n ranks" $n npy$n npy_f8
done
make npy2d1 reader -DRANKS=2 -DSPLIT=1
reads "a dimension of the samples over 2 ranks" 2 npy2d1 npy_i2
make npy3d3 reader -DRANKS=3 -DSPLIT=3
reads "the last dimension over 3 ranks" 3 npy3d3 npy_i2
make idx1 reader -DIDX
make gz1 reader -DGZ
for set in data/npy_*; do reads "${set#data/}" 1 npy1 "${set#data/}"; done
for set in data/idx_0?; do reads "${set#data/}" 1 idx1 "${set#data/}"; done
reads idx_gz 1 gz1 idx_gz
refuses() { wrong 1 "$3" "$2" ./"$1" --quiet --data "data/bad_$2"; } # PROGRAM SET TEXT
refuses npy1 npy_truncated "x.npy: truncated"
refuses npy1 npy_long "too long"
refuses npy1 npy_empty "truncated: no .npy header"
refuses npy1 npy_short_head "cut off"
refuses npy1 npy_no_magic "not a .npy file"
refuses npy1 npy_version "version 9"
refuses npy1 npy_fortran "Fortran order"
refuses npy1 npy_big_endian "type '>i4'"
refuses npy1 npy_object "type '|O'"
refuses npy1 npy_shape "shape 4x3, input x wants 3x1x4"
refuses npy1 npy_scalar "not an array of samples"
refuses npy1 npy_none "no samples"
refuses npy1 npy_absurd "more elements than any file can hold"
refuses npy1 npy_huge "truncated: it has"
refuses npy1 npy_overflow "header cannot be read"
refuses npy1 npy_samples "id.npy has 10 samples, but data/bad_npy_samples/x.npy has 9"
refuses npy1 npy_header_size "cut off"
refuses npy1 npy_nonsense "header cannot be read"
refuses npy1 npy_range "id.npy: sample 4: id is 1000, not an integer in [0, 1000)"
refuses npy1 npy_negative "sample 9: id is -1"
refuses npy1 npy_real_ids "holds reals"
for kind in idx gz; do
  refuses ${kind}1 ${kind}_truncated truncated
  refuses ${kind}1 ${kind}_long "too long"
  refuses ${kind}1 ${kind}_no_magic "not an IDX file"
  refuses ${kind}1 ${kind}_type "element type 0x07"
  refuses ${kind}1 ${kind}_dims "255 dimensions"
  refuses ${kind}1 ${kind}_absurd "more elements than any file can hold"
  refuses ${kind}1 ${kind}_head "cut off"
done
refuses gz1 gz_cut truncated
refuses gz1 gz_crc "cannot read"
wrong 1 "reader: cannot read nowhere/x.npy: No such file or directory" "missing data" by_mpi 2 ./npy2 --data nowhere
wrong 1 "x_test.npy: No such file or directory; without --eval the test split is not read" "missing test data" \
  sh -c 'mkdir untested && cp data/npy_f8/x.npy data/npy_f8/id.npy untested && ./npy1 --data untested --eval'
wrong 1 "it is a directory" "a directory for a file" sh -c 'mkdir -p d/x.npy && ./npy1 --data d'
wrong 2 "give --data DIR" "no --data" by_mpi 2 ./npy2
for n in 1 2 3; do right "synthetic on $n" by_mpi $n ./npy$n --quiet --data synthetic --eval --steps 9 --log syn$n; done
right "synthetic data do not depend on ranks" python3 "$here/compare_logs.py" 1e-13 syn1 syn2 syn3
right "nor on the division" sh -c "./npy1 --quiet --data=synthetic --steps 9 --log a && by_mpi 3 ./npy3d3 --quiet --data synthetic --steps=9 --log b && python3 '$here/compare_logs.py' 1e-13 a b"
right "another seed" ./npy1 --quiet --data synthetic --steps 9 --log c --seed 2
wrong 1 "AssertionError" "gives other data" python3 "$here/compare_logs.py" 1e-13 a c

section "options"
right "--help" ./npy2 --help
grep -q -e '--data DIR|synthetic' out && pass || fail "--help lists --data"
right "--help on 3 ranks of 2" by_mpi 3 ./npy2 --help
[ "$(grep -c Usage out)" = 1 ] && pass || fail "--help is printed once"
right "--version" ./npy2 --version
wrong 2 "unknown option '--stepz'; did you mean '--steps'?" "an unknown option" by_mpi 2 ./npy2 --stepz 3
[ "$(grep -c 'unknown option' out)" = 1 ] && pass || fail "a fault of all ranks is printed once"
wrong 2 "unexpected argument 'x'" "an argument" ./npy1 x
wrong 2 "--steps wants a number" "--steps=-1" ./npy1 --steps=-1
wrong 2 "--steps wants a number" "--steps 1e3" ./npy1 --steps 1e3
wrong 2 "--steps needs a value: --steps N" "--steps at the end" ./npy1 --steps
wrong 2 "--quiet takes no value" "--quiet=1" ./npy1 --quiet=1
wrong 2 "not both" "--steps and --epochs" ./npy1 --steps 1 --epochs 1
wrong 1 "cannot write nowhere/log" "a log that cannot be written" by_mpi 2 ./npy2 --data synthetic --log nowhere/log
wrong 1 "cannot write nowhere/s" "a checkpoint that cannot be written" by_mpi 2 ./npy2 --data synthetic --save nowhere/s.st
wrong 1 "cannot write nowhere/s" "a directory of checkpoints that cannot be made" by_mpi 2 ./npy2 --data synthetic --save nowhere/s
wrong 1 "cannot write d.st: Is a directory" "a directory for a file" sh -c 'mkdir d.st && ./npy1 --data synthetic --save d.st'
[ ! -w /dev/full ] || {
  wrong 1 "No space left" "a full disk" ./npy1 --quiet --data synthetic --log /dev/full
  grep -q "^reader: /dev/full: its last line is not whole" out && pass || fail "the program says what is left of the log"
}
wrong 2 "reader: this program is for 2 ranks, started with 3; start it by: mpiexec -n 2 ./npy2 --data data/npy_f8" "3 ranks of 2" by_mpi 3 ./npy2 --data data/npy_f8
wrong 2 "this program is for 2 ranks, started with 1" "1 rank of 2" ./npy2 --data data/npy_f8
wrong 2 "for 1 rank, started with 2; start it by: ./npy1 --data 'a b'" "2 ranks of 1" by_mpi 2 ./npy1 --data 'a b'
right "no steps" ./npy1 --data synthetic --steps 0
right "two epochs" sh -c './npy1 --quiet --data data/npy_f8 --epochs 2 --log log && [ $(wc -l <log) = 5 ]'

section "faults of a run"
make fault1 faults -DRANKS=2 -DCASE=1
wrong 1 "test: rank 1: in dense1 (faults.dnn:5): faults.cu:" "cuBLAS refuses" by_mpi 2 ./fault1
grep -q 'CUBLAS_STATUS_INVALID_VALUE' out && pass || fail "the reason is told"
make fault2 faults -DRANKS=3 -DCASE=2
wrong 1 "in loss (faults.dnn:8)" "NCCL refuses" by_mpi 3 ./fault2
make fault3 faults -DRANKS=3 -DCASE=3
wrong 1 "test: step 3: the loss is not a number (learning rate" "the loss is NaN" by_mpi 3 ./fault3
[ "$(grep -c 'not a number' out)" = 1 ] && pass || fail "NaN is printed once"
make fault4 faults -DCASE=4
right "more memory than there is" sh -c "ASAN_OPTIONS=allocator_may_return_null=1 ./fault4 2>&1 | grep -q 'MB of device memory'"
make fault5 faults -DRANKS=2 -DCASE=5
wrong 1 "step 4: the loss is infinite" "the loss is infinite" by_mpi 2 ./fault5
make fault6 faults -DCASE=6
wrong 3 "the program has no input 0" "an internal error" ./fault6
make fault7 faults -DRANKS=2
right "no fault" by_mpi 2 ./fault7

section "files of weights"
make stored1 stored
for n in 2 3 4 5; do make stored$n stored -DRANKS=$n -DSPLIT=$((n % 3)); done
right "save on 1 rank" ./stored1 --quiet --save 1.safetensors
for n in 2 3 4 5; do
  right "save on $n ranks" by_mpi $n ./stored$n --quiet --save $n.safetensors
  right "saved alike by $n" cmp 1.safetensors $n.safetensors
  right "load on $n ranks" by_mpi $n ./stored$n --quiet --seed 9 --init 1.safetensors --save $n.again.st
  right "loaded and saved alike by $n" cmp 1.safetensors $n.again.st
done
[ -z "$(find . -name '*.partial*')" ] && pass || fail "nothing half-written is left"
right "another seed" ./stored1 --quiet --seed 9 --save 9.safetensors
wrong 1 differ "is another file" cmp 1.safetensors 9.safetensors
python3 "$here/make_data.py" checkpoints 1.safetensors bad >out 2>&1 || fail "make_data.py checkpoints"
spoilt() { wrong 1 "$2" "checkpoint: $1" by_mpi 2 ./stored2 --quiet --init "bad/$1.safetensors"; }
spoilt truncated truncated
spoilt long "without holes"
spoilt header_size "longer than the file"
spoilt header_long "longer than the file"
spoilt json "not a JSON object"
spoilt array "not a JSON object"
spoilt dtype "type: b is of type F32, the program wants F64"
spoilt shape "shape: a has [5, 7, 3], the program wants [5, 3, 7]"
spoilt rank "shape: a has [105], the program wants [5, 3, 7]"
spoilt past "truncated: z ends at byte"
spoilt no_parameter "missing: a, F32 [5, 3, 7]"
spoilt negative "offsets of a"
spoilt fraction "offsets of a"
spoilt big "offsets of a"
spoilt backwards "offsets of a"
spoilt overlap "without holes"
spoilt twice "a occurs twice"
spoilt garbage "not a JSON object"
spoilt empty truncated
spoilt seven truncated
wrong 1 "No such file" "a missing checkpoint" by_mpi 2 ./stored2 --init nowhere.safetensors
right "what the program does not know is told" by_mpi 2 ./stored2 --seed 9 --init bad/unknown.safetensors --save more.st
grep -qF "stored: bad/unknown.safetensors: not taken: 1 tensor, z" out && pass || fail "not told"
right "and the rest is taken" cmp -n 692 1.safetensors more.st
right "parameters alone" by_mpi 2 ./stored2 --quiet --seed 9 --init bad/good_parameters.safetensors --save mixed.st
right "which is told" sh -c "by_mpi 2 ./stored2 --init bad/good_parameters.safetensors 2>&1 |
  grep -qF 'not in it, and so as at the beginning: 2 tensors, b, s'"
right "the states keep their values" sh -c 'tail -c 20 mixed.st >a && tail -c 20 9.safetensors >b && cmp a b'
right "the parameters are those loaded" sh -c 'tail -c 440 mixed.st | head -c 420 >a && tail -c 440 1.safetensors | head -c 420 >b && cmp a b'

section "a network"
if [ -d "$mnist" ]; then
  for cc in $CCS; do
    for n in 1 2 3 4 5; do
      make mlp$n mlp --cc="$cc" -DRANKS=$n -DREAL64 -DBATCH=98
      right "mlp in double on $n with $cc" by_mpi $n ./mlp$n --quiet --data "$mnist" --steps 60 --eval --log $n.$cc.log --save $n.$cc.st
    done
    right "the same losses on 1 to 5 ranks with $cc" python3 "$here/compare_logs.py" 1e-10 1.$cc.log 2.$cc.log 3.$cc.log 4.$cc.log 5.$cc.log
    make mlpf mlp --cc="$cc" -DRANKS=3
    right "mlp in float on 3 with $cc" by_mpi 3 ./mlpf --data "$mnist" --eval
    cp out summary
    right "learns" sh -c "sed -n 's/.*test split.*accuracy //p' summary | awk '{ok = \$1 > 0.8} END {exit !ok}'"
    right "runs again alike" sh -c "by_mpi 3 ./mlpf --quiet --data '$mnist' --steps 50 --save a.st && by_mpi 3 ./mlpf --quiet --data '$mnist' --steps 50 --save b.st && cmp a.st b.st"
    make mlpx mlp --cc="$cc" -DRANKS=2 -DEXPLODE=5
    wrong 1 "mlp: step" "a loss that explodes with $cc" by_mpi 2 ./mlpx --data "$mnist" --save never.st
    [ ! -e never.st ] && pass || fail "nothing is saved after a fault"
  done
  right "gradients on a loaded file" sh -c "by_mpi 2 ./mlp2 --quiet --data '$mnist' --steps 0 --eval --init 4.$cc.st \
    --log again && tail -n 1 again >a && tail -n 1 4.$cc.log >b && python3 '$here/compare_logs.py' 1e-10 a b"
else
  echo "no $mnist: not run"
fi

section "parcc-cc"
wrong 2 "no input file" "no input" "$parcc_cc"
wrong 2 "no output file" "no output" "$parcc_cc" x.cu
wrong 2 "cannot read x.cu" "a missing file" "$parcc_cc" x.cu -o x
: >m.dnn
wrong 2 "m.dnn is a model: compile it with parcc first" "a model" "$parcc_cc" m.dnn -o x
wrong 2 "unknown target 'tpu'" "an unknown target" "$parcc_cc" --target=tpu "$here/random.cu" -o x
wrong 2 "no C compiler 'nocc'" "an unknown compiler" "$parcc_cc" --target=host --cc=nocc "$here/random.cu" -o x
right "--help of parcc-cc" "$parcc_cc" --help
echo '#include "parcc.h"' >broken.cu && echo 'int main(void) { return nothing; }' >>broken.cu && echo old >kept
wrong 1 nothing "a program that does not compile" "$parcc_cc" --target=host broken.cu -o kept
[ "$(cat kept)" = old ] && [ -z "$(find . -name 'kept.*')" ] && pass || fail "a failing compilation leaves what was there"
right "a path with blanks" sh -c "mkdir -p 'a b' && cp '$here/faults.cu' '$here/test.h' 'a b' && '$parcc_cc' --target=host 'a b/faults.cu' -o 'a b/f' && 'a b/f' --quiet"
right "by a link" sh -c "ln -s '$parcc_cc' link && ./link --target=host '$here/faults.cu' -o f && ./f --quiet"

if command -v nvcc >/dev/null 2>&1 && [ -f "$build/lib/libparcc_rt_cuda.a" ]; then
  section "nvcc"
  cuda() {
    if timeout 300 "$parcc_cc" --target=cuda "$@" -o cuda >out 2>&1 && [ ! -s out ]; then pass; else fail "nvcc: $*"; fi
  }
  for source in kernels random blas collectives layouts reader stored faults stall; do cuda -arch sm_80 "$here/$source.cu"; done
  cuda -arch sm_75,sm_80,sm_90 -Wall -Wextra "$here/mlp.cu"
  cuda -arch sm_90 -DREAL64 -Wall -Wextra "$here/mlp.cu"
  right "a program for GPUs tells its options" sh -c './cuda --help | grep -q Usage'
  nvidia-smi -L >/dev/null 2>&1 || wrong 1 "parcc-cc --target=host" "a program for GPUs where there is none" by_mpi 4 ./cuda --data synthetic
  wrong 1 nothing "a program that nvcc does not compile" "$parcc_cc" --target=cuda -arch sm_80 broken.cu -o kept
  [ "$(cat kept)" = old ] && pass || fail "a failing nvcc leaves what was there"
  wrong 2 "unknown GPU architecture" "an unknown architecture" "$parcc_cc" --target=cuda -arch 'gfx90;a' "$here/random.cu" -o x
fi

finish
