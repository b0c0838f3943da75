#!/usr/bin/python3 -IS
"""launch.py [--slurm] [--on PREFIX]... [--address A] [--port P] N COMMAND...: N ranks of COMMAND that find each other over TCP, by the
variables that torchrun sets, or srun. Each PREFIX is a command that runs another one on a host; the ranks are divided over these. `@R=COMMAND` words before COMMAND: rank R runs that (a shell command) instead. As launchers do,
it ends all ranks some seconds after one has ended with a fault; its exit code is that of the first rank that did so."""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time

GRACE = 5  # seconds


def reserve_port():
    """A socket at a port that nobody is given while it is open. Rank 0 can listen there, as both allow that an address is used again,
    and this one does not listen."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("", 0))
    return reserved


def host_of(args, rank):
    """The host of a rank, and its number there."""
    host = rank * len(args.on) // args.ranks
    return args.on[host], sum(r * len(args.on) // args.ranks == host for r in range(rank))


def environment(args, rank):
    names = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID") if args.slurm else ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    values = dict(zip(names, (str(rank), str(args.ranks), str(host_of(args, rank)[1]))))
    return dict(os.environ, **values, MASTER_ADDR=args.address, MASTER_PORT=str(args.port))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slurm", action="store_true")
    parser.add_argument("--on", action="append", default=[])
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("ranks", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    reserved = None if args.port else reserve_port()
    args.port = args.port or reserved.getsockname()[1]
    args.on = args.on or [""]
    others = {}
    while match := re.fullmatch(r"@(\d+)=(.*)", args.command[0]):
        others[int(match[1])] = ["sh", "-c", "exec " + match[2]]
        del args.command[0]
    ranks = [
        subprocess.Popen(host_of(args, r)[0].split() + others.get(r, args.command), env=environment(args, r)) for r in range(args.ranks)
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    code, deadline = 0, None
    try:
        while any(rank.poll() is None for rank in ranks):
            time.sleep(0.01)
            code = code or next((rank.returncode for rank in ranks if rank.poll()), 0)
            if code and deadline is None:
                deadline = time.monotonic() + GRACE
            if deadline is not None and time.monotonic() > deadline:
                break
        code = code or next((rank.returncode for rank in ranks if rank.poll()), 0)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
