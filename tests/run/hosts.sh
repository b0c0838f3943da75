#!/bin/sh
# Programs on two and three hosts, which are network namespaces of this machine with addresses and cables of their own: started by
# the environment of launchers over TCP and by mpiexec with a launch agent they compute what one rank does, in f64 to 1e-11. Where
# a cable is pulled or a host dies, the run ends in time, with one message that names the host; and the hosts that are left go on from
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
same() { python3 "$root/tests/run/compare_runs.py" 1e-11 "$1" one.log "$2.log" one.st "$2.st" >/dev/null; }

settings='-D batch=7 -D context=3 -D width=5 -D hidden=6 -D vocabulary=23 -D samples=8 --dtype f64'
for n in 1 2 3 4; do
  # shellcheck disable=SC2086 # a list of options
  check "lm1b for $n" build "$root/samples/lm1b.dnn" "lm1b$n" $settings --ranks $n
done
check "one rank" run ./lm1b1 --data synthetic --steps 6 --quiet --log one.log --save one.st

for case in "2 4" "3 3"; do
  use_hosts "${case% *}"
  n=${case#* }
  for way in over_tcp over_mpi; do
    check "$n ranks on $used hosts, $way" $way "$n" ./lm1b"$n" --data synthetic --steps 6 --quiet --log "$way$n.log" --save "$way$n.st" >out 2>&1
    check "$n ranks on $used hosts, $way: other values" same 6 "$way$n"
  done
done

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
tail -n 4 one.log >late.log
# rest HOSTS WAY RANKS: they train the steps that are left
rest() {
  use_hosts "$1"
  check "$1 hosts go on, $2" run "$2" "$3" ./lm1b"$3" --data synthetic --steps 6 --quiet --load run --log "rest$1$2.log" --save rest.st
  check "$1 hosts go on, $2: other values" python3 "$root/tests/run/compare_runs.py" 1e-11 4 late.log "rest$1$2.log" one.st rest.st
}
rest 1 over_tcp 2
rest 1 over_mpi 2
rest 3 over_tcp 3
finish
