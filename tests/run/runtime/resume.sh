#!/bin/sh
# resume.sh BUILD_DIR: a run that goes on from a checkpoint is the run that never ended: to the last bit on as many ranks, to
# rounding on another number of them; what is kept, passed over and refused.
. "$(dirname "$0")/checks.sh"

section "a program written by hand"
make mlp mlp -DRANKS=3
right "uninterrupted" on 3 ./mlp --quiet --data synthetic --steps 90 --eval --log whole.log --save whole.st
right "with checkpoints" on 3 ./mlp --quiet --data synthetic --steps 90 --save-every 20 --save ck
[ "$(ls ck | tr '\n' ' ')" = "step-000000080 step-000000090 " ] && pass || fail "the last two are kept: $(ls ck)"
rm -r ck/step-000000090
right "goes on" on 3 ./mlp --data synthetic --load ck --eval --log rest.log --save rest.st
grep -q "mlp: going on after step 80, from ck/step-000000080" out && pass || fail "it says from where"
same "as if it had never ended" whole.st rest.st
right "the log, too" sh -c "tail -n 11 whole.log >a && python3 '$here/compare_logs.py' 0 a rest.log"
right "the log is continued" sh -c "on 3 ./mlp --quiet --data synthetic --load ck --log rest.log && [ \$(wc -l <rest.log) = 21 ]"
right "goes on in the same directory" on 3 ./mlp --quiet --data synthetic --load ck --save ck --save-every 5
[ "$(ls ck | tr '\n' ' ')" = "step-000000085 step-000000090 " ] && pass || fail "there, too, two are kept: $(ls ck)"
right "to a later end" on 3 ./mlp --quiet --data synthetic --load ck --save ck --steps 92
right "a run that is over" sh -c "on 3 ./mlp --quiet --data synthetic --load ck --save ck | grep -q 'mlp: 0 steps'"
right "and says so" sh -c "on 3 ./mlp --quiet --data synthetic --load ck --save ck 2>&1 |
  grep -q 'mlp: no step is left: ck/step-000000092 is at step 92, where the run ends; --steps N goes on'"
right "unless it is evaluated" sh -c "! on 3 ./mlp --data synthetic --load ck --eval 2>&1 | grep -q 'no step'"

section "what is passed over and refused"
cp -r ck damaged
printf 'x' | dd of=damaged/step-000000092/tensors.safetensors bs=1 seek=5000 conv=notrunc 2>/dev/null
right "a damaged one" on 3 ./mlp --quiet --data synthetic --load damaged --save damaged --save-every 1 --steps 91
grep -q "passing over damaged/step-000000092.*CRC" out && pass || fail "it is named"
[ "$(ls damaged | tr '\n' ' ')" = "step-000000090 step-000000091 " ] && pass || fail "and goes: $(ls damaged)"
cp -r ck cut && truncate -s 1000 cut/step-000000092/tensors.safetensors && rm cut/step-000000090/run.json
wrong 1 "no checkpoint in it is whole" "two damaged ones" on 3 ./mlp --data synthetic --load cut
mkdir none
wrong 1 "none: there is no checkpoint in it" "an empty directory" on 3 ./mlp --data synthetic --load none
wrong 1 "cannot read nowhere: No such file" "no directory" on 3 ./mlp --data synthetic --load nowhere
wrong 1 "--init FILE takes a file" "a file for a directory" on 3 ./mlp --data synthetic --load whole.st
wrong 1 "ck is a directory: --init takes a file of tensors; --load DIR goes on" "a directory for a file" on 3 ./mlp --data synthetic --init ck
wrong 2 "--seed 7: the run that" "another seed" on 3 ./mlp --data synthetic --load ck --seed 7
wrong 2 "ck/step-000000092 is at step 92 already, but the run is to end at step 50" "an end before the beginning" on 3 ./mlp --data synthetic --load ck --steps 50
wrong 2 "--save ck: it holds checkpoints of another run, up to step 92" "a directory in use" on 3 ./mlp --data synthetic --save ck
wrong 1 "--save ck: another run writes its checkpoints there" "a directory that another run writes to" flock ck on 3 ./mlp --data synthetic --load ck --save ck
wrong 2 "not both" "--load and --init" on 3 ./mlp --data synthetic --load ck --init whole.st
wrong 2 "--save-every wants --save DIR" "--save-every without a directory" on 3 ./mlp --data synthetic --save-every 3 --save x.st
wrong 2 "--save-every wants a number from 1" "--save-every 0" on 3 ./mlp --data synthetic --save-every 0 --save x
make mlp_other mlp -DRANKS=3 -DBATCH=96
wrong 1 "the run began with other training data" "other data" on 3 ./mlp_other --data synthetic --load ck
make mlp64 mlp -DRANKS=3 -DREAL64
wrong 1 "is of type F32, the program wants F64" "another type" on 3 ./mlp64 --data synthetic --load ck
grep -q "no step" out && fail "which is said before what there is to do" || pass
make exploding mlp -DRANKS=3 -DEXPLODE=5
wrong 1 "mlp: step" "a loss that explodes" on 3 ./exploding --data synthetic --save wild --save-every 1 --quiet
for run in wild/*/run.json; do
  [ ! -e "$run" ] || right "nothing is kept of it" grep -q '"step":	[1-6],' "$run"
done

section "tensors longer than a piece"
for size in LONG_ROWS LARGE; do
  make stored1 stored -D$size
  right "save on 1 ($size)" ./stored1 --quiet --save 1.st
  for n in 2 3; do
    make stored$n stored -D$size -DRANKS=$n -DSPLIT=$((4 - n))
    right "save on $n ($size)" on $n ./stored$n --quiet --save ck$size$n
    same "saved alike by $n ($size)" 1.st ck$size$n/step-000000004/tensors.safetensors
    right "load on 1 ($size)" ./stored1 --quiet --load ck$size$n --save again.st
    same "loaded and saved alike ($size)" 1.st again.st
    right "load on $n ($size)" on $n ./stored$n --quiet --load ck$size$n --save again.st
    same "loaded and saved alike by $n ($size)" 1.st again.st
  done
done
[ -z "$(find . -name '*.partial' -o -name unfinished -o -name replaced)" ] && pass || fail "nothing half-written is left"
finish
