#!/usr/bin/python3
"""How long flexflow searches beside what its authors published, and what it finds, for their six networks on 4 to 64 devices.

    flexflow.py [--models A,B] [--devices 4,8] [--table FILE] [--compiler NAME]

The devices are those of k80x16x4, the batch is the authors' (64 samples a device, 256 of alexnet). One line for each network and number of
devices: the seconds that the processor works (user and system: their sum is exact where runs are short) on the whole compilation, and on it
without those of --search=data, which is about the search; what was published for delta simulation (Jia, Zaharia, Aiken, MLSys 2019, table 5)
and how many times as long that is as the search; what a step takes by the simulation: of what was found, of data parallelism, of owt, of
optcnn; and the compiler (NAME: by default the commit of this tree). The least time of three runs counts. It is an error if one of these takes
less than what was found. The table is added to, and what stands in it is not tried again.
"""

import argparse
import os
import re
import resource
import subprocess
import sys

from table import ROOT, Table, add_options

MACHINE = "k80x16x4"
RUNS = 3
HEAD = ["model", "machine", "devices", "compile s", "search s", "published s", "times", "found ms", "data ms", "owt ms", "optcnn ms", "compiler"]
PUBLISHED = {  # by the number of devices
    "alexnet": {4: 0.04, 8: 0.13, 16: 0.48, 32: 1.8, 64: 5.9},
    "resnet": {4: 0.4, 8: 1.4, 16: 7.3, 32: 33, 64: 158},
    "inception_v3": {4: 4.1, 8: 17, 16: 77, 32: 298, 64: 1278},
    "rnntc": {4: 7.5, 8: 39, 16: 170, 32: 516, 64: 1489},
    "rnnlm": {4: 9.2, 8: 31, 16: 121, 32: 342, 64: 969},
    "nmt": {4: 16, 8: 65, 16: 328, 32: 701, 64: 2190},
}
DEVICES = [4, 8, 16, 32, 64]
DEFINES = {"resnet": ["-D", "depth=101"]}
SAMPLES = {"alexnet": 256}  # of a device
USUAL_SAMPLES = 64


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_with(planner, model, devices):
    """What the compiler says, and how long the processor works."""
    batch = SAMPLES.get(model, USUAL_SAMPLES) * devices
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), *DEFINES.get(model, []), "-D", f"batch={batch}",
               f"--machine={MACHINE}", f"--devices={devices}", f"--search={planner}", "-o", os.devnull]
    before = processor_seconds()
    said = subprocess.run(command, text=True, stderr=subprocess.PIPE, check=True).stderr
    return said, processor_seconds() - before


def least_time(planner, model, devices):
    runs = [compile_with(planner, model, devices) for _ in range(RUNS)]
    return runs[0][0], min(seconds for _, seconds in runs)


def row_of(model, devices):
    """The cells behind model, machine and devices, and whether nothing that it began with takes less than what was found."""
    said, whole = least_time("flexflow", model, devices)
    search = whole - least_time("data", model, devices)[1]
    published = PUBLISHED[model][devices]
    found = float(re.search(r"searched: ([\d.e+]+) ms", said).group(1))
    starts = {name: float(ms) for ms, name in re.findall(r"([\d.e+]+) ms \((\w+)\)", said)}
    known = [starts.get(name) for name in ("data", "owt", "optcnn")]
    return [f"{whole:.3f}", f"{search:.3f}", f"{published:g}", f"{published / search:.3g}", f"{found:g}",
            *("-" if step is None else f"{step:g}" for step in known)], all(step is None or found <= step for step in known)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(PUBLISHED))
    parser.add_argument("--devices", default=",".join(map(str, DEVICES)))
    add_options(parser, "flexflow.tsv")
    options = parser.parse_args()
    table, worse = Table(options.table, HEAD), 0
    for devices in map(int, options.devices.split(",")):
        for model in options.models.split(","):
            where = (model, MACHINE, str(devices))
            if where in table.rows:
                continue
            cells, right = row_of(model, devices)
            table.add(*where, *cells, options.compiler)
            print(*where, *cells, "" if right else "WORSE", sep="\t", flush=True)
            worse += not right
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
