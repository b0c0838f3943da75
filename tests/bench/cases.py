"""Every sample on every machine that parcc knows, on so many devices: what planners say of them, row by row."""

import json
import os
import subprocess
import sys

from table import ROOT, Table, add_options

ROUNDING = 1e-5  # of what is printed


def names(folder, suffix):
    return sorted(name[: -len(suffix)] for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(suffix))


def add_case_options(parser, devices, table):
    parser.add_argument("--models", default=",".join(names("samples", ".dnn")))
    parser.add_argument("--machines", default=",".join(names("samples/machines", ".machine")))
    parser.add_argument("--devices", default=",".join(map(str, devices)))
    add_options(parser, table)


def planners_of(model, machine, devices, *options):
    """What the planners say: None where the machine has not so many devices."""
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), f"--machine={machine}", f"--devices={devices}",
               "--compare", "--json", *options]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 2 and "devices are asked for, the machine" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["planners"]


def ms(seconds):
    return f"{seconds * 1e3:.5g}" if seconds < float("inf") else "-"


def fill(options, head, row_of):
    """Adds the rows that the table lacks, few devices first. row_of(model, machine, devices): None, or the cells behind these three and
    whether they are as they should be. The exit code: 1 where some are not."""
    table, worse = Table(options.table, head), 0
    for where in ((model, machine, devices) for devices in options.devices.split(",") for model in options.models.split(",")
                  for machine in options.machines.split(",")):
        row = None if where in table.rows else row_of(*where)
        if row is None:
            continue
        cells, right = row
        table.add(*where, *cells, options.compiler)
        print(*where, *cells, "" if right else "WORSE", sep="\t", flush=True)
        worse += not right
    return 1 if worse else 0
