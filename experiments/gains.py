"""The gain of a run: the last checkpoint against the starter on the same boards of `learn`."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import RunFolderError
from experiments.plan import START, stage_folder
from experiments.recipe import Recipe, load
from experiments.runfolder import MANIFEST, RECIPE
from experiments.stats import Rate, paired_difference
from experiments.stepio import write_text
from experiments.tables import Table, read_table

HEADLINE = "learn"
SMALL = 5  # the largest size of the small part


def gain_of_run(run: Path) -> dict[str, Any]:
    """One JSON line: rates of starter and last checkpoint, their paired difference and its 95 % interval."""
    if not (run / RECIPE).is_file():
        raise RunFolderError(f"there is no run in {run}")
    recipe = load(str(run / RECIPE))
    before, after = start_and_end(run, recipe)
    gain = gain_of_tables(before, after)
    small = before["size"] <= SMALL
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    return {
        "recipe": recipe.name,
        "seed": recipe.seed,
        "valid_start": _rounded(before["valid"].mean()),
        "valid_start_small": _rounded(before["valid"][small].mean()),
        "valid_end": _rounded(after["valid"].mean()),
        "valid_gain": _rounded(gain.value),
        "gain_low": _rounded(gain.low),
        "gain_high": _rounded(gain.high),
        "boards": gain.count,
        "engineer": recipe.engineer.name,
        "variant": recipe.engineer.variant,
        "stages": recipe.stages,
        "commit": manifest["commit"],
        "command": manifest["sessions"][0]["command"],
    }


def start_and_end(run: Path, recipe: Recipe) -> tuple[Table, Table]:
    """The verdicts of starter and last checkpoint on `learn`, board by board."""
    last = run / stage_folder(recipe.stages - 1) / "eval" / f"{HEADLINE}.parquet"
    if not last.is_file():
        raise RunFolderError(f"{run} has not come to its end; go on with --resume")
    return read_table(run / START / "eval" / f"{HEADLINE}.parquet"), read_table(last)


def gain_of_tables(before: Table, after: Table) -> Rate:
    """The paired difference in valid rate; the rows are matched by the board's index."""
    rows = [np.argsort(table["board"], kind="stable") for table in (before, after)]
    boards = [table["board"][order] for table, order in zip((before, after), rows, strict=True)]
    if not np.array_equal(boards[0], boards[1]):
        raise RunFolderError("the two evaluations are not of the same boards; evaluate both again")
    return paired_difference(before["valid"][rows[0]], after["valid"][rows[1]])


def merge_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Add rows to a file of JSON lines; a row of the same recipe, engineer, variant and seed is replaced."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    merged = {_same(row): row for row in (*(json.loads(line) for line in lines), *rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in merged.values())
    if path.exists() and not path.is_file():  # a device or a pipe must not be renamed over
        path.write_text(text, encoding="utf-8")
    else:
        write_text(path, text)


def _same(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("recipe", "engineer", "variant", "seed"))


def _rounded(value: float) -> float:
    return round(float(value), 5)
