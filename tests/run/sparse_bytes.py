#!/usr/bin/python3
"""What lm1b sends in a step, by the programs' own counters, follows closed forms for each way to synchronise its two tables.

The ranks of a program find each other over TCP, where collectives go round a ring and every byte is counted: `sent_bytes` of the
log. Of n elements a rank sends n (p - 1) / p in an all-gather and in a reduce-scatter, twice that in an all-reduce (Patarasuk and
Yuan 2009). Extents are multiples of all numbers of ranks, so that all blocks are equal; a single scalar is not divided. What the compiler
says of the step follows them, too.
"""

import json
import os
import subprocess
import sys
import tempfile

import plans
from checks import ROOT, call, check, finish
from plans import tool

REAL = INT = 4  # bytes
B, T, C, H, V, S = 24, 4, 24, 24, 600, 24  # batch, context, width, hidden, vocabulary, samples
SIZE = f"batch={B} context={T} width={C} hidden={H} vocabulary={V} samples={S}"
SCALAR = 2 * REAL  # at most, of the sum of the loss
STEPS = 3


# ---- closed forms: bytes that a rank sends, of p

def gather(elements, p):
    return elements * REAL * (p - 1) / p


def reduce(elements, p):
    return 2 * gather(elements, p)


def dense(p):
    """What is dense under every plan: the LSTM's gates of what comes in and of what was handed on, with one vector of biases, and its
    projection; the biases of all words; rows and biases of the samples, of which all ranks draw the same."""
    return reduce(4 * H * (C + C + 1) + C * H + V + S * C + S, p)


def as_whole(p):
    """Whole gradients of both tables, all-reduced."""
    return dense(p) + reduce(2 * V * C, p)


def as_rows(p):
    """Indices and values of the rows that are looked up in each table, gathered."""
    return dense(p) + gather(2 * B * T * (1 + C), p)


def by_owners(p):
    """Indices gathered for the owners of rows, what these look up scattered to where it is read, and of the samples reduced for all;
    backward as above."""
    return as_rows(p) + gather(2 * B * T * (1 + C), p) + reduce(S * C, p)


# ---- the plans

DATA = """plan 1 lm1b
mesh gpu={p}
{parts}
input word b/gpu
input next b/gpu
"""
OWNERS = DATA + """
store table v/gpu
store w v/gpu
embedding v/gpu
embedding.arranged b/gpu
sampled_cross_entropy.own v/gpu
eval embedding.arranged follow
"""
SCHEMES = [  # a batch in two parts adds up whole gradients
    ("whole gradients", DATA, "microbatches = 2", as_whole), ("rows and values", DATA, "", as_rows), ("owners of rows", OWNERS, "", by_owners),
]


def run(command):
    code, printed, said = call(command)
    if code != 0:
        raise subprocess.CalledProcessError(code, command, stderr=said)
    return printed


def sent(folder, plan, p):
    """Bytes that rank 0 sends in each step, and those that the compiler says of one."""
    path = os.path.join(folder, "lm1b")
    with open(path + ".plan", "w") as file:
        file.write(plan)
    defines = [word for define in SIZE.split() for word in ("-D", define)]
    model = os.path.join(ROOT, "samples", "lm1b.dnn")
    launch = [sys.executable, os.path.join(ROOT, "tests", "run", "launch.py"), str(p)]
    stats = run([tool("PARCC", "parcc"), model, "-q", *defines, "--plan-in", path + ".plan", "-o", path + ".cu", "--stats", "--json"])
    run([tool("PARCC_CC", "parcc-cc"), "--target=host", *plans.compiler(False), "-O0", path + ".cu", "-o", path])
    run([*launch, path, "--data=synthetic", f"--steps={STEPS}", "--quiet", f"--log={path}.log"])
    with open(path + ".log") as file:
        found = [json.loads(line)["sent_bytes"] for line in file]
    return found, sum(kind["bytes"] for kind in json.loads(stats)["step_communication"].values())


def main():
    for name, plan, parts, form in SCHEMES:
        for p in (2, 3, 4, 8):
            with tempfile.TemporaryDirectory(prefix="sparse_bytes_") as folder:
                found, said = sent(folder, plan.format(p=p, parts=parts), p)
            right = len(found) == STEPS and all(0 <= bytes - form(p) <= SCALAR for bytes in [*found, said])
            check(f"{name}, {p} ranks: {found} bytes, {said} by the compiler, by the closed form {form(p):.0f}", right)
    finish("sparse_bytes")


main()
