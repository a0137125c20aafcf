"""A run folder in the terminal: what it holds."""

from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from experiments.errors import RunFolderError
from experiments.plan import VALIDATION, steps_of
from experiments.progress import duration
from experiments.recipe import load
from experiments.runfolder import RECIPE, read_marker
from experiments.tables import read_table


def show(run: Path, console: Console) -> None:
    """Every output with what it took, and the valid rates of every checkpoint."""
    if not (run / RECIPE).is_file():
        raise RunFolderError(f"there is no run in {run}")
    recipe = load(str(run / RECIPE))
    table = RichTable("output", "state", "time", "peak memory")
    for step in steps_of(recipe):
        marker = read_marker(run / step.out)
        seconds, memory = marker.get("seconds"), marker.get("peak_memory")
        table.add_row(
            step.out,
            "done" if marker else "missing",
            "" if seconds is None else duration(seconds),
            "" if memory is None else f"{memory / 2**20:.0f} MiB",
        )
    console.print(table)
    names = (VALIDATION, *recipe.evaluation.sets)
    rates = RichTable("valid rate", *names)
    for folder in sorted(run.glob("*/eval"), key=lambda path: (path.parent.name != "start", path.parent.name)):
        files = [folder / f"{name}.parquet" for name in names]
        rates.add_row(
            folder.parent.name,
            *(f"{read_table(file)['valid'].mean():.3f}" if file.is_file() else "" for file in files),
        )
    console.print(rates)
    report = run / "report" / "report.md"
    console.print(f"report: {report if report.is_file() else 'not written yet'}", markup=False, soft_wrap=True)
