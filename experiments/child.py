"""Runs a step's module so that it dies with its driver: `python -m experiments.child PARENT MODULE ARGUMENT..`.

Asked for here, in the child, and not between fork and exec: a process that has JAX in it must not run Python there.
"""

import ctypes
import os
import runpy
import signal
import sys

LAUNCHER = "launcher"  # in place of the parent's id: whichever process started this one
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the step."""
    parent, module, *arguments = sys.argv[1:]
    above = os.getppid() if parent == LAUNCHER else int(parent)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != above or above == 1:  # it died before the call
        sys.exit(1)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
