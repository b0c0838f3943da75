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
import sys

from cases import ROUNDING, add_case_options, fill, ms, planners_of

DEVICES = [2, 4, 8, 16, 32, 64]
HEAD = ["model", "machine", "devices", "auto ms", "unrefined ms", "search s", "flexflow ms", "walks", "searched s", "times", "compiler"]
AS_LONG = 10


def step(found):
    return found["overlapped_seconds"] if found["fits"] else float("inf")


def walk(model, machine, devices, seconds):
    """The best step of walks that search for so long, how many they are, and how long they took."""
    best, walks, searched = float("inf"), 0, 0
    while walks == 0 or searched < seconds:
        found = planners_of(model, machine, devices, "--search=flexflow", f"--seed={walks}")[0]
        best, walks, searched = min(best, step(found)), walks + 1, searched + found["search_seconds"]
    return best, walks, searched


def row_of(auto, best, walks, searched):
    """The cells behind model, machine and devices, and whether flexflow's step is no shorter."""
    ours = step(auto)
    known = max(ours, best) < float("inf")
    return [ms(ours), ms(auto.get("search_overlapped_seconds") or float("inf")), f"{auto['search_seconds']:.2f}", ms(best), str(walks), f"{searched:.2f}",
            f"{best / ours:.3f}" if known else "-"], ours <= best * (1 + ROUNDING)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_case_options(parser, DEVICES, "refined_all.tsv")

    def row(*where):
        planners = planners_of(*where, "--search=auto")
        return planners and row_of(planners[0], *walk(*where, AS_LONG * planners[0]["search_seconds"]))

    return fill(parser.parse_args(), HEAD, row)


if __name__ == "__main__":
    sys.exit(main())
