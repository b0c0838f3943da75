#!/bin/sh
# Programs on two and three hosts, which are network namespaces of this machine with addresses and cables of their own: started by
# the environment of launchers over TCP and by mpiexec with a launch agent they compute what one rank does, in f64 to 1e-11, and the
# program of `parcc detect` finds nodes and the cluster. Where a cable is pulled or a host dies, the run ends in time, with one message that names the host; and the hosts that are left go on from
# the last checkpoint, with another number of ranks, to what a run that was never interrupted comes to.
. "$(dirname "$0")/common.sh"
. "$root/tests/run/namespaces.sh"
why=$(hosts_missing)
[ -z "$why" ] || skip "$why"
hosts_up 3 || { echo "the hosts cannot be made" >&2; exit 1; }
cd "$tmp" || exit 1
export OPENBLAS_NUM_THREADS=1

# run COMMAND...: what it says is shown where it fails
run() { "$@" >out 2>&1 || { head -n 20 out; return 1; }; }
same() { python3 "$root/tests/run/compare_runs.py" 1e-11 "$1" "$2.log" "$3.log" "$2.st" "$3.st" >/dev/null; }

# builds MODEL OPTIONS...: for each number of ranks that `counts` has, and what one rank computes
builds() {
  name=$1
  shift
  for n in 1 $counts; do
    check "$name for $n" build "$root/samples/$name.dnn" "$name$n" "$@" --dtype f64 --ranks "$n"
  done
  check "$name, one rank" run "./${name}1" --data synthetic --steps 6 --quiet --log "$name.log" --save "$name.st"
}
# over NAME WAY RANKS: on the hosts in use the same is computed
over() {
  check "$1, $3 ranks on $used hosts, $2" run "$2" "$3" "./$1$3" --data synthetic --steps 6 --quiet --log "$1$2$3.log" --save "$1$2$3.st"
  check "$1, $3 ranks on $used hosts, $2: other values" same 6 "$1" "$1$2$3"
}

counts='2 3 4'
builds lm1b -D batch=7 -D context=3 -D width=5 -D hidden=6 -D vocabulary=23 -D samples=8
counts='3 4'
builds dlrm -D batch=7 -D numbers=3 -D tables=2 -D rows=200 -D width=4 -D hidden=8 --machine=titanxp8x6 --search=parallax -q
builds resnet -D batch=5 -D size=32 -D depth=18 -D width=2 -D classes=3
for case in "2 4" "3 3"; do
  use_hosts "${case% *}"
  for name in lm1b dlrm resnet; do over "$name" over_tcp "${case#* }"; done
  over lm1b over_mpi "${case#* }"
done

# on_hosts HOSTS COMMAND...: a rank on each of these, in that order
on_hosts() {
  hosts=$1
  shift
  # shellcheck disable=SC2046,SC2086 # lists of words
  python3 "$root/tests/run/launch.py" $(printf -- "--on $tmp/on%s " $hosts) --address 10.77.0.1 $(echo $hosts | wc -w) "$@"
}
# Every collective where hosts have several ranks each, not one behind the other.
"$PARCC_CC" --target=host -O1 -DRANKS=6 "$root/tests/run/runtime/collectives.cu" -o collectives || fail "collectives.cu does not build"
check "collectives on three hosts" run on_hosts '1 2 1 3 2 3' ./collectives --quiet

# detects TEXT RANKS: a machine file of them has that line
detects() { run over_tcp "$2" ./detect && grep -q "$1" out; }
"$PARCC" detect -o detect.cu && "$PARCC_CC" --target=host $quick detect.cu -o detect || fail "detect.cu does not build"
use_hosts 2
check "no nodes of two" detects '^  level node = 2 core {' 4
check "no two of them: $(cat out)" grep -q '^  level cluster = 2 node {' out
check "the hosts are not named" grep -q '^#   rank 3 on host2: ' out
check "parcc does not take it: $(cat out)" sh -c '"$1" "$2" --machine=./out --search=data -q -o out.cu' sh "$PARCC" "$root/samples/mlp.dnn"
cp out detected.machine
over_tcp 3 ./detect >out 2>&1
check "a host with more ranks: $(cat out)" grep -q '^detect: 2 ranks on host1, but 1 on host2: a machine has as many devices on every node$' out

# placed TEXT HOST...: a rank on each of these, of a program for two nodes of two say that once, or, of no text, nothing
placed() {
  text=$1
  shift
  on_hosts "$*" ./placed --data synthetic --steps 1 >out 2>&1 || return 1
  grep '^mlp: written for' out >told
  [ "$(cat told)" = "${text:+mlp: written for }$text" ] || { cat told; return 1; }
}
on=detected
check "a program for detected.machine" build "$root/samples/mlp.dnn" placed -D width=8 --machine=./detected.machine --search=data -q
check "as planned" placed '' 1 1 2 2
check "not host by host" placed "2 nodes of $on, 2 ranks on each, but there are 2 ranks on host1, 2 on host2; ranks 0 and 1, planned for one node, are on host1 and host2: start the ranks host by host (mpiexec --map-by slot)" 1 2 1 2
check "one host" placed "2 nodes of $on, 2 ranks on each, but there are 4 ranks on host1" 1 1 1 1
check "another division" placed "2 nodes of $on, 2 ranks on each, but there are 3 ranks on host1, 1 on host2; ranks 2 and 3, planned for one node, are on host1 and host2" 1 1 1 2

# ends WAY FAULT SECONDS TEXT: host2 has the fault once a checkpoint is there; the run ends so many seconds later with one message of host1
use_hosts 2
ends() {
  way=$1 fault=$2 seconds=$3 last=$4
  rm -rf run
  $way 4 ./lm1b4 --data synthetic --steps 100000000 --quiet --timeout 5 --save run --save-every 2 >out 2>&1 &
  launcher=$!
  until ls run/step-* >/dev/null 2>&1 || ! kill -0 $launcher 2>/dev/null; do sleep 0.2; done
  $fault 2
  begin=$(date +%s)
  wait $launcher
  code=$? took=$(($(date +%s) - begin))
  check "$way, $fault: exit code $code" [ $code != 0 ]
  check "$way, $fault: $took s, not $seconds" [ $took -le "$seconds" ]
  check "$way, $fault: one message on host1: $(cat out)" [ "$(grep -c '^lm1b: .* on host2 ' out)" = 1 ]
  check "$way, $fault: $last" grep -q "^lm1b: $last" out
  left=$(ip netns pids "$net-1" | wc -l)
  check "$way, $fault: $left processes are left on host1" [ "$left" = 0 ]
  host_kill 2
  cable_in 2
}
# Of mpiexec only a host that dies: where the cable is out the ranks end as over TCP, but it waits for its own daemon there.
ends over_tcp cable_out 25 'rank [23] on host2 has not answered for [0-9]* s, last seen in'
ends over_tcp host_kill 15 'rank [23] on host2 has died, last seen in'
ends over_mpi host_kill 25 'rank [23] on host2 has died, last seen in'

# From a checkpoint of step 2 one host goes on with two ranks, and three with one each.
use_hosts 2
rm -rf run
check "a run on two hosts" run over_tcp 4 ./lm1b4 --data synthetic --steps 2 --quiet --save run
tail -n 4 lm1b.log >late.log
# rest HOSTS WAY RANKS: they train the steps that are left
rest() {
  use_hosts "$1"
  check "$1 hosts go on, $2" run "$2" "$3" ./lm1b"$3" --data synthetic --steps 6 --quiet --load run --log "rest$1$2.log" --save rest.st
  check "$1 hosts go on, $2: other values" python3 "$root/tests/run/compare_runs.py" 1e-11 4 late.log "rest$1$2.log" lm1b.st rest.st
}
rest 1 over_tcp 2
rest 1 over_mpi 2
rest 3 over_tcp 3
finish
