"""Whether a difference between checkpoints is one: paired tests on the same boards, and the boards it would take."""

from itertools import pairwise

import numpy as np

from experiments.errors import RunFolderError
from experiments.reports.blocks import Section, Table, Text, command, row
from experiments.reports.source import Run
from experiments.stats import POWER, Rate, deviation, holm, mcnemar, needed, paired_difference
from experiments.tables import Table as Rows

DIFFERENCES = (0.01, 0.02, 0.05)  # for which the tables say what it takes to tell them


def tests_section(run: Run) -> Section | None:
    """The last checkpoint against the starter, and each stage against the one before, on every set."""
    names = list(run.checkpoints)
    if len(names) < 2:
        return None
    pairs = [(names[0], names[-1]), *pairwise(names)]
    compared = []
    for name in run.recipe.evaluation.sets:
        for first, second in dict.fromkeys(pairs):
            before, after = (run.verdicts(run.checkpoints[label], name) for label in (first, second))
            if before is not None and after is not None:
                compared.append((f"{first} → {second}, `{name}`", *same_boards(before, after)))
    tests = [mcnemar(before, after) for _, before, after in compared]
    adjusted = holm([test.p for test in tests])
    rows = []
    for (label, before, after), test, p in zip(compared, tests, adjusted, strict=True):
        gain = paired_difference(before, after)
        took = counts_needed(deviation(before, after))
        rows.append(row(label, [points(gain), str(test.won), str(test.lost), p_value(test.p), p_value(p), *took]))
    text = (
        "Valid plans, the same boards before and after. Won: boards that only the later checkpoint solves; lost: those "
        "that only the earlier one does. McNemar's exact test, two-sided; Holm's correction over this table. The last "
        "columns: boards it takes to tell a true difference of so many points at 5 % with power "
        f"{POWER:.0%}, if as many boards change sides as here. Other seeds may differ by more than any of these "
        "intervals: for that, compare runs."
    )
    head = ("acc", "points (95 %)", "won", "lost", "p", "p, Holm", *(f"boards for {100 * d:.0f}" for d in DIFFERENCES))
    a, b = run.checkpoints[names[0]], run.checkpoints[names[-1]]
    source = command(
        f"a, b = (pd.read_parquet(f + '/eval/{run.recipe.evaluation.sets[0]}.parquet').set_index('board')['valid'] "
        f"for f in ('{a}', '{b}')); print((b & ~a).sum(), (a & ~b).sum())"
    )
    return Section("Is the difference real?", (Text(text), Table(head, tuple(rows))), source)


def counts_needed(spread: float) -> list[str]:
    """Boards, or seeds, that tell each of the differences at this standard deviation of one; a dash without any."""
    counts = (needed(spread, difference) for difference in DIFFERENCES)
    return ["-" if count is None else f"{count:,}" for count in counts]


def same_boards(before: Rows, after: Rows) -> tuple[Rows, Rows] | tuple[np.ndarray, np.ndarray]:
    """The valid columns of two tables, board by board.

    Raises:
        RunFolderError: they are not of the same boards.
    """
    if not np.array_equal(before["board"], after["board"]):
        raise RunFolderError("the two evaluations are not of the same boards; evaluate both again")
    return before["valid"], after["valid"]


def points(rate: Rate) -> str:
    """A difference in points with its interval."""
    if not rate.low < rate.high:
        return f"{100 * rate.value:+.1f}"
    return f"{100 * rate.value:+.1f} ({100 * rate.low:+.1f} to {100 * rate.high:+.1f})"


def p_value(p: float) -> str:
    return "" if np.isnan(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
