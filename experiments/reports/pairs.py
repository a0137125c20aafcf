"""Kinds of runs against each other: over the seeds they have in common, on the same boards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from experiments.gains import HEADLINE
from experiments.reports.blocks import Section, Table, Text, command, row
from experiments.reports.differences import DIFFERENCES, counts_needed, p_value, points
from experiments.reports.groups import Group
from experiments.stats import POWER, Paired, Rate, bootstrap_mean, deviation, holm, mcnemar, paired_p

ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two kinds of runs on `HEADLINE`: the second's valid rate minus the first's, a value a seed."""

    one: Group
    other: Group
    seed: int  # the first of those in common
    difference: Rate
    deviation: float  # of the difference, over the seeds
    p: float  # Student's paired t test over the seeds; NaN where the difference is the same in all
    boards: tuple[Paired, ...]  # McNemar's test, a seed each
    adjusted: float = math.nan  # p after Holm's correction over all pairs

    @property
    def told_apart(self) -> bool:
        """Whether the seeds tell the two kinds apart."""
        return self.adjusted < ALPHA


def pairs_of(groups: Sequence[Group]) -> list[Pair]:
    """Every two kinds of runs with two seeds or more in common, corrected together."""
    found = [pair for one, other in combinations(groups, 2) if (pair := _pair(one, other)) is not None]
    testable = [index for index, pair in enumerate(found) if not math.isnan(pair.p)]
    for index, adjusted in zip(testable, holm([found[index].p for index in testable]), strict=True):
        found[index] = replace(found[index], adjusted=adjusted)
    return found


def pairs_section(pairs: Sequence[Pair]) -> Section | None:
    """The table of all pairs."""
    if not pairs:
        return None
    boards = iter(holm([test.p for pair in pairs for test in pair.boards]))
    rows = []
    for pair in pairs:
        told = sum(next(boards) < ALPHA for _ in pair.boards)
        cells = [
            str(pair.difference.count),
            points(pair.difference),
            p_value(pair.p),
            p_value(pair.adjusted),
            f"{sum(test.won for test in pair.boards)} : {sum(test.lost for test in pair.boards)}",
            f"{told} of {len(pair.boards)}",
            *counts_needed(pair.deviation),
        ]
        rows.append(row(f"{pair.one.name} → {pair.other.name}", cells))
    text = (
        f"Valid rate of the last checkpoints on `{HEADLINE}`, paired by seed: the mean difference in points with its "
        "bootstrap interval over the seeds (from three on; of so few it is too narrow, and the test is the better "
        "guide), Student's paired t test over the seeds, and Holm's correction over this table. Won and lost: boards "
        "that only the second, or only the first, solves, all seeds together. Boards told apart: seeds in which "
        "McNemar's exact test on the same boards has p < 0.05 after Holm's correction over all of them; it says that "
        "two checkpoints differ, not that their engineers do. The last columns: seeds it takes to tell a true "
        f"difference of so many points at 5 % with power {POWER:.0%}, if the seeds differ as much as these."
    )
    head = (
        *("pair", "seeds", "points (95 %)", "p", "p, Holm", "won : lost", "boards told apart"),
        *(f"seeds for {100 * difference:.0f}" for difference in DIFFERENCES),
    )
    runs = [group.of(pairs[0].seed) for group in (pairs[0].one, pairs[0].other)]
    files = [f"{run.name}/{run.last}/eval/{HEADLINE}.parquet" for run in runs]
    source = command(
        f"a, b = (pd.read_parquet(f).set_index('board')['valid'] for f in {files}); "
        "print(b.mean() - a.mean(), (b & ~a).sum(), (a & ~b).sum())"
    )
    return Section("Compared in pairs", (Text(text), Table(head, tuple(rows))), source)


def _pair(one: Group, other: Group) -> Pair | None:
    """Two kinds over the seeds in which they were measured on equally many boards; None below two."""
    seeds, columns = [], []
    for seed in sorted(set(one.seeds) & set(other.seeds)):
        a, b = one.end(seed), other.end(seed)
        if a is not None and b is not None and len(a["valid"]) == len(b["valid"]):
            seeds.append(seed)
            columns.append((a["valid"], b["valid"]))
    if len(seeds) < 2:
        return None
    firsts, seconds = ([float(both[side].mean()) for both in columns] for side in (0, 1))
    return Pair(
        one,
        other,
        seeds[0],
        bootstrap_mean([b - a for a, b in zip(firsts, seconds, strict=True)]),
        deviation(firsts, seconds),
        paired_p(firsts, seconds),
        tuple(mcnemar(a, b) for a, b in columns),
    )
