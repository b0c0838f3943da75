#!/usr/bin/python3
"""What programs say of their operators (--profile-steps): predicted beside measured, and a profile.

Each operator that a step is predicted by is behind one AT of the program, so that what is predicted of all of them is what is predicted
of the step. A run finds as many places as the program tells of, also where layers share code, and what it prints is a profile of all
operators that a profile has names for.
"""

import os
import re
import shutil
import tempfile

from checks import ROOT, call, check, finish, launcher

GPT2 = ["-D", "layers=3", "-D", "width=32", "-D", "heads=2", "-D", "context=8", "-D", "vocabulary=50", "-D", "batch=4"]
CHARLM = ["-D", "batch=8", "-D", "width=32", "-D", "context=6"]
WRITTEN = [("mlp", []), ("lenet", []), ("charlm", CHARLM), ("gpt2", GPT2), ("alexnet", []), ("resnet", ["-D", "batch=8"])]
PLANNERS = [("data", 4), ("model", 4), ("auto", 3), ("single", 1)]
RUN = [("mlp", [], "model", 2), ("gpt2", GPT2, "data", 2), ("charlm", CHARLM, "model", 2), ("lenet", [], "single", 1)]


def compile_model(out, model, options, planner, ranks, *more):
    return call([os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), *options, "--machine=p100x4x4", f"--devices={ranks}",
                 f"--search={planner}", *more, "-o", out])


def predicted_by_operators(path):
    """Milliseconds, from the tables of a program."""
    with open(path) as file:
        text = file.read()
    operators = re.search(r"predicted\[\] = \{\n(.*?)\n\};", text, re.S).group(1).split("\n")
    us = [float(re.match(r" *\{([^,]*), ", line).group(1)) for line in operators]
    places = re.search(r"predicted_at\[\] = \{(.*?)\};", text, re.S).group(1)
    return sum(us[int(number)] for number in places.split(",") if int(number) >= 0) / 1000


def check_written(folder, model, options, planner, ranks):
    what = f"{model} {' '.join(options)} --search={planner} on {ranks}"
    out = os.path.join(folder, "out.cu")
    code, _, said = compile_model(out, model, options, planner, ranks)
    check(f"{what}: {said}", code == 0)
    step = float(re.search(r"predicted step time ([^ ]*) ms", said).group(1))
    operators = predicted_by_operators(out)
    check(f"{what}: operators {operators:.5g} ms, the step {step} ms", abs(operators - step) <= 2e-3 * step)


def run(program, ranks, *options):
    return call([*launcher(ranks), program, "--data", "synthetic", *options])


def build(folder, model, options, planner, ranks):
    program = os.path.join(folder, model)
    compile_model(program + ".cu", model, options, planner, ranks)
    quick = "--cc=tcc" if shutil.which("tcc") else "-O1"
    code, _, said = call([os.environ["PARCC_CC"], "--target=host", quick, program + ".cu", "-o", program])
    check(f"{model}: {said}", code == 0)
    return program


def check_run(folder, model, options, planner, ranks):
    what = f"{model} --search={planner} on {ranks}"
    program = build(folder, model, options, planner, ranks)
    profile = program + ".profile"
    code, out, said = run(program, ranks, "--profile-steps", "4")
    check(f"{what}: {said}", code == 0 and "mean absolute error" in said and "the mean of 4" in said)
    mean, fastest = re.search(r"a step: ([^ ]*) ms, the mean of 4; the fastest: ([^ ]*) ms", said).groups()
    check(f"{what}: the fastest step takes no longer than the mean: {said}", float(fastest) <= float(mean))
    check(f"{what}: warms up, and ends: {said}", f"{model}: 7 steps" in said or "step 7/7" in said)
    with open(profile, "w") as file:
        file.write(out)
    code, _, said = compile_model(program + ".2.cu", model, options, planner, ranks, "--profile", profile)
    check(f"{what}: as a profile: {said}", code == 0 and re.search(r"of (\d+) operators that can be measured \1 are", said))
    return program


def check_microbatches(folder):
    """A plan of data parallelism whose steps go over the batch in four microbatches."""
    plan, program = os.path.join(folder, "micro.plan"), os.path.join(folder, "micro")
    compile_model("/dev/null", "mlp", [], "data", 2, "--plan-out", plan)
    with open(plan) as file:
        lines = file.read().split("\n")
    mesh = next(i for i, line in enumerate(lines) if line.startswith("mesh "))
    with open(plan, "w") as file:
        file.write("\n".join([*lines[:mesh + 1], "microbatches = 4", *lines[mesh + 1:]]))
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples/mlp.dnn"), "--machine=p100x4x4", "--devices=2", "--plan-in", plan, "-o", program + ".cu"]
    code, _, said = call(command)
    check(f"microbatches: {said}", code == 0)
    step = float(re.search(r"predicted step time ([^ ]*) ms", said).group(1))
    operators = predicted_by_operators(program + ".cu")
    check(f"microbatches: operators {operators:.5g} ms, the step {step} ms", abs(operators - step) <= 2e-3 * step)
    call([os.environ["PARCC_CC"], "--target=host", "-O0", program + ".cu", "-o", program])
    code, _, said = run(program, 2, "--profile-steps", "3")
    check(f"microbatches: {said}", code == 0 and "mean absolute error" in said)


def check_few(program):
    code, _, said = run(program, 1, "--profile-steps", "5", "--steps", "2")
    check(f"two steps of five: {said}", code == 0 and "the mean of 2" in said)


def check_unknown(folder):
    program = os.path.join(folder, "unknown")
    call([os.environ["PARCC"], os.path.join(ROOT, "samples/mlp.dnn"), "-o", program + ".cu"])
    call([os.environ["PARCC_CC"], "--target=host", "-O0", program + ".cu", "-o", program])
    code, _, said = run(program, 1, "--profile-steps", "5")
    check(f"without a machine: {code}, {said}", code == 2 and "nothing is predicted" in said)
    code, _, said = run(program, 1, "--profile-steps", "0")
    check(f"no steps: {code}, {said}", code == 2 and "wants a number from 1" in said)


with tempfile.TemporaryDirectory() as folder:
    for case in WRITTEN:
        for planner in PLANNERS:
            check_written(folder, *case, *planner)
    programs = [check_run(folder, *case) for case in RUN]
    check_microbatches(folder)
    check_few(programs[-1])
    check_unknown(folder)
finish("step_profile")
