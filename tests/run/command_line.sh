#!/bin/sh
# The command line of parcc: exit codes, where output goes, and that nothing is left half-written.
. "$(dirname "$0")/common.sh"

cat >"$tmp/m.dnn" <<'DNN'
model m(batch = 4, units = 3) {
  input x[batch, 5];
  input label[batch]: int < units;
  loss = cross_entropy(dense(x, units), label);
}
DNN
echo 'model m() { loss = nothing; }' >"$tmp/bad.dnn"
cd "$tmp" || exit 1

# expect CODE PATTERN ARGS...: the exit code, and a pattern that standard output and error together must match ("" none)
expect() {
  code=$1 pattern=$2
  shift 2
  "$PARCC" "$@" >stdout 2>stderr </dev/null
  found=$?
  if [ "$found" -ne "$code" ]; then
    fail "parcc $*: exit code $found, expected $code"
    cat stderr
  elif [ -n "$pattern" ] && ! cat stdout stderr | grep -qe "$pattern"; then
    fail "parcc $*: no '$pattern' in"
    cat stdout stderr
  else
    pass
  fi
}

expect 0 'usage: parcc' --help
expect 0 '^parcc [0-9]' --version
expect 2 'no model is given'
expect 2 "unknown option '--rank'; did you mean '--ranks'?" --rank 2 m.dnn
expect 2 "plan diff A.plan B.plan; for 'dif', did you mean 'diff'?" plan dif a b
expect 2 "'plan' is used so: parcc plan diff A.plan B.plan$" plan diff a
expect 2 "unknown option '-x'" -x m.dnn
expect 2 "no pass 'autodif'; did you mean 'autodiff'?" --dump-after=autodif m.dnn
expect 2 "no pass 'nothing'" --stop-after nothing m.dnn
expect 2 'two models' m.dnn m.dnn
expect 2 'expected NAME=VALUE' -D batch m.dnn
expect 2 'expected NAME=VALUE' -D =3 m.dnn
expect 2 'expected f32 or f64' --dtype=f16 m.dnn
expect 2 'expected a number from 1' --ranks=0 m.dnn
expect 2 'expected a number from 1' --ranks=2x m.dnn
expect 2 'expected a number from 1' --ranks= m.dnn
expect 2 'takes no value' --stats=yes m.dnn
expect 2 'needs a value' m.dnn -o
expect 2 'needs a value' m.dnn --ranks
expect 2 'o is given twice' m.dnn -o a -o b
for value in dtype=f32 machine=h200 profile=a devices=2 ranks=2 mesh=x=2 search=data plan=random:1 time-limit=1 strip-bytes=0 plan-in=a plan-out=a \
             profile-out=a dot=a report=a trace=a seed=1 emit-problem=a.lp dump-dir=a stop-after=parse show-strategies=a explain=a sweep=devices=2; do
  case $value in profile=*) echo 'profile 1' >a ;; esac
  expect 2 "${value%%=*} is given twice" m.dnn --"$value" --"$value"
done
expect 2 'search and --plan=owt are two plans' m.dnn --search=data --plan=owt
expect 2 'ranks=3, but there are 2 ranks: x=2' m.dnn --mesh=x=2 --ranks=3
expect 2 'devices=3, but --ranks=2' m.dnn --ranks=2 --devices=3
expect 0 '^mesh x=2,y=2$' m.dnn --ranks=4 --mesh=x=2,y=2 --plan-out -
expect 0 'dense1.y.batch=3, co=3' -D batch=2 -D batch=3 -q -q --stop-after=elaborate --dump-after=parse --dump-after=elaborate m.dnn
expect 2 'goes with --stats, --compare, --explain or --sweep' --json m.dnn
expect 2 'would overwrite the model' m.dnn -o m.dnn
expect 2 'standard output is taken' m.dnn -o - --stats
expect 2 'ends before there is one' m.dnn -o a.cu --stop-after=parse
expect 1 "cannot read 'missing.dnn'" missing.dnn
expect 1 "cannot read '.'" .
expect 1 'bad.dnn:1:' bad.dnn
expect 1 'unknown\|no parameter' -D unist=3 m.dnn
check "a compilation that fails writes nothing" [ ! -e bad_par.cu ]

expect 0 'wrote m_par.cu' m.dnn
check "the default output is in this folder" [ -s m_par.cu ]
rm m_par.cu
expect 0 '' --quiet m.dnn
check "--quiet is silent" [ ! -s stderr ]
rm m_par.cu
expect 0 '' m.dnn -o a.cu
check "a compilation with -o is silent" [ ! -s stderr -a ! -s stdout ]
expect 0 '' -oa2.cu -Dbatch=4 --dtype f32 --ranks 1 m.dnn
check "options set to their defaults change nothing" cmp -s a.cu a2.cu
expect 0 '' -o - -- m.dnn
check "-o - writes the same text" cmp -s stdout a.cu
"$PARCC" - -o stdin.cu <m.dnn
check "a model is read from standard input" [ -s stdin.cu ]
expect 0 '' m.dnn -o b.cu -D units=4 --dtype=f64 --ranks=3
check "options change the program" sh -c '! cmp -s a.cu b.cu'

expect 0 '# after parse' --dump-after=parse --stop-after=parse m.dnn
check "--stop-after writes no program" [ ! -e m_par.cu ]
expect 0 '# after elaborate' --dump-after=parse --dump-after elaborate --stop-after=elaborate m.dnn
check "two dumps are two" [ "$(grep -c '^# after' stdout)" -eq 2 ]
expect 0 '' --dump-dir=dumps m.dnn -o c.cu
check "--dump-dir numbers its files" [ -s dumps/00.parse.txt -a -s dumps/01.elaborate.txt ]
check "--dump-dir writes every pass" [ "$(ls dumps | wc -l)" -eq "$("$PARCC" --help | sed -n '/^passes:/,/^$/p' | grep -c '^  ')" ]
expect 0 ' ms  elaborate' --verbose m.dnn -o c.cu
check "dumps and times do not change the program" cmp -s a.cu c.cu
expect 1 'cannot create the folder' --dump-dir=m.dnn/x m.dnn -o d.cu
expect 0 '[Pp]arameters' --stats m.dnn
check "--stats writes no program" [ ! -e m_par.cu ]
expect 0 '^{' --stats --json m.dnn

# As many axes as there may be.
nine=a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2,i=2
expect 0 '' m.dnn -D batch=512 -D units=512 --mesh=$nine --plan=data -o nine.cu
expect 0 '' m.dnn -D batch=512 -D units=512 --mesh=$nine --plan=random:3 -o nine.cu
expect 2 'at most 9 axes' m.dnn --mesh=$nine,j=1
# Where there are too many plans to search all, or the time is up before all are known, those of other planners are taken.
expect 0 'too many plans to search all; the plan is' m.dnn --machine=dgx-h100 --mesh=$nine -o nine.cu
expect 0 'the time limit ended it; the plan is' "$root/samples/mlp.dnn" --machine=v100x8x8 --mesh=a=2,b=2,c=2,d=2,e=2 --time-limit=0.5 -o five.cu

# The comment of a block says of how many parts it is one, as its call does; some are windows.
expect 0 '' "$root/tests/run/plans/halo.dnn" --mesh=gpu=3 --plan=random:1 -o halo.cu
parts() { sed -n "$1" halo.cu | sort -u; }
parts 's/^static Interval \(.*\); .*part of \([0-9]*\), over.*/\1 \2/p' >said
parts 's/^  \([a-z_0-9]*\) = parcc_block(\([0-9]*\), .*/\1 \2/p' >called
check "comments of blocks agree with the calls" cmp said called
check "and there are windows" grep -q '^static Interval .*what of 13 is needed' halo.cu

ln -s target.cu link.cu
echo old >target.cu
expect 0 '' m.dnn -o link.cu
check "a link stays a link" [ -L link.cu ]
check "and its file has the program" cmp -s target.cu a.cu
expect 0 '' m.dnn -o /dev/null
check "/dev/null stays a device" [ -c /dev/null ]
expect 1 'cannot write' m.dnn -o no/such/folder/a.cu
mkdir folder
expect 1 'cannot write' m.dnn -o folder
if [ -c /dev/full ]; then
  expect 1 'cannot write' m.dnn -o /dev/full
  "$PARCC" m.dnn -o - >/dev/full 2>stderr
  check "a full disk is told" [ $? -eq 1 ]
fi
(ulimit -f 1; "$PARCC" m.dnn -o ended.cu) 2>/dev/null
check "a signal that ends the compiler meanwhile leaves no program" [ $? -ne 0 -a ! -e ended.cu ]
check "no temporary files are left" [ -z "$(find . -name '*.tmp')" ]

expect 0 '' m.dnn --ranks 2 --plan-out data.plan
check "--plan-out writes no program" [ -s data.plan -a ! -e m_par.cu ]
expect 0 '^input x' m.dnn --mesh data=2 --plan-out -
check "--plan-out - writes the same plan" cmp -s data.plan stdout
expect 0 '^forward .*dense1.y .*batch=2$' m.dnn --plan-in data.plan --show-plan
expect 0 '' m.dnn --plan-in data.plan -o 2.cu
expect 0 '' m.dnn --plan-in data.plan --ranks 2 -o 2r.cu
check "a plan brings its mesh" cmp -s 2.cu 2r.cu
"$PARCC" m.dnn --plan-in - -o 2s.cu <data.plan
check "a plan is read from standard input" [ "$(diff 2.cu 2s.cu | grep -c '^<')" -eq 1 ]
expect 0 "a batch of 4 samples is divided into 6 parts: 2 of them are empty" m.dnn --mesh a=2,b=3 --plan=data -o 6.cu
check "said once, with a place" [ "$(grep -c '^m.dnn:2:9: warning' stderr)" -eq 1 ]
expect 0 '' m.dnn --ranks 4 -o 4.cu
check "nothing is said where every part has a sample" [ ! -s stderr ]
expect 1 'this compilation for data=3' m.dnn --plan-in data.plan --ranks 3
expect 1 'this compilation for gpu=2' m.dnn --plan-in data.plan --mesh gpu=2
expect 1 "cannot read 'missing.plan'" m.dnn --plan-in missing.plan
echo 'model other(batch = 4) { input x[batch, 3]; loss = mean(dense(x, 1)); }' >other.dnn
expect 1 'data.plan:1:8' other.dnn --plan-in data.plan
expect 2 'two plans' m.dnn --plan data --plan-in data.plan
expect 2 "no plan 'dota'; did you mean 'data'" m.dnn --search=dota
expect 2 'expected random:SEED' m.dnn --plan=random:x
expect 2 'needs --machine' m.dnn --search=auto
expect 0 'predicted step time' m.dnn --machine=pcie2 --search=auto --time-limit=0.0001 -o auto.cu
expect 0 'no plan on gpu=2 takes less' m.dnn --machine=pcie2 -o auto.cu
sed 's/memory = [^;]*;/memory = 4 MB;/' "$root/samples/machines/pcie2.machine" >little.machine # plans are lowered to see whether they fit
expect 0 'no plan on gpu=2 takes less' m.dnn -D units=30000 --machine=./little.machine -o little.cu
expect 0 ' ms  lower' m.dnn -D units=30000 --machine=./little.machine --verbose -o staged.cu
check "what a search has lowered is the program of all stages" cmp -s little.cu staged.cu
expect 0 "searched: .* ms by the planner's own sum, none of its choices comes to less" m.dnn --machine=pcie2 --search=optcnn -o auto.cu
expect 0 "searched: .* MB by the planner's own sum, none of its choices comes to less" m.dnn --machine=pcie2 --search=soybean -o auto.cu
expect 2 'time-limit goes with a search' m.dnn --time-limit=1
expect 2 'time-limit goes with a search' m.dnn --machine=pcie2 --search=data --time-limit=1
expect 2 'objective: expected overlap or sum' m.dnn --machine=pcie2 --objective=both
expect 2 'objective goes with --search=auto' m.dnn --machine=pcie2 --search=data --objective=sum
expect 0 "times in ms; x data by what is overlapped$" m.dnn --machine=pcie2 --search=data,data --compare
check "a planner is listed once" [ "$(grep -c "^data" stdout)" = 1 ]
expect 0 "times in ms; x data by the step's sum$" m.dnn --machine=pcie2 --search=data --compare --objective=sum
for seconds in 0 -1 nan x 1e9 inf 0x10 ' 1' ''; do expect 2 "time-limit: expected seconds, more than 0 and at most 1000000, found '$seconds'" m.dnn --time-limit="$seconds"; done
expect 0 'no plan on gpu=2 takes less' m.dnn --machine=pcie2 --search=auto -o auto.cu
expect 0 'no plan on gpu=2 takes less' m.dnn --machine=pcie2 --emit-problem=m.cfn
check "--emit-problem writes what is solved, and no program" [ -s m.cfn -a ! -e m_par.cu ]
expect 0 '' m.dnn --machine=pcie2 --search=auto --emit-problem m.lp --stop-after=plan -q
check "as a linear program, too" grep -q '^Minimize' m.lp
expect 2 'ends in .cfn or .lp' m.dnn --machine=pcie2 --emit-problem m.txt
expect 2 'needs --machine' m.dnn --emit-problem m.cfn
expect 2 'no other plan' m.dnn --machine=pcie2 --search=data --emit-problem m.cfn
expect 2 'no other plan' m.dnn --machine=pcie2 --plan-in data.plan --emit-problem m.cfn
expect 2 'or --stop-after=plan' m.dnn --machine=pcie2 --emit-problem m.cfn --stop-after=lower
expect 2 'would overwrite the model' m.lp --machine=pcie2 --emit-problem m.lp
expect 1 "cannot write 'no/m.cfn'" m.dnn --machine=pcie2 --emit-problem no/m.cfn
expect 1 'there is no problem: the time limit' m.dnn --machine=p100x4x4 --mesh=a=2,b=2,c=2,d=2 --time-limit=0.000001 --emit-problem=m.cfn
ln -s /dev/full full.lp
expect 1 'cannot write .*full.lp.: No space' m.dnn --machine=pcie2 --emit-problem full.lp
expect 1 'heads of attention' m.dnn --ranks 2 --search=megatron
expect 0 '' m.dnn --ranks 2 --search=owt -o owt.cu
expect 0 '' m.dnn --ranks 2 --plan=owt -o owt2.cu
check "--plan with a name is --search" cmp -s owt.cu owt2.cu
expect 2 'standard input is the model' - --plan-in -
expect 2 'standard output is taken' m.dnn --plan-out - --stats
expect 2 'standard output is taken' m.dnn -o - --show-plan
expect 2 'would overwrite the model' m.dnn --plan-out m.dnn
expect 0 '^digraph "m" {$' m.dnn --dot -
expect 2 'would overwrite the model' m.dnn --dot m.dnn
expect 2 'the name of the file is empty' m.dnn --dot=
expect 2 'needs all passes' m.dnn --dot x.dot --stop-after=parse
expect 2 'report needs --machine' m.dnn --report x.html
expect 2 'report needs all passes' m.dnn --machine=pcie2 --report x.html --stop-after=plan
expect 2 'would overwrite the drawing' m.dnn --machine=pcie2 --dot x --report x
expect 0 '^<!DOCTYPE html>$' m.dnn --machine=pcie2 -q --report -
expect 0 '^{"displayTimeUnit": "ms", .*"predicted": true}, "traceEvents": \[{' m.dnn --machine=pcie2 --trace -
check "what a row of the trace does begins when the last ends" python3 - stdout <<'PY'
import itertools, json, sys
spans = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
row = lambda e: (e["pid"], e["tid"])
rows = [list(found) for _, found in itertools.groupby(sorted(spans, key=lambda e: (*row(e), e["ts"])), row)]
assert rows and all(round(a["ts"] + a["dur"], 3) <= b["ts"] for found in rows for a, b in zip(found, found[1:]))
PY
expect 0 'step time .* ms (.* ms as streams overlap) on 2 devices' m.dnn --machine=pcie2 --trace t.json
expect 2 '--trace needs --machine' m.dnn --trace t.json
expect 2 'needs all passes' m.dnn --machine=pcie2 --trace t.json --stop-after=parse
expect 0 'searched: .* ms by simulation, in .* strategies from .* ms .data., .*, . chains; of 10.* lie on the mesh' m.dnn --machine=pcie2 --search=flexflow --seed=3 -o a
expect 2 '--seed goes with --search=flexflow' m.dnn --machine=pcie2 --seed=3
expect 2 'does not go with --dot' m.dnn --machine=pcie2 --compare --dot x.dot
expect 2 'would overwrite the program' m.dnn --plan-out x.cu -o x.cu
expect 2 'or --stop-after=plan' m.dnn --plan-out x.plan --stop-after apply-plan
expect 0 '' m.dnn --ranks 2 --plan-out stopped.plan --stop-after plan
check "--stop-after=plan writes the same plan" cmp -s data.plan stopped.plan
expect 2 'two plans' m.dnn --plan=random:1 --search=data
expect 2 'two plans' m.dnn --search=data --plan=random:1
expect 2 'cannot be named' m.dnn --mesh pin=2
cp data.plan good.plan
echo 'relu n/data' >>data.plan
expect 1 "no operator or layer 'relu'" m.dnn --plan-in data.plan --plan-out new.plan -o new.cu
check "a wrong plan writes nothing" [ ! -e new.plan -a ! -e new.cu ]
expect 1 'cannot write' m.dnn --plan-out no/such/folder/a.plan

expect 0 '^p100x4x4 .*16 .*P100' --machine=list
expect 2 "no machine 'p100x4x5'; did you mean 'p100x4x4'?" m.dnn --machine p100x4x5
expect 2 'machine=list prints' m.dnn --machine=nothing
expect 1 "cannot read './p100x4x4'" m.dnn --machine=./p100x4x4
expect 1 'm.dnn:1:1: error: expected .machine. and its name' m.dnn --machine=m.dnn
expect 0 '^mesh node=4,gpu=4$' m.dnn --machine=p100x4x4 --plan-out -
expect 0 '^mesh gpu=3$' m.dnn --machine=p100x4x4 --devices=3 --plan-out -
expect 0 'predicted training step' m.dnn --machine=p100x4x4 --stats
expect 0 '^mesh node=3,gpu=4$' m.dnn --ranks=12 --machine=p100x4x4 --plan-out -
expect 0 '^mesh gpu=1$' m.dnn --machine=p100x4x4 --ranks=1 --plan-out -
expect 0 '^mesh a=5,b=2$' m.dnn --machine=p100x4x4 --mesh=a=5,b=2 --plan-out -
expect 0 '^mesh data=2$' m.dnn --machine=p100x4x4 --plan-in good.plan --plan-out -
expect 0 '^mesh data=3$' m.dnn --devices=3 --plan-out -
expect 2 '11 devices cannot .*; 9 and 12 can' m.dnn --machine=p100x4x4 --devices=11
expect 2 "17 devices are asked for, the machine 'p100x4x4' has 16" m.dnn --machine=p100x4x4 --mesh=x=17
expect 2 'devices=4, but there are 3 ranks: x=3' m.dnn --mesh=x=3 --devices=4
expect 2 'devices: expected a number' m.dnn --devices=0
sed 's/mesh data=2/mesh data=3/' good.plan >3.plan
expect 1 "3.plan:2:1: error: the plan is for 3 devices, the machine 'pcie2' has 2" m.dnn --machine=pcie2 --plan-in 3.plan
expect 0 '' m.dnn --machine="$root/samples/machines/pcie2.machine" --mesh=data=2 --search=data -o 2m.cu
expect 0 '' m.dnn --ranks=2 -o 2d.cu
check "the header says what the machine is" grep -q '^//   machine     pcie2: 2 gpus,' 2m.cu
check "and what is predicted" grep -q '^//   predicted   .* ms a step: operators' 2m.cu
sed -i '/^\/\/   machine /d; /^\/\/   predicted /d; /^  parcc_predicted(/d; /^  parcc_machine(/d
  /^\/\/ What operators were predicted/,/-1};$/{/-1};$/!d; N; d}' 2m.cu
check "else the machine does not change the program of a plan" cmp -s 2m.cu 2d.cu
expect 0 'memory .* GiB$' m.dnn --machine=pcie2 --search=data -o 2m.cu
check "data parallelism is not compared with itself" sh -c '! grep -q "times as fast" stderr'
expect 0 'times as fast as data parallelism (.* ms), memory .* GiB$' m.dnn --machine=pcie2 --search=auto -o auto.cu
expect 0 '(gap 0 %), in .* s' m.dnn --machine=pcie2 --search=auto -o auto.cu
expect 0 'on 1 device of pcie2, as fast as data parallelism' m.dnn --machine=pcie2 --devices=1 -o auto.cu
echo 'machine small { device gpu { f32 = 10 GFLOP/s; f64 = 5 GFLOP/s; memory = 4 MB; bandwidth = 100 GB/s; launch = 4 us; }
  level node = 4 gpu { link = nvlink; bandwidth = 90 GB/s; latency = 1 us; } }' >small.machine
expect 0 'ms.* on 4 devices of small, where data parallelism does not fit, memory' "$root/samples/mlp.dnn" --machine=small.machine -o auto.cu
expect 0 '^data .*  a device needs 0.00763 GiB and has' "$root/samples/mlp.dnn" --machine=small.machine --compare
check "a row says on which axes its plan is, where these are others" grep -q '^tofu .* mesh gpu1=2,gpu2=2; ' stdout
check "beside what does not fit nothing is faster" [ "$(awk '/^model / { print $11 }' stdout)" = - ]
expect 0 "plan 'random:2'" m.dnn --machine=pcie2 --plan=random:2 --explain dense1.w
cp stdout drawn.txt
expect 0 "plan 'random:3'" m.dnn --machine=pcie2 --plan=random:3 --explain dense1.w
check "what is explained of a plan that is drawn is of its seed" sh -c '! cmp -s drawn.txt stdout'
expect 0 '' m.dnn --machine=pcie2 --profile-out part.profile -q
sed -i 3,4d part.profile
expect 0 'gap %  measured  x data' m.dnn --machine=pcie2 --profile part.profile --compare
check "a row says how much of it was measured" grep -Eq '^auto .* [1-9][0-9]*/[0-9]+ ' stdout
expect 0 '"measured_operators": [1-9]' m.dnn --machine=pcie2 --profile part.profile --sweep=devices=1..2 --json
expect 0 '' m.dnn --machine=pcie2 --search=auto -o auto.cu --quiet
check "--quiet says nothing of it" [ ! -s stderr ]

"$PARCC" m.dnn --ranks 2 --plan-out 2.plan
expect 0 '^auto .* 0 ' m.dnn --machine=pcie2 --compare
check "a gap is of the step: planners with a sum of their own have none" [ "$(awk '/^(optcnn|soybean|tofu) / { printf "%s", $11 }' stdout)" = --- ]
check "--compare writes no program" [ ! -e m_par.cu ]
expect 0 '^{.*"planner": "owt"' m.dnn --machine=pcie2 --compare --search=data,owt --json
expect 0 '^auto  *3 ' m.dnn --machine=p100x4x4 --sweep devices=1..4+1
check "a range has a row for each of its steps" [ "$(grep -c '^auto ' stdout)" -eq 4 ]
expect 0 '^data  *16 ' m.dnn --machine=pcie2 --search=data --sweep=batch=4..17,2
check "a range doubles" [ "$(grep -c '^data ' stdout)" -eq 4 ]
expect 1 "no parameter 'btach'" m.dnn --machine=pcie2 --sweep=btach=4
expect 0 '^ci .* sum' other.dnn --show-strategies=dense
expect 1 "no operator 'danse'; did you mean 'dense'" other.dnn --show-strategies danse
# Of what the model does not use an example is made up.
expect 0 "^p .* h, 3 behind .*p$" other.dnn --show-strategies=conv2d
check "with its gradients" grep -q '^backward conv2d: f.grad' stdout
echo 'op half(x[i..]) -> y[i..] { y[i..] = x[i..] / 2; } op halves(x[i..]) -> y { y = half(x); }' | cat - other.dnn >defs.dnn
expect 0 'of an example, half(x\[8\])' defs.dnn -D batch=16 --show-strategies=half
expect 1 "'halves' is no operator by itself: it uses half" defs.dnn --show-strategies=halves
expect 1 "'transpose' is no operator by itself: it is part of what reads it" other.dnn --show-strategies=transpose
expect 1 "no example can be made of its definition" other.dnn --show-strategies=concat
expect 2 'does not go with -o' other.dnn --show-strategies=all -o other.cu
expect 0 'all else kept, the best other way is' m.dnn --machine=pcie2 --search=data --explain dense1
expect 0 '  runner-up  ' m.dnn --machine=pcie2 --search=auto --explain dense1.y
expect 0 '  left out: pin: ' m.dnn --machine=pcie2 --search=data --explain x --candidates
check "--explain writes no program" [ ! -e m_par.cu ]
expect 0 '^{.*"groups": \[{"name": "dense1.w"' m.dnn --machine=pcie2 --search=data --explain dense1.w --json
expect 0 "plan '2.plan'" m.dnn --machine=pcie2 --plan-in 2.plan --explain dense1
{ cat m.dnn; echo 'train { clip = 1.0; }'; } >clipped.dnn
expect 0 '  there is nothing else that it could do' clipped.dnn --machine=pcie2 --search=fsdp --explain gradient_norm
# Blocks that are the same in other units are not moved.
tofu="$root/samples/mlp.dnn --machine=p100x4x4 --devices=8 --search=tofu"
expect 0 '^  dense1.w  *same  *gpu1,gpu2  *0  local  *0$' $tofu --explain dense1.w
expect 0 '' $tofu -q -o tofu.cu
check "nor by the program" sh -c 'grep -q "^  // exchange dense3.b:" tofu.cu && ! grep -q "^  // [a-z_]* dense1.w:" tofu.cu'
expect 1 "no operator or layer 'dens1'; did you mean 'dense1'?" m.dnn --machine=pcie2 --explain dens1
expect 1 "'loss' is no operator or layer; the operator that makes it is 'cross_entropy'" m.dnn --machine=pcie2 --explain loss
sed 's/loss =.*/y = dense(x, units); loss = cross_entropy(y, label); metric share = accuracy(y, label);/' m.dnn >measured.dnn
expect 1 "'share' is no operator or layer; the operator that makes it is 'accuracy', which follows what it reads: nothing is chosen" \
         measured.dnn --machine=pcie2 --explain share
expect 1 "'accuracy' follows what it reads: nothing is chosen" measured.dnn --machine=pcie2 --explain accuracy
expect 1 'heads of attention' m.dnn --machine=pcie2 --search=megatron --explain dense1
expect 2 'candidates goes with --explain' m.dnn --machine=pcie2 --candidates
expect 2 'needs --machine' m.dnn --explain dense1
expect 2 'two reports' m.dnn --machine=pcie2 --explain dense1 --compare
expect 2 'several planners go with' m.dnn --machine=pcie2 --search=data,owt --explain dense1
expect 2 'does not go with --plan-in' m.dnn --machine=pcie2 --compare --plan-in 2.plan
expect 0 'operators to measure' profile m.dnn --machine=pcie2 --plan-in 2.plan -o measure.cu
expect 2 'needs --machine' m.dnn --compare
expect 2 'needs --machine' m.dnn --sweep=devices=2
expect 2 'does not go with -o' m.dnn --machine=pcie2 --compare -o x.cu
expect 2 'does not go with --stats' m.dnn --machine=pcie2 --sweep=devices=2 --stats
expect 2 'does not go with --plan=random' m.dnn --machine=pcie2 --compare --plan=random:1
expect 2 'two reports' m.dnn --machine=pcie2 --compare --sweep=devices=2
expect 2 'and so do --devices' m.dnn --machine=pcie2 --devices=2 --sweep=devices=2
expect 2 'several planners go with' m.dnn --machine=pcie2 --search=data,owt
for wrong in devices =2; do expect 2 "sweep $wrong: expected devices=VALUES" m.dnn --machine=pcie2 --sweep "$wrong"; done
for wrong in devices=: devices=0:0 devices=-1:-1 devices=2x:2x devices=2,: devices=2..4+0:0 devices=2..4+: devices=2..: lr=0.5:0.5 \
             devices=1..99999999999999:99999999999999 batch=99999999999999999999:99999999999999999999 batch=2+2:2+2 batch=0x10:0x10; do
  expect 2 "sweep ${wrong%:*}: expected a whole number from 1 to 1073741824, found '${wrong##*:}'" m.dnn --machine=pcie2 --sweep "${wrong%:*}"
done
expect 2 'a range grows, and 2 is less than 4' m.dnn --machine=pcie2 --sweep devices=4..2
expect 2 "expected ',' between values, found '..4'" m.dnn --machine=pcie2 --sweep devices=1..2..4
expect 2 'more than 1000 values' m.dnn --machine=pcie2 --sweep=batch=1..5000+1

expect 0 '' m.dnn --machine=pcie2 --search=data --profile-out m.profile
check "--profile-out writes no program" [ -s m.profile -a ! -e m_par.cu ]
expect 0 '^profile 1 # m on 2 devices of pcie2' m.dnn --machine=pcie2 --search=data --profile-out -
expect 0 'of [0-9]* operators that can be measured [1-9]' m.dnn --machine=pcie2 --profile m.profile -o profiled.cu
rows=$root/tests/golden/profiles/rows.dnn # which has operators that take nothing
expect 0 '' "$rows" --machine=pcie2 --search=single --profile-out rows.profile -q
expect 0 'of \([0-9]*\) operators that can be measured \1 are' "$rows" --machine=pcie2 --search=single --profile rows.profile -o profiled.cu
printf 'profile 1\n4 us  f32 each [a=7] x0[a]\n' >few.profile
expect 0 'warning: of [0-9]* operators that can be measured 0 are: the profile is of another' m.dnn --machine=pcie2 --search=data --profile few.profile -q
rm m_par.cu
for report in --compare --sweep=devices=1..2 --explain=dense1; do
  expect 0 'warning: of [0-9]* operators that can be measured 0 are: the profile is of another' m.dnn --machine=pcie2 --search=data --profile few.profile $report
  expect 0 '' m.dnn --machine=pcie2 --search=data --profile m.profile $report
  check "$report says nothing of a profile that has what is asked" [ ! -s stderr ]
done
expect 1 "cannot read 'missing.profile'" m.dnn --machine=pcie2 --profile missing.profile
expect 1 "a profile begins with 'profile 1'" m.dnn --machine=pcie2 --profile m.dnn
expect 2 'profile needs --machine' m.dnn --profile m.profile
expect 2 'profile-out needs --machine' m.dnn --profile-out other.profile
expect 2 'would overwrite the model' m.dnn --machine=pcie2 --profile-out m.dnn
expect 2 'standard output is taken' m.dnn --machine=pcie2 --profile-out - --stats
expect 2 'leaves some out' m.dnn --machine=pcie2 --profile-out x.profile --stop-after=plan
expect 2 'does not go with --profile-out' m.dnn --machine=pcie2 --compare --profile-out x.profile

expect 0 '' profile m.dnn --machine=pcie2 --search=data,owt -o measure.cu
check "a program that measures is for one device" grep -q 'RANKS = 1' measure.cu
expect 2 'profile needs --machine' profile m.dnn -o x.cu
expect 2 'profile needs -o' profile m.dnn --machine=pcie2
expect 2 'two reports' profile m.dnn --machine=pcie2 -o x.cu --compare
expect 2 'does not go with --plan-out' profile m.dnn --machine=pcie2 -o x.cu --plan-out x.plan
expect 1 'heads of attention' profile m.dnn --machine=pcie2 --search=data,megatron -o x.cu
check "without a plan nothing is written" [ ! -e x.cu ]
expect 1 "cannot read 'missing.dnn'" profile missing.dnn --machine=pcie2 -o x.cu

printf 'plan 1 m\nmesh data=2\nrelu n/data\ndense1 co/data\n' >a.plan
printf 'plan 1 m\nmesh data=2\n\ndense1 co/data # the same\nrelu n/data\n' >b.plan
printf 'plan 1 m\nmesh data=2\nrelu pin data=1\nstore dense1.w co/data\n' >c.plan
expect 2 "'detect' is used so: parcc detect -o OUT.cu" detect m.dnn
expect 1 'cannot' detect -o missing/detect.cu
expect 0 '' plan diff a.plan b.plan
check "plans that say the same do not differ" [ ! -s stdout ]
expect 1 '' plan diff a.plan c.plan
printf -- '- relu  n/data\n+ relu  pin data=1\n- dense1  co/data\n+ store dense1.w  co/data\n' >expected
check "what differs is listed" cmp expected stdout
expect 2 'cannot read' plan diff a.plan missing.plan
expect 2 'm.dnn:1:1: error: a plan begins with' plan diff a.plan m.dnn

# No file that is written is one that is read, or another one that is written, by whatever path.
cp "$root/samples/machines/pcie2.machine" pcie2.machine
ln pcie2.machine linked.machine
cp pcie2.machine m_par.cu
cp pcie2.machine p.lp
mkdir in
cp m.dnn in/00.parse.txt
expect 2 'o pcie2.machine: the program would overwrite the machine' m.dnn --machine=pcie2.machine -o pcie2.machine
expect 2 'plan would overwrite the machine' m.dnn --machine=pcie2.machine --plan-out ./pcie2.machine
expect 2 'profile would overwrite the machine' m.dnn --machine=pcie2.machine --profile-out linked.machine
expect 2 'problem would overwrite the machine' m.dnn --machine=./p.lp --emit-problem=p.lp
expect 2 'the default -o m_par.cu: the program would overwrite the machine' m.dnn --machine=./m_par.cu
expect 2 'program would overwrite the machine' profile m.dnn --machine=pcie2.machine -o linked.machine
expect 2 'would overwrite the profile that is read' m.dnn --machine=pcie2 --profile m.profile -o m.profile
expect 2 'would overwrite the profile that is read' m.dnn --machine=pcie2 --profile m.profile --profile-out m.profile
expect 2 'would overwrite the plan that is read' m.dnn --plan-in 2.plan -o folder/../2.plan
expect 2 'profile would overwrite the plan' m.dnn --machine=pcie2 --profile-out new --plan-out ./new
expect 2 'problem would overwrite the plan' m.dnn --machine=pcie2 --emit-problem new.lp --plan-out folder/../new.lp
expect 2 'a dump would overwrite the model' in/00.parse.txt --dump-dir=in -o x.cu
expect 2 'a dump would overwrite the program' m.dnn --dump-dir=in -o in/01.elaborate.txt
expect 2 'standard output is taken by -o' m.dnn --machine=pcie2 -o - --profile-out -
"$PARCC" - --machine=pcie2 --profile - <m.profile 2>stderr
check "standard input is one file" [ $? -eq 2 ]
check "what is read is as it was" cmp -s pcie2.machine "$root/samples/machines/pcie2.machine"
expect 0 '' m.dnn --machine=pcie2 -o /dev/null --plan-out /dev/null --profile-out /dev/null
expect 0 '' m.dnn --machine=./m_par.cu --plan-out new.plan -q
rm m_par.cu

cp a.cu before.cu
expect 1 '' bad.dnn -o a.cu
check "a failed compilation leaves the old program alone" cmp -s a.cu before.cu
finish
