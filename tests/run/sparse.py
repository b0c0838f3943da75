#!/usr/bin/python3
"""Gradients of tables as rows against whole ones, in f64: sparse.py MODEL... ("all": of each below)

The serial program of a model has whole gradients, because its optimizer adds a decay of 1e-300 times the weights, which is nothing;
the others have rows, on 1, 2, 3, 4 and 8 ranks, of which some have no sample, with indices that occur again and again. Plans gather
the rows for every rank's own table (data), for owners of some of its rows (fsdp), for what is drawn at random, in microbatches, too,
or is cheapest on a machine. Losses and norms of 3 steps, and what is saved, agree to 1e-11 (norms and what is saved to ten times that).
"""

import re
import sys
import tempfile

import plans
from checks import check, finish
from plans import Sample
from sample_plans import Run

WHOLE, ROWS = "sgd(lr = 0.2, weight_decay = 1e-300)", "sgd(lr = 0.2)"
# By model: its size, and how many tables have a sparse gradient.
MODELS = {
    "lm1b": ("batch=5 context=4 width=4 hidden=6 vocabulary=60 samples=8", 2),
    "nmt": ("batch=5 context=3 width=4 vocabulary=40", 2),
    "charlm": ("batch=5 context=5 width=6", 1),
    "rnnlm": ("batch=5 context=3 width=5 vocabulary=40", 1),
    "rnntc": ("batch=5 context=3 width=4 vocabulary=40 layers=2", 1),
    "rnn_big": ("batch=5 context=3 width=4 layers=2", 1),
    "gnmt8": ("batch=5 context=2 width=4 vocabulary=40 layers=3", 2),
    "llama": ("batch=5 context=3 vocabulary=40 layers=1 width=12 heads=3 kv_heads=1 hidden=7", 1),
    "bigram": ("batch=5 vocabulary=40 width=6", 0),  # its table is read as a whole, too
}
RUNS = [
    ("gpu=1", ["--search=data"]), ("gpu=2", ["--search=data"]), ("gpu=3", ["--search=data"]), ("gpu=8", ["--search=data"]),
    ("gpu=4", ["--search=fsdp"]), ("a=2,b=2", ["--plan=random:1"]), ("gpu=3", ["--plan=random:5"]),
    ("gpu=4", ["--machine=dgx1-v100", "--devices=4", "--search=auto"]),
]


class Model(plans.Model):
    """Its serial program has whole gradients."""

    def __init__(self, name, folder):
        plans.SAMPLES[name] = Sample(MODELS[name][0])
        super().__init__(name, folder)
        with open(self.path) as file:
            text = file.read()
        self.rewrite(text, WHOLE)
        self.serial = self.train("serial", 1, [], False, 0)
        self.rewrite(text, ROWS)

    def rewrite(self, text, optimizer):
        with open(self.path, "w") as file:
            file.write(re.sub(r"optimizer = \w+\(.*\)", f"optimizer = {optimizer}", text))

    def sparse_tables(self):
        graph = self.command("parcc", [plans.tool("PARCC", "parcc"), self.path, *self.defines, "--dump-after=sparse", "--stop-after=sparse"])
        return len(re.findall(r"^  update +sgd: \S+\.change\[", graph, re.MULTILINE))


def main():
    names = sys.argv[1:]
    for name in MODELS if names == ["all"] else names:
        with tempfile.TemporaryDirectory(prefix="sparse_") as folder:
            model = Model(name, folder)
            tables = model.sparse_tables()
            check(f"{name}: {tables} sparse gradients, expected {MODELS[name][1]}", tables == MODELS[name][1])
            for mesh, options in RUNS:
                run = Run(mesh)
                run.check = mesh == "gpu=3"
                failure = model.compare(run, "rows", options)
                check(f"{name}, {mesh} {' '.join(options)}: {failure and failure.kind}: {failure}", failure is None)
    finish("sparse")


main()
