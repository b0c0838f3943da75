"""make_text.py make DIR: writes the sequences that text.sh reads, right and damaged ones. Standard library only.

make_text.py check LOG DIR/FILE SPLIT CONTEXT SHIFT STRIDE HELD_OUT: what a program of text.sh logged over one epoch and an
evaluation is what windows of the tokens in FILE.json give; SPLIT is the file of the test split ("-": none).
"""

import gzip
import json
import os
import struct
import sys

from make_data import npy, write

COUNT, TEST_COUNT = 143, 41  # tokens


def tokens(n, seed):
    return [(seed + i * i * 7 + i // 3) % 251 for i in range(n)]


def header(magic, version, count):
    return struct.pack("<256i", magic, version, count, *[0] * 253)


def bin16(values):
    return header(20240520, 1, len(values)) + struct.pack("<%dH" % len(values), *values)


def bin32(values):
    return header(20240801, 7, len(values)) + struct.pack("<%dI" % len(values), *values)


def make(root):
    train, test = tokens(COUNT, 3), tokens(TEST_COUNT, 11)
    large = [t * 251 + 7 for t in train]
    for name, values in ("train", train), ("test", test), ("large", large):
        write(f"{root}/{name}.json", json.dumps(values).encode())
    for name, values in ("train", train), ("test", test):
        write(f"{root}/{name}.txt", bytes(values))
        write(f"{root}/{name}.txt.gz", bytes(values))
        for code in "BHIiq":
            write(f"{root}/{name}_{code}.npy", npy(code, (len(values),), values))
        write(f"{root}/{name}_16.bin", bin16(values))
        write(f"{root}/{name}_32.bin", bin32(values))
    write(f"{root}/large_16.bin", bin16(large))
    write(f"{root}/large_I.npy", npy("I", (COUNT,), large))

    good = bin16(train)
    bad = {
        "empty.txt": b"",
        "short.txt": b"four",
        "cut.txt.gz": gzip.compress(bytes(train))[:-20],
        "empty.bin": b"",
        "no_magic.bin": b"\0" + good[1:],
        "raw.bin": struct.pack("<9H", *range(9)),
        "version.bin": header(20240520, 2, COUNT) + good[1024:],
        "header.bin": good[:700],
        "truncated.bin": good[:-1],
        "long.bin": good + b"\0",
        "none.bin": header(20240520, 1, 0),
        "negative.bin": header(20240520, 1, -3) + good[1024:],
        "range.bin": bin16(train[:100] + [256] + train[101:]),
        "range32.bin": bin32(train[:100] + [2**32 - 1] + train[101:]),
        "minus.npy": npy("i", (COUNT,), train[:7] + [-1] + train[8:]),
        "matrix.npy": npy("H", (11, 13), train),
        "reals.npy": npy("f", (COUNT,), train),
    }
    for name, data in bad.items():
        with open(f"{root}/bad_{name}", "wb") as file:
            file.write(data)
    os.makedirs(f"{root}/bad_folder.txt")

    # 2^26 and some tokens, almost all of them a hole in the file; the last one is too large.
    with open(f"{root}/huge.bin", "wb") as file:
        count = 2**26 + 1000
        file.write(header(20240520, 1, count))
        file.seek(1024 + 2 * (count - 1))
        file.write(struct.pack("<H", 300))


def expected(values, context, shift, stride):
    """Of each window: what the model of text.sh computes of one sample."""
    reach = context + max(0, shift)
    return [sum(values[s + t] * (t + 1) + 1000 * values[s + t] * values[s + shift + t] for t in range(context))
            for s in range(0, len(values) - reach + 1, stride)]


def check(log, train_file, test_file, context, shift, stride, held_out):
    values = json.load(open(train_file + ".json"))
    if held_out > 0:
        n = len(values) - int(len(values) * held_out)
        values, test = values[:n], values[n:]
    else:
        test = json.load(open(test_file + ".json"))
    train, test = expected(values, context, shift, stride), expected(test, context, shift, stride)
    lines = [json.loads(line) for line in open(log)]
    evaluation = lines.pop()
    steps = len(lines)
    assert steps > 0 and len(train) % steps == 0, (steps, len(train))
    batch = len(train) // steps
    assert len({line["loss"] for line in lines}) > 1
    losses = [line["loss"] for line in lines]
    assert abs(sum(losses) * batch / sum(train) - 1) < 1e-12, (sum(losses) * batch, sum(train))
    in_order = [sum(train[i * batch:(i + 1) * batch]) / batch for i in range(steps)]
    assert any(abs(a - b) > 1e-6 for a, b in zip(losses, in_order)), "not shuffled"
    assert evaluation["samples"] == len(test), (evaluation, len(test))
    assert abs(evaluation["loss"] * len(test) / sum(test) - 1) < 1e-12, (evaluation, sum(test))


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:5], *map(int, sys.argv[5:8]), float(sys.argv[8]))
