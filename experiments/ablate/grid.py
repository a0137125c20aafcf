"""The cells of a grid: recipes that differ in what the grid names, and in nothing that would make them unequal."""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from experiments.budget import counts
from experiments.errors import RecipeError
from experiments.recipe import Recipe, load

# What a row of results is told by anyway; every other key becomes part of the recipe's name.
_TOLD = ("engineer.name", "engineer.variant", "seed")


@dataclass(frozen=True)
class Cell:
    """One run of a grid: a recipe by its name, and the values set in it."""

    name: str
    source: str
    values: tuple[str, ...]  # a.b=c
    recipe: Recipe

    @property
    def options(self) -> list[str]:
        """As options of `stage_loop`."""
        return ["--recipe", self.source, *(part for value in self.values for part in ("--set", value))]


def cells_of(source: str, values: Sequence[str], axes: Sequence[str]) -> list[Cell]:
    """The product of the axes, the last one changing fastest. An axis is `a.b=v,w,..`.

    Raises:
        RecipeError: an axis cannot be read, a recipe is wrong, or the cells have not one budget and the same boards.
    """
    read = [_axis(axis) for axis in axes]
    cells = []
    for chosen in itertools.product(*(options for _, options in read)):
        named = [(key, value) for (key, _), value in zip(read, chosen, strict=True)]
        mine = [*values, *(f"{key}={json.dumps(value)}" for key, value in named)]
        if other := [_word(key, value) for key, value in named if key not in _TOLD]:
            mine.append(f"name={load(source, values).name}_{'_'.join(other)}")
        name = "-".join(_word(key, value) for key, value in named) or "run"
        cells.append(Cell(name, source, tuple(mine), load(source, mine)))
    if len({cell.name for cell in cells}) < len(cells):
        raise RecipeError("two cells of the grid are the same; name each value once")
    _check_equal(cells)
    return cells


def _axis(text: str) -> tuple[str, list[object]]:
    key, equals, listed = text.partition("=")
    try:
        values = yaml.safe_load(f"[{listed}]")
    except yaml.YAMLError as error:
        raise RecipeError(f"--grid {text}: the values cannot be read") from error
    if not equals or not key.strip() or not values:
        raise RecipeError(f"--grid {text}: write it as key=value,value, for instance --grid seed=0,1,2")
    return key.strip(), values


def _check_equal(cells: Sequence[Cell]) -> None:
    """What is compared must have had the same budget, and be measured on the same boards."""
    first = cells[0].recipe
    for cell in cells[1:]:
        mine = cell.recipe
        for what, one, other in (
            ("budget", counts(first).told(), counts(mine).told()),
            ("evaluation", first.evaluation, mine.evaluation),
            ("objective", first.objective, mine.objective),
        ):
            if one != other:
                raise RecipeError(
                    f"the cells {cells[0].name} and {cell.name} have not the same {what} ({one}; {other}), so that no "
                    "difference could be told from it; sweep them apart"
                )


def _word(key: str, value: object) -> str:
    """A value as part of a file's name."""
    prefix = "" if key in _TOLD[:2] else key.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9_.]+", "_", f"{prefix}{value}")
