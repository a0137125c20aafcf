"""What runs that differ in their engineer alone have in common: everything before the first redesign.

A cell that has not begun takes it from one that has finished it. The driver checks each output by its inputs and its
content, as with any resumed run, so that what does not fit is made again.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from experiments.ablate.grid import Cell
from experiments.plan import SETS, START, stage_folder
from experiments.recipe import Recipe
from experiments.runfolder import METRICS, RECIPE, read_marker, read_metrics
from experiments.stepio import write_json, write_text

NOTE = "shared.json"  # in a run folder: which run its beginning is copied from
_FIRST = stage_folder(0)
_SHARED = (SETS, f"{START}/eval", *(f"{_FIRST}/{name}" for name in ("config.json", "data", "policy", "eval")))


def share_beginning(out: Path, cell: Cell, cells: Sequence[Cell]) -> str | None:
    """Copy the beginning of another cell's run into this cell's folder; returns that cell's name, None without any."""
    folder = out / cell.name
    if folder.exists():
        return None
    same = _without_engineer(cell.recipe)
    for other in cells:
        source = out / other.name
        if other.name == cell.name or _without_engineer(other.recipe) != same:
            continue
        if all(read_marker(source / name) and (source / name).exists() for name in _SHARED):
            _copy(source, folder, other.name)
            write_text(folder / RECIPE, cell.recipe.to_yaml())  # last: without it nothing can be gone on with
            return other.name
    return None


def beginnings(cells: Sequence[Cell]) -> int:
    """How many different beginnings the cells have."""
    return len({_without_engineer(cell.recipe).content_hash() for cell in cells})


def _without_engineer(recipe: Recipe) -> Recipe:
    return recipe.model_copy(update={"engineer": type(recipe.engineer)(), "name": "any"})


def _copy(source: Path, folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    for output in _SHARED:
        place = folder / output
        place.parent.mkdir(parents=True, exist_ok=True)
        if (source / output).is_dir():
            shutil.copytree(source / output, place, copy_function=shutil.copy2)
        else:
            shutil.copy2(source / output, place)
        marker = f".{place.name}.done"
        shutil.copy2((source / output).with_name(marker), place.with_name(marker))
    rows = [row for row in read_metrics(source / METRICS) if row.get("job") in _SHARED or row.get("of") in _SHARED]
    write_text(folder / METRICS, "".join(json.dumps(row) + "\n" for row in rows))
    write_json(folder / NOTE, {"from": name, "outputs": list(_SHARED)})
