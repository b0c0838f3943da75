#!/usr/bin/python3
"""Plans that are searched: --search=auto, optcnn, soybean, tofu, flexflow.

That what auto says a step costs is what the compiler predicts of the program that is lowered from its plan, and is proved
to be least; that no other planner makes a cheaper plan that fits, in as much memory as there is and in less; that what optcnn finds
has the shape that was published; that planners which cut a graph again and again come to cheap cuts first; then programs of small models, in f64, against the program of one rank, to 1e-11:
a few of them. ../bench/parity_all.py has those of every sample.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

from fixed_plans import try_all
from plans import ROOT

SLOW, SMALL = (os.path.join(ROOT, "tests", "run", "hand", name + ".machine") for name in ("slow", "small"))


# ---- costs

COSTS = [  # model, machine, devices
    ("mlp", "p100x4x4", 8), ("mlp", "pcie2", 2), ("lenet", "k80x8", 4), ("lenet", SLOW, 8), ("alexnet", "p100x4x4", 4),
]


PROVED = [  # model, machine, devices, options: what many operators read, time steps, clipping
    ("resnet", "p100x4x4", 8, "-D", "depth=18"), ("charlm", "p100x4x4", 8, "-D", "context=8"), ("gpt2", "p100x4x4", 16, "-D", "layers=2"),
    ("nmt", "k80x8", 8, "-D", "context=3", "--mesh=gpu=8"), ("vit_b16", "pcie4", 4, "-D", "layers=2"),
]


def parcc(path, machine, devices, *options):
    return subprocess.run([os.environ["PARCC"], path, f"--machine={machine}", f"--devices={devices}", *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def sample(model):
    return os.path.join(ROOT, "samples", model + ".dnn")


def is_unproved(model, machine, devices, *options):
    said = parcc(sample(model), machine, devices, "--objective=sum", "-o", "/dev/null", *options).stderr
    found = re.search(r"predicted step time (\S+) ms(?s:.)*searched: (\S+) ms, no plan on \S+(?: at most \d+ ways an operator,)? takes less than (\S+) ms", said)
    return None if found and len(set(found.groups())) == 1 else f"predicted, searched and proved differ: {said}"


def try_costs():
    for model, machine, devices, *options in PROVED:
        yield f"{model} {' '.join(options)} on {devices} of {machine}: proof", is_unproved(model, machine, devices, *options)
    for model, machine, devices in COSTS:
        wrong = is_unproved(model, machine, devices)
        yield f"{model} on {devices} of {os.path.basename(machine)}: cost", wrong or is_worse(sample(model), machine, devices)


def is_worse(path, machine, devices):
    """What is wrong with the plan of auto beside those that it looks at: it does not fit, or costs more; None: nothing is."""
    looked_at = "--search=data,single,model,owt,megatron,fsdp,auto,optcnn,soybean,tofu"
    planners = json.loads(parcc(path, machine, devices, "--compare", looked_at, "--objective=sum", "--json").stdout)["planners"]
    seconds = {of["planner"]: of["step_seconds"] for of in planners if of["fits"]}
    if "auto" not in seconds:
        return "there is no plan that fits" if seconds else None
    best = min(seconds, key=seconds.get)
    return None if seconds[best] >= seconds["auto"] * (1 - 1e-5) else f"{seconds['auto']} s, but {best} takes {seconds[best]} s"


def try_devices():
    """More devices are never slower: a plan may leave some of them out."""
    for model in "mlp", "lenet":
        said = subprocess.run([os.environ["PARCC"], sample(model), "--machine=k80x8", "--sweep=devices=1,2,4,6,8", "--objective=sum", "--json"], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        steps = [point["step_seconds"] for point in json.loads(said)["points"]]
        slower = [step for step, fewer in zip(steps[1:], steps) if step > fewer * (1 + 1e-5)]
        yield f"{model} on 1 to 8 devices", f"{steps} s" if slower else None


# ---- as streams overlap

REFINED = [("vgg16", "p100x4x4", 16), ("alexnet", "k80x8", 8), ("alexnet", "p100x4x4", 16)]  # model, machine, devices: where another plan overlaps better


def auto_by(objective, model, machine, devices):
    said = parcc(sample(model), machine, devices, "--compare", "--search=auto,data,owt", f"--objective={objective}", "--json").stdout
    return {of["planner"]: of for of in json.loads(said)["planners"]}


def try_refined():
    """The refined plan takes less than the one with the least sum, of which all is said that is proved, and no more than others."""
    for model, machine, devices in REFINED:
        by_sum, planners = auto_by("sum", model, machine, devices)["auto"], auto_by("overlap", model, machine, devices)
        auto, said = planners["auto"], parcc(sample(model), machine, devices, "-o", "/dev/null").stderr
        least = min(of["overlapped_seconds"] for of in planners.values() if of["fits"])
        right = (auto["search_refined"] and auto["overlapped_seconds"] == least < by_sum["overlapped_seconds"] == auto["search_overlapped_seconds"]
                 and auto["search_cost"] == by_sum["search_cost"] == by_sum["step_seconds"] <= auto["step_seconds"]
                 and auto["search_bound"] == by_sum["search_bound"] and not by_sum["search_refined"]
                 and f"predicted step time {auto['step_seconds'] * 1e3:.4g} ms ({auto['overlapped_seconds'] * 1e3:.4g} ms as streams overlap)" in said
                 and "parcc: refined: " in said)
        yield f"{model} on {devices} of {machine}: refined", None if right else f"{auto}, by the sum {by_sum}: {said}"


# ---- memory

MEMORY = [  # model, devices, steps from what the cheapest plan needs to nothing, or to a megabyte, the least that a machine has
    ("mlp", 4, 6), ("lenet", 4, 5),
]


def with_memory(folder, megabytes):
    path = os.path.join(folder, "less.machine")
    with open(sample("machines/p100x4x4").replace(".dnn", ".machine")) as machine, open(path, "w") as less:
        less.write(machine.read().replace("memory = 16 GB", f"memory = {megabytes:.3f} MB"))
    return path


def misleads(said, path, machine, devices):
    """What is wrong with an error that nothing fits: what it says would do does not."""
    needs = re.search(r"error: a device needs (\S+) GiB and has (\S+) GiB\nparcc: note: .* would do\n", said)
    if not needs or float(needs.group(1)) <= float(needs.group(2)):
        return said
    for pattern, of in (r"(\d+) of its devices", lambda n: (n,)), (r"a batch of (\d+)", lambda n: (devices, "-D", f"batch={n}")):
        number = re.search(pattern, said)
        done = number and parcc(path, machine, *of(number.group(1)), "--search=auto", "--stats")
        if done and done.returncode != 0:
            return f"{number.group(0)}: {done.stderr}"
    return None


def try_memory():
    """Less and less memory: what fits costs more and more, never more than another plan that fits; then an error says so."""
    for model, devices, steps in MEMORY:
        with tempfile.TemporaryDirectory(prefix="search_") as folder:
            before, most = 0, 16e9
            for step in range(steps):
                machine = with_memory(folder, most * 1e-6)
                done = parcc(sample(model), machine, devices, "--objective=sum", "--stats", "--json")
                if done.returncode != 0:
                    wrong = None if step > 0 else done.stderr
                    yield f"{model}, {most:.0f} bytes: error", wrong or is_worse(sample(model), machine, devices)
                    yield f"{model}, {most:.0f} bytes: what would do", misleads(done.stderr, sample(model), machine, devices)
                    break
                stats = json.loads(done.stdout)
                cost, need = stats["predicted"]["step_seconds"], stats["peak_bytes"]
                wrong = (f"it needs {need} bytes" if need > most else
                         f"{cost} s, but with more memory {before} s" if cost < before * (1 - 1e-5) else None)
                yield f"{model}, {most:.0f} bytes: cost", wrong or is_worse(sample(model), machine, devices)
                before, most = cost, need * 0.9


# ---- cuts

CUTS = [("mlp", "tofu"), ("lenet", "tofu"), ("alexnet", "tofu"), ("charlm", "tofu"), ("mlp", "soybean"), ("alexnet", "soybean")]


def numbers(pattern, text):
    return [float(number) for number in re.search(pattern, text).group(1).split(", ")]


def try_cuts():
    """Of cuts by one number each takes at least as many bytes as the one before (theorem 1 of Tofu). Together they are all bytes."""
    for model, search in CUTS:
        said = parcc(sample(model), "k80x8", 8, f"--search={search}", "-o", "/dev/null").stderr
        factors, steps = numbers(r"factors ([\d, ]+)", said), numbers(r"bytes by step ([\d.e+, ]+) MB", said)
        total, wrong = float(re.search(r"searched: (\S+) MB", said).group(1)), None
        if factors != [2, 2, 2] or len(steps) != 3 or abs(sum(steps) - total) > 1e-3 * total:
            wrong = said
        elif steps != sorted(steps):
            wrong = f"a cut costs less than the one before it: {steps}"
        yield f"{model}, {search}: cuts", wrong


# ---- layers

# Layers and K of what table 3 of OptCNN has (LeNet has a dense layer more here, AlexNet a dropout by itself), and K of others.
LAYERS = [("lenet", 64, "7"), ("alexnet", 512, "12"), ("vgg16", 512, "21"), ("resnet", 512, r"\d+"), ("inception_v3", 512, r"\d+"),
          ("gpt2", 8, r"\d+"), ("rnnlm", 64, r"\d+")]


def try_layers():
    """Two layers are left of each network, and nothing is left unproved."""
    for model, batch, layers in LAYERS:
        said = parcc(sample(model), "p100x4x4", 16, "--search=optcnn", "-D", f"batch={batch}", "-o", "/dev/null").stderr
        wrong = None if "(gap 0 %)" in said and re.search(rf"; K = 2 of {layers} layers, after \d+ node and \d+ edge eliminations$", said, re.M) else said
        yield f"{model}, optcnn: layers left", wrong


def divisions(model, *options):
    """Dimension by subject of a plan: {"store dense1.w": "co/node2,gpu1,gpu2"}."""
    text = parcc(sample(model), "p100x4x4", 16, "--search=optcnn", *options, "--plan-out", "-").stdout
    return dict(line.rsplit(None, 1) for line in re.sub(r" {2,}", " ", text).splitlines()[3:] if "/" in line)


def try_shapes():
    """Section 6 of OptCNN: what is convolved first is divided by samples, dense layers by channels, on fewer devices, what is
    convolved last, where there are few samples, by channels, height and width."""
    for model in ["alexnet", "vgg16"]:
        plan = divisions(model, "-D", "batch=512")
        wrong = None
        if plan.get("input image") != "batch/node1,node2,gpu1,gpu2" or "store conv1.w" in plan:
            wrong = "the first convolution is not divided by samples alone"
        for weight in ["dense1.w", "dense2.w"]:
            if not re.fullmatch(r"co/[^,]+(,[^,]+){0,2}", plan.get("store " + weight, "")):
                wrong = f"{weight}: {plan.get('store ' + weight)}"
        yield f"{model}, optcnn: shape of the plan", wrong
    shown = parcc(sample("vgg16"), "p100x4x4", 16, "--search=optcnn", "-D", "batch=16", "--show-plan").stdout
    parts = {name: re.search(rf"^forward +{name}\.conv2d .*  (\w+=.*)", shown, re.M).group(1) for name in ["conv1", "conv13"]}
    yield "vgg16, optcnn: few samples", parts != {"conv1": "n=1", "conv13": "co=128 p=7 q=7"} and parts


# ---- parity

FEW = [  # model, mesh, planner, machine
    ("mlp", "a=2,b=2", "auto", SLOW), ("lenet", "gpu=3", "auto", SLOW), ("alexnet", "gpu=4", "auto", SLOW),
    ("gpt2", "a=2,b=2", "auto", SLOW), ("charlm", "gpu=2", "auto", SLOW), ("wide", "gpu=3", "auto", SMALL), ("wide", "gpu=4", "auto", SMALL),
    ("lenet", "gpu=3", "optcnn", SLOW), ("alexnet", "a=2,b=2", "optcnn", SLOW), ("charlm", "a=2,b=2", "optcnn", SLOW),
    ("mlp", "gpu=3", "soybean", SLOW), ("alexnet", "a=2,b=2", "soybean", SLOW), ("lenet", "a=3,b=2", "tofu", SLOW),
    ("gpt2", "a=2,b=2", "tofu", SLOW), ("charlm", "gpu=2", "tofu", SLOW),
    ("lenet", "a=2,b=2", "flexflow", SLOW), ("alexnet", "a=2,b=2", "flexflow", SLOW), ("charlm", "gpu=3", "flexflow", SLOW),
]


def try_figures():
    yield from itertools.chain(try_costs(), try_devices(), try_refined(), try_memory(), try_layers(), try_shapes(), try_cuts())


def options_of(run):
    return [f"--machine={run[3]}", f"--search={run[2]}"]


if __name__ == "__main__":
    sys.exit(try_all("search", FEW, try_figures, options_of))
