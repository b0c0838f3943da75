#!/usr/bin/python3
"""The time of a training step: emitted programs on the host against PyTorch, one thread each: steps.py [MODEL...]

Both train the same network from the same parameters in f32, by turns in one run, pinned to one core. The time of a side is the
median step of its best round. Prints a line for each model; ends with code 1 where a ratio is above LIMIT.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT + "/tests/reference")

LIMIT = 1.5
ROUNDS = 3
# settings, steps a round, and of the data: size of the images, channels, classes; or how many tokens there are
CASES = {
    "mlp": (dict(batch=256), 30, (28, 1, 10)),
    "lenet": (dict(batch=256), 12, (28, 1, 10)),
    "alexnet": (dict(batch=16), 4, (224, 3, 1000)),
    "resnet": (dict(batch=4), 3, (224, 3, 1000)),
    "charlm": (dict(batch=32, context=64, width=512, layers=1), 4, (256,)),
    "rnnlm": (dict(batch=32, context=20, width=512, layers=2, vocabulary=10000), 4, (10000,)),
    "gpt2": (dict(batch=8, context=128, width=256, layers=4, heads=4), 3, (50257,)),
}
# What the samples train with, if it is not this: the optimizer in PyTorch, and the limit of the gradients' norm.
SGD = (lambda weights, torch: torch.optim.SGD(weights, lr=1e-4, momentum=0.9, weight_decay=5e-4), None)
OPTIMIZERS = {
    "charlm": (lambda weights, torch: torch.optim.Adam(weights, lr=0.002), 1.0),
    "rnnlm": (lambda weights, torch: torch.optim.SGD(weights, lr=1.0), 5.0),
    "gpt2": (lambda weights, torch: torch.optim.AdamW(weights, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1), 1.0),
}


def launcher(ranks):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []


def build(sample, settings, folder, ranks=1, plan=()):
    program = f"{folder}/{sample}"
    defines = [f"-D{key}={value}" for key, value in settings.items()]
    parcc = os.environ.get("PARCC", ROOT + "/build/bin/parcc")
    parcc_cc = os.environ.get("PARCC_CC", ROOT + "/build/bin/parcc-cc")
    subprocess.run([parcc, f"{ROOT}/samples/{sample}.dnn", "-o", program + ".cu", *defines, *(plan or [f"--ranks={ranks}"])], check=True)
    subprocess.run([parcc_cc, "--target=host", program + ".cu", "-o", program], check=True)
    start = program + ".safetensors"
    subprocess.run([*launcher(ranks), program, "--data", "synthetic", "--steps", "0", "--quiet", "--save", start], check=True, stdout=subprocess.DEVNULL)
    return program, start


def time_program(program, steps, ranks=1):
    log = program + ".log"
    run = [*launcher(ranks), program, "--data", "synthetic", "--steps", str(steps + 1), "--quiet", "--log", log]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    with open(log) as file:
        times = [json.loads(line)["ms"] for line in file]
    return statistics.median(times[1:])  # the first step also warms up


class Torch:
    def __init__(self, sample, network, start, settings, data):
        import re
        import torch
        import safetensors

        torch.set_num_threads(1)
        self.network, self.settings = network, settings
        state = re.compile(r"\.(running_mean|running_var|velocity|moment1|moment2)$")
        tensors = [t for key, t in safetensors.read(start).items() if not state.search(key)]
        self.weights = [torch.tensor(t, requires_grad=True) for t in tensors]
        optimizer, self.clip = OPTIMIZERS.get(sample, SGD)
        self.optimizer = optimizer(self.weights, torch)
        if len(data) == 1:
            shape = (settings["batch"], settings["context"])
            self.input, self.label = (torch.randint(0, data[0], shape) for _input in range(2))
        else:
            size, channels, classes = data
            self.input = torch.randn(settings["batch"], channels, size, size)
            self.label = torch.randint(0, classes, (settings["batch"],))

    def step(self):
        import torch
        import torch.nn.functional as F

        remaining = iter(self.weights)
        logits, _ = self.network(lambda: next(remaining), self.input, **self.settings)
        loss = F.cross_entropy(logits.flatten(0, -2), self.label.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.weights, self.clip)
        self.optimizer.step()
        return loss.item()

    def time(self, steps):
        times = []
        for _step in range(steps + 1):
            began = time.perf_counter()
            self.step()
            times.append((time.perf_counter() - began) * 1e3)
        return statistics.median(times[1:])


def told(what, rounds):
    """Prints the shortest times, ours and PyTorch's, of all rounds, and returns their ratio."""
    ours, theirs = min(r[0] for r in rounds), min(r[1] for r in rounds)
    print(f"{what}: parcc {ours:9.2f} ms, PyTorch {theirs:9.2f} ms, ratio {ours / theirs:.2f}", flush=True)
    return ours / theirs


def judge(ratios, limit):
    slow = [sample for sample, ratio in ratios.items() if ratio > limit]
    if slow:
        print(f"FAILED above {limit}: {', '.join(slow)}")
        sys.exit(1)


def main():
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"SKIPPED: {error}")
        sys.exit(77)
    import networks

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ratios = {}
    for sample in sys.argv[1:] or CASES:
        settings, steps, data = CASES[sample]
        with tempfile.TemporaryDirectory() as folder:
            program, start = build(sample, settings, folder)
            other = Torch(sample, getattr(networks, sample), start, settings, data)
            rounds = [(time_program(program, steps), other.time(steps)) for _round in range(ROUNDS)]
        ratios[sample] = told(f"{sample:8} batch {settings['batch']:4}", rounds)
    judge(ratios, LIMIT)


if __name__ == "__main__":
    main()
