#!/usr/bin/python3
"""What --report writes: that its figures are those that compiling has, and that a browser shows it: no error on the console, nothing
loaded from elsewhere, no text over another and none cut off, at 400 and 1400 pixels, light, dark and in print, with everything opened.

    report_page.py [--pictures DIR PAGE.html]     pictures of a page that is there
"""

import json
import os
import re
import sys
import tempfile

import browser
from checks import ROOT, call, check, finish

PARCC = os.environ.get("PARCC", os.path.join(ROOT, "build/bin/parcc"))
GPT2 = "-D layers=3 -D width=64 -D heads=4 -D context=32 -D vocabulary=999".split()
# a name that would end the page's data if it were not escaped
HOSTILE = "<!--<script>\"'&amp;\\u003c</script>.plan"

# Texts that are seen, as rectangles: those that lie on each other, or outside of the page or of their drawing.
LOOK = r"""(() => {
  const found = [], rects = [], seen = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, nav, title") || !seen(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const drawing = parent.closest("svg"), scroll = parent.closest(".scroll");
    for (const r of range.getClientRects()) {
      const text = node.data.trim().slice(0, 40);
      rects.push({ l: r.left, r: r.right, t: r.top, b: r.bottom, text });
      if (!scroll && (r.left < -0.5 || r.right > innerWidth + 0.5)) found.push(`outside of the page: ${text}`);
      const d = drawing && drawing.getBoundingClientRect();
      if (d && (r.left < d.left - 1 || r.right > d.right + 1 || r.top < d.top - 1 || r.bottom > d.bottom + 1)) found.push(`outside of its drawing: ${text}`);
    }
  }
  rects.sort((a, b) => a.t - b.t);
  rects.forEach((a, i) => {
    for (let k = i + 1; k < rects.length && rects[k].t < a.b - 2; k++) {
      const b = rects[k];
      if (a.l < b.r - 1 && b.l < a.r - 1 && a.t < b.b - 2) found.push(`'${a.text}' over '${b.text}'`);
    }
  });
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  return { found, texts: rects.length, drawings: document.querySelectorAll("svg").length };
})()"""
OPEN = "document.querySelectorAll('summary').forEach(s => s.click()); document.querySelectorAll('details[open]').length"
CLICK = "document.querySelectorAll('nav a').forEach(a => a.click()); document.querySelectorAll('nav a').length"
LOOK_CLOSER = "[0, 0, 0, 3, 2, 1].forEach(i => document.querySelectorAll('.buttons button')[i].click()); document.querySelectorAll('#streams rect').length"


def parcc(*arguments):
    code, out, err = call([PARCC, "-q", *arguments])
    check(f"{' '.join(arguments)}: {err}", code == 0)
    return out


def data_of(path):
    text = open(path).read()
    return json.loads(re.search(r'<script type="application/json" id="data">\n(.*?)</script>', text, re.S).group(1))


def without_times(page):
    """But for how long planning took."""
    return re.sub(r'"search_seconds": [0-9.e-]+', "", page)


def near(a, b):
    return abs(a - b) <= 1e-4 * max(abs(a), abs(b))


def check_trace(what, trace, data):
    """It has the spans of the time line, to the nanosecond."""
    names, spans = data["streams"]["names"], {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            spans.setdefault((event["pid"], event["tid"]), []).append((event["name"], round(event["ts"] * 1e3), round(event["dur"] * 1e3)))
    for i, row in enumerate(data["streams"]["rows"]):
        here = [(names[name], start, length) for name, _, start, length in row["spans"]]
        there = spans.get((row["rank"], i % 2), [])
        near_by = all(a[0] == b[0] and abs(a[1] - b[1]) <= 1 and abs(a[2] - b[2]) <= 1 for a, b in zip(here, there))
        check(f"{what}: trace of rank {row['rank']}, {row['stream']}", len(here) == len(there) and near_by)
    processes = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    check(f"{what}: processes {processes}", len(processes) == data["streams"]["ranks"])


def check_figures(what, data, stats, trace):
    own = next(o for o in data["planners"] if o["planner"] == data["planner"])
    check(f"{what}: step", data["predicted"] == stats["predicted"])
    check(f"{what}: of planners", not own["fits"] or own["step_seconds"] == data["predicted"]["step_seconds"])
    check(f"{what}: planners", {"data", "megatron", "auto", "tofu"} <= {o["planner"] for o in data["planners"]})
    nodes = data["network"]["nodes"]
    sums = {key: sum(n[key] * n["times"] for n in nodes) for key in ["forward", "backward", "update", "changes"]}
    check(f"{what}: what nodes take, {sums}", near(sum(sums.values()) + data["network"]["other"], data["predicted"]["step_seconds"]))
    check(f"{what}: edges go forward", all(e["from"] < i for i, n in enumerate(nodes) for e in n["in"]))
    check(f"{what}: parameters", near(sum(n["parameter_bytes"] * n["times"] for n in nodes), 4 * stats["parameters"]))
    rows, end = data["streams"]["rows"], data["streams"]["seconds"] * 1e9
    for row in rows:
        check(f"{what}: spans of one stream after each other", all(a[2] + a[3] <= b[2] + 1.5 for a, b in zip(row["spans"], row["spans"][1:])))
    busy = [sum(span[3] for span in row["spans"]) for row in rows]
    step = data["predicted"]["step_seconds"] * 1e9
    check(f"{what}: time line of {end} ns, streams {busy}, step {step}", max(busy) <= 1.001 * end and end <= 1.05 * step)
    if len(rows) == 2:
        check(f"{what}: {sum(busy)} ns on streams, step {step}", near(sum(busy) / step, 1) or 0.99 < sum(busy) / step <= 1)
    check_trace(what, trace, data)
    memory = data["memory"]
    check(f"{what}: memory", memory["planned"] == stats["peak_bytes"])
    live = memory["parameters"] + memory["states"] + memory["inputs"] + max(memory["passing"])
    check(f"{what}: what lives, {live}", live <= stats["peak_lower_bound_bytes"] and memory["parameters"] > 0)
    moved, busiest = data["communication"]["bytes"], 0
    for i in range(data["ranks"]):
        check(f"{what}: rank {i} sends itself something", moved[i][i] == 0)
        busiest = max(busiest, sum(moved[i]), sum(row[i] for row in moved))
    said = sum(kind["bytes"] for kind in stats["step_communication"].values())
    check(f"{what}: the busiest rank moves {busiest} of {said} bytes", 0.3 * said <= busiest <= 1.0001 * said)


def check_progress(what, data):
    """What flexflow found: ever less, by ever more strategies, down to what it says of itself."""
    walk = next(o for o in data["planners"] if o["planner"] == "flexflow")
    points = walk["search_progress"]
    check(f"{what}: progress {points}", all(a[0] <= b[0] and a[1] >= b[1] for a, b in zip(points, points[1:])) and points[0][0] == 0)
    check(f"{what}: progress ends at {points[-1]}, {walk['search_cost']}", points[-1][1] == walk["search_cost"] and f"{points[-1][0]} strategies" in walk["search_said"])


def check_page(what, page, path, nodes):
    page.said.clear()
    page.asked.clear()
    for width, scheme, media in [(1400, "light", ""), (400, "dark", ""), (760, "light", "print")]:
        page.size(width)
        page.media(scheme, media)
        page.open(path)
        here = f"{what}, {width} pixels, {scheme} {media}"
        for opened in [False, True]:
            if opened:
                check(f"{here}: what opens", page.run(OPEN) >= nodes)
                check(f"{here}: sections", page.run(CLICK) >= 4)
                check(f"{here}: time line", page.run(LOOK_CLOSER) > 0)
                page.settle()
            seen = page.run(LOOK)
            check(f"{here}: {seen['found'][:5]}", not seen["found"])
            check(f"{here}: {seen}", seen["texts"] > 50 and seen["drawings"] > nodes)
    page.size(700)
    page.settle()
    check(f"{what}: resized, {page.run(LOOK)['found'][:5]}", not page.run(LOOK)["found"])
    check(f"{what}: on the console: {page.said}", not page.said)
    check(f"{what}: asks for {page.asked}", all(url.startswith("file://") and url.split("#")[0].endswith(".html") for url in page.asked))


def check_operators(page, operators):
    """The chart of measured operators has few decades, and says how many kinds lie below them."""
    lines = page.run("document.querySelectorAll('#operators svg line').length")
    said = page.run("document.querySelector('#operators figcaption').textContent")
    small = sum(min(op["predicted"], op["measured"]) < 1e-9 for op in operators)
    check(f"lenet: {lines} lines of decades", lines <= 2 * 8 + 1)
    check(f"lenet: {small} kinds under a nanosecond: {said}", small > 1 and f"lower end of an axis: {small} kinds." in said)


def measured(folder):
    """A profile of lenet in which everything takes half as long again as is predicted."""
    path = os.path.join(folder, "lenet.profile")
    text = parcc(f"{ROOT}/samples/lenet.dnn", "--machine=p100x4x4", "--devices=4", "--profile-out", "-", "--search=data")
    slower = [re.sub(r"^([0-9.e+-]+) (\w+)  ", lambda m: f"{1.5 * float(m[1]):.6g} {m[2]}  ", line) for line in text.splitlines(True)]
    slower += [f"{us} us  all_reduce [4 of 4 by 1] {size} bytes\n" for us, size in [(400, 1000), (900, 1000000)]]
    open(path, "w").write("".join(slower))
    return path


def too_small(folder):
    """A machine that no plan of mlp fits: one that is read is reported nevertheless."""
    path = os.path.join(folder, "small.machine")
    text = open(f"{ROOT}/samples/machines/p100x4x4.machine").read()
    open(path, "w").write(re.sub(r"memory = [^;]*;", "memory = 1 MB;", text))
    return path


def in_parts(folder):
    """A plan of charlm that goes over its batch in four parts."""
    path = os.path.join(folder, "charlm.plan")
    open(path, "w").write("plan 1 charlm\nmesh gpu=2\nmicrobatches = 4\ninput byte b/gpu\n")
    return path


def cases(folder):
    plan = os.path.join(folder, HOSTILE.replace("/", "_"))
    parcc(f"{ROOT}/samples/mlp.dnn", "--mesh=node=2,gpu=3", "--plan=random:5", "--plan-out", plan)
    yield "lenet", ["--machine=p100x4x4", "--devices=4", "--search=data", f"--profile={measured(folder)}"]
    yield "gpt2", ["--machine=dgx1-v100", "--devices=8", "--search=megatron", *GPT2]
    yield "mlp", [f"--machine={too_small(folder)}", f"--plan-in={plan}"]
    yield "charlm", ["--machine=pcie2", "-D", "context=4", "-D", "width=32", f"--plan-in={in_parts(folder)}"]
    yield "rnnlm", ["--machine=pcie2", "-D", "context=5", "-D", "width=64", "-D", "vocabulary=100", "--search=data"]


def pictures(folder, path):
    page = browser.Browser(browser.find())
    for width, scheme in [(1400, "light"), (400, "dark")]:
        page.size(width)
        page.media(scheme)
        page.open(path)
        page.picture(os.path.join(folder, f"{os.path.basename(path)}.{width}.png"))
    page.close()


def main():
    if sys.argv[1:2] == ["--pictures"]:
        return pictures(sys.argv[2], sys.argv[3])
    program = browser.find()
    page = browser.Browser(program) if program else None
    with tempfile.TemporaryDirectory() as folder:
        for model, options in cases(folder):
            path, text = os.path.join(folder, f"{model}.html"), f"{ROOT}/samples/{model}.dnn"
            parcc(text, "--report", path, *options)
            data = data_of(path)
            check_figures(model, data, json.loads(parcc(text, "--stats", "--json", *options)), json.loads(parcc(text, "--trace", "-", *options)))
            check_progress(model, data)
            if model == "rnnlm":
                again = parcc(text, "--report", "-", *options)
                check(f"{model}: twice the same", without_times(again) == without_times(open(path).read()))
            changes = [op for op in data["operators"] if op["is_change"]]
            check(f"{model}: changes that were measured", all(op["measured"] > op["predicted"] for op in changes) and bool(changes) == (model == "lenet"))
            check(f"{model}: operators", (len(data["operators"]) > 5) == any("profile" in option for option in options))
            if page:
                check_page(model, page, path, len(data["network"]["nodes"]))
                if model == "lenet":
                    check_operators(page, data["operators"])
    if page:
        page.close()
    finish("report_page", None if page else "there is no Chromium to look at pages: apt install chromium-headless-shell")


main()
