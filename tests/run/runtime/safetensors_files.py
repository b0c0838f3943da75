"""safetensors_files.py BUILD_DIR: the safetensors of Python reads the files of a program, and a program reads its files. Skipped
(exit code 77) where Python has no safetensors; resume_emitted.sh reads the files without it."""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SHAPES = {"a": ((5, 3, 7), np.float32), "b": ((2,), np.float64), "s": ((), np.int32)}


def run(*options, fails=False):
    command = ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n", "2", "./stored", "--quiet", *options]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr


def check(tensors):
    assert tensors.keys() == SHAPES.keys(), tensors.keys()
    for name, (shape, dtype) in SHAPES.items():
        assert tensors[name].shape == shape and tensors[name].dtype == dtype, name


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        ENVIRONMENT["TMPDIR"] = folder  # Open MPI starts badly beside others that start and end
        compile = [f"{build}/bin/parcc-cc", "--target=host", "-DRANKS=2", f"{HERE}/stored.cu", "-o", "stored"]
        subprocess.run(compile, check=True)

        run("--save", "1.safetensors", "--seed", "3")
        run("--save", "checkpoints", "--seed", "3")
        ours = load_file("1.safetensors")
        check(ours)
        assert abs(ours["a"]).min() > 0 and ours["s"] == 3, ours
        with safe_open("1.safetensors", "numpy") as file:
            assert file.metadata()["model"] == "stored"
        checkpoint = load_file("checkpoints/step-000000004/tensors.safetensors")
        for name in SHAPES:
            assert (checkpoint[name] == ours[name]).all(), name

        random = np.random.default_rng(1)
        theirs = {name: np.array(random.normal(size=shape) * 100, dtype) for name, (shape, dtype) in SHAPES.items()}
        save_file(theirs, "2.safetensors", metadata={"made": "by Python"})
        run("--init", "2.safetensors", "--save", "3.safetensors")
        again = load_file("3.safetensors")
        check(again)
        for name in SHAPES:
            assert (again[name] == theirs[name]).all(), name

        wrong = {"a": theirs["a"].astype(np.float16), "b": np.zeros((3,)), "other": theirs["s"]}
        save_file(wrong, "4.safetensors")
        message = run("--init", "4.safetensors", fails=True)
        for line in (
            "stored: 4.safetensors does not fit the program:",
            "  type: a is of type F16, the program wants F32",
            "  shape: b has [3], the program wants [2]",
        ):
            assert line + "\n" in message, (line, message)
    print("all right")


main()
