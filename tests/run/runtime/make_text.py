"""make_text.py make DIR: writes the sequences that text.sh reads, right and damaged ones. Standard library only.

make_text.py check_lines LOG DIR HELD_OUT: the same of the lines of source.txt and, with begin 2, those of target.txt; HELD_OUT 0:
of the files test-source.txt and test-target.txt. HELD_OUT bytes: lines of source.txt, and their bytes with end 10, a tenth held out.

make_text.py words DIR: the file train is what words.py should make of source.txt.

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
    make_lines(root)

    with open(f"{root}/huge.bin", "wb") as file:
        count = 2**26 + 1000
        file.write(header(20240520, 1, count))
        file.seek(1024 + 2 * (count - 1))
        file.write(struct.pack("<H", 300))


WORDS = ["<pad>", "<unk>", "<s>", "</s>", "the", "cat", "sat", "on", "a", "mat", "and", "looked", "\u00e4u\u00dfert"]


def make_lines(root):
    def line(i):
        words = [WORDS[4 + (i * 7 + k * (i + 3)) % 9] for k in range(i * 5 % 9)]
        return words + (["dog"] if i % 4 == 1 else [])

    for name, first, count in ("source", 0, 20), ("target", 100, 20), ("test-source", 50, 7), ("test-target", 80, 7):
        lines = [line(first + i) for i in range(count)]
        text = "".join("%s%s%s\n" % (" " * (i % 2), ("  " if i % 3 == 0 else "\t").join(words), "\r" if i % 5 == 0 else "")
                       for i, words in enumerate(lines))
        write(f"{root}/{name}.txt", (text[:-1] if name == "target" else text).encode())
    write(f"{root}/words", "\n".join(WORDS).encode())
    write(f"{root}/bad_words", "\n".join(f"{word}{i}" for i in range(20) for word in WORDS).encode())
    write(f"{root}/bad_few.txt", b"the cat\n")


def rows(path, length, begin=-1, end=-1, as_bytes=False):
    result = []
    for line in open(path, "rb").read().removesuffix(b"\n").split(b"\n"):
        line = line.removesuffix(b"\r")
        tokens = list(line) if as_bytes else [WORDS.index(w) if w in WORDS else 1 for w in line.decode().split()]
        tokens = ([begin] if begin >= 0 else []) + tokens + ([end] if end >= 0 else [])
        result.append((tokens + [0] * length)[:length])
    return result


def check_words(folder):
    """What words.py made of source.txt."""
    data = open(folder + "/train", "rb").read()
    wanted = [t for line in open(folder + "/source.txt", "rb").read().removesuffix(b"\n").split(b"\n")
              for t in [WORDS.index(w) if w in WORDS else 1 for w in line.decode().split()] + [3]]
    assert data == bin16(wanted), (len(data), len(wanted))


def of_rows(a, b):
    return [sum(x * (t + 1) + 1000 * x * y for t, (x, y) in enumerate(zip(*pair))) for pair in zip(a, b)]


def check_lines(log, folder, held_out):
    if held_out == "bytes":
        train = of_rows(rows(folder + "/source.txt", 5, as_bytes=True), rows(folder + "/source.txt", 5, end=10, as_bytes=True))
        compare(log, train[:18], train[18:])
        return
    train = of_rows(rows(folder + "/source.txt", 5), rows(folder + "/target.txt", 5, begin=2))
    test = of_rows(rows(folder + "/test-source.txt", 5), rows(folder + "/test-target.txt", 5, begin=2))
    n = len(train) - int(len(train) * float(held_out))
    compare(log, *((train, test) if n == len(train) else (train[:n], train[n:])))


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
    compare(log, expected(values, context, shift, stride), expected(test, context, shift, stride))


def compare(log, train, test):
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
elif sys.argv[1] == "words":
    check_words(sys.argv[2])
elif sys.argv[1] == "check_lines":
    check_lines(*sys.argv[2:5])
else:
    check(*sys.argv[2:5], *map(int, sys.argv[5:8]), float(sys.argv[8]))
