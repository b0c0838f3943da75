"""kill.py BUILD_DIR [PROGRAM [TIMES]]: a run that saves often is killed with -9 at random moments, one rank or all at once, TIMES
times, and started again from what it has saved. Each time all ranks end within seconds, the launcher not with success, and every
checkpoint is a whole one; in the end the run has the bits of one that was never killed. PROGRAM: stored (default; 20 times), tensors
of which every step moves some; charlm (4 times), an LSTM that reads a text, its hidden units divided over the ranks."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS, SECONDS_TO_END = 3, 15
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def build_stored(build):
    subprocess.run([f"{build}/bin/parcc-cc", "--target=host", f"-DRANKS={RANKS}", "-DMOVING", f"{HERE}/stored.cu", "-o", "stored"], check=True)


def build_charlm(build):
    model = os.path.join(HERE, "..", "..", "..", "samples", "charlm.dnn")
    sizes = ["-D", "width=12", "-D", "context=6", "-D", "batch=4", "-D", "rate=0.1"]
    subprocess.run([f"{build}/bin/parcc", model, *sizes, f"--ranks={RANKS}", "--search=model", "-o", "charlm.cu"], check=True)
    subprocess.run([f"{build}/bin/parcc-cc", "--target=host", "-O1", "charlm.cu", "-o", "charlm"], check=True)
    with open("text.txt", "w") as file:
        file.writelines(f"{i} green bottles, hanging on the wall, and if one fell there were {i - 1}\n" for i in range(500, 0, -1))


PROGRAMS = {"stored": (build_stored, 20, []), "charlm": (build_charlm, 4, ["--data", "."])}
PROGRAM = sys.argv[2] if len(sys.argv) > 2 else "stored"


def command(steps, *options):
    ranks = ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS), f"./{PROGRAM}"]
    return [*ranks, "--quiet", "--steps", str(steps), *PROGRAMS[PROGRAM][2], *options]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    """The ranks: the processes of the program that this launcher has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                head, rest = file.read().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if head.endswith(f"({PROGRAM}") and int(rest.split()[1]) == pid:
            found.append(int(name))
    return sorted(found)


def wait_until(happened):
    deadline = time.time() + 60
    while not happened() and time.time() < deadline:
        time.sleep(0.01)


def saved_steps(directory):
    return sorted(int(name[5:]) for name in os.listdir(directory) if name.startswith("step-"))


def check_checkpoints(directory):
    """That all in the directory are whole. The steps of them."""
    steps = []
    for name in sorted(os.listdir(directory)):
        if not name.startswith("step-"):
            assert name in ("unfinished", "replaced"), name
            continue
        with open(f"{directory}/{name}/run.json") as file:
            run = json.load(file)
        with open(f"{directory}/{name}/tensors.safetensors", "rb") as file:
            raw = file.read()
        assert len(raw) == run["tensors_bytes"] and zlib.crc32(raw) == int(run["tensors_crc32"], 16), name
        assert run["step"] == int(name[5:]), name
        steps.append(run["step"])
    assert len(steps) <= 3, steps  # two, and one more until the oldest is removed
    return steps


def kill_once(directory, log):
    """Starts the run, or goes on with it, and kills it at some moment. The steps that are saved then."""
    saved = check_checkpoints(directory) if os.path.isdir(directory) else []
    load = ["--load", directory] if saved else []
    endless = command(10**9, "--save", directory, "--save-every", "3", *load)
    launcher = subprocess.Popen(endless, env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        wait_until(lambda: len(children(launcher.pid)) == RANKS or launcher.poll() is not None)
        pids = children(launcher.pid)
        assert len(pids) == RANKS, f"{len(pids)} ranks have started"
        if random.random() < 0.8:  # most runs get as far as to save; the others are killed while they start
            wait_until(lambda: os.path.isdir(directory) and saved_steps(directory) != saved)
        time.sleep(random.uniform(0, 1))
        first, *others = random.sample(pids, RANKS)
        os.kill(first, signal.SIGKILL)
        for pid in others if random.random() < 0.3 else []:
            with contextlib.suppress(ProcessLookupError):  # the launcher may have ended it because of the first
                os.kill(pid, signal.SIGKILL)
        begin = time.time()
        while any(map(is_running, pids)):
            assert time.time() - begin < SECONDS_TO_END, "a rank is left"
            time.sleep(0.05)
        try:
            assert launcher.wait(SECONDS_TO_END) != 0, "the launcher ended with success"
        except subprocess.TimeoutExpired:  # Open MPI 4.1 can lock itself up when a rank is killed in MPI_Init
            print("the launcher hangs after all its ranks have ended")
    finally:
        if launcher.poll() is None:
            launcher.kill()
    return check_checkpoints(directory) if os.path.isdir(directory) else []


def main():
    build = os.path.abspath(sys.argv[1])
    build_program, usual, _ = PROGRAMS[PROGRAM]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else usual
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    random.seed(seed)
    print(f"SEED={seed}")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w+") as log:
        os.chdir(folder)
        ENVIRONMENT["TMPDIR"] = folder  # Open MPI starts badly beside others that start and end
        build_program(build)
        steps = []
        for number in range(times):
            before, steps = steps, kill_once("ck", log)
            print(f"killed {number + 1}: saved {steps}", flush=True)
            assert not before or (steps and steps[-1] >= before[-1]), f"saved before: {before}"
        assert steps, "nothing was ever saved"
        end = steps[-1] + 100
        subprocess.run(command(end, "--save", "end.st", "--load", "ck"), env=ENVIRONMENT, check=True, stdout=log)
        subprocess.run(command(end, "--save", "whole.st"), env=ENVIRONMENT, check=True, stdout=log)
        with open("whole.st", "rb") as a, open("end.st", "rb") as b:
            assert a.read() == b.read(), "not the tensors of a run that was never killed"
    print("all right")


main()
