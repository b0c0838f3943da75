#!/usr/bin/python3
"""What lm1b sends in a step, by the programs' own counters, follows closed forms for each way to synchronise its two tables.

The ranks of a program find each other over TCP, where collectives go round a ring and every byte is counted: `sent_bytes` of the
log. Of n elements a rank sends n (p - 1) / p in an all-gather and in a reduce-scatter, twice that in an all-reduce (Patarasuk and
Yuan 2009). Extents are multiples of all numbers of ranks, so that all blocks are equal; a single scalar is not divided. What the compiler
says of the step follows them, too.

Rows that owners serve go to those who look them up, one for all places of a rank with the same index. In one text all words differ, and each
window has as many of each owner: every pair of ranks has as many rows for each other, n (p - 1) / p^2 in all, as the compiler expects. In
the other text all words are the same, and their owner, rank 0, sends one row to each rank. The samples are drawn, and cluster in the first rows: of them
rank 0 has some, and sends them to all.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

import plans
from checks import ROOT, call, check, finish
from plans import tool

REAL = INT = 4  # bytes
B, T, C, H, V, S = 24, 24, 48, 24, 1200, 24  # batch, context, width, hidden, vocabulary, samples
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
    """Indices gathered for the owners of rows, who serve them; backward as above."""
    return as_rows(p) + gather(2 * B * T, p) + gather(2 * B * T * C, p) / p


def by_owner_of_all(p):
    """The same where all words are one."""
    return by_owners(p) - gather(2 * B * T * C, p) / p + 2 * C * REAL * (p - 1)


def of_samples(p):
    """At most, of the samples that rank 0 owns; as the compiler expects it, all ranks own as many."""
    return S * C * REAL * (p - 1)


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
def none(_):
    return 0


# A batch in two parts adds up whole gradients. Closed forms, and what may come to them, of the run and as the compiler says.
SCHEMES = [
    ("whole gradients", DATA, "microbatches = 2", "different", as_whole, none, as_whole),
    ("rows and values", DATA, "", "different", as_rows, none, as_rows),
    ("owners of rows", OWNERS, "", "different", by_owners, of_samples, by_owners),
    ("one owner of all rows", OWNERS, "", "same", by_owner_of_all, of_samples, by_owners),
]


def write_text(folder, words):
    """B windows: word t of the window b is the b-th of the t-th part of the vocabulary, or all are the first word."""
    tokens = [t * (V // T) + b if words == "different" else 0 for b in range(B) for t in range(T)] + [B if words == "different" else 0]
    for name in ("train.bin", "valid.bin"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253) + struct.pack(f"<{len(tokens)}H", *tokens))


def run(command):
    code, printed, said = call(command)
    if code != 0:
        raise subprocess.CalledProcessError(code, command, stderr=said)
    return printed


def sent(folder, plan, words, p):
    """Bytes that rank 0 sends in each step, and those that the compiler says of one."""
    path = os.path.join(folder, "lm1b")
    with open(path + ".plan", "w") as file:
        file.write(plan)
    write_text(folder, words)
    defines = [word for define in SIZE.split() for word in ("-D", define)]
    model = os.path.join(ROOT, "samples", "lm1b.dnn")
    launch = [sys.executable, os.path.join(ROOT, "tests", "run", "launch.py"), str(p)]
    stats = run([tool("PARCC", "parcc"), model, "-q", *defines, "--plan-in", path + ".plan", "-o", path + ".cu", "--stats", "--json"])
    run([tool("PARCC_CC", "parcc-cc"), "--target=host", *plans.compiler(False), "-O0", path + ".cu", "-o", path])
    run([*launch, path, f"--data={folder}", f"--steps={STEPS}", "--quiet", f"--log={path}.log"])
    with open(path + ".log") as file:
        found = [json.loads(line)["sent_bytes"] for line in file]
    return found, sum(kind["bytes"] for kind in json.loads(stats)["step_communication"].values())


def main():
    for name, plan, parts, words, form, more, expected in SCHEMES:
        for p in (2, 3, 4, 8):
            with tempfile.TemporaryDirectory(prefix="sparse_bytes_") as folder:
                found, said = sent(folder, plan.format(p=p, parts=parts), words, p)
            right = len(found) == STEPS and all(0 <= bytes - form(p) <= SCALAR + more(p) for bytes in found)
            right &= 0 <= said - expected(p) - more(p) / p <= SCALAR
            check(f"{name}, {p} ranks: {found} bytes, {said} by the compiler, by the closed form {form(p):.0f}", right)
    finish("sparse_bytes")


main()
