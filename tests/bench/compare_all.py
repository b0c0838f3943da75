#!/usr/bin/python3
"""auto beside the planners whose plans it looks at, all others but flexflow: every sample on every machine that parcc knows, on 2 to 64 devices.

    compare_all.py [--models A,B] [--machines A,B] [--devices 2,4] [--time-limit SECONDS] [--table FILE] [--compiler NAME]

One line for each model, machine and number of devices: the predicted step of auto in ms, its proved gap in percent ('-': nothing is
proved), how long it searched, the best of the others, how many times as long its step takes, and the compiler (NAME: by default the
commit of this tree). Few devices, which take least, come first. The table is added to, and what stands in it is not tried again. It is
an error if auto is worse than another planner, or finds nothing that fits where another does.
"""

import argparse
import json
import os
import subprocess
import sys

from table import ROOT, Table, add_options

DEVICES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
HEAD = ["model", "machine", "devices", "auto ms", "gap %", "search s", "best other", "other ms", "times", "compiler"]
PLANNERS = "data,single,model,owt,megatron,fsdp,auto,optcnn,soybean,tofu"
ROUNDING = 1e-5  # of what is printed


def names(folder, suffix):
    return sorted(name[: -len(suffix)] for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(suffix))


def compare(model, machine, devices, options):
    """What the planners say: None where the machine has not so many devices."""
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), f"--machine={machine}", f"--devices={devices}",
               "--compare", "--json", f"--search={PLANNERS}", "--objective=sum", *options]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 2 and "devices are asked for, the machine" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["planners"]


def row_of(planners):
    """The cells behind model, machine and devices, and whether auto is as good as any."""
    auto = next(planner for planner in planners if planner["planner"] == "auto")
    others = [planner for planner in planners if planner is not auto and planner["fits"]]
    best = min(others, key=lambda planner: planner["step_seconds"]) if others else None
    step = auto["step_seconds"] if auto["fits"] else None
    proved = auto["fits"] and auto["search_bound"]
    right = best is None or (step is not None and step <= best["step_seconds"] * (1 + ROUNDING))
    return [f"{step * 1e3:.5g}" if step else "-", f"{auto['search_gap'] * 100:.2g}" if proved else "-", f"{auto['search_seconds']:.2f}",
            best["planner"] if best else "-", f"{best['step_seconds'] * 1e3:.5g}" if best else "-",
            f"{best['step_seconds'] / step:.3f}" if best and step else "-"], right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(names("samples", ".dnn")))
    parser.add_argument("--machines", default=",".join(names("samples/machines", ".machine")))
    parser.add_argument("--devices", default=",".join(map(str, DEVICES)))
    parser.add_argument("--time-limit", help="seconds of each search")
    add_options(parser, "compare_all.tsv")
    options = parser.parse_args()
    extra = [f"--time-limit={options.time_limit}"] if options.time_limit else []
    table, worse = Table(options.table, HEAD), 0
    for where in ((model, machine, devices) for devices in options.devices.split(",") for model in options.models.split(",")
                  for machine in options.machines.split(",")):
        planners = None if where in table.rows else compare(*where, extra)
        if planners is None:
            continue
        cells, right = row_of(planners)
        table.add(*where, *cells, options.compiler)
        print(*where, *cells, "" if right else "WORSE", sep="\t", flush=True)
        worse += not right
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
