"""Runs put together by what they share: recipe, engineer and context. A group's runs differ in their seeds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from experiments.gains import HEADLINE
from experiments.reports.source import Run
from experiments.stats import Rate, bootstrap_mean
from experiments.tables import Table as Rows

READERS = ("self", "base", "openai")  # engineers that read a context; to the others its variant is nothing


@dataclass(frozen=True)
class Group:
    """Finished runs of one kind, a seed each."""

    name: str
    runs: tuple[Run, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.recipe.seed for run in self.runs)

    def end(self, seed: int, name: str = HEADLINE) -> Rows | None:
        """The last checkpoint's verdicts on a set."""
        return last(self.of(seed), name)

    def of(self, seed: int) -> Run:
        """The run of a seed."""
        return next(run for run in self.runs if run.recipe.seed == seed)

    def over_seeds(self, measure: Callable[[Run], float | None]) -> Rate:
        """The mean of a run's number over the seeds, with its bootstrap interval."""
        return bootstrap_mean([value for run in self.runs if (value := measure(run)) is not None])


def groups_of(runs: Iterable[Run]) -> list[Group]:
    """The groups in the order of their names; of two runs with one seed the later counts."""
    kinds: dict[tuple[str, ...], dict[int, Run]] = {}
    for run in runs:
        engineer = run.recipe.engineer
        context = (engineer.variant,) if engineer.name in READERS else ()
        kinds.setdefault((run.recipe.name, engineer.name, *context), {})[run.recipe.seed] = run
    recipes = {recipe for recipe, *_ in kinds}
    groups = []
    for (recipe, *rest), seeds in sorted(kinds.items()):
        name = ", ".join(rest if len(recipes) == 1 else [*rest, recipe])
        groups.append(Group(name, tuple(seeds[seed] for seed in sorted(seeds))))
    return groups


def last(run: Run, name: str = HEADLINE) -> Rows | None:
    """The verdicts of a run's last checkpoint on a set."""
    return run.verdicts(list(run.checkpoints.values())[-1], name)


def first(run: Run, name: str = HEADLINE) -> Rows | None:
    """The verdicts of the model before any RL on a set."""
    return run.verdicts(next(iter(run.checkpoints.values())), name)


def rate(table: Rows | None, column: str, agents: int | None = None) -> float | None:
    """A share of a table's rows, of so many agents or of all."""
    if table is None:
        return None
    here = table[column] if agents is None else table[column][table["num_agents"] == agents]
    return float(np.mean(here)) if len(here) else None


def at_wait_ratio(table: Rows | None, waits: float) -> float | None:
    """The valid rate on boards of which this share needs a wait: the two kinds' rates, weighted."""
    if table is None:
        return None
    needs = table["needs_wait"].astype(bool)
    if needs.all() or not needs.any():
        return None
    return float(waits * table["valid"][needs].mean() + (1 - waits) * table["valid"][~needs].mean())
