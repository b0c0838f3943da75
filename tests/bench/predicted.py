#!/usr/bin/python3
"""The step times that parcc predicts from measured operators and links, beside those that programs take on this host:
predicted.py [--rounds=N] [MODEL...]

For each model, on 1 and on 2 ranks: `parcc profile` measures what PLANS plans or more need, of which no two are one program. On two ranks
these are the planners', and where they are too few, those that divide the first layers as one planner and the others as another does. On one
rank they go over the batch in microbatches, or make layers again for the backward pass. Each plan is then predicted by that profile, as the
sum of its operators, since on the host nothing overlaps, and its program measures its step (--profile-steps). Profiles and programs run N
times (default 3), in turns, as what a machine does else changes from second to second; the means count.

Prints a line for each plan, and for each model the mean and the largest error, Kendall's tau of both orders, also of those plans only that
the runs tell apart, and how much longer than the fastest plan's the step of auto's plan takes; ends with code 1 where something is beyond
LIMITS, or a program has not the memory that was predicted, to the byte.
"""

import itertools
import os
import re
import sys
import tempfile
from statistics import mean

from commands import call, must, read, write

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = {"mean error": 0.10, "largest error": 0.25, "tau": 0.9, "auto": 0.05}
STEPS, PLANS = 30, 8
PLANNERS = ["auto", "data", "model", "owt", "megatron", "fsdp", "optcnn", "soybean", "tofu", "flexflow"]
MIXED = ["data", "model", "auto", "soybean"]  # those that a plan may take its layers from
CASES = {
    "mlp": dict(batch=256),
    "lenet": dict(batch=128),
    "alexnet": dict(batch=24, size=127, width=32, hidden=1024, classes=100),
    "vgg16": dict(batch=24, size=32, width=32, hidden=512, classes=100),
    "resnet": dict(batch=4, size=64, depth=18, width=32, classes=100),
    "rnnlm": dict(batch=16, context=10, width=256, layers=1, vocabulary=2000),
    "gpt2": dict(batch=4, context=64, width=128, layers=2, heads=4, vocabulary=2000),
}
# What a program for this host needs of its machine where nothing is measured.
MACHINE = """machine host {
  device core { f32 = 80 GFLOP/s; f64 = 40 GFLOP/s; memory = 8 GB; bandwidth = 10 GB/s; launch = 0.1 us; }
  level box = 2 core { link = memory; bandwidth = 3 GB/s; latency = 1 us; }
}
"""


# ---- plans, as text


def with_lines(plan, lines):
    """lines: of the whole plan, which stand behind the mesh."""
    head, mesh, rest = re.match(r"(.*?\n)(mesh [^\n]*\n)(.*)", plan, re.S).groups()
    return head + mesh + "".join(line + "\n" for line in lines) + rest


def layers_of(plan):
    """In their order."""
    return list(dict.fromkeys(re.findall(r"^(?:store )?([^\s.]+)\.", plan, re.M)))


def mixed(first, second, layers):
    """A plan that has its lines for `layers` of one plan and all others of another."""

    def is_of_layers(line):
        name = re.match(r"(?:store )?([^\s.]+)\.", line)
        return name is not None and name.group(1) in layers

    return "".join([line for line in second.splitlines(True) if not is_of_layers(line)] +
                   ["\n"] + [line for line in first.splitlines(True) if is_of_layers(line)])


class Model:
    def __init__(self, name, ranks, folder):
        self.ranks, self.name = ranks, name
        self.parcc = [os.environ.get("PARCC", ROOT + "/build/bin/parcc")]
        self.options = [f"{ROOT}/samples/{name}.dnn", f"--machine={folder}/host.machine",
                        *(f"-D{key}={value}" for key, value in CASES[name].items())]
        self.base = f"{folder}/{name}{ranks}"
        self.known = set()  # programs

    # ---- plans

    def plan_of(self, planner, ranks, *more):
        """None: an expert plan may not fit the model."""
        objective = ["--objective=sum"] if planner == "auto" else []
        code, plan, _ = call([*self.parcc, *self.options, f"--devices={ranks}", f"--search={planner}", *objective, *more, "--plan-out", "-"])
        return plan if code == 0 else None

    def is_new(self, plan):
        """Whether it is a plan of the model, and its program another one than those before."""
        write(self.base + ".plan", plan)
        code, program, _ = call([*self.parcc, *self.options, f"--devices={self.ranks}", f"--plan-in={self.base}.plan", "-q", "-o", "-"])
        text = re.sub(r"//.*", "", program)
        if code != 0 or text in self.known:
            return False
        self.known.add(text)
        return True

    def variants(self):
        """Plans by name, as many as one likes to take."""
        if self.ranks == 2:
            plans = {planner: self.plan_of(planner, 2) for planner in MIXED}
            layers = layers_of(plans["model"])
            for share, (first, second) in itertools.product([2, 3, 4], itertools.permutations(MIXED, 2)):
                yield f"{first}|{second}/{share}", mixed(plans[first], plans[second], layers[:len(layers) // share])
            return
        plan, layers = self.plan_of("data", 1), layers_of(self.plan_of("model", 2))
        again = [[], layers, *([layer] for layer in layers[::max(1, len(layers) // PLANS)])]
        batch = CASES[self.name]["batch"]
        for made_again, parts in itertools.product(again, [n for n in range(1, 65) if batch % n == 0]):
            lines = [f"microbatches = {parts}"] * (parts > 1) + [f"recompute: {layer}" for layer in made_again]
            yield f"{parts} parts, {len(made_again) if len(made_again) != 1 else made_again[0]} again", with_lines(plan, lines)

    def plans(self):
        """PLANS or more, by name, where there are so many."""
        found = {}
        for planner in PLANNERS if self.ranks > 1 else ["auto"]:
            plan = self.plan_of(planner, self.ranks)
            if plan is not None and self.is_new(plan):
                found[planner] = plan
        for name, plan in self.variants():
            if len(found) < PLANS and self.is_new(plan):
                found[name] = plan
        return found

    # ---- programs

    def build(self, program):
        parcc_cc = os.environ.get("PARCC_CC", ROOT + "/build/bin/parcc-cc")
        must([parcc_cc, "--target=host", program + ".cu", "-o", program])
        return program

    def run(self, program, *options):
        launcher = [] if self.ranks == 1 else ["mpiexec", "--bind-to", "none", "-n", str(self.ranks)]
        return must([*launcher, program, "--data", "synthetic", *options])

    def measuring(self, plans):
        """Programs that measure what the plans need."""
        programs = []
        for number, plan in enumerate(plans):
            program = f"{self.base}measure{number}"
            write(program + ".plan", plan)
            must([*self.parcc, "profile", *self.options, f"--devices={self.ranks}", f"--plan-in={program}.plan", "-q", "-o", program + ".cu"])
            programs.append(self.build(program))
        return programs

    def profile(self, programs, times):
        """Adds to the times of each line."""
        for program in programs:
            for us, what in re.findall(r"^([^ #]+) us  (.*?) #", self.run(program, "--quiet")[0], re.M):
                times.setdefault(what, []).append(float(us))

    def write_profile(self, times):
        write(self.base + ".profile", "profile 1\n" + "".join(f"{mean(all):.4g} us  {what}\n" for what, all in times.items()))

    def write(self, number, plan):
        program = f"{self.base}plan{number}"
        write(program + ".plan", plan)
        must([*self.parcc, *self.options, f"--devices={self.ranks}", f"--plan-in={program}.plan", "--profile", self.base + ".profile", "-o", program + ".cu"])
        return self.build(program)

    def predict(self, program):
        """Milliseconds, and bytes of memory."""
        said = must([*self.parcc, *self.options, f"--devices={self.ranks}", f"--plan-in={program}.plan", "--profile", self.base + ".profile", "-o", program + ".cu"])[1]
        memory = re.search(r"^//   memory +(\d+) bytes", read(program + ".cu"), re.M).group(1)
        return float(re.search(r"predicted step time ([^ ]*) ms", said).group(1)), int(memory)

    def measure(self, program):
        """Milliseconds, and bytes of memory."""
        said = self.run(program, "--profile-steps", str(STEPS))[1]
        return float(re.search(r"a step: ([^ ]*) ms", said).group(1)), int(re.search(r"(\d+) bytes of device memory", said).group(1))


def tau(pairs):
    """Kendall's tau-b of predicted and measured; 1 where there is no order to keep."""
    both = [(x - u, y - v) for (x, y), (u, v) in itertools.combinations(pairs, 2)]
    right = sum(a * b > 0 for a, b in both) - sum(a * b < 0 for a, b in both)
    untied = [sum(d[i] != 0 for d in both) for i in range(2)]
    return right / (untied[0] * untied[1]) ** 0.5 if all(untied) else 1


def tau_told_apart(rows, runs):
    """The same of those pairs whose measured times do not overlap: those of others may come in any order."""
    right = pairs = 0
    for a, b in itertools.combinations(rows, 2):
        if min(runs[a]) <= max(runs[b]) and min(runs[b]) <= max(runs[a]):
            continue
        pairs += 1
        right += 1 if (rows[a][0] - rows[b][0]) * (rows[a][1] - rows[b][1]) > 0 else -1
    return right / pairs if pairs else 1


def measured_plans(model):
    """Plans by name, with those that auto makes by what was measured, until all that its plan needs is measured."""
    plans, times = model.plans(), {}
    model.profile(model.measuring(plans.values()), times)
    while True:
        model.write_profile(times)
        auto = model.plan_of("auto", model.ranks, "--profile", model.base + ".profile")
        if not model.is_new(auto):
            return plans
        plans[f"auto, profile {len(plans)}"] = auto
        model.profile(model.measuring([auto]), times)


def compare(name, ranks, folder, rounds):
    model = Model(name, ranks, folder)
    plans = measured_plans(model)
    programs = {plan: model.write(number, text) for number, (plan, text) in enumerate(plans.items())}
    measuring, times, runs = model.measuring(plans.values()), {}, {plan: [] for plan in plans}
    memory = {plan: model.predict(programs[plan])[1] for plan in plans}
    for _ in range(rounds):
        model.profile(measuring, times)
        for plan, program in programs.items():
            runs[plan].append(model.measure(program))
    model.write_profile(times)
    rows, exact = {}, True
    for plan, program in programs.items():
        rows[plan] = (model.predict(program)[0], mean([ms for ms, _ in runs[plan]]))
        exact &= {memory[plan]} == {got for _, got in runs[plan]}
        print(f"{name:8} {ranks} {plan:24} {rows[plan][0]:9.3f} ms predicted {rows[plan][1]:9.3f} ms measured {rows[plan][0] / rows[plan][1] - 1:+7.1%}"
              f"   {min(runs[plan])[0]:.3f} to {max(runs[plan])[0]:.3f}", flush=True)
    errors = [abs(p / m - 1) for p, m in rows.values()]
    found = {"mean error": sum(errors) / len(errors), "largest error": max(errors), "tau": tau(list(rows.values())),
             "auto": min(rows.values())[1] / min(m for _, m in rows.values()) - 1}
    print(f"{name:8} {ranks} {len(rows)} plans: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()) +
          f", tau of plans told apart {tau_told_apart(rows, runs):.3g}, memory {'exact' if exact else 'differs'}", flush=True)
    return exact and all(value >= LIMITS[key] if key == "tau" else value <= LIMITS[key] for key, value in found.items())


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")
    names = [name for name in sys.argv[1:] if not name.startswith("--rounds=")] or list(CASES)
    rounds = next((int(word.split("=")[1]) for word in sys.argv[1:] if word.startswith("--rounds=")), 3)
    right = True
    with tempfile.TemporaryDirectory() as folder:
        write(folder + "/host.machine", MACHINE)
        for name in names:
            for ranks in [1, 2]:
                right &= compare(name, ranks, folder, rounds)
    return not right


sys.exit(main())
