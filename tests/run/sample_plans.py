#!/usr/bin/python3
"""The plans of samples/plans: what they communicate, and that they compute what the serial program does: sample_plans.py [PLAN...]

For each plan, at the full size of its sample in f32: the collectives of a training step and the bytes of the busiest rank of
each, as `parcc --stats --json` has them. The bytes must be those of the closed form below; the counts, with the bytes, are
kept in sample_plans.json (--update writes it anew; refused where CI is set).

Then the sample made small, in f64: losses, gradient norms and what is saved after 3 steps agree to 1e-11 with the program of
one rank. So it is with the models of hand/: shard.dnn, which says itself where things are, under plans that parcc makes;
ones.dnn, whose plan divides dimensions of extent 1; pending.dnn, whose plan leaves a sum in parts along two axes; windows.dnn,
whose plan has windows among many readers of partial sums.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import plans
from plans import ROOT, Failure, tool

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "sample_plans.json")
REAL = 4  # bytes


# ---- closed forms: bytes of a step by kind, for p ranks; of n bytes all_gather and reduce_scatter move n (p - 1) / p, an
# all_reduce twice that, and publish no more than n (p - 1) / p

def gather(n, p):
    return n * REAL * (p - 1) / p


def reduce(n, p):
    return 2 * gather(n, p)


def mlp_columns_rows(params):
    """The partial sums of the second layer [batch, width]; nothing else."""
    return {"all_reduce": reduce(64 * 512, 2)}


def mlp_sharded(params):
    """Every gradient to the rank that updates its part, every parameter gathered once; two scalars of the loss."""
    n = sum(params.values())
    return {"reduce_scatter": gather(n, 4), "all_gather": gather(n, 4), "all_reduce": reduce(2, 4)}


def vgg16(params):
    """The gradients of the convolutions; features [batch, 25088] and two hidden layers [batch, 4096] gathered before the
    products that read them, their gradients scattered after them; maximum, sum and picked logit of the cross entropy [batch]."""
    batch, features, hidden = 32, 25088, 4096
    conv = sum(n for name, n in params.items() if name.startswith("conv"))
    moved = gather(batch * (features + 2 * hidden), 4)
    return {"all_reduce": reduce(conv + 3 * batch, 4), "all_gather": moved, "reduce_scatter": moved}


def alexnet(params):
    """As for vgg16; the features are [batch, 9216]."""
    batch, features, hidden = 16, 9216, 4096
    conv = sum(n for name, n in params.items() if name.startswith("conv"))
    moved = gather(batch * (features + 2 * hidden), 2)
    return {"all_reduce": reduce(conv + 3 * batch, 2), "all_gather": moved, "reduce_scatter": moved}


def bigram(p):
    """Rows looked up, and the gradient of what the logits are made of [batch, width]; maximum, sum and picked logit [batch]."""
    return lambda params: {"all_reduce": reduce(64 * (64 + 3), p), "publish": gather(64 * 64, p)}


def inception_branches(params):
    """Outside of the block data parallelism: weights, of each batch norm its bias and four sums of a value for every channel (two for
    the statistics, two for their gradients), three scalars. Into the block go its input and what is pooled of it
    [batch, 192, 35, 35] and the gradient of its output [batch, 256, 35, 35], once each; its output and four gradients of its
    input are dealt out."""
    batch, area = 32, 35 * 35
    outside = {name: n for name, n in params.items() if not name.startswith("inception_a1.")}
    channels = sum(n for name, n in outside.items() if name.endswith(".beta"))
    weights = sum(n for name, n in outside.items() if not name.endswith((".beta", ".gamma")))
    return {"all_reduce": reduce(weights + 5 * channels + 3, 4), "all_gather": gather(batch * area * (2 * 192 + 256), 4),
            "scatter": gather(batch * area * (256 + 4 * 192), 4)}


def charlm(params):
    """Within a pair of ranks, of half of the batch: rows of the table looked up [b, t, c], from their owners; maximum, sum and picked logit [b, t]; what
    every step but the last hands on [b, u], then all of them [b, t, u], forward and their gradients backward, and that of the table;
    seven scalars of the norm. Between pairs: two of the loss, and the gradients of what a rank has of each parameter, a half."""
    rows, steps, width = 32 // 2, 64, 512
    handed = rows * width * (steps - 1) + rows * steps * width
    return {"all_reduce": reduce(rows * steps * 3 + 7 + 2 + sum(params.values()) / 2, 2), "all_gather": gather(handed, 2),
            "reduce_scatter": gather(handed + params["table"], 2), "publish": gather(rows * steps * width, 2)}


def block(extent, i):
    """The i-th of two blocks."""
    half = (extent + 1) // 2
    return range(0, half) if i == 0 else range(half, extent)


def clipped(low, high, extent):
    return range(max(low, 0), min(high, extent - 1) + 1)


def common(a, b):
    return max(0, min(a.stop, b.stop) - max(a.start, b.start))


def exchange(depth, extent, need):
    """Bytes of the busiest of 2 x 2 ranks that each hold a quarter of [depth, extent, extent] and need more of both
    dimensions: need(i) rows of block i."""
    ranks = [(i, j) for i in range(2) for j in range(2)]
    sent, got = {rank: 0 for rank in ranks}, {rank: 0 for rank in ranks}
    for src in ranks:
        for dst in ranks:
            if src == dst:
                continue
            n = common(block(extent, src[0]), need(dst[0])) * common(block(extent, src[1]), need(dst[1]))
            sent[src], got[dst] = sent[src] + n, got[dst] + n
    return REAL * depth * max(*sent.values(), *got.values())


def window(depth, size, kernel, stride, pad):
    """What a window of the output reads of its input of `size`."""
    out = (size + 2 * pad - kernel) // stride + 1
    return exchange(depth, size, lambda i: clipped(block(out, i).start * stride - pad,
                                                   (block(out, i).stop - 1) * stride - pad + kernel - 1, size))


def window_gradient(depth, size, kernel, stride, pad):
    """What the gradient of the input of `size` reads of a tensor of the output's extents."""
    out = (size + 2 * pad - kernel) // stride + 1
    return exchange(depth, out, lambda i: clipped((block(size, i).start + pad - kernel + 1) // stride,
                                                  (block(size, i).stop - 1 + pad) // stride, out))


def resnet18_spatial(params):
    """Weights and batch norms as above, the pooled features forward; the dense layer and the loss are on every rank. Halos of
    every window forward; backward those of its gradient, in which the terms of a window lie side by side; of the first
    pooling those of the places of its maxima and of its gradient."""
    batch, channels = 32, sum(n for name, n in params.items() if name.endswith(".beta"))
    weights = sum(n for name, n in params.items() if name.endswith(".conv1.w"))
    halos = window(batch * 3, 224, 7, 2, 3) + window(batch * 64, 112, 3, 2, 1) + 2 * window_gradient(batch * 64, 112, 3, 2, 1)
    planes, size, before = 64, 56, 64
    for stage in range(4):
        for number in range(2):
            stride = 2 if stage > 0 and number == 0 else 1
            for depth, side, kernel, step, pad in [(before, size * stride, 3, stride, 1), (planes, size, 3, 1, 1)] + \
                    ([(before, size * stride, 1, stride, 0)] if stride == 2 else []):
                halos += window(batch * depth, side, kernel, step, pad)
                halos += window_gradient(batch * depth * kernel**2, side, kernel, step, pad)
            before = planes
        planes, size = 2 * planes, size // 2
    return {"all_reduce": reduce(weights + 5 * channels + batch * 512, 4), "exchange": halos}


GPT2 = {"batch": 8, "steps": 1024, "width": 768, "words": 50257, "layers": 12}  # as the sample has them


def gpt2_tensor_data(params):
    """Of a group's half of the batch, four times [batch, steps, width] in every layer: what attention and the feedforward layer make,
    and the gradients of what they read; once more the gradient of what the logits are made of; the words looked up, from their owners; maximum,
    sum and picked logit of every step. Between the groups the gradients of what a rank has, and two scalars. For the norm of
    the gradients, over the four ranks, a square of every parameter that is divided."""
    states = GPT2["batch"] // 2 * GPT2["steps"]
    divided = [name for name in params if name == "words" or name.endswith((".out.w", ".down.w")) or
               name.split(".")[-2] in ("query", "key", "value", "up")]
    held = sum((n // 4 if name in divided else n) for name, n in params.items() if name != "words")
    held += -(-GPT2["words"] // 4) * GPT2["width"]
    return {"all_reduce": reduce(states * GPT2["width"] * (4 * GPT2["layers"] + 1) + 3 * states + len(divided), 4) +
            reduce(held + 2, 2), "publish": gather(states * GPT2["width"], 4)}


def gpt2_sequence(params):
    """Keys and values of every layer [batch, steps, width], whose gradients go back; the gradients of all parameters but those of
    the places, which are made in parts and gathered for the update; two scalars, and the square of the places' gradient."""
    states, layers, places = GPT2["batch"] * GPT2["steps"] * GPT2["width"], GPT2["layers"], params["positions1.w"]
    return {"all_gather": gather(2 * layers * states + places, 4), "reduce_scatter": gather(2 * layers * states, 4),
            "all_reduce": reduce(sum(params.values()) - places + 3, 4)}


def mixtral_experts(params):
    """The words of all sequences at their experts [experts, batch, places, width]: there and back in each layer, and so their
    gradients. The gradients of all parameters but the experts' added up, with the two sums of the cross entropy; of every layer
    how often each expert was used and wanted, and for the norm the squares of its three matrices."""
    batch, steps, width, experts, layers, places = 8, 4096, 4096, 8, 32, 1280
    common = sum(n for name, n in params.items() if ".experts." not in name)
    return {"all_to_all": gather(4 * layers * experts * batch * places * width, 8) / 8,
            "all_reduce": reduce(common + 2 + layers * (2 * experts + 3), 8)}


# ---- the plans

class Case:
    """A plan: its model, definitions at full size, the model made small, and its closed form."""

    def __init__(self, model, full, small, form, **edits):
        self.model, self.full, self.small, self.form, self.edits = model, full.split(), small.split(), form, edits


CASES = {
    "gpt2-tensor-data": Case("gpt2", "", "batch=3 context=5 vocabulary=19 layers=2 width=12 heads=6", gpt2_tensor_data, **plans.BLUNT),
    "mixtral-experts": Case("mixtral", "batch=8", "batch=9 context=5 vocabulary=19 layers=2 width=12 heads=3 kv_heads=1 experts=8 hidden=5",
                            mixtral_experts),
    "gpt2-sequence": Case("gpt2", "", "batch=3 context=5 vocabulary=19 layers=2 width=12 heads=3", gpt2_sequence, **plans.BLUNT),
    "alexnet-one-weird-trick": Case("alexnet", "batch=16", "batch=5 size=63 width=4 hidden=12 classes=5", alexnet),
    "charlm-data-tensor": Case("charlm", "", "batch=5 context=3 width=6", charlm),
    "mlp-columns-rows": Case("mlp", "", "batch=7 size=12 width=9", mlp_columns_rows),
    "mlp-sharded-states": Case("mlp", "", "batch=7 size=12 width=9", mlp_sharded),
    "mlp-sharded-parameters": Case("mlp", "", "batch=7 size=12 width=9", mlp_sharded),
    "vgg16-one-weird-trick": Case("vgg16", "", "batch=5 size=32 width=4 hidden=12 classes=5", vgg16),
    "bigram-classes-2": Case("bigram", "", "batch=5 width=6", bigram(2)),
    "bigram-classes-3": Case("bigram", "", "batch=5 width=6", bigram(3)),
    "resnet18-spatial": Case("resnet", "depth=18", "batch=5 size=64 depth=18 width=4 classes=5", resnet18_spatial),
    "inception-branches": Case("inception_v3", "", "batch=7 size=75 width=4 classes=5", inception_branches,
                               **{"[32, 64, 64]": "[32]", "[128, 160, 160, 192]": "[128]", "block in 0..2": "block in 0..1"}),
}


def defines(words):
    return [word for define in words for word in ("-D", define)]


def plan_path(name):
    return os.path.join(ROOT, "samples", "plans", name + ".plan")


def mesh_of(path):
    with open(path) as file:
        return re.search(r"^mesh (\S+)", file.read(), re.MULTILINE).group(1)


def ranks_of(mesh):
    ranks = 1
    for axis in mesh.split(","):
        ranks *= int(axis.split("=")[1])
    return ranks


class Model(plans.Model):
    """A model in a folder of its own: as it is, and without what it says of places for the serial program."""

    def __init__(self, name, path, words, edits, folder):
        self.name, self.folder, self.defines = name, folder, defines(words)
        with open(path) as file:
            text = file.read()
        for old, new in edits.items():
            if old not in text:
                sys.exit(f"sample_plans.py: no '{old}' in {path}")
            text = text.replace(old, new)
        self.path = os.path.join(folder, "serial.dnn")
        with open(self.path, "w") as file:
            file.write(re.sub(r" @shard\([^)]*\)", "", text))
        self.serial = self.train("serial", 1, [], False, 0)
        self.path = os.path.join(folder, name + ".dnn")
        with open(self.path, "w") as file:
            file.write(text)


class Run:
    """What plans.Model.compare wants to know of a run."""

    def __init__(self, mesh):
        self.mesh, self.ranks, self.check, self.seed = mesh, ranks_of(mesh), False, 0


def parcc(*words):
    return subprocess.run([tool("PARCC", "parcc"), *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def communication(name, case):
    """The collectives of a step as the compiler counts them."""
    model = [os.path.join(ROOT, "samples", case.model + ".dnn"), *defines(case.full)]
    return json.loads(parcc(*model, "--plan-in", plan_path(name), "--stats", "--json"))["step_communication"]


def parameters(case):
    """Elements of every parameter."""
    text = parcc(os.path.join(ROOT, "samples", case.model + ".dnn"), *defines(case.full), "--dump-after=elaborate",
                 "--stop-after=elaborate")
    found = re.findall(r"^  param +(\S+): real\[(.*)\]$", text, re.MULTILINE)
    return {name: math.prod(int(extent) for extent in re.findall(r"=(\d+)", dims)) for name, dims in found}


def check_bytes(found, expected):
    wrong = []
    for kind in {**found, **expected}:
        bytes_found = found.get(kind, {"bytes": 0})["bytes"]
        if abs(bytes_found - expected.get(kind, 0)) > max(1, 1e-6 * bytes_found):
            wrong.append(f"{kind}: {bytes_found} bytes, by the closed form {expected.get(kind, 0):.0f}")
    return "; ".join(wrong)


def try_parity(name, case):
    with tempfile.TemporaryDirectory(prefix="sample_plans_") as folder:
        path = os.path.join(ROOT, "samples", case.model + ".dnn")
        model = Model(case.model, path, case.small, case.edits, folder)
        return model.compare(Run(mesh_of(plan_path(name))), "planned", ["--plan-in", plan_path(name)])


def try_hand():
    """hand/shard.dnn under plans that know nothing of what it says; the others under their plans."""
    for name in ("cells", "ones", "pending", "windows"):
        with tempfile.TemporaryDirectory(prefix="sample_plans_") as folder:
            model = Model(name, os.path.join(HERE, "hand", name + ".dnn"), [], {}, folder)
            plan = os.path.join(HERE, "hand", name + ".plan")
            yield f"hand/{name}.plan", model.compare(Run(mesh_of(plan)), "planned", ["--plan-in", plan])
    with tempfile.TemporaryDirectory(prefix="sample_plans_") as folder:
        model = Model("shard", os.path.join(HERE, "hand", "shard.dnn"), [], {}, folder)
        for mesh in ("data=2,gpu=2", "gpu=2,data=3"):
            for plan in ("data", "random:1", "random:2"):
                failure = model.compare(Run(mesh), "planned", [f"--plan={plan}"])
                yield f"hand/shard.dnn, {mesh}, {plan}", failure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PLAN", help="without folder and suffix; or `hand`")
    parser.add_argument("--update", action="store_true", help="write the counts anew")
    parser.add_argument("--counts-only", action="store_true", help="build and run nothing")
    options = parser.parse_args()
    if options.update and os.environ.get("CI"):
        sys.exit("sample_plans.py: --update is refused where CI is set")
    names = options.names or [*CASES, "hand"]
    listed = sorted(file[:-5] for file in os.listdir(os.path.join(ROOT, "samples", "plans")) if file.endswith(".plan"))
    if listed != sorted(CASES):
        sys.exit(f"sample_plans.py: samples/plans has {listed}, tried are {sorted(CASES)}")
    with open(GOLDEN) as file:
        golden = json.load(file)
    passed, failed = 0, 0

    def judge(what, wrong):
        nonlocal passed, failed
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"FAILED {what}: {wrong}" if wrong else f"passed {what}", flush=True)

    for name in names:
        if name == "hand":
            if not options.counts_only:
                for what, failure in try_hand():
                    judge(what, failure and f"{failure.kind}: {failure}")
            continue
        case = CASES[name]
        found = communication(name, case)
        judge(f"{name}: bytes", check_bytes(found, case.form(parameters(case))))
        if options.update:
            golden[name] = found
        judge(f"{name}: counts", "" if found == golden.get(name) else f"expected {golden.get(name)}, found {found}")
        if not options.counts_only:
            try:
                failure = try_parity(name, case)
            except Failure as serial:
                failure = serial
            judge(f"{name}: parity", failure and f"{failure.kind}: {failure}")
    if options.update:
        lines = [f"  {json.dumps(name)}: {json.dumps(golden[name])}" for name in sorted(golden) if name in CASES]
        with open(GOLDEN, "w") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"sample_plans: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
