#!/usr/bin/python3
"""Holds an emitted program against PyTorch: compare.py MODEL f32|f64

The sample is compiled for one rank, reduced in size; its train block is replaced by one with plain settings, so that the
learning rate is not a warm-up's. The parameters that the program starts from are exported, PyTorch starts from them too, and
both train 5 steps on the same data. The losses and gradient norms must agree. PyTorch always computes in f64.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

STEPS = 5
TOLERANCE = {"f64": 1e-9, "f32": 1e-4}  # relative, of losses
NORM_TOLERANCE = {"f64": 1e-8, "f32": 2e-2}  # of gradient norms; small batch statistics condition them badly

# Settings of the model, then of the train block. The optimizers differ so that each is held against PyTorch's. The deepest
# networks have gradients of norm 20 to 300, and in f32 PyTorch itself differs from its f64 by 1e-3 after five large steps: in
# f32 they take small ones.
CASES = {
    "mlp": (dict(batch=7, width=33), "sgd(lr = 0.1, momentum = 0.9, nesterov = true)", ""),
    "lenet": (dict(batch=6), "sgd(lr = 0.05, momentum = 0.9, weight_decay = 0.01)", ""),
    "alexnet": (dict(batch=5, size=67, width=8, hidden=40, classes=10, rate=0), "adam(lr = 1e-3)", ""),
    "resnet": (dict(batch=6, size=64, depth=18, width=8, classes=10), "sgd(lr = 0.02, momentum = 0.9)", "clip = 1.0;"),
    "resnet.f32": (dict(batch=6, size=64, depth=18, width=8, classes=10), "sgd(lr = 5e-4, momentum = 0.9)", "clip = 1.0;"),
    "resnet50": (dict(batch=6, size=64, depth=50, width=4, classes=10), "sgd(lr = 1e-3)", "clip = 0.5;"),
    "resnet50.f32": (dict(batch=6, size=64, depth=50, width=4, classes=10), "sgd(lr = 1e-4)", "clip = 0.5;"),
    "inception_v3.f32": (dict(batch=6, size=115, width=8, classes=10, rate=0), "sgd(lr = 1e-4)", "clip = 0.1;"),
    "inception_v3": (dict(batch=6, size=115, width=8, classes=10, rate=0), "adamw(lr = 1e-4, weight_decay = 0.1)", ""),
    "charlm": (dict(batch=5, context=6, width=16, layers=2), "adam(lr = 0.01)", "clip = 1.0;"),
    "gpt2": (dict(batch=4, context=12, vocabulary=61, layers=2, width=24, heads=4), "adamw(lr = 1e-3, weight_decay = 0.1)", "clip = 1.0;"),
    "rnnlm": (dict(batch=6, context=5, vocabulary=60, width=12), "sgd(lr = 0.5, momentum = 0.9)", "clip = 5.0;"),
    "nmt": (dict(batch=5, context=6, vocabulary=40, width=10), "adam(lr = 0.01)", ""),
    "llama": (dict(batch=3, context=11, vocabulary=53, layers=2, width=24, heads=4, kv_heads=2, hidden=40), "adam(lr = 1e-3)", ""),
    "bert_base": (dict(batch=5, context=9, vocabulary=17, layers=2, width=24, heads=3), "adamw(lr = 1e-3)", ""),
    "bert_own": (dict(batch=5, context=9, vocabulary=17, layers=1, width=24, heads=3, head="own"), "adamw(lr = 1e-3)", ""),
    "mixtral": (dict(batch=3, context=11, vocabulary=53, layers=2, width=24, heads=4, kv_heads=2, experts=5, hidden=16),
                "adam(lr = 1e-3)", ""),
    "mixtral_all": (dict(batch=4, context=7, vocabulary=31, layers=1, width=16, heads=2, kv_heads=1, experts=4, hidden=24, chosen=3,
                         capacity=0), "adam(lr = 1e-3)", ""),
    "vit_b16": (dict(batch=4, size=12, patch=4, layers=2, width=24, heads=4, classes=10), "adamw(lr = 1e-3)", "clip = 1.0;"),
}
# Inputs of models that read sequences, and how many values each may have (a number, or a setting; in a list, for an input of one
# number for each sample); the last one is the label.
SEQUENCES = {
    "charlm": dict(byte=256, next=256),
    "gpt2": dict(token="vocabulary", next="vocabulary"),
    "rnnlm": dict(word="vocabulary", next="vocabulary"),
    "nmt": dict(source="vocabulary", target="vocabulary", next="vocabulary"),
    "llama": dict(token="vocabulary", next="vocabulary"),
    "mixtral": dict(token="vocabulary", next="vocabulary"),
    "bert_base": dict(token="vocabulary", segment=2, target="vocabulary", follows=[2]),
}
IGNORED = {"nmt": 0}  # the label that is none


def fail(text):
    print("FAILED " + text)
    sys.exit(1)


def write_data(folder, idx, batch, size, channels, classes, dtype):
    """Images and labels, exactly one batch: every step is an epoch, so the order of samples is only one of a sum."""
    import gzip
    import struct

    import numpy as np

    random = np.random.default_rng(7)
    label = random.integers(0, classes, batch)
    if not idx:
        image = random.standard_normal((batch, channels, size, size)).astype(dtype)
        np.save(folder + "/image.npy", image)
        np.save(folder + "/label.npy", label.astype(np.int32))
        return image, label
    pixels = random.integers(0, 256, (batch, size, size)).astype(np.uint8)
    with gzip.open(folder + "/image.gz", "wb") as file:
        file.write(struct.pack(">BBBBIII", 0, 0, 8, 3, batch, size, size) + pixels.tobytes())
    with gzip.open(folder + "/label.gz", "wb") as file:
        file.write(struct.pack(">BBBBI", 0, 0, 8, 1, batch) + label.astype(np.uint8).tobytes())
    return pixels.reshape(batch, 1, size, size) / 255.0, label


def write_sequences(folder, ranges, batch, context):
    """The same for integers, one array for each input: (batch, context), or (batch,) where the range is a list."""
    import numpy as np

    random = np.random.default_rng(7)
    arrays = [random.integers(0, *values, batch) if isinstance(values, list) else random.integers(0, values, (batch, context))
              for values in ranges.values()]
    for name, array in zip(ranges, arrays):
        np.save(f"{folder}/{name}.npy", array.astype(np.int32))
    return arrays


def make_model(root, sample, folder, optimizer, settings, sources):
    with open(f"{root}/samples/{sample}.dnn") as file:
        text = file.read()
    text, found = re.subn(r"\ntrain \{.*?\n\}\n", "\n", text, flags=re.S)
    if found != 1:
        fail(f"samples/{sample}.dnn has {found} train blocks")
    with open(f"{folder}/{sample}.dnn", "w") as file:
        file.write(f"{text}\ntrain {{\n")
        file.writelines(f"  data {name} = {source};\n" for name, source in sources.items())
        file.write(f"  optimizer = {optimizer};\n  {settings}\n  steps = {STEPS};\n}}\n")


def run_program(root, sample, folder, parameters, dtype):
    """Compiles and runs. Returns the initial tensors and the log."""
    import safetensors

    parcc = os.environ.get("PARCC", root + "/build/bin/parcc")
    parcc_cc = os.environ.get("PARCC_CC", root + "/build/bin/parcc-cc")
    program = f"{folder}/{sample}"
    defines = [f"-D{name}={value}" for name, value in parameters.items()]
    subprocess.run([parcc, program + ".dnn", "-o", program + ".cu", "--dtype", dtype, *defines], check=True)
    quick = ["--cc=tcc"] if dtype == "f64" and shutil.which("tcc") else []
    subprocess.run([parcc_cc, "--target=host", *quick, program + ".cu", "-o", program], check=True)
    run = [program, "--data", folder, "--quiet"]
    quiet = dict(check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*run, "--steps", "0", "--save", folder + "/start.safetensors"], **quiet)
    subprocess.run([*run, "--steps", str(STEPS), "--log", folder + "/log"], **quiet)
    with open(folder + "/log") as file:
        log = [json.loads(line) for line in file]
    return safetensors.read(folder + "/start.safetensors"), log


def make_optimizer(parameters, text):
    """The optimizer that a train block names, in PyTorch."""
    import torch

    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    options = {}
    for argument in arguments.split(","):
        key, value = (part.strip() for part in argument.split("="))
        options[key] = value == "true" if value in ("true", "false") else float(value)
    return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name](parameters, **options)


def losses_of(sample, result, label):
    """The losses by name: what a network returns, or what follows from its logits and auxiliary logits."""
    import torch.nn.functional as F

    if isinstance(result, dict):
        return result
    logits, auxiliary = result
    loss = F.cross_entropy(logits.flatten(0, -2), label.flatten(), ignore_index=IGNORED.get(sample, -100))
    return {"loss": loss} if auxiliary is None else {"main": loss, "auxiliary": 0.4 * F.cross_entropy(auxiliary, label)}


def train(sample, network, tensors, inputs, label, parameters, optimizer_text, clip):
    """Five steps in PyTorch. Returns what a line of the log must have, by name."""
    import torch

    torch.set_num_threads(1)
    weights = [torch.tensor(t, dtype=torch.float64, requires_grad=True) for t in tensors]
    optimizer = make_optimizer(weights, optimizer_text)
    inputs, label = [torch.tensor(array) for array in inputs], torch.tensor(label, dtype=torch.int64)
    inputs = [array.to(torch.float64) if array.is_floating_point() else array for array in inputs]
    result = []
    for _step in range(STEPS):
        remaining = iter(weights)
        losses = losses_of(sample, network(lambda: next(remaining), *inputs, label=label, **parameters), label)
        if next(remaining, None) is not None:
            fail("the program has more parameters than the PyTorch model")
        optimizer.zero_grad()
        total = sum(losses.values())
        total.backward()
        norm = torch.sqrt(sum((weight.grad**2).sum() for weight in weights))
        if clip is not None and norm > clip:  # clip_grad_norm_ of PyTorch adds 1e-6 to the norm
            for weight in weights:
                weight.grad *= clip / norm
        optimizer.step()
        line = {**losses, "loss": total, "gradient_norm": norm}
        result.append({key: value.item() for key, value in line.items()})
    return result


def compare(what, step, found, expected, tolerance):
    if found is None:
        fail(f"step {step}: the log has no {what}")
    error = abs(found - expected) / abs(expected)
    print(f"step {step}  {what:14} {found:.15g}  PyTorch {expected:.15g}  relative difference {error:.1e}")
    if not error <= tolerance:
        fail(f"step {step}: {what} differs by more than {tolerance}")


def main():
    name, dtype = sys.argv[1:]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        import torch  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        print(f"SKIPPED: {error}")
        sys.exit(77)
    import networks

    parameters, optimizer, settings = CASES.get(f"{name}.{dtype}", CASES[name])
    sample = {"resnet50": "resnet", "bert_own": "bert_base", "mixtral_all": "mixtral"}.get(name, name)
    idx = sample in ("mlp", "lenet")
    clip = float(re.search(r"clip = ([\d.]+)", settings).group(1)) if "clip" in settings else None
    with tempfile.TemporaryDirectory() as folder:
        if sample in SEQUENCES:
            ranges = {name: parameters[values] if isinstance(values, str) else values
                      for name, values in SEQUENCES[sample].items()}
            *inputs, label = write_sequences(folder, ranges, parameters["batch"], parameters["context"])
            sources = {name: f'npy("{name}.npy")' for name in ranges}
        else:
            size, channels = parameters.get("size", 28), 1 if idx else 3
            data_type = "float32" if dtype == "f32" else "float64"
            *inputs, label = write_data(folder, idx, parameters["batch"], size, channels, 10, data_type)
            images, labels = ('idx("image.gz") / 255', 'idx("label.gz")') if idx else ('npy("image.npy")', 'npy("label.npy")')
            sources = dict(image=images, label=labels)
        make_model(root, sample, folder, optimizer, settings, sources)
        tensors, log = run_program(root, sample, folder, parameters, dtype)
    states = re.compile(r"\.(running_mean|running_var|velocity|moment1|moment2)$")
    start = [tensor for key, tensor in tensors.items() if not states.search(key)]
    expected = train(sample, getattr(networks, sample), start, inputs, label, parameters, optimizer, clip)
    if len(log) != STEPS:
        fail(f"{len(log)} steps in the log, expected {STEPS}")
    for step, (found, line) in enumerate(zip(log, expected), 1):
        for key, value in line.items():
            tolerance = NORM_TOLERANCE if key == "gradient_norm" else TOLERANCE
            compare(key, step, found.get(key), value, tolerance[dtype])
    if expected[0]["loss"] == expected[-1]["loss"]:
        fail("the losses do not change: nothing was trained")
    print("ok")


if __name__ == "__main__":
    main()
