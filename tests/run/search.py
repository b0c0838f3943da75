#!/usr/bin/python3
"""Plans that are searched: --search=auto.

That what the planner says a step costs is what the compiler predicts of the program that is lowered from its plan, and is proved
to be least, and less than under data parallelism; then programs of small models, in f64, against the program of one rank, to
1e-11: a few of them; with --all those of every sample.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import plans
from plans import ROOT
from sample_plans import Run

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


def try_parity(runs):
    for model in dict.fromkeys(run[0] for run in runs):
        with tempfile.TemporaryDirectory(prefix="search_") as folder:
            program = plans.Model(model, folder)
            for _, mesh in [run for run in runs if run[0] == model]:
                failure = program.compare(Run(mesh), "searched", [f"--machine={SLOW}", "--search=auto"])
                yield f"{model}, {mesh}: parity", failure and f"{failure.kind}: {failure}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="programs of every sample, on 2, 3, 4 and 8 ranks")
    parser.add_argument("--models", help="of these samples only, with commas between")
    options = parser.parse_args()
    every = [(model, mesh) for model in plans.SAMPLES for mesh in MESHES]
    runs = [run for run in (every if options.all else FEW) if not options.models or run[0] in options.models.split(",")]
    passed, failed = 0, 0
    for tried in ([] if options.models else [try_costs()]) + [try_parity(runs)]:
        for what, wrong in tried:
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"FAILED {what}: {wrong}" if wrong else f"passed {what}", flush=True)
    print(f"search: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
