#!/usr/bin/python3
"""Traces of running programs (--trace): what is in them is what ran.

Each rank has a row for each stream; on a row nothing overlaps; each of the two steps has the operators of the program, in its order;
and no rank has done a collective before the last one has begun it, which clocks that are not aligned would say: where the system lets
a process have a clock of its own, that of one rank is an hour ahead. A program that is traced computes what it does else.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import ROOT, call, check, finish

CASES = [("mlp", 1, []), ("mlp", 2, ["--plan-in", os.path.join(ROOT, "samples/plans/mlp-columns-rows.plan")]), ("lenet", 3, []),
         ("charlm", 2, ["-D", "batch=8", "-D", "width=32", "-D", "context=4"])]
STREAMS = ["compute", "comm"]


def build(folder, name, model, ranks, options):
    out = os.path.join(folder, name)
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), *options, "-o", out + ".cu"]
    command += [] if "--plan-in" in options else [f"--ranks={ranks}"]
    quick = "--cc=tcc" if shutil.which("tcc") else "-O1"
    for step in [command, [os.environ["PARCC_CC"], "--target=host", quick, out + ".cu", "-o", out]]:
        code, _, said = call(step)
        if code != 0:
            sys.exit(f"{' '.join(step)}: {said}")
    return out


AHEAD = ["unshare", "--time", "--fork", "--monotonic", "3600"]
OTHER_CLOCKS = shutil.which("unshare") is not None and call([*AHEAD, "true"])[0] == 0


def run(program, ranks, *options):
    command = [program, "--data", "synthetic", "--quiet", *options]
    if ranks == 1:
        return call(command)
    launcher = ["mpiexec", "--oversubscribe", "--bind-to", "none"]
    last = AHEAD if OTHER_CLOCKS else []
    return call([*launcher, "-n", str(ranks - 1), *command, ":", "-n", "1", *last, *command])


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def rows_of(trace):
    """The spans by rank and stream, in the order of their beginnings."""
    rows = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append(event)
    return {row: sorted(spans, key=lambda e: (e["ts"], e["ts"] + e["dur"])) for row, spans in rows.items()}


def check_rows(what, trace, ranks):
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    check(f"{what}: rows {named}", named == {(r, s): STREAMS[s] for r in range(ranks) for s in range(2)})
    for row, spans in rows_of(trace).items():
        check(f"{what}: a row {row} without a name", row in named)
        for span, following in zip(spans, spans[1:]):
            end = nanoseconds(span["ts"]) + nanoseconds(span["dur"])
            check(f"{what}: {span} and {following} overlap", end <= nanoseconds(following["ts"]))


def written_order(program, inputs):
    """What a program without functions that layers share says it does in a step that does not report."""
    with open(program + ".cu") as file:
        text = file.read()
    order = [(0, name, None) for name in inputs]
    for procedure in ["forward", "backward", "update"]:
        body = re.search(r"^static void %s\(void\) \{\n(.*?)^\}" % procedure, text, re.S | re.M).group(1)
        order += [(int(comm == "_COMM"), op, where) for comm, op, where in re.findall(r'^  AT(_COMM)?\("(.*)", "(.*)"\);', body, re.M)]
    return order


def issued(spans):
    return [(e["tid"], e["name"], e["args"].get("where")) for e in sorted(spans, key=lambda e: e["order"])]


def check_steps(what, trace, ranks, steps, order):
    for place, event in enumerate(trace["traceEvents"]):
        event["order"] = place
    for rank in range(ranks):
        spans = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == rank]
        check(f"{what}: steps of rank {rank}", sorted({e["args"]["step"] for e in spans}) == steps)
        for step in steps:
            did = issued([e for e in spans if e["args"]["step"] == step])
            check(f"{what}: rank {rank}, step {step}: {did}, not {order}", did == order)


def check_collectives(what, trace, ranks):
    """Of collectives of all ranks: the same number on each, and none has ended before the last has begun."""
    rows, error = rows_of(trace), trace["otherData"]["clock_error_us"]
    comm = [rows.get((rank, 1), []) for rank in range(ranks)]
    check(f"{what}: as many collectives on each rank", len({len(spans) for spans in comm}) == 1)
    for spans in zip(*comm):
        if spans[0]["name"].endswith("all_reduce"):
            begin, end = max(e["ts"] for e in spans), min(e["ts"] + e["dur"] for e in spans)
            check(f"{what}: {spans} ends before it has begun, clocks within {error} us", end >= begin - 2 * error)


def losses(path):
    with open(path) as file:
        return [(line["step"], line["loss"]) for line in map(json.loads, file)]


def trace_case(folder, number, model, ranks, options):
    what = f"{model} {' '.join(options)} on {ranks}"
    program = build(folder, f"{model}{number}", model, ranks, options)
    trace, logs = program + ".json", [program + ".log", program + ".traced.log"]
    code, out, said = run(program, ranks, "--steps", "8", "--log", logs[1], "--trace", trace)
    check(f"{what}: {said}", code == 0 and "a trace of steps 4 to 5" in out)
    run(program, ranks, "--steps", "8", "--log", logs[0])
    check(f"{what}: tracing changes what is computed", losses(logs[0]) == losses(logs[1]))
    run(program, ranks, "--steps", "8", "--trace", trace) # without --log the two steps report nothing
    with open(trace) as file:
        read = json.load(file)
    check_rows(what, read, ranks)
    if model == "mlp":
        check_steps(what, read, ranks, [4, 5], written_order(program, ["image", "label"]))
    if ranks > 1:
        check_collectives(what, read, ranks)
    return program


def check_log(what, spans, path):
    """A step takes at least as long, by the log, as its operators from the first one to the last."""
    with open(path) as file:
        taken = {line["step"]: line["ms"] for line in map(json.loads, file)}
    for step in {e["args"]["step"] for e in spans}:
        of_step = [e for e in spans if e["args"]["step"] == step]
        ms = (max(e["ts"] + e["dur"] for e in of_step) - min(e["ts"] for e in of_step)) / 1e3
        check(f"{what}: step {step} takes {taken[step]} ms, its operators {ms}", taken[step] >= ms - 0.001)


def check_few(program):
    for steps, traced in [("1", [1]), ("2", [1, 2]), ("4", [3, 4])]:
        path, log = program + ".few", program + ".few.log"
        run(program, 1, "--steps", steps, "--trace", path, "--log", log)
        with open(path) as file:
            spans = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        check(f"of {steps} steps", sorted({e["args"]["step"] for e in spans}) == traced)
        check_log(f"of {steps} steps", spans, log)
    code, _, said = run(program, 1, "--steps", "1", "--trace", "/nowhere/t.json")
    check(f"a file that cannot be written: {said}", code == 1 and said.startswith("mlp: cannot write /nowhere/t.json: "))
    code, _, said = run(program, 1, "--steps", "1", "--trace", program + "/t.json")
    check(f"a folder that is a file: {said}", code == 1 and "Not a directory" in said)
    with open(path) as file:
        before = file.read()
    code = subprocess.run(["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "sh", program, "--data", "synthetic", "--quiet", "--steps", "4", "--trace", path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    with open(path) as file:
        check("where the disk is full the trace from before stays", code == 1 and file.read() == before)
    check("and nothing half-written is left", not os.path.exists(path + ".partial"))


with tempfile.TemporaryDirectory() as folder:
    programs = [trace_case(folder, number, *case) for number, case in enumerate(CASES)]
    check_few(programs[0])
finish("trace")
