#!/usr/bin/python3
"""Holds two runs against each other: compare_runs.py TOLERANCE STEPS A.log B.log [A.safetensors B.safetensors]

Losses and metrics of every step must agree to TOLERANCE relative, gradient norms to ten times that, and what the runs saved to
ten times that, relative to the largest element of the tensor. Both logs must have STEPS steps.
With --losses only losses and metrics are compared.
"""

import array
import json
import struct
import sys

NOT_COMPARED = ["ms", "samples_per_second", "sent_bytes"]
SMALL = 1e-6  # what is smaller than this is compared absolutely


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b), SMALL)


def read_log(path, steps):
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    found = [line for line in lines if "step" in line]
    if len(found) != steps:
        sys.exit(f"{path}: {len(found)} steps, expected {steps}")
    return lines


def compare_logs(a, b, tolerance):
    worst = 0.0
    for line_a, line_b in zip(a, b):
        keys = set(line_a) - set(NOT_COMPARED)
        if keys != set(line_b) - set(NOT_COMPARED):
            sys.exit(f"one log has {sorted(line_a)}, the other {sorted(line_b)}")
        for key in sorted(keys):
            difference = relative(line_a[key], line_b[key])
            worst = max(worst, difference)
            if not difference <= tolerance * (10 if key == "gradient_norm" else 1):
                sys.exit(f"step {line_a.get('step')}: {key} is {line_a[key]!r} and {line_b[key]!r}: {difference:.1e}")
    return worst


def read_tensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack_from("<Q", raw)
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        code = {"F32": "f", "F64": "d", "I32": "i"}[entry["dtype"]]
        tensors[name] = (entry["shape"], array.array(code, raw[8 + size + begin : 8 + size + end]))
    return tensors


def compare_tensors(a, b, tolerance):
    if a.keys() != b.keys():
        sys.exit(f"different tensors: {sorted(a.keys() ^ b.keys())}")
    worst = 0.0
    for name in a:
        (shape_a, data_a), (shape_b, data_b) = a[name], b[name]
        if shape_a != shape_b or len(data_a) != len(data_b):
            sys.exit(f"{name} is {shape_a} and {shape_b}")
        scale = max(max(map(abs, data_a), default=0), SMALL)
        difference = max(map(lambda x, y: abs(x - y), data_a, data_b), default=0) / scale
        worst = max(worst, difference)
        if not difference <= tolerance:
            sys.exit(f"{name} differs by {difference:.1e} of its largest element")
    return worst


def main():
    arguments = sys.argv[1:]
    if "--losses" in arguments:
        arguments = [a for a in arguments if a != "--losses"][:4]
        NOT_COMPARED.append("gradient_norm")
    tolerance, steps = float(arguments[0]), int(arguments[1])
    a, b = (read_log(path, steps) for path in arguments[2:4])
    if len(a) != len(b):
        sys.exit("one log has more lines than the other")
    text = f"scalars agree to {compare_logs(a, b, tolerance):.1e}"
    if len(arguments) > 4:
        a, b = (read_tensors(path) for path in arguments[4:6])
        if not a:
            sys.exit("nothing was saved")
        text += f", {len(a)} tensors to {compare_tensors(a, b, 10 * tolerance):.1e}"
    print(text)


if __name__ == "__main__":
    main()
