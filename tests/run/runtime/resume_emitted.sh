#!/bin/sh
# resume_emitted.sh BUILD_DIR: the same with programs that parcc writes. A run on 2 ranks goes on from its checkpoint to the
# last bit; a run in f64 that was saved on 4 ranks and goes on on 3 is the run on 3 ranks to 1e-11.
. "$(dirname "$0")/checks.sh"

# emitted PROGRAM OPTIONS...
emitted() {
  program=$1
  shift
  right "compile $program" "$parcc" "$root/samples/lenet.dnn" -o "$program.cu" "$@"
  right "build $program" "$parcc_cc" --target=host $quick "$program.cu" -o "$program"
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

section "--init takes parameters and running statistics, and leaves what an optimizer remembers"
cat >sgd.dnn <<'DNN'
model net(batch = 8, width = 6) {
  input x[batch, 5];
  y = dense(x, width) |> batchnorm |> relu;
  loss = mse(dense(y, 5), x);
}
train { optimizer = sgd(lr = 0.1, momentum = 0.9); steps = 5; }
DNN
sed 's/optimizer = .*; steps/optimizer = adam(lr = 0.1); steps/' sgd.dnn >adam.dnn
sed 's/ |> batchnorm//; s/sgd(.*); steps/adam(); steps/' sgd.dnn >plain.dnn
for net in sgd adam plain; do
  right "compile $net" "$parcc" $net.dnn -o $net.cu --ranks=2
  right "build $net" "$parcc_cc" --target=host $quick $net.cu -o $net
done
right "compile wide" "$parcc" sgd.dnn -o wide.cu --ranks=2 -D width=7
right "build wide" "$parcc_cc" --target=host $quick wide.cu -o wide
right "trains with momentum" on 2 ./sgd --quiet --data synthetic --save sgd.st
right "and keeps a checkpoint" on 2 ./sgd --quiet --data synthetic --save whole
right "without batchnorm, too" on 2 ./plain --quiet --data synthetic --save plain.st
right "begins with its file" on 2 ./sgd --data synthetic --init sgd.st --steps 0 --save again.st
grep -qF "net: sgd.st: not taken: 6 tensors, dense1.w.velocity, dense1.b.velocity" out && pass || fail "what is not taken"
right "begins so with another optimizer" on 2 ./adam --data synthetic --init sgd.st --steps 0 --save adam.st
grep -qF "net: sgd.st: not taken: 6 tensors, " out && pass || fail "what is not taken by another optimizer"
wrong 1 "missing: batchnorm1." "parameters that the file has not" on 2 ./sgd --data synthetic --init plain.st
wrong 1 "has [6, 5], the program wants [7, 5]" "parameters of another shape" on 2 ./wide --data synthetic --init sgd.st
wrong 1 "unknown: dense1.w.velocity" "a checkpoint has all or is refused" on 2 ./adam --data synthetic --load whole

if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  right "the same tensors" /usr/bin/python3 "$here/compare_tensors.py" 1e-11 w.st r.st
  right "parameters and statistics are those of the file, the rest is 0" /usr/bin/python3 - <<EOF
import sys
sys.path.append("$root/tests/reference")
import safetensors
sgd = safetensors.read("sgd.st")
for path in "again.st", "adam.st":
    for name, tensor in safetensors.read(path).items():
        kept = name.count(".") == 1
        assert (tensor == (sgd[name] if kept else 0)).all(), (path, name)
        assert not kept or abs(tensor).max() > 0, (path, name)
assert any(abs(tensor).max() > 0 for name, tensor in sgd.items() if name.count(".") > 1)
EOF
else
  echo "no numpy: tensors not compared"
fi
finish
