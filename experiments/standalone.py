"""One step outside a run folder: its log and metrics beside its output, which is whole or not there."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.errors import RunFolderError
from experiments.process import cores, run_step
from experiments.progress import Display
from experiments.stepio import write_json


def run_alone(
    kind: str,
    out: Path,
    job: dict[str, Any],
    threads: int | None = None,
    *,
    fresh: bool = True,
    say: Path | None = None,
) -> None:
    """Run one step outside a run folder; prints the output's path, or that of `say`."""
    made = _run(kind, out, job, threads, fresh=fresh)
    print(say or made)


def _run(kind: str, out: Path, job: dict[str, Any], threads: int | None = None, *, fresh: bool = True) -> Path:
    """Run one step outside a run folder, its log and metrics beside its output, whose path it returns."""
    out = out.absolute()
    if fresh and out.exists():
        raise RunFolderError(f"{out} exists already; choose another place with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    log = out.with_name(f"{out.name}.log")
    part = out.with_name(f".{out.name}.part") if fresh else out
    launch = job.get("launch")
    each = (threads or cores()) // (1 if launch is None else int(launch["processes"]))
    fixed = {"name": kind, "out": str(part), "metrics": str(out.with_name(f"{out.name}.metrics.jsonl"))}
    with tempfile.TemporaryDirectory() as scratch, Display(Console(stderr=True), 1) as display:
        file = Path(scratch) / "job.json"
        write_json(file, {**job, **fixed, "threads": max(1, each)})
        display.start(kind, 1)
        module = f"experiments.steps.{kind}"
        run_step(module, file, log, threads=threads, launch=launch, on_progress=display.update, on_tick=display.tick)
    if fresh:
        part.rename(out)
    return out


def run_and_tell(kind: str, out: Path | None, job: dict[str, Any], found: Callable[[Path], bool]) -> int:
    """Run a step and print what it has for people; 1 where it `found` something. Kept only where `out` is named."""
    with tempfile.TemporaryDirectory() as scratch:
        made = _run(kind, out or Path(scratch) / kind, job)
        print((made / "shown.txt").read_text(encoding="utf-8"), end="")
        if out is not None:
            print(made)
        return int(found(made))
