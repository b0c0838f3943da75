#!/bin/sh
# generate.sh BUILD_DIR: text that programs generate (--sample): what is known of it, on checkpoints of any plan, and who refuses.
. "$(dirname "$0")/checks.sh"

# emitted PROGRAM MODEL OPTIONS...
emitted() {
  program=$1 model=$2
  shift 2
  right "compile $program" "$parcc" "$model.dnn" -o "$program.cu" "$@"
  right "build $program" "$parcc_cc" --target=host $quick "$program.cu" -o "$program"
}

# says NAME TEXT COMMAND...: that and nothing else on stdout
says() {
  name=$1 text=$2
  shift 2
  if timeout 120 "$@" >said 2>out && [ "$(cat said)" = "$text" ]; then pass; else
    cat said >>out
    fail "$name"
  fi
}

cat >letters.dnn <<'DNN'
model letters(batch = 8, context = 9, width = 16) {
  input token[b = batch, t = context]: int < 256;
  input next[b = batch, t = context]: int < 256;
  param table[v = 256, c = width] = normal_init(1);
  logits = embedding(token, table) |> dense(256);
  sample token = logits;
  loss = cross_entropy(logits, next);
}
train {
  data token = text("letters.txt", test = 0.1);
  data next = text("letters.txt", test = 0.1, shift = 1);
  optimizer = adam(lr = 0.05);
  steps = 60;
}
DNN
python3 -c "print('abcdefghijklmnopqrstuvwxyz ' * 60)" >letters.txt
emitted one letters --dtype=f64
emitted four letters --dtype=f64 --mesh a=2,b=2 --plan=random:5

section "what was learnt"
right "training on 4 ranks" on 4 ./four --quiet --data . --save four.ck --log four.log
right "training on 1 rank" ./one --quiet --data . --save one.ck --log one.log
right "alike" python3 "$here/compare_logs.py" 1e-11 one.log four.log
says "the alphabet, with a window that slides" "klmnopqrstuvwxyz abcdefghijklmnopq" ./one --load four.ck --sample klmnopqrs --tokens 25 --temperature 0
says "from a prompt that is longer than the window" "abcdefghijklmnopqrstuvwxyz a" ./one --load four.ck --sample abcdefghijklmnopqrstuvwxy --tokens 3 --temperature 0
says "no token" "" ./one --load four.ck --sample a --tokens 0
says "from weights alone" "xyz a" ./one --init four.ck/step-000000060/tensors.safetensors --sample x --tokens 4 --temperature=0
right "drawn" sh -c './one --load four.ck --sample a --tokens 400 --temperature 3 >a'
right "again" sh -c './one --load four.ck --sample a --tokens 400 --temperature 3 --seed 1 >b && cmp a b'
right "from the checkpoint of another plan" sh -c './one --load one.ck --sample a --tokens 400 --temperature 3 >b && cmp a b'
right "with another seed" sh -c './one --load one.ck --sample a --tokens 400 --temperature 3 --seed 2 >b; cmp -s a b; [ $? = 1 ]'
right "after training" sh -c './one --quiet --data . --sample x --tokens 4 --temperature 0 >a && head -n 1 a | grep -qx "xyz a" && grep -q "60 steps" a'
right "which goes on only where it is told to" sh -c './one --quiet --data . --load one.ck --steps 62 --sample x --tokens 4 --temperature 0 >a && grep -q "2 steps" a'

section "what is drawn"
cat >dice.dnn <<'DNN'
model dice(batch = 2, context = 3) {
  input token[b = batch, t = context]: int < 4;
  param weight[v = 4] = log(v + 1);
  ramp[v = 4] = log(v + 1);
  logits[b, t, v] = ramp[v] + 0 * weight[v] * token[b, t];
  sample token = logits;
  loss = mean(logits);
}
DNN
emitted dice dice
right "4000 draws" sh -c './dice --data synthetic --steps 0 --quiet --sample 0 --tokens 4000 >a'
right "as often as they are likely" python3 - a 1 <<'PY'
import sys
words = open(sys.argv[1]).read().split("\n")[0].split()[1:]
assert len(words) == 4000
for value in range(4):
    share = words.count(str(value)) / 4000
    assert abs(share - (value + 1) / 10) < 0.03, (value, share)
PY
right "at half the temperature" sh -c './dice --data synthetic --steps 0 --quiet --sample 0 --tokens 4000 --temperature 0.5 >a'
right "as often as their squares are" python3 - a <<'PY'
import sys
words = open(sys.argv[1]).read().split("\n")[0].split()[1:]
for value in range(4):
    share = words.count(str(value)) / 4000
    assert abs(share - (value + 1) ** 2 / 30) < 0.03, (value, share)
PY

section "vocabularies"
sed -e 's/letters/words/; s/256/27/g; s/text("words.txt"/tokens("words.npy", vocabulary = "vocabulary"/' letters.dnn >words.dnn
python3 - "$here" <<'PY'
import struct, sys
sys.path.insert(0, sys.argv[1])
from make_data import npy
ids = list(range(27)) * 60
open("words.npy", "wb").write(npy("H", (len(ids),), ids))
words = ["w%d" % i for i in range(27)]
def pieces(head, parts): return struct.pack("<256i", *head, *[0] * (256 - len(head))) + b"".join(bytes([len(p)]) + p for p in parts)
parts = [b" a", b" ab", b"c", b"d"] + [b"x%d" % i for i in range(4, 27)]
files = {"lines": "\n".join(words).encode() + b"\n", "pieces": pieces([20240328, 2, 27, 3], parts), "few": b"w0\nw1\nw2",
         "many": "\n".join(words + ["w27"]).encode(), "twice": "\n".join(words[:9] + words[3:]).encode(), "blank": b"w0\n\nw1\r\n\r\nw2\n", "none": b"", "cut": pieces([20240328, 1, 27], parts)[:-1], "behind": pieces([20240328, 1, 26], parts),
         "count": pieces([20240328, 1, -1], parts), "version": pieces([20240328, 9, 27], parts), "head": pieces([20240328, 1, 27], [])[:99]}
for name, data in files.items(): open("vocabulary." + name, "wb").write(data)
PY
emitted words words --dtype=f64
right "training" ./words --quiet --data . --save words.ck
vocabulary() { cp "vocabulary.$1" vocabulary; }
vocabulary lines
says "words" "w3 w4 w5 w6" ./words --data . --load words.ck --sample " w3  w4" --tokens 2 --temperature 0
wrong 2 "./vocabulary has no word 'a'" "a word that is unknown" ./words --data . --load words.ck --sample "w3 a w4"
wrong 2 "wants a prompt of at least one token" "blanks" ./words --data . --load words.ck --sample "  "
wrong 2 "give --data DIR, where the vocabulary vocabulary is" "no directory" ./words --load words.ck --sample w3
vocabulary few
says "words without a name" "w1 w2 <3> <4>" ./words --data . --load words.ck --sample "w1 w2" --tokens 2 --temperature 0
vocabulary pieces
says "pieces, the longest first" " abcdx4x5" ./words --data . --load words.ck --sample " abc" --tokens 3 --temperature 0
wrong 2 "./vocabulary has no piece for 'yc'" "a piece that is unknown" ./words --data . --load words.ck --sample " abyc"
spoilt() {
  vocabulary "$1"
  wrong 1 "$2" "vocabulary: $1" ./words --data . --load words.ck --sample w
}
spoilt many "28 words, but tokens lie below 27"
spoilt twice "./vocabulary: line 10: the word 'w3' stands in line 4 already"
spoilt blank "./vocabulary: line 4: the word '' stands in line 2 already"
spoilt none "no words"
spoilt cut "truncated in piece 26"
spoilt behind "bytes behind the last piece"
spoilt count "4294967295 pieces do not fit"
spoilt version "version 9 of its format"
spoilt head "its header is cut off"
rm vocabulary
wrong 1 "No such file" "no vocabulary" ./words --data . --load words.ck --sample w

section "who refuses"
wrong 2 "letters: --sample: text is generated on one rank; make a program for one" "four ranks" on 4 ./four --load four.ck --sample a
sed '/sample/d' letters.dnn >plain.dnn
emitted plain plain
wrong 2 "--sample: the model is no language model" "no line of the model" ./plain --data . --sample a
sed 's/logits = .*/x = embedding(token, table); s[b, c] = sum(t) x[b, t, c]; y[b, t, c] = x[b, t, c] + s[b, c]; logits = dense(y, 256);/' letters.dnn >ahead.dnn
emitted ahead ahead
wrong 1 "--sample: the model looks ahead" "a network that looks ahead" ./ahead --data . --steps 1 --quiet --sample abc
sed 's/: int < 4;/: int < 4; bad[b, t, v = 4] = log(0 - 1 - token[b, t]);/; s/sample token = logits/sample token = bad/' dice.dnn >nan.dnn
emitted nan nan
wrong 1 "--sample: token 1: what it is drawn from is not a number" "not a number" ./nan --data synthetic --steps 0 --quiet --sample 1
wrong 2 "the tokens of token are numbers in [0, 4), separated by blanks, not '4'" "a number that is too large" ./dice --data synthetic --sample "3 4"
wrong 2 "not '1x'" "no number" ./dice --data synthetic --sample "1x"
wrong 2 "--temperature wants a number of at least 0, not '-1'" "a temperature" ./dice --data synthetic --sample 1 --temperature -1
wrong 2 "--temperature wants a number of at least 0, not '0x1'" "in decimal digits" ./dice --data synthetic --sample 1 --temperature 0x1
wrong 2 "--sample needs a value: --sample PROMPT" "no prompt" ./dice --data synthetic --sample ""

finish
