#!/usr/bin/python3
"""Plans that are searched: --search=auto.

That what the planner says a step costs is what the compiler predicts of the program that is lowered from its plan, and is proved
to be least, and less than under data parallelism; then programs of small models, in f64, against the program of one rank, to
1e-11: a few of them; with --all those of every sample.
"""

import os
import re
import subprocess
import sys

import plans
from fixed_plans import try_all
from plans import ROOT

SLOW = os.path.join(ROOT, "tests", "run", "hand", "slow.machine")


# ---- costs

COSTS = [  # model, machine, devices
    ("mlp", "p100x4x4", 8), ("mlp", "pcie2", 2), ("lenet", "k80x8", 4), ("lenet", SLOW, 8), ("alexnet", "p100x4x4", 4),
]


def seconds(model, machine, devices, search):
    """What is predicted of a step, and what the search says of it and of the best: in ms."""
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), f"--machine={machine}", f"--devices={devices}",
               f"--search={search}", "-o", "/dev/null"]
    said = subprocess.run(command, check=True, text=True, stderr=subprocess.PIPE).stderr
    predicted = re.search(r"predicted step time (\S+) ms", said)
    searched = re.search(r"searched: (\S+) ms, no plan takes less than (\S+) ms", said)
    return [predicted.group(1)] + (list(searched.groups()) if searched else [])


def try_costs():
    for model, machine, devices in COSTS:
        found, data = seconds(model, machine, devices, "auto"), seconds(model, machine, devices, "data")
        wrong = None
        if len(set(found)) != 1:
            wrong = f"predicted, searched and proved differ: {found}"
        elif float(found[0]) > float(data[0]):
            wrong = f"{found[0]} ms, but data parallelism takes {data[0]} ms"
        yield f"{model} on {devices} of {os.path.basename(machine)}: cost", wrong


# ---- parity

FEW = [("mlp", "a=2,b=2"), ("lenet", "gpu=3"), ("alexnet", "gpu=4"), ("gpt2", "a=2,b=2"), ("charlm", "gpu=2")]
MESHES = ["gpu=2", "gpu=3", "a=2,b=2", "a=2,b=2,c=2"]


if __name__ == "__main__":
    EVERY = [(model, mesh) for model in plans.SAMPLES for mesh in MESHES]
    sys.exit(try_all("search", __doc__.splitlines()[0], FEW, EVERY, try_costs, lambda _: [f"--machine={SLOW}", "--search=auto"]))
