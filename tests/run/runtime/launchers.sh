#!/bin/sh
# launchers.sh BUILD_DIR: runs without MPI, whose ranks find each other over TCP by the environment that launchers give them: what
# they compute, who is refused, and that one message tells how they end.
. "$(dirname "$0")/checks.sh"

# said TEXT: the last run said exactly one line, and it has this in it (a pattern)
said() {
  if [ "$(grep -c '^[a-z0-9]*: ' out)" = 1 ] && grep -q -e "$1" out; then pass; else fail "one message: $1"; fi
}

section "what is computed"
make collectives collectives -O1 -DRANKS=3
right "collectives" on 3 ./collectives --quiet
for n in 1 2 3 5; do
  make layouts$n layouts $quick -DRANKS=$n
  right "changes of layout on $n ranks" on $n ./layouts$n --quiet
done
make staged layouts $quick --staged -DRANKS=3
right "staged" on 3 ./staged --quiet
right "as srun starts them" on --slurm 3 ./layouts3 --quiet
if grep -qs . /proc/net/if_inet6; then right "over IPv6" on --address ::1 3 ./layouts3 --quiet; fi

emitted() {
  program=$1
  shift
  right "compile $program" "$parcc" "$root/samples/mlp.dnn" -D batch=7 -D width=19 --dtype=f64 -o "$program.cu" "$@"
  right "build $program" "$parcc_cc" --target=host $quick "$program.cu" -o "$program"
}
emitted mlp1
emitted mlp4 --mesh=a=2,b=2 --plan=random:3
right "one rank" ./mlp1 --quiet --data synthetic --steps 3 --log 1.log --save 1.st
right "four ranks" on 4 ./mlp4 --quiet --data synthetic --steps 3 --log 4.log --save 4.st
right "the same values" python3 "$root/tests/run/compare_runs.py" 1e-11 3 1.log 4.log 1.st 4.st
right "checkpoints" on 4 ./mlp4 --quiet --data synthetic --steps 4 --save ck --save-every 2
right "one rank goes on" ./mlp1 --quiet --data synthetic --load ck --steps 6
right "a trace" on 4 ./mlp4 --quiet --data synthetic --steps 6 --trace trace.json

section "strangers do no harm"
cat >strange.py <<'END'
# Before rank 0 listens and while it waits: connections that say nothing, nonsense, or half of something.
import socket, sys, time
held, end = [], time.monotonic() + 4
while time.monotonic() < end and len(held) < 400:
    try:
        held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1))
        held[-1].sendall([b"", b"GET / HTTP/1.1\r\n\r\n", b"crap" * 300, b"\x63\x72\x61\x70\1\0\0\0" + b"\xff" * 500][len(held) % 4])
    except OSError:
        time.sleep(0.02)
END
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
python3 strange.py "$port" & stranger=$!
right "four ranks among strangers" on --port "$port" 3 "@2=sh -c 'sleep 1; exec ./layouts3 --quiet'" ./layouts3 --quiet
kill $stranger 2>/dev/null
wait $stranger 2>/dev/null

section "who is refused"
export PARCC_START_SECONDS=2
wrong 1 "rank 0: rank 2 of 3 has not come to 127.0.0.1 port" "a rank that is missing" on 3 "@2=sleep 1" ./layouts3 --quiet
said 'within 2 s$'
wrong 1 "rank 0: ranks 1, 2 of 3 have not come" "two that are missing" on 3 "@1=sleep 1" "@2=sleep 1" ./layouts3 --quiet
wrong 1 "cannot reach rank 0 on 127.0.0.1 at port" "rank 0 is missing" on 2 "@0=sleep 1" ./layouts2 --quiet
said 'Connection refused$'
wrong 2 "the ranks differ in the program: test x" "another program" on 3 "@1=./layouts2 --quiet" ./layouts3 --quiet
wrong 2 "the ranks differ in their number: 3 on rank 0" "another number" on 3 "@1=env WORLD_SIZE=2 ./layouts3 --quiet" ./layouts3 --quiet
wrong 2 "two processes say that they are rank 1, on" "a rank twice" on 3 "@2=env RANK=1 ./layouts3 --quiet" ./layouts3 --quiet
said 'rank 1'
wrong 1 "is not rank 0 of a program of this kind" "somebody else at the port" on --port "$port" 2 \
  "@0=python3 -c 'import socket, time; s = socket.create_server((\"\", $port)); c = s.accept()[0]; c.sendall(b\"x\" * 999); time.sleep(1)'" \
  ./layouts2 --quiet
wrong 2 "RANK is '3' in the environment, expected a number up to 2" "a rank beyond" env RANK=3 WORLD_SIZE=3 MASTER_ADDR=x ./layouts3
wrong 2 "WORLD_SIZE is 'many' in the environment" "no number" env RANK=0 WORLD_SIZE=many MASTER_ADDR=x ./layouts3
wrong 2 "MASTER_PORT is '70000' in the environment" "no port" env RANK=0 WORLD_SIZE=3 MASTER_ADDR=x MASTER_PORT=70000 ./layouts3
wrong 2 "set MASTER_ADDR to the host of rank 0, or start it by: mpiexec -n 3 " "no address" env -u MASTER_ADDR RANK=0 WORLD_SIZE=3 ./layouts3
wrong 2 "started with 2; start it by: mpiexec -n 3" "too few ranks" on 2 ./layouts3
wrong 2 "--no-mpi is for the cuda target" "--no-mpi for the host" "$parcc_cc" --target=host --no-mpi mlp4.cu -o x
make checked layouts --check -O0 -DRANKS=2
PARCC_HOST_CHECK=1 on 2 ./checked --quiet >out 2>&1
said "ranks compare their calls by MPI"
unset PARCC_START_SECONDS

section "ranks that die or hang"
make stall stall $quick -DRANKS=4
ends() {
  ends_by on "$@"
  said "^test: $4"
}
ends 8 kill 2 "rank 2 has died, last seen in dense1 (stall.dnn:5), step 3$"
ends 8 kill 0 "rank 0 has died, last seen in"
ends 8 exit 3 "rank 3 has died, last seen in"
ends 25 stop 0 "rank 0 has not answered for [0-9]* s, last seen in" --timeout 5
ends 20 hang 2 "no rank has got on for [0-9]* s (--timeout): rank 2 is behind, in dense1" --timeout 5
make faults faults $quick -DRANKS=3
wrong 2 "rank 2: unknown option '--stepz'" "a wrong option on one rank" on 3 "@2=./faults --stepz 3" ./faults
said 'stepz'

if command -v nvcc >/dev/null 2>&1 && [ -f "$build/lib/libparcc_rt_cuda.a" ]; then
  section "for GPUs"
  right "a program without MPI" "$parcc_cc" --target=cuda --no-mpi -arch sm_80 -DRANKS=4 "$here/stall.cu" -o gpu
  right "needs NCCL, and no MPI" sh -c 'ldd gpu | grep -q libnccl && ! ldd gpu | grep -q libmpi'
  right "whose help says so" sh -c "./gpu --help | grep -q '^Usage: torchrun --no_python --nproc_per_node=N '"
  wrong 2 "MASTER_ADDR to the host of rank 0, or start it by: torchrun --no_python" "a rank without an address" \
    env -u MASTER_ADDR RANK=0 WORLD_SIZE=4 ./gpu
  wrong 2 "started with 1; start it by: torchrun --no_python --nproc_per_node=4 ./gpu" "one rank of four" ./gpu
fi
finish
