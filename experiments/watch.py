"""`watch`: a running loop in the terminal, from its folder alone."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from experiments.budget import counts
from experiments.errors import RunFolderError
from experiments.plan import Step, steps_of
from experiments.progress import duration
from experiments.recipe import Recipe, load
from experiments.runfolder import METRICS, RECIPE, read_marker, read_metrics

_POLL = 1.0
_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVES = ("reward", "valid", "optimal", "ability", "completions/mean_length", "entropy")
_WIDTH = 48  # of a curve


def watch(run: Path, console: Console, *, poll: float = _POLL) -> None:
    """Until the report is there or the user has seen enough: a live picture on a terminal, plain lines elsewhere."""
    if not (run / RECIPE).is_file():
        raise RunFolderError(f"there is no run in {run}")
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                finished = report_of(run).is_file()
                live.update(picture(run), refresh=True)
                if finished:
                    break
                time.sleep(poll)
    else:
        _follow(run, console, poll)
    console.print(str(report_of(run)), markup=False, highlight=False, soft_wrap=True)


def report_of(run: Path) -> Path:
    return run / "report" / "report.md"


def picture(run: Path, now: float | None = None) -> RenderableType:
    """What the run has done, does, and has learnt so far."""
    recipe, rows = load(str(run / RECIPE)), read_metrics(run / METRICS)
    steps = steps_of(recipe)
    clock = time.time() if now is None else now
    title = f"{recipe.name}, seed {recipe.seed}, engineer {recipe.engineer.name} {recipe.engineer.variant}"
    parts: list[RenderableType] = [_outputs(run, steps, rows, recipe, clock)]
    if rates := [row for row in rows if row.get("kind") == "evaluate"]:
        parts.append(_rates(rates, recipe))
    if trained := [row for row in rows if row.get("kind") == "train"]:
        parts.append(_curves(trained))
    return Panel(Group(*parts), title=title, border_style="cyan", expand=False)


def _outputs(run: Path, steps: Sequence[Step], rows: list[dict[str, Any]], recipe: Recipe, clock: float) -> RichTable:
    """Every output: how long it took, or how far it is."""
    table = RichTable("output", "state", box=None, pad_edge=False)
    current = next((step for step in steps if not read_marker(run / step.out)), None)
    # The step that is worked on began when the one before it ended.
    ended = max((row["time"] for row in rows if row.get("job") == "driver"), default=None)
    for step in steps:
        if not step.kind:
            continue
        marker = read_marker(run / step.out)
        if marker:
            seconds = marker.get("seconds")
            table.add_row(step.out, Text("done" if seconds is None else f"done in {duration(seconds)}", "green"))
        elif step is current:
            spent = f", {duration(max(0.0, clock - ended))}" if ended is not None else ""
            table.add_row(Text(step.out, "bold"), Text(f"{_how_far(step, rows, recipe)}{spent}", "bold yellow"))
        else:
            table.add_row(Text(step.out, "dim"), Text("to come", "dim"))
    return table


def _how_far(step: Step, rows: list[dict[str, Any]], recipe: Recipe) -> str:
    mine = [row["step"] for row in rows if row.get("job") == step.out and row.get("kind") == "train"]
    total = counts(recipe).steps
    if not mine:
        return "at work"
    filled = round(20 * mine[-1] / total)
    return f"{'━' * filled}{'╌' * (20 - filled)} step {mine[-1]} of {total}"


def _rates(rows: list[dict[str, Any]], recipe: Recipe) -> RichTable:
    """Valid rates of every checkpoint that has been evaluated."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    table = RichTable("valid", *names, box=None, pad_edge=False)
    for stage in range(-1, recipe.stages):
        found = {row["set"]: row["valid"] for row in rows if row["stage"] == stage}
        if found:
            shown = [f"{100 * found[name]:.1f}%" if name in found else "" for name in names]
            table.add_row("starter" if stage < 0 else f"stage {stage}", *shown)
    return table


def _curves(rows: list[dict[str, Any]]) -> RichTable:
    """Training so far, a line a metric, and its latest value."""
    table = RichTable("training", "", "now", box=None, pad_edge=False)
    for name in _CURVES:
        values = [float(row[name]) for row in rows if name in row]
        if values:
            table.add_row(name.rpartition("/")[2], Text(sparkline(values), "cyan"), f"{values[-1]:.3g}")
    return table


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """The last values as a line of blocks, the lowest and the highest of them its bounds."""
    shown = values[-width:]
    low, span = min(shown), (max(shown) - min(shown)) or 1.0
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int((value - low) / span * len(_BLOCKS)))] for value in shown)


def _follow(run: Path, console: Console, poll: float) -> None:
    """Every metric as it comes, a line each."""
    seen = 0
    while True:
        finished = report_of(run).is_file()
        rows = read_metrics(run / METRICS)
        for row in rows[seen if seen <= len(rows) else 0 :]:
            console.print(_line(row), markup=False, highlight=False, soft_wrap=True)
        seen = len(rows)
        if finished:
            return
        time.sleep(poll)


def _line(row: dict[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(row.get("time", 0)))
    shown = " ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in row.items()
        if key not in ("time", "job") and not isinstance(value, dict | list)
    )
    return f"{clock} {row.get('job', ''):<20} {shown}"
