#!/usr/bin/python3
"""What the program of `parcc data-stats` counts is in the data, and what parcc makes of it is about what a batch looks up.

Arrays of several columns, each a table of its own; windows of one sequence, whose table random numbers choose from, too; a table of two
inputs; values that no row has; data of another model, and numbers made up; what owners of rows send."""

import array
import collections
import json
import os
import random
import re
import tempfile

from checks import call, check, finish, launcher
from plans import tool

PARCC, PARCC_CC = tool("PARCC", "parcc"), tool("PARCC_CC", "parcc-cc")

ARRAYS = """model arrays(batch = 64, rows = 500) {
  input id[b = batch, f = 3]: int < rows;
  input click[b = batch];
  param wide[v = rows, c = 16] = normal_init(0.1);
  param both[v = rows, c = 16] = normal_init(0.1);
  a[b] = id[b, 0];
  p[b] = id[b, 1];
  q[b] = id[b, 2];
  x = embedding(a, wide) + embedding(p, both) + embedding(q, both);
  loss = binary_cross_entropy(view(dense(x, 1), "b 1 -> b"), click);
}
train {
  data id    = npy("id.npy");
  data click = npy("click.npy");
}
"""
WINDOWS = """model windows(batch = 16, words = 400) {
  input word[b = batch, t = 10]: int < words;
  input next[b = batch, t = 10]: int < words;
  param table[v = words, c = 8] = normal_init(0.1);
  param w[v = words, c = 8] = normal_init(0.1);
  param b[v = words] = 0;
  loss = sampled_cross_entropy(embedding(word, table), w, b, next, samples = 20);
}
train {
  data word = tokens("text.npy");
  data next = tokens("text.npy", shift = 1);
}
"""
OWNED = """model owned(batch = 64, rows = 20000) {
  input id[b = batch, t = 16]: int < rows;
  input click[b = batch];
  param table[v = rows, c = 64] = normal_init(0.1);
  x[b, c] = sum(t) embedding(id, table)[b, t, c];
  loss = binary_cross_entropy(view(dense(x, 1), "b 1 -> b"), click);
}
train {
  data id    = npy("id.npy");
  data click = npy("click.npy");
}
"""
BY_OWNERS = "plan 1 owned\nmesh gpu=2\ninput id b/gpu\ninput click b/gpu\nstore table v/gpu\nembedding v/gpu\nx b/gpu\n"


def write_npy(path, shape, dtype, values):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
        array.array({"<i4": "i", "<f4": "f"}[dtype], values).tofile(file)


def tables_of(text):
    """By name: rows, places and those outside, the mean of batches, and all counts as rows by places each (of classes a mean)."""
    tables = {}
    for part in text.split("\ntable ")[1:]:
        name, rows = re.match(r"(\S+) (\d+) rows\n", part).groups()
        places, outside = map(int, re.search(r"# (\d+) places, (\d+) of them outside", part).groups())
        batch = re.search(r"# a batch: (\S+) places in (\S+) rows", part)
        classes = [tuple(map(int, c)) for c in re.findall(r"^(\d+) rows (\d+) places$", part, re.M)]
        tables[name] = (int(rows), places, outside, tuple(map(float, batch.groups())), classes)
    return tables


def right_counts(table, values, rows):
    inside = collections.Counter(v for v in values if 0 <= v < rows)
    counts, at = sorted(inside.values(), reverse=True), 0
    for n, places in table[4]:
        if sum(counts[at:at + n]) != places or counts[at] > 16 / 15 * counts[at + n - 1] + 1:
            return False
        at += n
    return at == len(counts) and (table[0], table[1], table[2]) == (rows, len(values), len(values) - sum(counts))


def count(name, text):
    with open(f"{name}.dnn", "w") as file:
        file.write(text)
    check(f"{name}: parcc data-stats", call([PARCC, "data-stats", f"{name}.dnn", "-o", f"{name}.cu"])[0] == 0)
    check(f"{name}: it builds", call([PARCC_CC, "--target=host", "-O1", f"{name}.cu", "-o", name])[0] == 0)
    code, counted, said = call([f"./{name}", "--data", "."])
    check(f"{name}: it counts, and says nothing besides: {said}", code == 0 and said == "")
    with open(f"{name}.stats", "w") as file:
        file.write(counted)
    return tables_of(counted)


def distinct_rows(name):
    _, said, _ = call([PARCC, f"{name}.dnn", "--data-stats", f"{name}.stats", "--stats", "--json"])
    return {table: use["distinct_rows"] for table, use in json.loads(said)["tables"].items()}


def arrays(draw):
    n = 6400
    id = [min(int(500 * draw.random() ** power), 499) for _ in range(n) for power in (1, 3, 8)]
    id[0], id[4], id[8] = 500, -1, 2**31 - 1
    write_npy("id.npy", (n, 3), "<i4", id)
    write_npy("click.npy", (n,), "<f4", [0.0] * n)
    tables = count("arrays", ARRAYS)
    check("a column", right_counts(tables["wide"], id[0::3], 500) and tables["wide"][2] == 1)
    check("two columns of one table", right_counts(tables["both"], id[1::3] + id[2::3], 500) and tables["both"][2] == 2)
    check("nothing else is a table", list(tables) == ["wide", "both"])
    for table, found in distinct_rows("arrays").items():
        places, rows = tables[table][3]
        check(f"{table}: {found} rows of {places}, a batch has {rows}", places == {"wide": 64, "both": 128}[table] and abs(found - rows) < 0.02 * rows)
    code, _, said = call([PARCC, "arrays.dnn", "-D", "rows=501", "--data-stats", "arrays.stats", "--stats"])
    check("counts of another model", code == 1 and "of the model has 501 rows, the one that was counted 500" in said)
    code, counted, said = call(["./arrays", "--data", "synthetic"])
    check("numbers made up", code == 2 and counted == "" and "made up" in said)
    check("--help", "Counts which rows" in call(["./arrays", "--help"])[1])


def windows(draw):
    text = [min(int(400 * draw.random() ** 4), 399) for _ in range(20001)]
    write_npy("text.npy", (len(text),), "<i4", text)
    tables = count("windows", WINDOWS)
    check("windows", right_counts(tables["table"], text[:20000], 400) and right_counts(tables["w"], text[1:], 400))
    check("tables", sorted(tables) == ["b", "table", "w"])
    found, alone = distinct_rows("windows"), tables["table"][3][1]
    check(f"rows of a batch: {found['table']} for {alone}", abs(found["table"] - alone) < 0.03 * alone)
    # Of the 20 rows that are drawn nothing is known: they count as rows of their own.
    check(f"with rows drawn: {found['w']}", abs(found["w"] - 20 - tables["w"][3][1]) < 0.03 * alone)


def owned(draw):
    """Owners serve each row once that a rank needs several times: what two ranks send is what is expected, which without counts is more."""
    n, steps = 6400, 60
    of_rank = list(range(20000))
    draw.shuffle(of_rank)
    write_npy("id.npy", (n, 16), "<i4", [of_rank[int(20000 * draw.random() ** 6)] for _ in range(16 * n)])
    write_npy("click.npy", (n,), "<f4", [0.0] * n)
    count("owned", OWNED)
    with open("owned.plan", "w") as file:
        file.write(BY_OWNERS)
    plan = [PARCC, "owned.dnn", "--machine=pcie2", "--plan-in", "owned.plan", "-q"]
    _, unknown, _ = call([*plan, "--stats", "--json"])
    _, known, _ = call([*plan, "--data-stats", "owned.stats", "--stats", "--json"])
    unknown, known = (sum(kind["bytes"] for kind in json.loads(said)["step_communication"].values()) for said in (unknown, known))
    built = call([*plan, "-o", "by_owners.cu"])[0] == 0 and call([PARCC_CC, "--target=host", "-O1", "by_owners.cu", "-o", "by_owners"])[0] == 0
    code, _, said = call([*launcher(2), "./by_owners", "--data", ".", "--steps", str(steps), "--log", "owned.log", "--quiet"])
    check(f"two owners: {said}", built and code == 0)
    with open("owned.log") as log:
        sent = [json.loads(line)["sent_bytes"] for line in log if "sent_bytes" in line]
    mean = sum(sent) / len(sent)
    check(f"{mean} bytes are sent, {known} expected, {unknown} by places", abs(mean - known) < 0.01 * mean and unknown > 1.1 * mean)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    draw = random.Random(1)
    arrays(draw)
    windows(draw)
    owned(draw)
    os.chdir("/")
finish("data_stats")
