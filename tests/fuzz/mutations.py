#!/usr/bin/python3
"""Files that are nearly right, through the whole compiler: mutations.py [--seed N] [--runs N] (PARCC: the compiler; defaults 1, 60 of each kind).

A model, a plan, a machine and a profile that go together, one of them changed at random: lines that are missing, doubled, exchanged, cut off,
and other words, numbers and bytes in them. The fuzzers in C know what a reader does; this is about what becomes of it: the compiler must end by
itself and in time, with code 0 and what was asked for, or with code 1 or 2, an error with a place where a file is at fault, and nothing
written; and what it prints has no number that is none. Where one fails, the files are kept and the command is printed.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run"))
from checks import ROOT, call, check, finish

PARCC = os.environ["PARCC"]
NUMBERS = [b"0", b"1", b"-1", b"3", b"7", b"65536", b"2147483648", b"9007199254740992", b"99999999999999999999", b"1e308", b"1e-320", b"1e400", b"nan", b"inf", b""]
WORDS = [b"a", b"batch", b"pin", b"*", b"=", b"{", b"}", b"\"", b"\0", b"\xff", b"int", b"x" * 300]
SECONDS = 60  # far more than any of these takes, sanitized on a busy machine
FIXED = ["--search=data,single", "--search=data", "--search=optcnn"]  # all planners read the same costs; these are fast
REDUCED = {"mlp": ["-D", "batch=12", "-D", "width=12", "-D", "size=4"], "lenet": ["-D", "batch=6"],
           "charlm": ["-D", "batch=5", "-D", "width=12", "-D", "context=3"]}


def sample(name):
    with open(os.path.join(ROOT, "samples", name), "rb") as file:
        return file.read()


def text_of(command):
    code, out, err = call([PARCC, *command])
    if code != 0:
        sys.exit(f"{' '.join(command)}: {err}")
    return out.encode()


def change_line(rng, line):
    kind = rng.randrange(4)
    pieces = re.split(rb"(\d+(?:\.\d+)?)" if kind == 0 else rb"(\w+|[^\w\s])", line)
    if kind == 3 or len(pieces) < 3:
        at = rng.randrange(len(line) + 1)
        return line[:at] + bytes([rng.randrange(256)]) + line[at + 1:] if rng.random() < 0.5 else line[:at]
    pieces[2 * rng.randrange(len(pieces) // 2) + 1] = rng.choice(NUMBERS if kind == 0 else NUMBERS + WORDS)
    return b"".join(pieces)


def mutate(rng, text):
    lines = text.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, other, kind = rng.randrange(len(lines)), rng.randrange(len(lines)), rng.randrange(7)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(other, lines[at])
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = change_line(rng, lines[at])
    return b"\n".join(lines)


class Case:
    """Files that go together: by suffix their text, and the options that name them."""

    def __init__(self, name):
        model = os.path.join(ROOT, "samples", name + ".dnn")
        options = [model, *REDUCED[name], "--machine=p100x4x4", "--mesh=node=2,gpu=2"]
        self.sizes = REDUCED[name]
        self.plans = [text_of([*options, f"--plan=random:{seed}", "--plan-out", "-"]) for seed in (1, 2)]
        self.files = {"dnn": sample(name + ".dnn"), "machine": sample("machines/p100x4x4.machine"),
                      "profile": text_of([*options, "--search=data", "--profile-out", "-"])}

    def options(self, rng, changed):
        """The options of a compilation that reads what is changed, and whether it writes x.cu."""
        options = ["x.dnn", *(self.sizes if changed != "dnn" or rng.random() < 0.5 else [])]
        by_plan = changed == "plan"
        if changed in ("machine", "profile") or rng.random() < 0.5:
            options += ["--machine=./x.machine", *(["--profile=x.profile"] if changed == "profile" else [])]
            options += ["--plan-in=x.plan"] if by_plan else [rng.choice(["--devices=1", "--devices=3", "--devices=4"])]
            kind = rng.randrange(3)
            if kind == 0 and not by_plan:
                return [*options, FIXED[0], "--compare"], False
            if kind == 1:
                return [*options, *([] if by_plan else [FIXED[1]]), "--stats"], False
            return [*options, *([] if by_plan else [rng.choice(FIXED[1:])]), "-o", "x.cu"], True
        plan = ["--plan-in=x.plan"] if by_plan else [rng.choice(["--ranks=5", "--mesh=a=2,b=3"]), f"--plan=random:{rng.randrange(9)}"]
        return [*options, *plan, "-o", "x.cu"], True


def try_one(rng, folder, case, changed):
    files = {**case.files, "plan": rng.choice(case.plans)}
    files[changed] = mutate(rng, files[changed])
    for suffix, text in files.items():
        with open(os.path.join(folder, "x." + suffix), "wb") as file:
            file.write(text)
    options, writes = case.options(rng, changed)
    try:
        done = subprocess.run([PARCC, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return options, f"not done after {SECONDS} s"
    said = done.stderr.decode(errors="replace")
    written = sorted(set(os.listdir(folder)) - {"x." + suffix for suffix in files})
    if "runtime error" in said or "Sanitizer" in said or done.returncode not in (0, 1, 2):
        return options, f"code {done.returncode}: {said[:1000]}"
    if done.returncode == 0:
        number = re.search(r"(?<![\w.])-?(nan|inf)(?![\w.])", done.stdout.decode(errors="replace") + said)
        return options, f"'{number.group(0)}' is printed" if number else None if written == ["x.cu"] * writes else f"written: {written}"
    if written or "error: " not in said:
        return options, f"code {done.returncode}, written: {written}, said: {said[:300]}"
    placed = re.search(rf"^((?:\./)?x\.{changed}|[^ ]*\.dnn)(:\d+:\d+)?: error: ", said, re.M)
    of_no_file = re.search(r"^parcc: error: (a device needs|-D |--|\d+ devices )", said, re.M)
    return options, None if placed or of_no_file else f"no place: {said[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=60)
    args = parser.parse_args()
    cases = [Case(name) for name in REDUCED]
    for changed in ["dnn", "plan", "machine", "profile"]:
        for run in range(args.runs):
            rng = random.Random(f"{args.seed} {changed} {run}")
            folder = tempfile.mkdtemp()
            options, wrong = try_one(rng, folder, rng.choice(cases), changed)
            check(f"{changed} {run}: cd {folder}; parcc {' '.join(options)}\n{wrong}", wrong is None)
            if wrong is None:
                shutil.rmtree(folder)
    finish("mutations")


main()
