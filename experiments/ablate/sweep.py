"""One sweep over a grid: what is done is kept, what fails is told and the others go on, every end leaves its row."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from experiments.ablate.cluster import run_on_cluster
from experiments.ablate.grid import Cell
from experiments.ablate.processes import run_processes
from experiments.ablate.sharing import share_beginning
from experiments.errors import ExperimentError
from experiments.gains import gain_of_run, merge_rows
from experiments.plan import stage_folder
from experiments.progress import duration
from experiments.recipe import load
from experiments.runfolder import RECIPE

LOGS = "logs"


@dataclass(frozen=True)
class Outcome:
    """How a cell ended."""

    cell: Cell
    error: str | None = None
    kept: bool = False  # was finished before


def sweep(
    cells: Sequence[Cell], out: Path, results: Path, console: Console, *, at_once: int, cores: int, ray: str | None
) -> list[Outcome]:
    """Run what is not finished yet, a folder of `out` each; every finished run has its row in `results`."""
    (out / LOGS).mkdir(parents=True, exist_ok=True)
    named = {cell.name: cell for cell in cells}
    kept = [cell for cell in cells if is_finished(out / cell.name, cell)]
    outcomes = [Outcome(cell, kept=True) for cell in kept]
    if kept:
        merge_rows(results, [gain_of_run(out / cell.name) for cell in kept])
    todo = {cell.name: _command(cell, out) for cell in cells if cell not in kept}
    began = time.monotonic()

    def say(name: str, text: str) -> None:
        console.print(f"{name:<28} {text}", markup=False, highlight=False, soft_wrap=True)

    def started(name: str) -> list[str]:
        sibling = share_beginning(out, named[name], cells)
        told = f", beginning as {sibling} did" if sibling else ""
        say(name, f"started{told}")
        return ["--resume"] if (out / name / RECIPE).is_file() else []

    def ended(name: str, code: int, seconds: float) -> None:
        error = None if code == 0 else _error(out / LOGS / f"{name}.log", code)
        told = f"failed: {error}"
        if error is None:
            try:
                row = gain_of_run(out / name)
                merge_rows(results, [row])
                told = f"done in {duration(seconds)}, valid {row['valid_start']:.3f} -> {row['valid_end']:.3f}"
            except ExperimentError as fault:
                error = str(fault)
                told = f"failed: {error}"
        outcomes.append(Outcome(named[name], error))
        new = len(outcomes) - len(kept)
        left = (time.monotonic() - began) / new * (len(todo) - new)
        say(name, f"{told}  [{len(outcomes)}/{len(cells)}" + (f", about {duration(left)} left]" if left else "]"))

    for cell in kept:
        say(cell.name, "kept")
    if todo and ray is not None:
        run_on_cluster(todo, out / LOGS, address=ray, cores=cores, started=started, ended=ended)
    elif todo:
        run_processes(todo, out / LOGS, at_once=at_once, started=started, ended=ended)
    order = {cell.name: index for index, cell in enumerate(cells)}
    return sorted(outcomes, key=lambda outcome: order[outcome.cell.name])


def is_finished(folder: Path, cell: Cell) -> bool:
    """Whether the folder holds this cell's run, to its end."""
    if not (folder / RECIPE).is_file() or not (folder / "report" / "report.md").is_file():
        return False
    last = folder / stage_folder(cell.recipe.stages - 1) / "DONE"
    return last.is_file() and load(str(folder / RECIPE)) == cell.recipe


def _command(cell: Cell, out: Path) -> list[str]:
    return ["stage_loop", *cell.options, "--run", str(out / cell.name)]


def _error(log: Path, code: int) -> str:
    """The run's own words, or how it ended and where its log is."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    told = next((line for line in reversed(lines) if line.startswith("error: ")), None)
    return told.removeprefix("error: ") if told else f"it ended with exit code {code}; its log is {log}"
