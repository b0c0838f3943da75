#!/usr/bin/python3
"""What a step takes on several hosts, one rank on each, beside what is predicted: called by hosts.sh.
hosts.py --hosts=N --folder=FOLDER [--rounds=N] [--table=FILE] [MODEL...]

FOLDER has testbed.machine, and the commands on1, on2 and so on, which run another one on a host. For each model there is a program for each
of the ways in which gradients come together that Kim et al. compare (Parallax 2019), and one of the cheapest plan:

    all-reduce   dense gradients are all-reduced, rows of sparse ones gathered by all
    owners       every parameter has one owner, or owners of its rows, who update it and send it to the others
    hybrid       dense gradients are all-reduced, tables have owners: --search=parallax
    auto         --search=auto

A prediction is the sum of what operators and transfers take, by the machine file and by a profile that `parcc profile` measures over the same
hosts. Programs run N times (default 3) in turns; of each run the median of its steps counts, of the runs the least, as what else this
machine does only adds to them. All is TCP. The rows go to a table (hosts.tsv), too.
"""

import argparse
import json
import os
import re
import sys
from statistics import median

from commands import must, read, write
from table import ROOT, Table, add_options

PARCC = os.environ.get("PARCC", ROOT + "/build/bin/parcc")
PARCC_CC = os.environ.get("PARCC_CC", ROOT + "/build/bin/parcc-cc")
ADDRESS = "10.77.0.1"
STEPS = 12
HEAD = ["model", "hosts", "scheme", "ms by the machine file", "ms by a profile", "ms measured", "of the slowest run", "compiler"]
CASES = {
    "lm1b": dict(batch=96, context=10, vocabulary=40000, width=128, hidden=256, samples=512),
    "dlrm": dict(batch=768, tables=8, rows=20000, width=32, hidden=128),
    "resnet": dict(batch=12, size=32, depth=18, width=16, classes=100),
}


class Model:
    def __init__(self, name, on, folder):
        self.on, self.base = on, f"{folder}/{name}{len(on)}"
        settings = [f"-D{key}={value}" for key, value in CASES[name].items()]
        self.command = [PARCC, f"{ROOT}/samples/{name}.dnn", f"--machine={folder}/testbed.machine", *settings]

    # ---- plans

    def plan_of(self, planner):
        return must([*self.command, f"--search={planner}", "--plan-out", "-"])[0]

    def owners(self):
        """The plan of tables by owners, with every other parameter on the rank that has fewest of their elements so far."""
        plan, table = self.plan_of("parallax"), must([*self.command, "--search=parallax", "--show-plan"])[0]
        axis = re.search(r"^mesh (\w+)=", plan, re.M)[1]
        dense = re.findall(r"^param +(\S+) +((?:\w+=\d+ ?)+) +-$", table, re.M)
        elements = [0] * len(self.on)
        for name, dims in sorted(dense, key=lambda param: -self.size(param[1])):
            owner = elements.index(min(elements))
            elements[owner] += self.size(dims)
            plan += f"store {name} pin {axis}={owner}\n"
        return plan

    @staticmethod
    def size(dims):
        product = 1
        for extent in re.findall(r"=(\d+)", dims):
            product *= int(extent)
        return product

    # ---- programs

    def build(self, source):
        program = source.removesuffix(".cu")
        must([PARCC_CC, "--target=host", source, "-o", program])
        return program

    def run(self, program, *options):
        launch = [sys.executable, f"{ROOT}/tests/run/launch.py", *(f"--on={on}" for on in self.on), "--address", ADDRESS]
        return must([*launch, str(len(self.on)), program, "--data", "synthetic", "--quiet", *options])[0]

    def profile(self, *plans):
        """What the operators of plans, each of them given by options, and transfers take on the hosts: options of a compilation."""
        times = {}
        for plan in plans:
            must([PARCC, "profile", *self.command[1:], plan, "-q", "-o", self.base + "-measure.cu"])
            for us, what in re.findall(r"^([^ #]+) us  (.*?) #", self.run(self.build(self.base + "-measure.cu")), re.M):
                times.setdefault(what, us)
        write(self.base + ".profile", "profile 1\n" + "".join(f"{us} us  {what}\n" for what, us in times.items()))
        return f"--profile={self.base}.profile"

    def predict(self, path, *options):
        said = must([*self.command, f"--plan-in={path}.plan", *options, "-o", path + ".cu"])[1]
        return float(re.search(r"predicted step time ([^ ]*) ms", said)[1])

    def measure(self, path):
        log = path + ".log"
        self.run(path, "--steps", str(STEPS + 2), "--log", log)
        return median(json.loads(line)["ms"] for line in read(log).splitlines()[2:])


def compare(name, on, folder, rounds, table, compiler):
    model = Model(name, on, folder)
    schemes = {"all-reduce": model.plan_of("data"), "owners": model.owners(), "hybrid": model.plan_of("parallax"), "auto": model.plan_of("auto")}
    paths = {scheme: f"{model.base}-{scheme}" for scheme in schemes}
    for scheme, path in paths.items():
        write(path + ".plan", schemes[scheme])
        model.predict(path)
        model.build(path + ".cu")
    runs = {scheme: [] for scheme in paths}
    for _ in range(rounds):
        for scheme, path in paths.items():
            runs[scheme].append(model.measure(path))
    profile = model.profile("--search=data,parallax,auto", f"--plan-in={paths['owners']}.plan")
    for scheme, path in paths.items():
        figures = model.predict(path), model.predict(path, profile), min(runs[scheme]), max(runs[scheme])
        table.add(name, str(len(on)), scheme, *(f"{ms:.2f}" for ms in figures), compiler)
        print(f"{name:7} {len(on)} hosts {scheme:11}" + " {:9.2f} ms by the machine {:9.2f} by profile {:9.2f} measured, up to {:.2f}".format(*figures), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    add_options(parser, f"{ROOT}/tests/bench/hosts.tsv")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    table = Table(args.table, HEAD)
    for name in args.models or CASES:
        compare(name, [f"{args.folder}/on{i + 1}" for i in range(args.hosts)], args.folder, args.rounds, table, args.compiler)


main()
