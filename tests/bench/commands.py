"""What scripts that build and run programs share: commands, and text in files."""

import subprocess
import sys


def call(command):
    """The exit code, and what is printed."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def must(command):
    """What is printed, of a command whose failure ends the script."""
    code, out, said = call(command)
    if code != 0:
        sys.exit(f"{' '.join(command)}: {said}{out}")
    return out, said


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
