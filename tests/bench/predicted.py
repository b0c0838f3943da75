#!/usr/bin/python3
"""The step times that parcc predicts from measured operators and links, beside those that programs take on this host:
predicted.py [--busy] [MODEL...]

For each model, on 1 and on 2 ranks: `parcc profile` measures what the plans of PLANNERS need; each plan is then predicted by that profile, and
its program measures its step (--profile-steps, the fastest one). On one rank all plans are one. Prints a line for each plan, and for
each model the mean and the largest error, Kendall's tau of both orders, and how much longer than the fastest plan's the step of auto's plan
takes; ends with code 1 where something is beyond LIMITS. --busy: in place of the fastest step the sum of the fastest times of its operators, for a
machine that does other work.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = {"mean error": 0.10, "largest error": 0.25, "tau": 0.9, "auto": 0.05}
STEPS = 30
PLANNERS = ["data", "model", "owt", "megatron", "fsdp", "optcnn", "soybean", "tofu", "flexflow", "auto"]
CASES = {
    "mlp": dict(batch=256),
    "lenet": dict(batch=128),
    "alexnet": dict(batch=8, size=127, width=32, hidden=1024, classes=100),
    "vgg16": dict(batch=4, size=32, width=32, hidden=512, classes=100),
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


def call(command, **more):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stdout, done.stderr


def must(command):
    code, out, said = call(command)
    if code != 0:
        sys.exit(f"{' '.join(command)}: {said}")
    return out, said


def ranks_of(ranks, program, *options):
    launcher = [] if ranks == 1 else ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    return [*launcher, program, "--data", "synthetic", "--quiet", *options]


class Model:
    def __init__(self, name, ranks, folder):
        self.ranks = ranks
        self.parcc = [os.environ.get("PARCC", ROOT + "/build/bin/parcc")]
        self.options = [f"{ROOT}/samples/{name}.dnn", f"--machine={folder}/host.machine", f"--devices={ranks}",
                        *(f"-D{key}={value}" for key, value in CASES[name].items())]
        self.base = f"{folder}/{name}{ranks}"

    def build(self, program):
        parcc_cc = os.environ.get("PARCC_CC", ROOT + "/build/bin/parcc-cc")
        must([parcc_cc, "--target=host", program + ".cu", "-o", program])
        return program

    def planners(self):
        """Those that have a plan: an expert plan may not fit the model."""
        if self.ranks == 1:
            return ["data"]
        return [p for p in PLANNERS if call([*self.parcc, *self.options, f"--search={p}", "-o", "/dev/null"])[0] == 0]

    def profile(self, planners):
        measure = self.base + "measure"
        must([*self.parcc, "profile", *self.options, f"--search={','.join(planners)}", "-o", measure + ".cu"])
        with open(self.base + ".profile", "w") as file:
            file.write(must(ranks_of(self.ranks, self.build(measure)))[0])

    def predict(self, planner):
        """Milliseconds; the program is written."""
        program = self.base + planner
        said = must([*self.parcc, *self.options, f"--search={planner}", "--profile", self.base + ".profile", "-o", program + ".cu"])[1]
        return program, float(re.search(r"predicted step time ([^ ]*) ms", said).group(1))

    def measure(self, program, busy):
        said = must(ranks_of(self.ranks, program, "--profile-steps", str(STEPS)))[1]
        return float(re.search(r"predicted, ([^ ]*) ms measured" if busy else r"a step: ([^ ]*) ms", said).group(1))


def tau(pairs):
    """Kendall's tau-b of predicted and measured; 1 where there is no order to keep."""
    both = [(x - u, y - v) for (x, y), (u, v) in itertools.combinations(pairs, 2)]
    right = sum(a * b > 0 for a, b in both) - sum(a * b < 0 for a, b in both)
    untied = [sum(d[i] != 0 for d in both) for i in range(2)]
    return right / (untied[0] * untied[1]) ** 0.5 if all(untied) else 1


def compare(name, ranks, folder, busy):
    model = Model(name, ranks, folder)
    planners = model.planners()
    model.profile(planners)
    rows = {}
    for planner in planners:
        program, predicted = model.predict(planner)
        model.build(program)
        rows[planner] = (predicted, model.measure(program, busy))
        print(f"{name:8} {ranks} {planner:9} {predicted:9.3f} ms predicted {rows[planner][1]:9.3f} ms measured {predicted / rows[planner][1] - 1:+7.1%}", flush=True)
    errors = [abs(p / m - 1) for p, m in rows.values()]
    fastest = min(m for _, m in rows.values())
    found = {"mean error": sum(errors) / len(errors), "largest error": max(errors), "tau": tau(list(rows.values())),
             "auto": rows["auto"][1] / fastest - 1 if "auto" in rows else 0}
    print(f"{name:8} {ranks} {len(rows)} plans: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()), flush=True)
    return all(value >= LIMITS[key] if key == "tau" else value <= LIMITS[key] for key, value in found.items())


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")
    busy = "--busy" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--busy"] or list(CASES)
    right = True
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/host.machine", "w") as file:
            file.write(MACHINE)
        for name in names:
            for ranks in [1, 2]:
                right &= compare(name, ranks, folder, busy)
    return not right


sys.exit(main())
