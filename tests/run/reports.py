#!/usr/bin/python3
"""Reports about several plans: --compare and --sweep, as JSON.

That what they say of a planner is what compiling with it says, to the last digit printed; that auto is not worse than any other;
and that a planner without a plan says the same when it is asked for alone.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARED = [("mlp", ["--machine=p100x4x4", "--devices=8"]), ("lenet", ["--machine=k80x8", "--devices=3"])]
SWEPT = [("mlp", "p100x4x4", ["data", "auto"], "devices", [1, 3, 5, 8]), ("lenet", "pcie2", ["owt"], "batch", [7, 64])]

failures = 0


def check(what, right):
    global failures
    if not right:
        failures += 1
        print(f"FAILED {what}")


def parcc(model, *options):
    """The exit code, and what is printed."""
    command = [os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), *options]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def check_alone(what, outcome, model, options):
    """Compiles with the planner of an outcome."""
    code, out, err = parcc(model, f"--search={outcome['planner']}", "--stats", "--json", *options)
    if not outcome["fits"]:
        check(f"{what}: '{outcome['reason']}'", code != 0 and outcome["reason"] in err)
        return
    stats = json.loads(out)
    for key in ["step_seconds", "compute_seconds", "update_seconds", "communication_bytes", "communication_seconds"]:
        check(f"{what}: {key} {outcome[key]}, alone {stats['predicted'][key]}", outcome[key] == stats["predicted"][key])
    check(f"{what}: peak_bytes", outcome["peak_bytes"] == stats["peak_bytes"])
    check(f"{what}: ranks", outcome["devices"] == stats["ranks"] and outcome["batch"] == stats["batch"])


def compare(model, options):
    planners = json.loads(parcc(model, "--compare", "--json", *options)[1])["planners"]
    by_name = {outcome["planner"]: outcome for outcome in planners}
    for name, outcome in by_name.items():
        what = f"{model} {' '.join(options)}: {name}"
        check_alone(what, outcome, model, options)
        if not outcome["fits"]:
            continue
        check(f"{what}: faster than auto", outcome["step_seconds"] >= by_name["auto"]["step_seconds"])
        parts = outcome["compute_seconds"] + outcome["update_seconds"] + sum(outcome["communication_seconds"].values())
        check(f"{what}: parts", abs(parts - outcome["step_seconds"]) <= 1e-5 * parts)
        times = by_name["data"]["step_seconds"] / outcome["step_seconds"]
        check(f"{what}: speed-up", abs(times - outcome["speedup_over_data"]) <= 1e-5 * times)
    check(f"{model}: planners", len(planners) == len(by_name) and by_name["auto"]["search_gap"] >= 0)


def sweep(model, machine, planners, parameter, values):
    option = f"{parameter}=" + ",".join(str(value) for value in values)
    code, out, _ = parcc(model, f"--machine={machine}", f"--search={','.join(planners)}", f"--sweep={option}", "--json")
    points = json.loads(out)["points"]
    check(f"{model}: {option}", [(p["planner"], p["value"]) for p in points] == [(p, v) for p in planners for v in values])
    for point in points:
        own = f"--devices={point['value']}" if parameter == "devices" else f"-D{parameter}={point['value']}"
        check_alone(f"{model}: {point['planner']} {own}", point, model, [f"--machine={machine}", own])


for case in COMPARED:
    compare(*case)
for case in SWEPT:
    sweep(*case)
print("reports:", f"{failures} failed" if failures else "all agree")
sys.exit(failures != 0)
