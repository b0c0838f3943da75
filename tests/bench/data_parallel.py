#!/usr/bin/python3
"""The time of a training step on 2 ranks against PyTorch's DistributedDataParallel over gloo with 2 processes, one thread each:
data_parallel.py [CASE...]

A case is a sample under data parallelism, or under a plan of samples/plans. Both sides train the same network from the same
parameters in f32, by turns in one run. The time of a side is the median step of its best round. Prints a line for each case;
ends with code 1 where a ratio is above LIMIT.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import steps

LIMIT = 1.0
RANKS = 2
ROUNDS = 3
CASES = {"mlp": "mlp", "alexnet": "alexnet", "alexnet-one-weird-trick": "alexnet"}  # the sample of each


def work(sample, start, store, rank):
    """One of the processes of PyTorch. Rank 0 prints the median time of a step."""
    import networks
    import torch
    import torch.distributed
    import torch.nn.functional as F

    settings, count, data = steps.CASES[sample]
    half = dict(settings, batch=settings["batch"] // RANKS)
    side = steps.Torch(sample, getattr(networks, sample), start, half, data)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList(torch.nn.Parameter(w.detach()) for w in side.weights)

        def forward(self, image):
            remaining = iter(self.weights)
            return side.network(lambda: next(remaining), image, **half)[0]

    network = torch.nn.parallel.DistributedDataParallel(Network())
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4, momentum=0.9, weight_decay=5e-4)
    times = []
    for _step in range(count + 1):
        began = time.perf_counter()
        loss = F.cross_entropy(network(side.input), side.label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        times.append((time.perf_counter() - began) * 1e3)
    if rank == 0:
        print(statistics.median(times[1:]))


def time_torch(sample, start, folder, number):
    store = f"{folder}/store{number}"
    command = [sys.executable, os.path.abspath(__file__), "--work", sample, start, store]
    others = [subprocess.Popen([*command, str(rank)]) for rank in range(1, RANKS)]
    first = subprocess.run([*command, "0"], check=True, stdout=subprocess.PIPE, text=True)
    if any(other.wait() for other in others):
        sys.exit("FAILED PyTorch")
    return float(first.stdout)


def main():
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"SKIPPED: {error}")
        sys.exit(77)
    ratios = {}
    for case in sys.argv[1:] or CASES:
        sample = CASES[case]
        plan = [] if case == sample else ["--plan-in", f"{steps.ROOT}/samples/plans/{case}.plan"]
        settings, count = steps.CASES[sample][:2]
        with tempfile.TemporaryDirectory() as folder:
            program, start = steps.build(sample, settings, folder, RANKS, plan)
            rounds = [(steps.time_program(program, count, RANKS), time_torch(sample, start, folder, i)) for i in range(ROUNDS)]
        ratios[case] = steps.told(f"{case:23} batch {settings['batch']:3}, {RANKS} ranks", rounds)
    steps.judge(ratios, LIMIT)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main()
