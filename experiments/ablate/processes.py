"""Commands side by side in processes of this machine; they die with this one."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from experiments.process import environment

Ended = Callable[[str, int, float], None]  # name, exit code, seconds
MODULE = "experiments.run"
_TICK = 0.2
_PATIENCE = 30.0  # seconds for a run to end its own step


def run_processes(
    commands: Mapping[str, Sequence[str]],
    logs: Path,
    *,
    at_once: int,
    started: Callable[[str], Sequence[str]],
    ended: Ended,
) -> None:
    """Run all `python -m experiments.run COMMAND..`, each with its log; one that fails does not stop the others.

    `started` is called before each and may add options to its command.
    """
    waiting = list(commands)
    running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                command = [*commands[name], *started(name)]
                running[name] = (_start(command, logs / f"{name}.log"), time.monotonic())
            for name, (child, began) in list(running.items()):
                if child.poll() is not None:
                    del running[name]
                    ended(name, child.returncode, time.monotonic() - began)
            time.sleep(_TICK)
    finally:
        for child, _ in running.values():
            child.terminate()
        for child, _ in running.values():
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()


def _start(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "experiments.child", str(os.getpid()), MODULE, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(None),
            start_new_session=True,  # an interrupt on the terminal is for the sweep, which ends its runs in order
        )
