#!/usr/bin/python3
"""auto beside the planners whose plans it looks at, all others but flexflow: every sample on every machine that parcc knows, on 2 to 64 devices.

    compare_all.py [--models A,B] [--machines A,B] [--devices 2,4] [--time-limit SECONDS] [--table FILE] [--compiler NAME]

One line for each model, machine and number of devices: the predicted step of auto in ms, its proved gap in percent ('-': nothing is
proved), how long it searched, the best of the others, how many times as long its step takes, and the compiler (NAME: by default the
commit of this tree). Few devices, which take least, come first. The table is added to, and what stands in it is not tried again. It is
an error if auto is worse than another planner, or finds nothing that fits where another does.
"""

import argparse
import sys

from cases import ROUNDING, add_case_options, fill, ms, planners_of

DEVICES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
HEAD = ["model", "machine", "devices", "auto ms", "gap %", "search s", "best other", "other ms", "times", "compiler"]
PLANNERS = "data,single,model,owt,megatron,fsdp,auto,optcnn,soybean,tofu"


def row_of(planners):
    """The cells behind model, machine and devices, and whether auto is as good as any."""
    auto = next(planner for planner in planners if planner["planner"] == "auto")
    others = [planner for planner in planners if planner is not auto and planner["fits"]]
    best = min(others, key=lambda planner: planner["step_seconds"]) if others else None
    step = auto["step_seconds"] if auto["fits"] else None
    proved = auto["fits"] and auto["search_bound"]
    right = best is None or (step is not None and step <= best["step_seconds"] * (1 + ROUNDING))
    return [ms(step) if step else "-", f"{auto['search_gap'] * 100:.2g}" if proved else "-", f"{auto['search_seconds']:.2f}",
            best["planner"] if best else "-", ms(best["step_seconds"]) if best else "-",
            f"{best['step_seconds'] / step:.3f}" if best and step else "-"], right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", help="seconds of each search")
    add_case_options(parser, DEVICES, "compare_all.tsv")
    options = parser.parse_args()
    extra = [f"--time-limit={options.time_limit}"] if options.time_limit else []

    def row(*where):
        planners = planners_of(*where, f"--search={PLANNERS}", "--objective=sum", *extra)
        return planners and row_of(planners)

    return fill(options, HEAD, row)


if __name__ == "__main__":
    sys.exit(main())
