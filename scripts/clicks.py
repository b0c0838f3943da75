#!/usr/bin/python3
"""Clicks that could be real, for samples/dlrm.dnn: clicks.py DIR [OPTIONS]

Of every sample 13 numbers, as many categories as there are tables, and whether somebody clicks, about one time in four. As in logs of
advertisements, numbers are logarithms of counts, and few categories are frequent: the k-th one of a table comes up about k^-EXPONENT
times as often as the first. A click is drawn by the logistic of a sum over the numbers and over an effect of each category, which are
what a model can learn. A tenth more samples are the test split. The same options give the same files. Standard library only.
"""

import argparse
import array
import math
import os
import random
import struct

NUMBERS = 13


def write_npy(path, shape, dtype, values):
    """An array in NumPy's format, version 1, under another name first, so that nothing is half-written."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path + ".partial", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        values.tofile(file)
    os.replace(path + ".partial", path)


def draw_category(generator, rows, exponent):
    """The inverse of a power law's distribution over [1, rows + 1)."""
    u, power = generator.random(), 1 - exponent
    place = (rows + 1) ** u if abs(power) < 1e-9 else (u * ((rows + 1) ** power - 1) + 1) ** (1 / power)
    return min(int(place), rows) - 1


def effect(table, category):
    """The same for a category of a table wherever it comes up: about normal, from a hash (splitmix64)."""
    x = (table << 32 | category) * 0x9E3779B97F4A7C15 & 2**64 - 1
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & 2**64 - 1
    x = (x ^ x >> 27) * 0x94D049BB133111EB & 2**64 - 1
    return sum(x >> shift & 0xFFFF for shift in (0, 16, 32, 48)) / 2**16 - 2


def make(folder, prefix, samples, options, generator, weights):
    numbers, categories, clicks = array.array("f"), array.array("i"), array.array("f")
    for _ in range(samples):
        own = [math.log1p(generator.expovariate(0.1)) for _ in range(NUMBERS)]
        chosen = [draw_category(generator, options.rows, options.exponent) for _ in range(options.tables)]
        score = sum(w * (x - 2) for w, x in zip(weights, own)) + sum(effect(t, c) for t, c in enumerate(chosen)) / math.sqrt(options.tables)
        numbers.extend(own)
        categories.extend(chosen)
        clicks.append(generator.random() < 1 / (1 + math.exp(1.4 - 2 * score)))
    write_npy(os.path.join(folder, prefix + "numbers.npy"), (samples, NUMBERS), "<f4", numbers)
    write_npy(os.path.join(folder, prefix + "categories.npy"), (samples, options.tables), "<i4", categories)
    write_npy(os.path.join(folder, prefix + "clicks.npy"), (samples,), "<f4", clicks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--rows", type=int, default=100000, help="of each table")
    parser.add_argument("--exponent", type=float, default=1.05)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if min(options.samples, options.tables, options.rows) < 1 or options.exponent < 0:
        parser.error("--samples, --tables and --rows are at least 1, --exponent at least 0")
    os.makedirs(options.folder, exist_ok=True)
    generator = random.Random(options.seed)
    weights = [generator.gauss(0, 0.3) for _ in range(NUMBERS)]
    make(options.folder, "", options.samples, options, generator, weights)
    make(options.folder, "test-", max(options.samples // 10, 1), options, generator, weights)


main()
