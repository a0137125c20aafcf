"""One step as a child process: it dies with its driver, its progress becomes a bar, the rest of its words a log."""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from experiments.blocks import LAUNCHES
from experiments.errors import StepError

SOURCE = Path(__file__).resolve().parent.parent
_TICK = 0.25
# The last line of a traceback, which torch begins with the rank.
_EXCEPTION = re.compile(r"(?:\[rank\d+\]: )?((?:\w+\.)*\w+(?:Error|Exception|Interrupt): \S.*)")


@dataclass(frozen=True)
class Usage:
    """What a step took."""

    seconds: float
    cpu_seconds: float
    peak_memory: int  # bytes, the largest resident set of the step's process


def run_step(
    module: str,
    job: Path,
    log: Path,
    *,
    threads: int | None,
    inherit: Sequence[int] = (),
    launch: Mapping[str, Any] | None = None,
    on_progress: Callable[[dict[str, Any]], None] = lambda _: None,
    on_tick: Callable[[], None] = lambda: None,
) -> Usage:
    """Run `python -m module job` to its end; with a recipe's `launch` block as several processes.

    Raises:
        StepError: the step failed; the message is its own one-line error, or says how it ended and where the log is.
    """
    began = time.monotonic()
    error: str | None = None
    with log.open("ab") as out:
        start = out.tell()  # an earlier attempt may stand before it
        child = subprocess.Popen(
            [sys.executable, "-m", "experiments.child", str(os.getpid()), *_launched(launch), module, str(job)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=out,
            env=environment(threads, processes=1 if launch is None else int(launch["processes"])),
            pass_fds=inherit,
            # A group of its own, so that a step's own children can be ended with it.
            start_new_session=True,
        )
        assert child.stdout is not None
        try:
            for line in _lines(child.stdout, on_tick):
                message = _message(line)
                if message is None:
                    if line != b"\n":  # what stands before every message
                        out.write(line)
                        out.flush()
                elif "progress" in message:
                    on_progress(message["progress"])
                else:
                    error = str(message["error"])
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if child.returncode is None:
                _end(child)
            child.stdout.close()
    if child.returncode != 0 or error is not None:
        raise StepError(error or _how_it_ended(module, child.returncode, log, start))
    scale = 1 if sys.platform == "darwin" else 1024
    return Usage(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * scale)


def _launched(launch: Mapping[str, Any] | None) -> list[str]:
    """What stands before a step's module when accelerate starts it."""
    if launch is None:
        return []
    shipped = LAUNCHES / f"{launch['config']}.yaml"
    config = shipped if shipped.is_file() else Path(launch["config"]).absolute()
    options = ["--config_file", str(config), "--num_processes", str(launch["processes"]), "--main_process_port", "0"]
    return ["accelerate.commands.launch", *options, "--module", "experiments.child", "launcher"]


def environment(threads: int | None, processes: int = 1) -> Mapping[str, str]:
    """The step's environment: ours, our sources importable, and as many threads as the recipe says, over all processes.

    Several processes judge on the CPU: JAX in each of them would reach for all accelerators.
    """
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    defaults = {
        "TOKENIZERS_PARALLELISM": "false",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # torch needs the device's memory too
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    each = max(1, (threads or cores()) // processes) if threads is not None or processes > 1 else None
    count = {"OMP_NUM_THREADS": str(each), "NUMBA_NUM_THREADS": str(each)} if each is not None else {}
    if processes > 1:
        defaults["JAX_PLATFORMS"] = "cpu"
    return {**defaults, **os.environ, **count, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lines(stream: IO[bytes], on_tick: Callable[[], None]) -> Iterator[bytes]:
    """Whole lines as they come, with a tick in between so that clocks go on."""
    descriptor, rest = stream.fileno(), b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            on_tick()
            if not selector.select(_TICK):
                continue
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line + b"\n"
    if rest:
        yield rest + b"\n"


def _message(line: bytes) -> dict[str, Any] | None:
    if not line.startswith((b'{"progress"', b'{"error"')):
        return None
    try:
        message: dict[str, Any] = json.loads(line)
        return message
    except ValueError:
        return None


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End the step and its own children: politely, then not."""
    for kind, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(child.pid, kind)
            child.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _how_it_ended(module: str, code: int, log: Path, start: int) -> str:
    step = module.rpartition(".")[2]
    if code == -signal.SIGKILL:
        return f"the step {step} was killed, perhaps for its memory; its log is {log}"
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    said = log.read_bytes()[start:].decode(errors="replace")
    words = [line.strip() for line in said.splitlines() if line.strip()]
    # After the error of one of several processes comes their launcher's summary, which does not say it.
    errors = [found[1] for line in words if code > 0 and (found := _EXCEPTION.match(line))]
    last = (errors or words or ["it said nothing"])[-1]
    return f"the step {step} {how} ({last[:200]}); its log is {log}"
