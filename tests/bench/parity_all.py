#!/usr/bin/python3
"""Programs of all planners against the serial one: every sample, made small, on 2, 3, 4 and 8 ranks, in f64, to 1e-11.

    parity_all.py [--models A,B] [--planners A,B] [--table FILE] [--compiler NAME] [--plans]

One line for each model, mesh and planner: hashes of its plan and of its program (without comments), how long the compiler took and how
long building and running did, the compiler that made the plan, the one whose program was run, and the verdict. What --compiler (NAME: by
default the commit of this tree) stands for in the table is not tried again, unless it failed. A newer compiler plans anew, but a program
that has passed, of any planner and compiler, is not run again; with --plans neither is another program of a plan that has ("plan passed").
Few ranks come first, and auto's plans last, which take longest.
"""

import argparse
import hashlib
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))

import plans
import search
from commands import read
from sample_plans import Run, ranks_of
from table import Table, add_options

WITH_HEADS = ["gpt2", "bert_base", "bert_large", "vit_b16", "mixtral", "llama"]  # what megatron can divide
MESHES = ["gpu=2", "gpu=3", "gpu=4", "a=2,b=2", "a=2,b=4", "a=2,b=2,c=2"]
PLANNERS = ["single", "data", "model", "owt", "megatron", "fsdp", "optcnn", "soybean", "tofu", "flexflow", "auto"]
HEAD = ["model", "mesh", "planner", "plan", "program", "planning s", "running s", "compiler", "run of", "verdict"]


class Programs(Table):
    """The programs that were tried."""

    def has(self, key, compiler):
        return key in self.rows and self.rows[key]["compiler"] == compiler and not self.rows[key]["verdict"].startswith("FAILED")

    def passed(self, model, column, value, verdicts):
        """The compiler whose program of the model was run, of a row with the value in the column and one of the verdicts, or None."""
        return next((row["run of"] for row in self.rows.values()
                     if row["model"] == model and row[column] == value and row["verdict"] in verdicts), None)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def without_comments(program, folder):
    """What is compiled, wherever the model lies."""
    return re.sub(r"(^|\s+)//.*", "", program, flags=re.MULTILINE).replace(folder, "")


def every(models, planners):
    runs = [(model, mesh, planner) for model in models for mesh in MESHES for planner in planners
            if planner != "megatron" or model in WITH_HEADS]
    return sorted(runs, key=lambda run: (run[2] == "auto" and ranks_of(run[1]), ranks_of(run[1])))


def try_program(model, mesh, planner, table, options):
    """The cells of a row behind its key, and what is wrong."""
    out, start = os.path.join(model.folder, "planned"), time.monotonic()
    try:
        model.write("planned", [f"--mesh={mesh}", f"--machine={search.SLOW}", f"--search={planner}", f"--plan-out={out}.plan"])
    except plans.Failure as failure:
        return ["-", "-", "-", "-", options.compiler, "-", f"FAILED: {failure.kind}"], failure
    written = time.monotonic()
    plan, program = digest(read(out + ".plan")), digest(without_comments(read(out + ".cu"), model.folder))
    head = [plan, program, f"{written - start:.1f}"]
    same = table.passed(model.name, "program", program, ["passed"])
    if same:
        return [*head, "-", options.compiler, same, "passed"], None
    same = options.plans and table.passed(model.name, "plan", plan, ["passed", "plan passed"])
    if same:
        return [*head, "-", options.compiler, same, "plan passed"], None
    wrong = model.compare_written(Run(mesh), "planned")
    verdict = f"FAILED: {wrong.kind}" if wrong else "passed"
    return [*head, f"{time.monotonic() - written:.1f}", options.compiler, options.compiler, verdict], wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(plans.SAMPLES))
    parser.add_argument("--planners", default=",".join(PLANNERS))
    add_options(parser, "parity_all.tsv")
    parser.add_argument("--plans", action="store_true", help="not another program of a plan that has passed")
    options = parser.parse_args()
    table, failed, models = Programs(options.table, HEAD), 0, {}
    with tempfile.TemporaryDirectory(prefix="parity_") as folder:
        for run in every(options.models.split(","), options.planners.split(",")):
            name, mesh, planner = run
            if table.has(run, options.compiler):
                continue
            if name not in models:
                os.mkdir(os.path.join(folder, name))
                models[name] = plans.Model(name, os.path.join(folder, name))
            cells, wrong = try_program(models[name], mesh, planner, table, options)
            table.add(*run, *cells)
            print(*run, *cells, wrong or "", sep="\t", flush=True)
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
