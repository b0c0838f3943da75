#!/bin/sh
# Programs of `parcc profile`: what they measure is all that the plans have which they are for, no more than once, and counts.
. "$(dirname "$0")/common.sh"
cd "$tmp" || exit 1

# measure NAME BUILD OPTION...: the profile of a sample, by a program that is built with the options BUILD
measure() {
  name=$1 build=$2
  shift 2
  "$PARCC" profile "$root/samples/$name.dnn" "$@" -o "$name.cu" || { fail "parcc profile $name"; return 1; }
  # shellcheck disable=SC2086 # a list of options
  "$PARCC_CC" --target=host $build "$name.cu" -o "$name" || { fail "$name.cu does not build"; return 1; }
  "./$name" --data synthetic >"$name.profile" 2>said || { fail "$name.cu does not run"; return 1; }
}

# used NAME SEARCH OPTION...: all that can be measured is
used() {
  name=$1 search=$2
  shift 2
  said=$("$PARCC" "$root/samples/$name.dnn" "$@" --search="$search" --profile "$name.profile" -o out.cu 2>&1)
  check "$name, $search: $said" sh -c "echo '$said' | grep -qE 'of ([0-9]+) operators that can be measured \\1 are'"
}

on='--machine=p100x4x4 --devices=4'
small="$on -D batch=8 -D width=32 -D context=4"
# shellcheck disable=SC2086 # lists of options
{
  measure lenet '' $on --search=data,model && used lenet data $on && used lenet model $on
  measure charlm --check $small --search=data,owt && used charlm data $small && used charlm owt $small
}
check "nothing but the profile is printed" [ ! -s said ]

# Of a plan that is read from a file, whose random numbers are of the microbatch at hand.
reduced='--machine=p100x4x4 -D batch=4 -D size=63 -D width=4 -D hidden=12 -D classes=5'
# shellcheck disable=SC2086 # lists of options
{
  "$PARCC" "$root/samples/alexnet.dnn" $reduced --devices=1 --search=data --plan-out micro.plan
  sed -i 's/^mesh .*/&\nmicrobatches = 2/' micro.plan
  measure alexnet '' $reduced --plan-in micro.plan
  check "a part of a batch" grep -q '\[a=2 b=12 | c=12\]' alexnet.profile
  said=$("$PARCC" "$root/samples/alexnet.dnn" $reduced --plan-in micro.plan --profile alexnet.profile -o out.cu 2>&1)
}
check "of its plan: $said" sh -c "echo '$said' | grep -qE 'of ([0-9]+) operators that can be measured \\1 are'"

# On two ranks: the collectives between them, too, by which what is predicted of a step is another one.
ranks 2 ./lenet --data synthetic >links.profile 2>said
check "seven collectives and slices, of sixteen sizes" [ "$(grep -cE '^[^ ]+ us  (all_reduce|reduce_scatter|reduce|all_gather|broadcast|all_to_all|move|slice) \[2 of 2 by 1\] [0-9]+ bytes # ' links.profile)" = 128 ]
grep -v ' of 2 by 1' links.profile >operators.profile
step() { "$PARCC" "$root/samples/lenet.dnn" --machine=p100x4x4 --devices=2 --search=data --profile "$1" -o out.cu 2>&1 | grep -o 'step time [^ ]* ms'; }
with=$(step links.profile) without=$(step operators.profile)
check "they count: $with, $without" [ -n "$with" ] && [ "$with" != "$without" ]
TERM=dumb python3 -c 'import pty; pty.spawn(["sh", "-c", "./lenet --data synthetic >shown.profile"])' >drawn </dev/null
check "a terminal shows how far it is" grep -q 'step 1/22' drawn
check "and in the end no more" [ "$(tail -c 4 drawn | od -An -c | tr -d ' ')" = '\r033[K' ]
check "beside the profile" grep -q '^profile 1' shown.profile
./lenet --help >said
check "nor does it say that it trains" sh -c 'grep -q "^Measures operators of .*lenet.dnn, and prints their times as a profile; [0-9]* steps" said && ! grep -q Trains said'
check "and is there once" [ -z "$(sed 's/^[^ ]* us  //; s/ # .*//' lenet.profile | sort | uniq -d)" ]
check "the profile says on what and when" [ "$(grep -cE '^# (device   .+|date     [0-9]{4}-[0-9]{2}-[0-9]{2} .+)$' lenet.profile)" = 2 ]
check "and for each operator how much longer half of the steps took" [ -z "$(grep -vE '^#|^profile 1 #|# \+[0-9]+ %$' lenet.profile)" ]
finish
