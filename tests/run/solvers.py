#!/usr/bin/python3
"""What --search=auto solves, against other solvers: solvers.py [--all]

The problems of small models (--emit-problem) and random ones, with classes of values, forbidden entries and limits, are solved by
toulbar2, cbc and glpsol: their optimum is auto's, to 1e-6, and where there is none they find none.

--all [MODEL...]: larger models on 4, 8 and 16 devices, by toulbar2 and cbc, each for at most TIMEOUT seconds, and a table of what they
took beside auto: its planning as a whole, and finding the optimum alone, which is what the others do (reading files is not counted).
It takes hours, and the times mean something on a machine that does nothing else.
"""

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from plans import ROOT, tool

TOLERANCE = 1e-6
TIMEOUT = 600  # seconds
REPEATS, QUICK = 5, 1  # the least of so many times counts, where it takes less than so many seconds

PROBLEM = os.path.join(os.environ.get("PARCC_TESTS", os.path.join(ROOT, "build", "tests")), "run", "problem")
SLOW = os.path.join(ROOT, "tests", "run", "hand", "slow.machine")
MODELS = [  # model, machine, devices, the memory of one where it is not the machine's
    ("mlp", "p100x4x4", 4, None), ("mlp", "pcie2", 2, None), ("lenet", "p100x4x4", 4, None), ("alexnet", "p100x4x4", 4, None),
    ("mlp", SLOW, 4, "2.3 MB"), ("mlp", SLOW, 4, "2 MB"), ("alexnet", SLOW, 4, "270 MB"),
]
SEEDS = range(1, 31)
LARGE = ["alexnet", "vgg16", "resnet", "inception_v3", "nmt -Dcontext=10", "gpt2", "wresnet"]
LARGE_MACHINE, LARGE_DEVICES = "p100x4x4", [4, 8, 16]


# ---- solvers: of a file without its suffix to the optimum (inf: there is none; None: not found in time), and the seconds it took

def run(words):
    """What a command prints; None: it ran out of time."""
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT).stdout
    except subprocess.TimeoutExpired:
        return None


def solved(text, optimum, none, seconds):
    """Reads what a solver prints, by patterns of its optimum, of there being none, and of the time it took."""
    if text is None:
        return None, TIMEOUT
    found, time = re.search(optimum, text), re.search(seconds, text)
    if not found and not re.search(none, text):
        sys.exit(f"solvers.py: not understood:\n{text[-2000:]}")
    return float(found.group(1)) if found else math.inf, float(time.group(1)) if time else 0


def toulbar2(path):
    return solved(run(["toulbar2", path + ".cfn"]), r"Optimum: (\S+)", r"No solution", r"and (\S+) seconds\.")


def cbc(path):
    text = run(["cbc", path + ".lp", "ratioGap", "0", "allowableGap", "0", "solve"])
    return solved(text, r"Objective value: +(\S+)", r"[Ii]nfeasible", r"Total time \(CPU seconds\): +(\S+)")


def glpsol(path):
    text = run(["glpsol", "--lp", path + ".lp", "-o", path + ".sol"])
    if text is not None and os.path.exists(path + ".sol"):
        with open(path + ".sol") as file:
            text += file.read()
    return solved(text, r"INTEGER OPTIMAL\n(?:.*\n)*?Objective: +cost = (\S+)", r"INTEGER (EMPTY|UNDEFINED)", r"Time used: +(\S+) secs")


# ---- auto

def problem(words):
    """Cost, bound, seconds of the solver and of the whole planning."""
    text = subprocess.run([PROBLEM, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(word) for word in text.split()]


def model_words(model, machine, devices):
    """Words of the command line. A model is the name of a sample, and definitions."""
    name, *defines = model.split()
    return [os.path.join(ROOT, "samples", name + ".dnn"), *defines, f"--machine={machine}", f"--devices={devices}"]


def with_memory(folder, machine, memory):
    """The file of a machine whose devices have other memory."""
    if memory is None:
        return machine
    with open(machine) as file:
        text = re.sub(r"memory = [^;]*", "memory = " + memory, file.read())
    path = os.path.join(folder, "limited.machine")
    with open(path, "w") as file:
        file.write(text)
    return path


def emit(path, words, ends):
    for end in ends:
        subprocess.run([tool("PARCC", "parcc"), *words, f"--emit-problem={path}.{end}", "--stop-after=plan"], check=True)


def same(a, b):
    return a == b or abs(a - b) <= TOLERANCE * abs(a)


# ---- what is run

def try_problem(name, path, cost, bound):
    wrong = None
    if cost != bound:
        wrong = f"not proved: {cost}, {bound}"
    for solver in (toulbar2, cbc, glpsol):
        optimum, _ = solver(path)
        if not same(cost, optimum):
            wrong = f"{solver.__name__} finds {optimum}, auto {cost}"
    print(f"{'FAILED' if wrong else 'ok    '} {name}: {wrong or cost}", flush=True)
    return wrong is None


def small(folder):
    path = os.path.join(folder, "problem")
    right, costs = 0, []
    for model, machine, devices, memory in MODELS:
        words = model_words(model, with_memory(folder, machine, memory), devices)
        emit(path, words, ["cfn", "lp"])
        cost, bound, *_ = problem(words)
        right += try_problem(f"{model} on {devices} of {os.path.basename(machine)}{', ' + memory if memory else ''}", path, cost, bound)
        costs.append(cost)
    for seed in SEEDS:
        cost, bound, *_ = problem(["random", str(seed), path])
        right += try_problem(f"random {seed}", path, cost, bound)
        costs.append(cost)
    infeasible = costs.count(math.inf)
    print(f"solvers: {right} of {len(costs)} right, {infeasible} of them without a solution")
    return right == len(costs) and 0 < infeasible < len(costs) // 2


def large_row(folder, model, devices):
    path, words = os.path.join(folder, "problem"), model_words(model, LARGE_MACHINE, devices)
    emit(path, words, ["cfn", "lp"])
    cost, bound, seconds, planning = problem(words)
    row, right = f"{model:18} {devices:3} {cost:14.3f} {'proved' if cost == bound else 'not proved':10} {planning:9.3f} {seconds:9.4f}", True
    for solver in (toulbar2, cbc):
        optimum, took = solver(path)
        for _ in range(REPEATS - 1 if took < QUICK else 0):
            took = min(took, solver(path)[1])
        verdict = "time" if optimum is None else "equal" if same(cost, optimum) else "DIFFERS"
        right &= verdict != "DIFFERS"
        row += f" {took:9.3f} {verdict:7} {took / seconds:7.0f}"
    print(row, flush=True)
    return right


def large(folder, models):
    print(f"{'model':18} {'dev':>3} {'cost, us':>14} {'':10} {'planning':>9} {'auto, s':>9} {'toulbar2':>9} {'':7} {'times':>7} {'cbc':>9} {'':7} {'times':>7}")
    return all([large_row(folder, model, devices) for model in models for devices in LARGE_DEVICES])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", nargs="*", metavar="MODEL", help="larger models; those named, or LARGE")
    models = parser.parse_args().all
    missing = [name for name in ("toulbar2", "cbc", "glpsol") if shutil.which(name) is None]
    if missing:
        print(f"solvers: skipped: no {', '.join(missing)} (scripts/install-deps.sh --test)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        right = small(scratch) if models is None else large(scratch, models or LARGE)
        sys.exit(0 if right else 1)
