#!/bin/sh
# text.sh BUILD_DIR: windows of texts and of files of tokens, right and damaged ones, on 1 to 4 ranks.
. "$(dirname "$0")/checks.sh"

python3 "$here/make_text.py" make data >out 2>&1 || fail "make_text.py"

# program NAME TRAIN_SOURCE SHIFT OPTIONS...: windows, and the same so much later
program() {
  name=$1 source=$2 shift=$3
  shift 3
  pair "$name" "$source)" "$source, shift = $shift)" "$@"
}

# pair NAME SOURCE SOURCE OPTIONS...: the loss sums what it reads of both, so that their pairing counts.
pair() {
  built=$1 first=$2 second=$3
  shift 3
  cat >"$built.dnn" <<DNN
model windows(batch = 4, context = 5, range = 256) {
  input token[b = batch, t = context]: int < range;
  input later[b = batch, t = context]: int < range;
  x[b, t] = token[b, t] * 1.0;
  each[b] = sum(t) (x[b, t] * (t + 1) + 1000 * x[b, t] * later[b, t]);
  param scale[1] = 1;
  loss = mean(each * stop(scale[0]));
}
train {
  data token = $first;
  data later = $second;
  epochs = 1;
}
DNN
  right "compile $built" "$parcc" "$built.dnn" --dtype=f64 -o "$built.cu" "$@"
  right "build $built" "$parcc_cc" --target=host $quick "$built.cu" -o "$built"
}

# reads NAME RANKS TRAIN TEST SHIFT STRIDE HELD_OUT: an epoch and an evaluation give what the windows hold
reads() {
  right "$1" sh -c "rm -f log; on $2 ./$1 --quiet --data data --eval --log log"
  right "$1: the values" python3 "$here/make_text.py" check log "data/$3" "data/$4" 5 "$5" "$6" "$7"
}

section "texts"
for n in 1 2 3 4; do
  program text$n 'text("train.txt", test = "test.txt"' 1 --ranks=$n
  reads text$n $n train test 1 5 0
done
program plan 'text("train.txt", test = "test.txt"' 1 --ranks=4 --mesh a=2,b=2 --plan=random:3
reads plan 4 train test 1 5 0
program gz 'text("train.txt.gz", test = "test.txt.gz"' 1 --ranks=1
reads gz 1 train test 1 5 0
program held 'text("train.txt", test = 0.14' 1 --ranks=2
reads held 2 train - 1 5 0.14
program held_gz 'text("train.txt.gz", test = 0.14' 1 --ranks=2
reads held_gz 2 train - 1 5 0.14
program every 'text("train.txt", test = "test.txt", stride = 1' 7 --ranks=2
reads every 2 train test 7 1 0
program apart 'text("train.txt", test = "test.txt", stride = 12' 3 --ranks=1
reads apart 1 train test 3 12 0
right "what is left over is told" sh -c "./text1 --data data 2>&1 | grep -qF 'windows: training split of data/train.txt: 28 samples of 5, 2 left over at the end'"
right "the help tells what is held out" sh -c "./held --help | grep -qF 'train.txt (text; the test split is the last 0.14 of it)'"

section "files of tokens"
program tokens 'tokens("train", test = "test"' 1 --ranks=1
for file in B.npy H.npy I.npy i.npy q.npy 16.bin 32.bin; do
  cp "data/train_$file" data/train && cp "data/test_$file" data/test
  reads tokens 1 train test 1 5 0
done
program large16 'tokens("large_16.bin", test = 0.14' 1 --ranks=2 -D range=65536
reads large16 2 large - 1 5 0.14
program large32 'tokens("large_I.npy", test = 0.14' 1 --ranks=2 -D range=63000
reads large32 2 large - 1 5 0.14

section "lines"
# lines NAME RANKS HELD_OUT
lines() {
  right "$1" sh -c "rm -f log; on $2 ./$1 --quiet --data data --eval --log log"
  right "$1: the values" python3 "$here/make_text.py" check_lines log data "$3"
}
words='vocabulary = "words", unknown = 1'
for n in 1 3; do
  pair lines$n "lines(\"source.txt\", test = \"test-source.txt\", $words)" \
    "lines(\"target.txt\", test = \"test-target.txt\", begin = 2, $words)" --ranks=$n
  lines lines$n $n 0
done
pair lines_plan "lines(\"source.txt\", test = \"test-source.txt\", $words)" \
  "lines(\"target.txt\", test = \"test-target.txt\", begin = 2, $words)" --ranks=4 --mesh a=2,b=2 --plan=random:3
lines lines_plan 4 0
right "words that end with carriage returns" sh -c "cp -r data crlf && sed 's/\$/\r/' data/words >crlf/words && ! cmp -s data/words crlf/words"
right "lines of them" sh -c "rm -f log; ./lines1 --quiet --data crlf --eval --log log"
right "lines of them: the values" python3 "$here/make_text.py" check_lines log data 0
pair lines_held "lines(\"source.txt\", test = 0.2, $words)" "lines(\"target.txt\", test = 0.2, begin = 2, $words)" --ranks=2
lines lines_held 2 0.2
pair lines_bytes 'lines("source.txt", test = 0.1)' 'lines("source.txt", test = 0.1, end = 10)' --ranks=1 -D batch=3
lines lines_bytes 1 bytes
right "what is cut is told" sh -c "./lines1 --data data 2>&1 | grep -qF 'lines do not fit into 5 tokens and are cut'"
pair strict 'lines("source.txt", vocabulary = "words")' 'lines("target.txt", vocabulary = "words")' --ranks=2
wrong 1 "data/source.txt: line 2: the vocabulary has no word 'dog'" "a word that is unknown" on 2 ./strict --quiet --data data
pair large 'lines("source.txt", vocabulary = "bad_words")' 'lines("target.txt")' --ranks=1
wrong 1 "data/bad_words: 260 words, but tokens lie below 256" "a vocabulary that is too large" ./large --quiet --data data
pair odd "lines(\"source.txt\", $words)" "lines(\"bad_few.txt\", $words)" --ranks=1
wrong 1 "data/bad_few.txt has 1 samples, but data/source.txt has 20" "pairs that are none" ./odd --quiet --data data
pair small 'lines("bad_few.txt")' 'lines("bad_few.txt")' --ranks=1 -D range=110
wrong 1 "data/bad_few.txt: line 1: too large a byte 't'" "a byte that is too large" ./small --quiet --data data
pair none 'lines("bad_empty.txt")' 'lines("bad_empty.txt")' --ranks=1
wrong 1 "data/bad_empty.txt: it has no samples" "no lines" ./none --quiet --data data

section "words.py"
right "a vocabulary" python3 "$root/scripts/words.py" vocabulary data/source.txt data/target.txt -o vocabulary --most 9
right "of the most frequent words" sh -c '[ $(wc -l <vocabulary) = 9 ] && [ "$(head -n 4 vocabulary | tr "\n" " ")" = "<pad> <unk> <s> </s> " ]'
right "tokens" python3 "$root/scripts/words.py" tokens data/source.txt data/words -o data/train
right "tokens of the test split" python3 "$root/scripts/words.py" tokens data/test-source.txt data/words -o data/test
right "which are those of the words" python3 "$here/make_text.py" words data
program words_16 'tokens("train", test = "test", stride = 1' 1 --ranks=2 -D batch=3
right "words_16" sh -c "rm -f log; on 2 ./words_16 --quiet --data data --epochs 1 --eval --log log"
wrong 1 "nowhere: No such file" "a text that is missing" python3 "$root/scripts/words.py" tokens nowhere data/words -o x
wrong 1 "does not begin with <pad>" "another vocabulary" python3 "$root/scripts/words.py" tokens data/source.txt data/source.txt -o x
[ ! -e x ] && pass || fail "nothing is written"

section "going on"
right "uninterrupted" on 2 ./held --quiet --data data --steps 11 --log whole --save whole.st
right "with a checkpoint" on 2 ./held --quiet --data data --steps 11 --save ck --save-every 4
rm -r ck/step-000000011
right "goes on" on 2 ./held --quiet --data data --load ck --log rest
right "with the same windows" sh -c "tail -n 3 whole >a && python3 '$here/compare_logs.py' 1e-15 a rest"

section "damaged files"
for kind in text tokens; do program bad_$kind "$kind(\"file\", test = 0.5" 1 --ranks=2; done
mkdir bad
# refuses KIND FILE TEXT
refuses() {
  rm -rf bad/file
  if [ -e "data/bad_$2" ]; then cp -r "data/bad_$2" bad/file; fi
  wrong 1 "$3" "$2" on 2 "./bad_$1" --quiet --data bad
}
refuses text empty.txt "bad/file: too short: 0 tokens, a sample of token takes 5"
refuses text short.txt "too short: 2 tokens"
refuses text cut.txt.gz "truncated"
refuses text folder.txt "it is a directory"
refuses text missing.txt "No such file"
mkfifo data/bad_pipe.txt
refuses text pipe.txt "it is no regular file"
refuses tokens empty.bin "no file of tokens"
refuses tokens no_magic.bin "no file of tokens: neither .npy nor a header of 256 words that begins with 20240520 or 20240801"
refuses tokens raw.bin "no file of tokens"
refuses tokens version.bin "version 2 of its format, 1 can be read"
refuses tokens header.bin "its header is cut off"
refuses tokens truncated.bin "truncated: it has 1309 bytes, its header describes 1310"
refuses tokens long.bin "too long: it has 1311 bytes, its header describes 1310"
refuses tokens none.bin "too short: 0 tokens"
refuses tokens negative.bin "truncated: it has"
refuses tokens matrix.npy "2 dimensions, a file of tokens has one"
refuses tokens reals.npy "it holds reals, tokens are integers"
refuses tokens minus.npy "bad/file: token 7: token is -1, not an integer in [0, 256)"
program range 'tokens("bad_range.bin", test = 0.1' 1 --ranks=2
wrong 1 "data/bad_range.bin: token 100: token is 256, not an integer in [0, 256)" "a token that is too large" on 2 ./range --data data
program range32 'tokens("bad_range32.bin", test = 0.1' 1 --ranks=1
wrong 1 "token 100: token is 4294967295, not" "a token of 32 bits" ./range32 --data data
program huge 'tokens("huge.bin", test = "test_16.bin", stride = 67109858' 1 --ranks=1 -D batch=1
wrong 1 "data/huge.bin: token 67109863: later is 300, not an integer in [0, 256)" "a long file is checked as it is read" ./huge --quiet --data data --steps 9

finish
