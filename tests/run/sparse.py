#!/usr/bin/python3
"""Gradients of tables as rows against whole ones, in f64: sparse.py MODEL... ("all": of each below)

The serial program of a model goes over its batch in microbatches of one sample, which add up whole gradients; the others have rows, on
1, 2, 3, 4 and 8 ranks, of which some have no sample, with indices that occur again and again. Plans gather the rows for every rank's
own table (data), for owners of some of its rows (fsdp, parallax), for what is drawn at random, in microbatches, too, or is cheapest on
a machine.
Losses and norms of 3 steps, and what is saved, agree to 1e-11 (norms and what is saved to ten times that).
"""

import os
import re
import sys
import tempfile

import plans
from checks import check, finish
from plans import Sample
from sample_plans import Run

# What is a sum over the whole batch, and so cannot come in microbatches.
WHOLE_BATCH = {"  loss experts_used = balance * uneven;\n": ""}
# By model: its size, of a batch of 5, how many tables have a sparse gradient, and text that takes the place of other text.
MODELS = {
    "lm1b": ("context=4 width=4 hidden=6 vocabulary=60 samples=8", 2),
    "dlrm": ("tables=3 rows=20 width=4 hidden=8", 3),
    "nmt": ("context=3 width=4 vocabulary=40", 2),
    "charlm": ("context=5 width=6", 1),
    "rnnlm": ("context=3 width=5 vocabulary=40", 1),
    "rnntc": ("context=3 width=4 vocabulary=40 layers=2", 1),
    "rnn_big": ("context=3 width=4 layers=2", 1),
    "gnmt8": ("context=2 width=4 vocabulary=40 layers=3", 2),
    "llama": ("context=3 vocabulary=40 layers=1 width=12 heads=3 kv_heads=1 hidden=7", 1),
    "mixtral": ("context=3 vocabulary=40 layers=1 width=12 heads=3 kv_heads=1 experts=3 hidden=5", 1, WHOLE_BATCH),
    "clicks": ("rows=40", 2),  # of tests/run/plans: a table of single numbers, too
    # Tables that are read as a whole, too, or of which a step touches most rows.
    "bigram": ("vocabulary=40 width=6", 0),
    "gpt2": ("context=3 vocabulary=40 layers=1 width=6 heads=3", 0),
    "bert_base": ("context=3 vocabulary=40 layers=1 width=6 heads=3", 0),
    "bert_large": ("context=3 vocabulary=40 layers=1 width=6 heads=3", 0),
}
MACHINE = ["--machine=dgx1-v100", "--devices=4"]
FEW = [("gpu=3", ["--search=data"]), ("a=2,b=2", ["--plan=random:1"])]
STATES = [*FEW, ("gpu=2", ["--search=fsdp"])]
MANY = [
    ("gpu=1", ["--search=data"]), ("gpu=2", ["--search=data"]), ("gpu=8", ["--search=data"]), *FEW, ("gpu=4", ["--search=fsdp"]),
    ("gpu=3", ["--plan=random:5"]), ("gpu=4", [*MACHINE, "--search=auto"]), ("gpu=4", [*MACHINE, "--search=parallax"]),
]
OPTIMIZERS = {
    "sgd(lr = 0.2)": MANY,
    "adagrad(lr = 0.1)": STATES,
    "adam(lr = 0.01, lazy = true)": STATES,
    "sgd(lr = 0.2, momentum = 0.9, nesterov = true, weight_decay = 0.01, lazy = true)": STATES,
}


class Model(plans.Model):
    """Its serial program has whole gradients."""

    def __init__(self, name, optimizer, folder):
        size, _, *edits = MODELS[name]
        plans.SAMPLES[name] = Sample("batch=5 " + size, **dict(*edits))
        super().__init__(name, folder)
        with open(self.path) as file:
            text = re.sub(r"optimizer = \w+\(.*\)", f"optimizer = {optimizer}", file.read())
        with open(self.path, "w") as file:
            file.write(text)
        with open(os.path.join(folder, "whole.plan"), "w") as file:
            file.write(f"plan 1 {name}\nmesh gpu=1\nmicrobatches = 5\n")
        self.serial = self.train("serial", 1, ["--plan-in=whole.plan"], False, 0)

    def sparse_tables(self):
        graph = self.command("parcc", [plans.tool("PARCC", "parcc"), self.path, *self.defines, "--dump-after=sparse", "--stop-after=sparse"])
        return len(re.findall(r"^  backward .*: \S+\.grad\.sums\[", graph, re.MULTILINE))


def main():
    names = sys.argv[1:]
    for name in MODELS if names == ["all"] else names:
        for optimizer, runs in OPTIMIZERS.items():
            with tempfile.TemporaryDirectory(prefix="sparse_") as folder:
                model = Model(name, optimizer, folder)
                tables = model.sparse_tables()
                check(f"{name}, {optimizer}: {tables} sparse gradients, expected {MODELS[name][1]}", tables == MODELS[name][1])
                for mesh, options in runs:
                    run = Run(mesh)
                    run.check = mesh == "gpu=3" and runs is MANY
                    failure = model.compare(run, "rows", options)
                    what = f"{name}, {optimizer}, {mesh} {' '.join(options)}"
                    check(f"{what}: {failure and failure.kind}: {failure}", failure is None)
    finish("sparse")


main()
