"""Commands as tasks of a Ray cluster, whose machines share the file system and have this package installed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from experiments.ablate import processes
from experiments.ablate.processes import Ended
from experiments.errors import ExperimentError
from experiments.process import environment

LOCAL = "local"  # instead of an address: a cluster of this machine alone


def run_on_cluster(
    commands: Mapping[str, Sequence[str]],
    logs: Path,
    *,
    address: str,
    cores: int,
    started: Callable[[str], Sequence[str]],
    ended: Ended,
) -> None:
    """As `processes.run_processes`, on the cluster at this address; a run takes so many cores.

    Raises:
        ExperimentError: Ray is not installed, or the cluster cannot be reached.
    """
    try:
        import ray
    except ImportError:
        raise ExperimentError("Ray is not installed; install lakeloop[ray]") from None
    try:
        if address == LOCAL:
            ray.init(include_dashboard=False, configure_logging=False, log_to_driver=False)
        else:
            ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ExperimentError(f"the Ray cluster {address} cannot be reached: {' '.join(str(error).split())}") from None
    try:
        task = ray.remote(num_cpus=cores, max_retries=0)(_run)
        paths = environment(None)["PYTHONPATH"]
        waiting = {}
        for name, command in commands.items():
            arguments = [processes.MODULE, *command, *started(name)]
            waiting[task.remote(arguments, str(logs / f"{name}.log"), os.getcwd(), paths)] = name
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for reference in done:
                name = waiting.pop(reference)
                try:
                    code, seconds = ray.get(reference)
                except ray.exceptions.RayError as error:
                    _note(logs / f"{name}.log", f"error: the cluster lost the run: {type(error).__name__}")
                    code, seconds = 1, 0.0
                ended(name, code, seconds)
    finally:
        ray.shutdown()


def _run(command: Sequence[str], log: str, folder: str, paths: str) -> tuple[int, float]:
    """On a worker: the exit code of `python -m` these words, and its seconds."""
    began = time.monotonic()
    with open(log, "ab") as out:
        done = subprocess.run(
            [sys.executable, "-m", "experiments.child", str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=folder,
            check=False,
        )
    return done.returncode, time.monotonic() - began


def _note(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as out:
        out.write(line + "\n")
