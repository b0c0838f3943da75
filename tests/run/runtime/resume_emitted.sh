#!/bin/sh
# resume_emitted.sh BUILD_DIR: the same with programs that parcc writes. A run on 2 ranks goes on from its checkpoint to the
# last bit; a run in f64 that was saved on 4 ranks and goes on on 3 is the run on 3 ranks to 1e-11.
. "$(dirname "$0")/checks.sh"

# emitted PROGRAM OPTIONS...
emitted() {
  program=$1
  shift
  right "compile $program" "$parcc" "$root/samples/lenet.dnn" -o "$program.cu" "$@"
  right "build $program" "$parcc_cc" --target=host "$program.cu" -o "$program"
}
emitted lenet2 --ranks=2
emitted lenet4 --ranks=4 --dtype=f64
emitted lenet3 --ranks=3 --dtype=f64
right "uninterrupted" on 2 ./lenet2 --quiet --data synthetic --steps 20 --save l.st
right "with checkpoints" on 2 ./lenet2 --quiet --data synthetic --steps 20 --save l --save-every 7
rm -r l/step-000000020
right "goes on" on 2 ./lenet2 --quiet --data synthetic --load l --save m.st
same "as if it had never ended" l.st m.st
right "uninterrupted on 3" on 3 ./lenet3 --quiet --data synthetic --steps 20 --eval --log w.log --save w.st
right "saved on 4" on 4 ./lenet4 --quiet --data synthetic --steps 20 --save four --save-every 11
rm -r four/step-000000020
right "loaded on 3" on 3 ./lenet3 --quiet --data synthetic --load four --eval --log r.log --save r.st
right "the same losses" sh -c "tail -n 10 w.log >a && python3 '$here/compare_logs.py' 1e-11 a r.log"
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  right "the same tensors" /usr/bin/python3 "$here/compare_tensors.py" 1e-11 w.st r.st
  right "begins with a file" on 2 ./lenet2 --quiet --data synthetic --seed 5 --init l.st --steps 0 --save n.st
  right "it has the tensors of the file" /usr/bin/python3 "$here/compare_tensors.py" 0 l.st n.st
else
  echo "no numpy: tensors not compared"
fi
finish
