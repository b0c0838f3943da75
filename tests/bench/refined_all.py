#!/usr/bin/python3
"""auto beside flexflow, which gets 10 times its time: what a step takes as streams overlap, every sample on every machine, on 2 to 64 devices.

    refined_all.py [--models A,B] [--machines A,B] [--devices 2,4] [--table FILE] [--compiler NAME]

flexflow draws: its walk ends by itself, and another one with the next seed begins until they have searched for so long together; the best of
their plans counts. One line for each model, machine and number of devices: the step of auto in ms, that of the plan with the least
sum from which it came, how long it searched, the best step of flexflow, how many walks there were and how long they took, how many times as long
as auto's its step is, and the compiler (NAME: by default the commit of this tree). '-': no plan fits. Few devices come first. The table is
added to, and what stands in it is not tried again. It is an error if flexflow's step is shorter.
"""

import argparse
import json
import os
import subprocess
import sys

from compare_all import names
from table import ROOT, Table, add_options

DEVICES = [2, 4, 8, 16, 32, 64]
HEAD = ["model", "machine", "devices", "auto ms", "unrefined ms", "search s", "flexflow ms", "walks", "searched s", "times", "compiler"]
AS_LONG = 10
ROUNDING = 1e-5  # of what is printed


def plan(model, machine, devices, search, *options):
    """What a planner says; None where the machine has not so many devices."""
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), f"--machine={machine}", f"--devices={devices}",
               f"--search={search}", "--compare", "--json", *options]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["planners"][0]


def step(found):
    return found["overlapped_seconds"] if found["fits"] else float("inf")


def walk(model, machine, devices, seconds):
    """The best step of walks that search for so long, how many they are, and how long they took."""
    best, walks, searched = float("inf"), 0, 0
    while walks == 0 or searched < seconds:
        found = plan(model, machine, devices, "flexflow", f"--seed={walks}")
        best, walks, searched = min(best, step(found)), walks + 1, searched + found["search_seconds"]
    return best, walks, searched


def ms(seconds):
    return f"{seconds * 1e3:.5g}" if seconds < float("inf") else "-"


def row_of(auto, best, walks, searched):
    """The cells behind model, machine and devices, and whether flexflow's step is no shorter."""
    ours = step(auto)
    known = max(ours, best) < float("inf")
    return [ms(ours), ms(auto.get("search_overlapped_seconds") or float("inf")), f"{auto['search_seconds']:.2f}", ms(best), str(walks), f"{searched:.2f}",
            f"{best / ours:.3f}" if known else "-"], ours <= best * (1 + ROUNDING)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(names("samples", ".dnn")))
    parser.add_argument("--machines", default=",".join(names("samples/machines", ".machine")))
    parser.add_argument("--devices", default=",".join(map(str, DEVICES)))
    add_options(parser, "refined_all.tsv")
    options = parser.parse_args()
    table, worse = Table(options.table, HEAD), 0
    for where in ((model, machine, devices) for devices in options.devices.split(",") for model in options.models.split(",")
                  for machine in options.machines.split(",")):
        auto = None if where in table.rows else plan(*where, "auto")
        if auto is None:
            continue
        cells, right = row_of(auto, *walk(*where, AS_LONG * auto["search_seconds"]))
        table.add(*where, *cells, options.compiler)
        print(*where, *cells, "" if right else "WORSE", sep="\t", flush=True)
        worse += not right
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
