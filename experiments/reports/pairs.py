"""Kinds of runs against each other: over the seeds they have in common, on the same boards."""

import math
from collections.abc import Sequence
from itertools import combinations

from experiments.gains import HEADLINE
from experiments.reports.blocks import Section, Table, Text, command, row
from experiments.reports.differences import p_value, points
from experiments.reports.groups import Group
from experiments.stats import POWER, bootstrap_mean, deviation, holm, mcnemar, needed, paired_p

_DIFFERENCES = (0.01, 0.02, 0.05)


def pairs_section(groups: Sequence[Group]) -> Section | None:
    """Every two kinds of runs with two seeds or more in common."""
    found = []
    for one, other in combinations(groups, 2):
        seeds = sorted(set(one.seeds) & set(other.seeds))
        tables = [(one.end(seed), other.end(seed)) for seed in seeds]
        pairs = [
            (a["valid"], b["valid"])
            for a, b in tables
            if a is not None and b is not None and len(a["valid"]) == len(b["valid"])
        ]
        if len(pairs) >= 2:
            found.append((one, other, pairs))
    if not found:
        return None
    over_seeds, on_boards = [], []
    for _, _, pairs in found:
        means = [(float(a.mean()), float(b.mean())) for a, b in pairs]
        firsts, seconds = zip(*means, strict=True)
        over_seeds.append((firsts, seconds, paired_p(firsts, seconds)))
        on_boards.append([mcnemar(a, b) for a, b in pairs])
    testable = [index for index, (_, _, p) in enumerate(over_seeds) if not math.isnan(p)]
    adjusted = dict(zip(testable, holm([over_seeds[index][2] for index in testable]), strict=True))
    single = iter(holm([test.p for tests in on_boards for test in tests]))
    rows = []
    for index, ((one, other, pairs), (firsts, seconds, p), tests) in enumerate(
        zip(found, over_seeds, on_boards, strict=True)
    ):
        mean = bootstrap_mean([b - a for a, b in zip(firsts, seconds, strict=True)])
        told = sum(next(single) < 0.05 for _ in tests)
        spread = deviation(firsts, seconds)
        cells = [
            str(len(pairs)),
            points(mean),
            p_value(p),
            p_value(adjusted.get(index, math.nan)),
            f"{sum(test.won for test in tests)} : {sum(test.lost for test in tests)}",
            f"{told} of {len(tests)}",
            *(str(needed(spread, difference)) if spread > 0 else "" for difference in _DIFFERENCES),
        ]
        rows.append(row(f"{one.name} → {other.name}", cells))
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
        *(f"seeds for {100 * difference:.0f}" for difference in _DIFFERENCES),
    )
    one, other, _ = found[0]
    seed = next(seed for seed in one.seeds if seed in other.seeds)
    files = [f"{group.of(seed).name}/{group.of(seed).last}/eval/{HEADLINE}.parquet" for group in (one, other)]
    source = command(
        f"a, b = (pd.read_parquet(f).set_index('board')['valid'] for f in {files}); "
        "print(b.mean() - a.mean(), (b & ~a).sum(), (a & ~b).sum())"
    )
    return Section("Compared in pairs", (Text(text), Table(head, tuple(rows))), source)
