"""What the checks of one script need: counting those that fail, and running things."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SESSIONS = tempfile.TemporaryDirectory()  # two mpiexec that end at the same time would remove each other's session folder
os.environ["OMPI_MCA_orte_tmpdir_base"] = SESSIONS.name
passed = failed = 0


def check(what, right):
    global passed, failed
    passed += bool(right)
    failed += not right
    if not right:
        print(f"FAILED {what}")


def launcher(ranks, mpi=False):
    """The words that stand before a program to start it on so many ranks: over TCP, where nobody waits busily, or by mpiexec."""
    by_mpi = ["mpiexec", "--oversubscribe", "--bind-to", "none", "-n"]
    return [*(by_mpi if mpi else [os.path.join(ROOT, "tests", "run", "launch.py")]), str(ranks)] if ranks > 1 else []


def call(command):
    """The exit code, and what is printed."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def finish(name, skipped=None):
    """Ends the script. skipped: why some checks could not be made; then a script in which nothing fails counts as skipped."""
    print(f"{name}: {passed} passed, {failed} failed" + (f"; {skipped}" if skipped else ""))
    sys.exit(77 if skipped and failed == 0 else failed > 0)
