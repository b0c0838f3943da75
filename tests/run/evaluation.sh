#!/bin/sh
# Evaluations of a test split that does not divide by the batch, in f64 on 1, 2, 3 and 5 ranks, against the same sums done here.
# Samples that meet in sums over the batch only are all counted; a model that reads other samples of the batch takes whole
# batches only, and says what it leaves out.
. "$(dirname "$0")/common.sh"
cd "$tmp" || exit 1

cat >plain.dnn <<'DNN'
model plain(batch = 5) {
  input x[batch, 3];
  input y[batch, 3];
  a = dense(x, 4, bias = false);
  c = dense(y, 4, bias = false);
  loss = mse(a, c);
  metric largest = max(x);
}
train { data x = npy("x.npy", test = "xt.npy"); data y = npy("y.npy", test = "yt.npy"); }
DNN
cat >contrastive.dnn <<'DNN'
model contrastive(batch = 5) {
  input x[batch, 3];
  input y[batch, 3];
  a = dense(x, 4, bias = false);
  c = dense(y, 4, bias = false);
  s[i, j] = sum(k) a[i, k] * c[j, k];
  p = log_softmax(s, axis = 1);
  d[i] = -p[i, i];
  loss = mean(d);
  metric largest = max(x);
}
train { data x = npy("x.npy", test = "xt.npy"); data y = npy("y.npy", test = "yt.npy"); }
DNN
sed 's/ s\[.*/ s[i] = sum(k) a[i, k] * c[i - 1, k];/; /log_softmax/d; s/ d\[i\] = .*/ d = s;/; s/contrastive/shifted/' contrastive.dnn >shifted.dnn

cat >data.py <<'PY'
import random, struct
random.seed(3)
def write(name, samples):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({samples}, 3), }}".ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{3 * samples}d", *(random.gauss(0, 1) for _ in range(3 * samples))))
for split, samples in (("", 5), ("t", 13)):
    write(f"x{split}.npy", samples)
    write(f"y{split}.npy", samples)
for name in "xy":
    write(f"small/{name}.npy", 5)
    write(f"small/{name}t.npy", 3)
PY

# Loss and metric over the test split by hand: check.py MODEL LOG WEIGHTS
cat >check.py <<'PY'
import json, math, struct, sys
BATCH = 5
def rows(values):
    return [values[i:i + 3] for i in range(0, len(values), 3)]
def npy(name):
    raw = open(name, "rb").read()[10 + 118:]
    return rows(struct.unpack(f"<{len(raw) // 8}d", raw))
raw = open(sys.argv[3], "rb").read()
size, = struct.unpack_from("<Q", raw)
def weights(name):
    begin, end = json.loads(raw[8:8 + size])[name]["data_offsets"]
    return rows(struct.unpack(f"<{(end - begin) // 8}d", raw[8 + size + begin:8 + size + end]))
def dense(x, w):
    return [[sum(u * v for u, v in zip(r, q)) for q in w] for r in x]
def plain(a, c):
    return sum((u - v) ** 2 for r, q in zip(a, c) for u, v in zip(r, q)) / (4 * len(a))
def contrastive(a, c):
    s = [[sum(u * v for u, v in zip(r, q)) for q in c] for r in a]
    return sum(math.log(sum(math.exp(v) for v in s[i])) - s[i][i] for i in range(len(a))) / len(a)
def shifted(a, c):
    return sum(sum(u * v for u, v in zip(a[i], c[i - 1])) for i in range(1, len(a))) / len(a)
model = sys.argv[1]
x, y, w, v = npy("xt.npy"), npy("yt.npy"), weights("dense1.w"), weights("dense2.w")
used = len(x) if model == "plain" else len(x) // BATCH * BATCH
loss = largest = 0
for at in range(0, used, BATCH):
    a, c = dense(x[at:min(at + BATCH, used)], w), dense(y[at:min(at + BATCH, used)], v)
    loss += globals()[model](a, c) * len(a)
    largest += max(e for r in x[at:at + len(a)] for e in r) * len(a)
found = json.loads(open(sys.argv[2]).readlines()[-1])
assert found["samples"] == used and found.get("left_out", 0) == len(x) - used, found
for key, value in (("loss", loss / used), ("largest", largest / used)):
    assert abs(found[key] - value) <= 1e-12 * abs(value), (key, found[key], value)
PY
mkdir small
python3 data.py || exit 1

# evaluate RANKS PROGRAM
evaluate() { ranks "$1" "./$2" --data "$tmp" --steps 0 --eval --log "$2.log" --save "$2.st" >"$2.out"; }

for case in plain contrastive shifted; do
  for on in 1 2 3 5; do
    check "$case$on builds" build $case.dnn $case$on --dtype f64 --ranks=$on -q
    check "$case$on runs" evaluate $on $case$on
    check "$case$on has the numbers" python3 check.py $case $case$on.log $case$on.st
  done
done
left_out="left out the last 3 samples, which do not fill a batch of 5: s (contrastive.dnn:6) needs all samples of one"
check "it is said what is left out" grep -qF "$left_out" contrastive2.out
check "nothing is left out where nothing has to be" sh -c '! grep -q "left out" plain2.out'
check "a test split smaller than a batch is counted" sh -c './plain1 --data small --steps 0 --eval >small.out && grep -q "test split: 3 samples" small.out'
check "or refused" sh -c './contrastive1 --data small --steps 9 --eval 2>said; [ $? -eq 1 ]'
check "with a reason" grep -qF "the test split has 3 samples, and s (contrastive.dnn:6) needs all 5 of a batch" said
finish
