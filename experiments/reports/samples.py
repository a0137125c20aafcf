"""Several answers a board: their mean, and the best of each board's."""

import numpy as np

from experiments.reports.blocks import Cell, Section, Table, Text, command, row
from experiments.reports.rates import interval
from experiments.reports.source import SAMPLES, Run
from experiments.stats import Rate, wilson
from experiments.tables import Table as Rows


def samples_section(run: Run) -> Section | None:
    """Sampled answers: their mean, and the best of each board's."""
    rows = []
    count = run.recipe.evaluation.samples
    for name in run.recipe.evaluation.sets:
        for label, folder in run.checkpoints.items():
            greedy, sampled = run.verdicts(folder, name), run.sampled(folder, name)
            if greedy is None or sampled is None:
                continue
            cells = [_cell(wilson(int(greedy["valid"].sum()), len(greedy["valid"])))]
            for column in ("valid", "optimal"):
                mean, best = mean_and_best(sampled, column)
                cells += [Cell(f"{100 * mean:.1f}"), _cell(best)]
            rows.append(row(f"{label}, `{name}`", cells))
    if not rows:
        return None
    text = (
        f"{count} answers a board, sampled at temperature {run.recipe.evaluation.temperature:g}: the mean over all of "
        "them, and the share of boards with at least one right answer."
    )
    head = ("in %", "acc greedy", "acc mean", f"acc best of {count}", "opt mean", f"opt best of {count}")
    source = command(
        f"t = pd.read_parquet('{run.last}/eval/{SAMPLES}/{run.recipe.evaluation.sets[0]}.parquet'); "
        "print(t['valid'].mean(), t.groupby('board')['valid'].max().mean())"
    )
    return Section("Sampled answers", (Text(text), Table(head, tuple(rows))), source)


def mean_and_best(sampled: Rows, column: str) -> tuple[float, Rate]:
    """The mean over all answers, and the share of boards with at least one right answer."""
    _, place = np.unique(sampled["board"], return_inverse=True)
    best = np.zeros(int(place.max(initial=-1)) + 1, bool)
    np.logical_or.at(best, place, sampled[column].astype(bool))
    return float(sampled[column].mean()), wilson(int(best.sum()), len(best))


def _cell(rate: Rate) -> Cell:
    return Cell(f"{100 * rate.value:.1f}", interval(rate))
