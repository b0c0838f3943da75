#!/usr/bin/python3
"""Reports about plans: --compare, --sweep and --explain, as JSON.

That what they say of a planner is what compiling with it says, to the last digit printed; that auto is not worse than any other;
and that a planner without a plan says the same when it is asked for alone. That what --explain says of a plan adds up to what is
predicted of it, whoever made it; that the best plan which does something else is not better than the optimum, nor worse than the plan
in which that alone is changed; and that a plan with one line changed costs what --explain says of it. And that measured times (--profile) count as they stand.
"""

import json
import os
import tempfile

from checks import ROOT, call, check, finish

COMPARED = [("mlp", ["--machine=p100x4x4", "--devices=8"]), ("lenet", ["--machine=k80x8", "--devices=3"]),
            ("mlp", ["--machine=dgx-h100", "--devices=4096"])]
SWEPT = [("mlp", "p100x4x4", ["data", "auto"], "devices", [1, 3, 5, 8]), ("lenet", "pcie2", ["owt"], "batch", [7, 64])]
EXPLAINED = [("mlp", "p100x4x4", 8, "data", "dense1"), ("lenet", "k80x8", 3, "fsdp", "conv2.w"), ("alexnet", "p100x4x4", 4, "auto", "dense2"),
             ("lenet", "p100x4x4", 4, "auto", "conv1"), ("mlp", "k80x8", 3, "random:3", "image")]


def parcc(model, *options):
    """The exit code, and what is printed."""
    return call([os.environ["PARCC"], os.path.join(ROOT, "samples", model + ".dnn"), *options])


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


def check_speed_up(what, outcome, data):
    """By overlapped times, which are not known where too many devices do different things."""
    both = data["overlapped_seconds"], outcome["overlapped_seconds"]
    times = None if None in both else both[0] / both[1]
    said = outcome["speedup_over_data"]
    check(f"{what}: speed-up", said is None if times is None else abs(times - said) <= 1e-5 * times)


def compare(model, options):
    planners = json.loads(parcc(model, "--compare", "--json", *options)[1])["planners"]
    by_name = {outcome["planner"]: outcome for outcome in planners}
    for name, outcome in by_name.items():
        what = f"{model} {' '.join(options)}: {name}"
        check_alone(what, outcome, model, options)
        if not outcome["fits"]:
            continue
        check(f"{what}: a smaller sum than auto's", outcome["step_seconds"] >= by_name["auto"]["search_cost"] * (1 - 1e-5))
        parts = outcome["compute_seconds"] + outcome["update_seconds"] + sum(outcome["communication_seconds"].values())
        check(f"{what}: parts", abs(parts - outcome["step_seconds"]) <= 1e-5 * parts)
        check_speed_up(what, outcome, by_name["data"])
    check(f"{model}: planners", len(planners) == len(by_name) and by_name["auto"]["search_gap"] >= 0)


def sweep(model, machine, planners, parameter, values):
    option = f"{parameter}=" + ",".join(str(value) for value in values)
    code, out, _ = parcc(model, f"--machine={machine}", f"--search={','.join(planners)}", f"--sweep={option}", "--json")
    points = json.loads(out)["points"]
    check(f"{model}: {option}", [(p["planner"], p["value"]) for p in points] == [(p, v) for p in planners for v in values])
    for point in points:
        own = f"--devices={point['value']}" if parameter == "devices" else f"-D{parameter}={point['value']}"
        check_alone(f"{model}: {point['planner']} {own}", point, model, [f"--machine={machine}", own])


# What each candidate comes to at least, if all else follows it: no less than the plan, if that is not the best only of those that fit,
# and for the runner-up no more than that takes.
def explain_with_the_rest(what, candidates, step, runner_up):
    known = [(c["step_seconds_all_else_changed_at_least"], c) for c in candidates]
    known = [(seconds, c) for seconds, c in known if seconds is not None]
    check(f"{what}: with the rest", len(known) > 0 and all(seconds <= c["step_seconds"] * (1 + 1e-5) for seconds, c in known))
    check(f"{what}: a chosen one with the rest", all(seconds <= step * (1 + 1e-5) for seconds, c in known if c["chosen"]))
    least = min((seconds for seconds, c in known if not c["chosen"]), default=runner_up)
    check(f"{what}: runner-up {runner_up}, with the rest {least}", least <= runner_up * (1 + 1e-5) and (least >= step * (1 - 1e-5) or "less" in what))


def explain_group(what, group, step, planner):
    candidates = group["candidates"]
    chosen = [c for c in candidates if c["chosen"]]
    others = [c["step_seconds"] for c in candidates if not c["chosen"]]
    check(f"{what}: chosen", len(chosen) <= 1 and (len(chosen) == 1 or planner.startswith("random")))
    check(f"{what}: what is chosen costs what the plan does", all(c["step_seconds"] == step for c in chosen))
    check(f"{what}: sorted", [c["step_seconds"] for c in candidates] == sorted(c["step_seconds"] for c in candidates))
    check(f"{what}: own", all(abs(c["own_seconds"] - group["own_seconds"]) <= 1e-5 * group["own_seconds"] for c in chosen))
    for part, whole in [("operators", "own_seconds"), ("changes", "changes_seconds")]:
        total = sum(entry["seconds"] for entry in group[part])
        check(f"{what}: {part} {total}, {whole} {group[whole]}", abs(total - group[whole]) <= 1e-5 * total)
    if planner == "auto" and "runner_up" in group:
        runner_up = group["runner_up"]["step_seconds"]
        check(f"{what}: runner-up {runner_up}", step <= runner_up <= min(others) * (1 + 1e-9))
        explain_with_the_rest(what, candidates, step, runner_up)
    elif others:
        check(f"{what}: next", group["next_with_all_else_kept"]["step_seconds"] == min(others))


def explain(model, machine, devices, planner, name):
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "plan")
        options = [f"--machine={machine}", f"--devices={devices}", *(["--objective=sum"] if planner == "auto" else [])]
        _, out, _ = parcc(model, *options, f"--plan={planner}", "--stats", "--json", "--plan-out", plan)
        step = json.loads(out)["predicted"]["step_seconds"]
        who = ["--plan-in", plan] if planner.startswith("random") else [f"--search={planner}"]
        explained = json.loads(parcc(model, *options, *who, "--explain", name, "--candidates", "--json")[1])
    what = f"{model} on {devices} of {machine}, {planner}"
    check(f"{what}: a step of {explained['step_seconds']}, predicted {step}", explained["step_seconds"] == step)
    check(f"{what}: groups", len(explained["groups"]) >= 1)
    for group in explained["groups"]:
        explain_group(f"{what}: {group['name']}", group, step, planner)


# The cheapest plans do not fit; the runner-up is one that does.
def little_memory():
    with open(os.path.join(ROOT, "tests", "run", "hand", "small.machine")) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        less = os.path.join(folder, "less.machine")
        with open(less, "w") as file:
            file.write(text.replace("2.5 MB", "2.2 MB"))
        explain("mlp", less, 4, "auto", "dense1")
        said = parcc("mlp", f"--machine={less}", "--explain=dense1")[1]
        check("with little memory: runner-ups that fit, or none", said.count("runner-up") >= 1 and "needs" not in said and
              said.count("runner-up") + said.count("found to fit") == said.count("changes of layout") + said.count("no tensor that it makes"))


# The parameters of mlp's first layer and their update, stored in parts: a line that data parallelism does not have.
def change_one_line():
    options = ["--machine=p100x4x4", "--devices=4"]
    explained = json.loads(parcc("mlp", *options, "--search=data", "--explain", "dense1.w", "--candidates", "--json")[1])
    said = {c["choice"]: c["step_seconds"] for c in explained["groups"][0]["candidates"]}
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "plan")
        parcc("mlp", *options, "--search=data", "--plan-out", plan)
        with open(plan, "a") as file:
            file.write("store dense1.w  co/gpu\nupdate dense1.w  co/gpu\n")
        step = json.loads(parcc("mlp", *options, "--plan-in", plan, "--stats", "--json")[1])["predicted"]["step_seconds"]
    check(f"mlp with a line changed: {step}, explained as {said.get('co/gpu')}", step == said.get("co/gpu"))


def predicted(model, options, *more):
    return json.loads(parcc(model, "--stats", "--json", *options, *more)[1])["predicted"]


# A profile of what is predicted changes nothing; one in which products take ten times as long does, by that and to the last of them.
def profiles():
    options = ["--machine=p100x4x4", "--devices=4"]
    with tempfile.TemporaryDirectory() as folder:
        same, slower = os.path.join(folder, "same"), os.path.join(folder, "slower")
        data = predicted("alexnet", options, "--search=data", "--profile-out", same)
        check("a profile of what is predicted", predicted("alexnet", options, "--search=data", "--profile", same) == data)
        lines = open(same).read().splitlines()
        products = [line for line in lines if " sum [" in line and "* x1[" in line]
        with open(slower, "w") as file:
            for line in lines:
                file.write("profile 1\n" if line.startswith("profile") else f"{'1 s' if line in products else '1 us'}  {line.split('  ', 1)[1]}\n")
        _, _, err = parcc("alexnet", "--search=data", *options, "--profile", slower, "-o", os.path.join(folder, "out.cu"))
        of, measured = (int(word) for word in err.split("parcc: of ")[1].split(" are")[0].replace("operators that can be measured ", "").split())
        check(f"{measured} of {of} measured", of == measured >= len(lines) - 1)
        slow = predicted("alexnet", options, "--search=data", "--profile", slower)["step_seconds"]
        check(f"a step with {len(products)} products of a second each takes {slow}", len(products) >= 16 and len(products) <= slow < 2 * len(products))
        auto = predicted("alexnet", options, "--search=auto", "--profile", slower)["step_seconds"]
        check(f"auto avoids what was measured to be slow: {auto} of {slow}", auto < slow / 10)


for case in COMPARED:
    compare(*case)
for case in SWEPT:
    sweep(*case)
for case in EXPLAINED:
    explain(*case)
little_memory()
change_one_line()
profiles()
finish("reports")
