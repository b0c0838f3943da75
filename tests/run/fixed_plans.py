#!/usr/bin/python3
"""The plans that have a name, of --search: what they communicate, and that they compute what the serial program does.

The bytes of a training step, as `parcc --stats --json` has them, are those of the closed forms below and of sample_plans.py: a
plan that is made moves what the one that was written by hand does. Then programs of small models, in f64, against the program of
one rank, to 1e-11: a few of them. ../bench/parity_all.py has those of every sample.
"""

import itertools
import json
import os
import sys
import tempfile

import plans
import sample_plans
from plans import ROOT
from sample_plans import Case, Run, check_bytes, defines, gather, parameters, parcc, reduce


# ---- closed forms: bytes of a step by kind, for p ranks

def nothing(params):
    return {}


def fsdp(p):
    """Every parameter gathered once, every gradient scattered; two scalars of the loss."""
    return lambda params: {"all_gather": gather(sum(params.values()), p), "reduce_scatter": gather(sum(params.values()), p),
                           "all_reduce": reduce(2, p)}


def mlp_model(params):
    """Both hidden layers [batch, width] gathered for the next, their gradients scattered; maximum, sum and picked logit."""
    hidden = gather(2 * 64 * 512, 4)
    return {"all_gather": hidden, "reduce_scatter": hidden, "all_reduce": reduce(3 * 64, 4)}


def alexnet_model(params):
    """What each layer but the last makes, pooled, of 16 images, gathered for the next, and its gradient scattered."""
    made = 64 * 27**2 + 192 * 13**2 + (384 + 256) * 13**2 + 256 * 6**2 + 2 * 4096
    return {"all_gather": gather(16 * made, 4), "reduce_scatter": gather(16 * made, 4), "all_reduce": reduce(3 * 16, 4)}


def llama_megatron(params):
    """Two blocks with eight heads of keys and values for 32 of queries: two sums of [batch, steps, width] in each direction of a
    block, the words looked up, from their owners, the gradient of what the logits are made of, maximum, sum and picked logit of every step. For the
    norm of the gradients a square of every parameter that is divided: all but those of the norms."""
    states, width = 4 * 2048, 4096
    divided = sum(not name.endswith("gamma") for name in params)
    return {"all_reduce": reduce(states * width * (4 * 2 + 1) + 3 * states + divided, 4), "publish": gather(states * width, 4)}


FORMS = [  # model, definitions, mesh, plan, form
    ("mlp", "", "gpu=4", "single", nothing),
    ("mlp", "", "gpu=4", "model", mlp_model),
    ("mlp", "", "gpu=4", "fsdp", fsdp(4)),
    ("alexnet", "batch=16", "gpu=4", "model", alexnet_model),
    ("alexnet", "batch=16", "gpu=4", "fsdp", fsdp(4)),
    ("alexnet", "batch=16", "gpu=2", "owt", sample_plans.alexnet),
    ("vgg16", "", "gpu=4", "owt", sample_plans.vgg16),
    ("gpt2", "", "data=2,tensor=4", "megatron", sample_plans.gpt2_tensor_data),
    ("llama", "layers=2 kv_heads=8", "tensor=4", "megatron", llama_megatron),
]


def try_forms():
    for model, words, mesh, plan, form in FORMS:
        path = os.path.join(ROOT, "samples", model + ".dnn")
        found = parcc(path, *defines(words.split()), f"--mesh={mesh}", f"--search={plan}", "--stats", "--json")
        case = Case(model, words, "", form)
        yield f"{model}, {mesh}, {plan}: bytes", check_bytes(json.loads(found)["step_communication"], form(parameters(case)))


# ---- parity

FEW = [
    ("mlp", "gpu=3", "model"), ("mlp", "a=2,b=2", "fsdp"), ("alexnet", "gpu=2", "owt"), ("alexnet", "gpu=3", "model"),
    ("gpt2", "data=2,tensor=2", "megatron"), ("gpt2", "gpu=3", "fsdp"), ("charlm", "gpu=2", "model"),
]


def try_parity(runs, options_of):
    """Programs of runs (model, mesh, ...) against the serial one; options_of(run): what asks for the plan."""
    for model in dict.fromkeys(run[0] for run in runs):
        with tempfile.TemporaryDirectory(prefix="plans_") as folder:
            program = plans.Model(model, folder)
            for run in [run for run in runs if run[0] == model]:
                failure = program.compare(Run(run[1]), "planned", options_of(run))
                yield f"{', '.join(run)}: parity", failure and f"{failure.kind}: {failure}"


def try_all(name, few, tries, options_of):
    """What a test of plans tries besides programs, then its programs."""
    passed, failed = 0, 0
    for what, wrong in itertools.chain(tries(), try_parity(few, options_of)):
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"FAILED {what}: {wrong}" if wrong else f"passed {what}", flush=True)
    print(f"{name}: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(try_all("fixed_plans", FEW, try_forms, lambda run: [f"--search={run[2]}"]))
