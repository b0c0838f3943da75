#!/usr/bin/python3
"""Programs of plans drawn at random against the serial program, in f64: plans.py [OPTIONS] MODEL...

A plan divides, replicates or pins every operator, input and stored tensor by itself. The losses and metrics of 3 steps, and what
is saved after them, agree with the program of one rank to 1e-11, gradient norms to ten times that, and every program allocates
what was planned, to the byte. A MODEL is one of SAMPLES below, or a file of plans/ without its suffix; `all` stands for each of
them. Every number of ranks takes its turns through MESHES, and about a tenth of the programs is built for the checking mode of
the host layer and run in it, by mpiexec; the others are started over TCP.

A failure prints the one command that repeats it, and the smallest plan that is found to fail in the same way: lines of the plan
are taken away for as long as it does (an operator without a line follows its operands).

    plans.py --plans 1000 --jobs 2 --done DONE --keep FAILED all     # long; begun again, it goes on where it was
"""

import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import compare_runs
from checks import launcher
from shrink import shrink

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MESHES = {
    2: ["gpu=2"],
    3: ["gpu=3"],
    4: ["gpu=4", "a=2,b=2"],
    5: ["gpu=5"],
    6: ["gpu=6", "a=2,b=3", "a=3,b=2"],
    7: ["gpu=7"],
    8: ["gpu=8", "a=2,b=4", "a=2,b=2,c=2"],
}
STEPS, TOLERANCE = 3, 1e-11
TIMEOUT = 900  # seconds, for a command that hangs
SHRUNK, ATTEMPTS = 2, 150  # plans of a model that are made smaller, and programs that are built for one


class Sample:
    """A sample, made small: definitions for it, and text that takes the place of other text (fewer blocks of the same kind)."""

    def __init__(self, defines, **edits):
        self.defines, self.edits = defines.split(), edits.items()


# A bias of keys adds the same to all scores of a query: its gradient is what rounding leaves of 0, of which Adam with a small eps
# makes whole steps.
BLUNT = {"adamw(": "adamw(eps = 1e-4, "}
# A batch of 3 leaves so little to the deepest network's batch norms that a last bit grows to 1e-10 on its way. Its gradients have a
# norm of 115: whole steps of them make ten times as much of a difference of rounding (3e-12 after 3 steps) as clipped ones.
SAMPLES = {
    "mlp": Sample("batch=6 size=12 width=9"),
    "lenet": Sample("batch=6 size=17"),
    "alexnet": Sample("batch=3 size=63 width=4 hidden=12 classes=5"),
    "vgg16": Sample("batch=3 size=32 width=4 hidden=12 classes=5"),
    "resnet": Sample("batch=3 size=32 depth=18 width=4 classes=5", **{"[2, 2, 2, 2]": "[1, 1, 1, 1]"}),
    "wresnet": Sample("batch=3 size=64 depth=50 widening=2 width=2 classes=5", **{"[3, 4, 6, 3]": "[1, 1, 1, 1]"}),
    "bigram": Sample("batch=5 vocabulary=23 width=6"),
    "charlm": Sample("batch=6 context=3 width=6"),
    "rnntc": Sample("batch=3 context=2 width=4 vocabulary=11 layers=2"),
    "rnn_big": Sample("batch=3 context=2 width=4 layers=2"),
    "lm1b": Sample("batch=3 context=2 width=5 hidden=6 vocabulary=23 samples=8"),
    "rnnlm": Sample("batch=4 context=2 width=5 vocabulary=11"),
    "nmt": Sample("batch=4 context=2 width=4 vocabulary=9"),
    "gnmt8": Sample("batch=3 context=2 width=4 vocabulary=9 layers=3"),
    "inception_v3": Sample("batch=7 size=75 width=4 classes=5",
                           **{"[32, 64, 64]": "[32]", "[128, 160, 160, 192]": "[128]", "block in 0..2": "block in 0..1",
                              "train {": "train { clip = 1;"}),
    "gpt2": Sample("batch=6 context=5 vocabulary=19 layers=2 width=6 heads=3", **BLUNT),
    "bert_base": Sample("batch=3 context=5 vocabulary=13 layers=1 width=6 heads=3", **BLUNT),
    "bert_large": Sample("batch=3 context=5 vocabulary=13 layers=1 width=6 heads=3", **BLUNT),
    "vit_b16": Sample("batch=3 size=6 patch=3 layers=1 width=6 heads=3 hidden=7 classes=5", **BLUNT),
    "mixtral": Sample("batch=3 context=5 vocabulary=19 layers=1 width=12 heads=3 kv_heads=1 experts=3 hidden=5"),
    "llama": Sample("batch=3 context=5 vocabulary=19 layers=1 width=12 heads=3 kv_heads=1 hidden=7"),
}


# Options of the programs of plans, not of the serial one.
OPTIONS = {"strips": ["--strip-bytes=3000"]}


class Failure(Exception):
    """What failed, in a word, and what was said."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def tool(variable, name):
    path = os.path.abspath(os.environ.get(variable) or os.path.join(ROOT, "build", "bin", name))
    if not os.access(path, os.X_OK):
        sys.exit(f"plans.py: no program {path}: {variable} says where {name} is")
    return path


def compiler(check):
    """What is tested is what is computed, and the compiler takes most of the time: tcc a tenth of that of clang, which without
    optimisation takes half of that of gcc."""
    found = [cc for cc in ("tcc", "clang") if shutil.which(cc) and not (check and cc == "tcc")]
    return [f"--cc={found[0]}"] if found else []


class Model:
    """One model, its serial program, and the programs of its plans, in a folder of its own."""

    options = []

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        sample = SAMPLES.get(name)
        path = os.path.join(ROOT, "samples", name + ".dnn")
        if not os.path.exists(path):
            path = os.path.join(ROOT, "tests/run/plans", name + ".dnn")
        if not os.path.exists(path):
            sys.exit(f"plans.py: no model {path}")
        with open(path) as file:
            text = file.read()
        for old, new in sample.edits if sample else []:
            if old not in text:
                sys.exit(f"plans.py: no '{old}' in {path}")
            text = text.replace(old, new)
        self.path = os.path.join(folder, name + ".dnn")
        with open(self.path, "w") as file:
            file.write(text)
        self.defines = [word for define in (sample.defines if sample else []) for word in ("-D", define)]
        self.serial = self.train("serial", 1, [], False, 0)
        self.options = OPTIONS.get(name, [])

    def command(self, kind, words, **more):
        """Runs a command in the folder and returns what it prints. Open MPI starts badly beside others that end, so each has a
        session folder of its own."""
        session = tempfile.mkdtemp(dir=self.folder)
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1",
                           OMPI_MCA_orte_tmpdir_base=session, **more)
        try:
            done = subprocess.run(words, cwd=self.folder, env=environment, timeout=TIMEOUT, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            raise Failure(kind, f"takes longer than {TIMEOUT} s") from None
        finally:
            shutil.rmtree(session, ignore_errors=True)
        if done.returncode != 0:
            raise Failure(f"{kind}, exit code {done.returncode}", done.stdout[:2000])
        return done.stdout

    def train(self, out, ranks, plan, check, seed):
        """Compiles, builds and runs a program. Its log and what it saved."""
        self.write(out, plan)
        return self.run(out, ranks, check, seed)

    def write(self, out, plan):
        """Compiles a program."""
        self.command("parcc", [tool("PARCC", "parcc"), self.path, "-q", "--dtype=f64", *self.defines, *self.options, *plan, "-o", f"{out}.cu"])

    def run(self, out, ranks, check, seed):
        """Builds and runs a program that was written. Its log and what it saved."""
        cc, check = compiler(check), ["--check"] if check else []
        build = [tool("PARCC_CC", "parcc-cc"), "--target=host", *cc, "-O0", *check, f"{out}.cu", "-o", out]
        warnings = self.command("parcc-cc", build)
        if warnings:
            raise Failure("parcc-cc: a warning", warnings[:2000])
        said = self.command("run", [*launcher(ranks, mpi=bool(check)), f"./{out}", "--data=synthetic", f"--steps={STEPS}", "--quiet", f"--log={out}.log",
                                    f"--save={out}.st"], PARCC_HOST_CHECK=str(len(check)), PARCC_HOST_SEED=str(seed))
        self.check_memory(f"{self.folder}/{out}.cu", said)
        return (compare_runs.read_log(f"{self.folder}/{out}.log", STEPS), compare_runs.read_tensors(f"{self.folder}/{out}.st"))

    @staticmethod
    def check_memory(program, said):
        with open(program) as file:
            planned = re.search(r"^// +memory +(\d+) bytes", file.read(), re.MULTILINE)
        allocated = re.search(r", (\d+) bytes of device memory$", said, re.MULTILINE)
        if not planned or not allocated or planned.group(1) != allocated.group(1):
            raise Failure("memory", f"planned: {planned and planned.group(1)} bytes, allocated: {allocated and allocated.group(1)}")

    def compare(self, case, out, plan):
        """What is wrong with the program of a plan, None if nothing."""
        try:
            self.write(out, [f"--mesh={case.mesh}", *plan])
        except Failure as failure:
            return failure
        return self.compare_written(case, out)

    def compare_written(self, case, out):
        """What is wrong with a program that was written, None if nothing."""
        try:
            log, saved = self.run(out, case.ranks, case.check, case.seed)
            try:
                compare_runs.compare_logs(self.serial[0], log, TOLERANCE)
                compare_runs.compare_tensors(self.serial[1], saved, TOLERANCE)
            except SystemExit as difference:
                raise Failure("compare", str(difference)) from None
        except Failure as failure:
            return failure
        finally:
            for suffix in ("", ".log", ".st"):
                if os.path.exists(f"{self.folder}/{out}{suffix}"):
                    os.remove(f"{self.folder}/{out}{suffix}")
        return None


class Case:
    """One plan of one model."""

    def __init__(self, model, ranks, seed):
        self.model, self.ranks, self.seed = model, ranks, seed
        self.mesh = MESHES[ranks][seed % len(MESHES[ranks])]
        self.check = (ranks + seed) % 10 == 0

    def __str__(self):
        return f"{self.model} {self.ranks} {self.seed}"

    def repeat(self):
        """The command that repeats it."""
        tools = [f"{name}={shlex.quote(os.environ[name])}" for name in ("PARCC", "PARCC_CC") if os.environ.get(name)]
        script = os.path.relpath(os.path.join(HERE, "plans.py"))
        return " ".join([*tools, "python3", script, "--ranks", str(self.ranks), "--seeds", f"{self.seed}..{self.seed}", self.model])


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--ranks", default="2,3,4,6,8")
    parser.add_argument("--plans", type=int, default=8, help="of each model, for each number of ranks: seeds 1..PLANS")
    parser.add_argument("--seeds", help="A..B, both included, instead of --plans")
    parser.add_argument("--jobs", type=int, default=1, help="programs that are built and run at a time")
    parser.add_argument("--keep", metavar="DIR", help="folder for models, programs and messages of failures")
    parser.add_argument("--done", metavar="FILE", help="list of what was tried: added to, and not tried again")
    options = parser.parse_args()
    first, _, last = (options.seeds or f"1..{options.plans}").partition("..")
    options.seeds = range(int(first), int(last or first) + 1)
    options.ranks = [int(ranks) for ranks in options.ranks.split(",")]
    if "all" in options.models:
        files = sorted(name[:-4] for name in os.listdir(os.path.join(HERE, "plans")) if name.endswith(".dnn"))
        options.models = [*SAMPLES, *files]
    return options


def keep(options, model, case, out, failure):
    folder = os.path.join(options.keep, str(case).replace(" ", "-"))
    os.makedirs(folder, exist_ok=True)
    for path in (model.path, f"{model.folder}/{out}.cu"):
        if os.path.exists(path):
            shutil.copy(path, folder)
    with open(f"{folder}/failure", "w") as file:
        file.write(f"{case.repeat()}\n{failure.kind}: {failure}\n")


def smallest(model, case, kind):
    """The text of the smallest plan of a case that is found to fail in the same way."""
    path = f"{model.folder}/smaller.plan"
    drawn = [tool("PARCC", "parcc"), model.path, "-q", "--dtype=f64", *model.defines, f"--mesh={case.mesh}"]
    try:
        model.command("parcc", [*drawn, f"--plan=random:{case.seed}", "--plan-out", path, "--stop-after=plan"])
    except Failure as failure:
        return f"no plan was written: {failure}"
    with open(path) as file:
        lines = [line for line in file if line.strip()]
    head, choices = lines[:2], lines[2:]  # plan, mesh

    def fails(choices):
        with open(path, "w") as file:
            file.writelines(head + choices)
        failure = model.compare(case, "smaller", ["--plan-in", path])
        return failure is not None and failure.kind == kind

    if not fails(choices):
        return "the plan that is written down and read back does not fail"
    choices = shrink(choices, fails, ATTEMPTS)
    return "".join(head + choices)


def try_case(options, model, case):
    """Tries one plan. Its failure, or None."""
    out = f"plan{case.ranks}_{case.seed}"
    failure = model.compare(case, out, [f"--plan=random:{case.seed}"])
    if failure and options.keep:
        keep(options, model, case, out, failure)
    if os.path.exists(f"{model.folder}/{out}.cu"):
        os.remove(f"{model.folder}/{out}.cu")
    return failure


def try_model(options, name, done):
    """Tries all plans of a model: how many passed and failed."""
    cases = [Case(name, ranks, seed) for ranks in options.ranks for seed in options.seeds]
    cases = [case for case in cases if str(case) not in done]
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="plans_") as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            model = Model(name, folder)
        except Failure as failure:
            print(f"FAILED the serial program of {name}: {failure.kind}: {failure}", flush=True)
            return 0, 1
        for case, failure in zip(cases, pool.map(lambda case: try_case(options, model, case), cases)):
            passed, failed = passed + (failure is None), failed + (failure is not None)
            if failure:
                print(f"FAILED {case.repeat()}\n  {case.mesh}: {failure.kind}: {failure}", flush=True)
            if failure and failed <= SHRUNK:
                print(f"the smallest plan that fails so:\n{smallest(model, case, failure.kind)}", flush=True)
            if options.done:
                with open(options.done, "a") as file:
                    file.write(f"{case} {'failed' if failure else 'passed'}\n")
    print(f"{name}: {passed} passed, {failed} failed", flush=True)
    return passed, failed


def main():
    options = parse_options()
    done = set()
    if options.done and os.path.exists(options.done):
        with open(options.done) as file:
            done = {line.rsplit(" ", 1)[0] for line in file}
    passed, failed = map(sum, zip(*(try_model(options, name, done) for name in options.models)))
    print(f"plans: {passed} passed, {failed} failed")
    return 1 if failed or not passed + len(done) else 0


if __name__ == "__main__":
    sys.exit(main())
