"""The comparison of several runs: engineers and contexts over seeds, on the same boards, beside the published rows."""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from experiments.budget import Counts, counts
from experiments.errors import RunFolderError
from experiments.gains import HEADLINE, gain_of_tables
from experiments.plan import SETS
from experiments.reports import published
from experiments.reports.blocks import Cell, Figure, Report, Section, Table, Text, command, row
from experiments.reports.charts import Plot, bounds
from experiments.reports.curves import curves_section
from experiments.reports.differences import p_value, points
from experiments.reports.groups import READERS, Group, at_wait_ratio, first, groups_of, last, rate
from experiments.reports.pairs import Pair, pairs_of, pairs_section
from experiments.reports.source import Run
from experiments.reports.writing import write_both
from experiments.stats import Rate, mcnemar
from experiments.tables import Table as Rows

_WAITS = (0.25, 0.50, 0.75)


def write_comparison(folders: Sequence[Path], out: Path) -> Path:
    """Write `report.md` and `report.html` of these runs into the folder `out`; returns the Markdown's path."""
    return write_both(comparison_of(folders), out)


def comparison_of(folders: Sequence[Path]) -> Report:
    """The report of several runs. Runs that have no second checkpoint are named and left out.

    Raises:
        RunFolderError: a folder holds no run, or none of them has come far enough.
    """
    parent = Path(os.path.commonpath([folder.absolute().parent for folder in folders]))
    names = {folder: str(folder.absolute().relative_to(parent)) for folder in folders}
    named = {name: Run(folder, name) for folder, name in names.items()}
    runs = {name: run for name, run in sorted(named.items(), key=_order) if run.finished}
    if not runs:
        raise RunFolderError("none of these runs has come to its end; go on with --resume")
    groups = groups_of(runs.values())
    pairs = pairs_of(groups)
    sections = [
        _headline(groups),
        pairs_section(pairs),
        _contexts(groups),
        _runs(runs, groups),
        curves_section(groups),
        _equal(runs, [name for name in sorted(named) if name not in runs]),
    ]
    seeds = sorted({seed for group in groups for seed in group.seeds})
    facts = (("runs", str(len(runs))), ("kinds", str(len(groups))), ("seeds", ", ".join(map(str, seeds))))
    return Report(
        f"{len(runs)} runs compared",
        _verdict(groups, pairs),
        tuple(filter(None, sections)),
        facts,
        where="where the runs are",
    )


def _order(named: tuple[str, Run]) -> tuple[str | int, ...]:
    """By kind, then by seed."""
    name, run = named
    engineer = run.recipe.engineer
    return run.recipe.name, engineer.name, engineer.variant, run.recipe.seed, name


def _verdict(groups: Sequence[Group], pairs: Sequence[Pair]) -> str:
    """The means, and which of them the seeds tell apart; no more is claimed than the tests allow."""
    means = {group.name: group.over_seeds(lambda run: rate(last(run), "valid")) for group in groups}
    ordered = sorted(means.items(), key=lambda pair: -pair[1].value)
    listed = ", ".join(f"{name} {100 * mean.value:.1f} %" for name, mean in ordered)
    text = f"**Mean valid rate on `{HEADLINE}` after the last stage: {listed}.**\n\n"
    apart = [pair for pair in pairs if pair.told_apart]
    if apart:
        told = "; ".join(f"{pair.one.name} → {pair.other.name} {points(pair.difference)} points" for pair in apart)
        return f"{text}Told apart over the seeds (paired t test, Holm's correction, 5 %): {told}. The others are not."
    if pairs:
        return f"{text}The seeds tell no two of them apart (paired t test, Holm's correction, 5 %)."
    return f"{text}No two kinds of runs have two seeds in common, so that nothing can be said of their difference."


def _headline(groups: Sequence[Group]) -> Section:
    """Every kind of run on every set, over its seeds."""
    kinds = _kinds(groups)
    rows = []
    for group in groups[:1]:
        rows.append(row("before any RL", [_both(group, name, agents, at=first) for name, agents in kinds]))
    ours = [[_both(group, name, agents) for name, agents in kinds] for group in groups]
    for group, cells in zip(groups, ours, strict=True):
        tops = [max((other[c].text for other in ours), key=_acc) for c in range(len(kinds))]
        marked = [
            Cell(cell.text, cell.note, len(groups) > 1 and bool(cell.text) and _acc(cell.text) == _acc(top))
            for cell, top in zip(cells, tops, strict=True)
        ]
        rows.append(row(f"{group.name} ({len(group.runs)})", marked))
    for label, values in published.HEADLINE:
        shown = [published.both(values, agents) for _, agents in kinds]
        if any(shown):
            rows.append(row(label, shown, published=True))
    text = (
        "acc / opt of the last checkpoints in percent, means over the seeds (how many, in brackets); below them 95 % "
        "bootstrap intervals over the seeds where there are three or more. Greedy answers; our best acc in bold. "
        + (published.CITATION if any(line.published for line in rows) else "")
    )
    head = ("acc / opt in %", *(f"{agents} agents, `{name}`" for name, agents in kinds))
    source = command(
        f"import glob; fs = sorted(glob.glob('*/{groups[0].runs[0].last}/eval/{HEADLINE}.parquet')); "
        "print(pd.DataFrame({f: pd.read_parquet(f)[['valid', 'optimal']].mean() for f in fs}).T)"
    )
    return Section("Headline", (Text(text), Table(head, tuple(rows))), source)


def _contexts(groups: Sequence[Group]) -> Section | None:
    """V1 to V6 as far as there are runs, and as published."""
    asked = [group for group in groups if group.runs[0].recipe.engineer.name in READERS]
    if not asked:
        return None
    rows = []
    for group in asked:
        rates = [group.over_seeds(partial(_last_at, waits)) for waits in _WAITS]
        rows.append(row(f"{group.name} ({len(group.runs)})", [Cell(f"{100 * r.value:.1f}", _range(r)) for r in rates]))
    for variant, modules, values in published.VARIANTS:
        rows.append(row(f"{variant}: {modules}", [f"{value:.1f}" for value in values], published=True))
    text = (
        f"Valid rate in percent by the context that the engineer is given. Ours: on `{HEADLINE}`, the rates on boards "
        "that need a wait and on those that do not, weighted by the ratio in the column's head; means over seeds. "
        f"{published.CITATION}"
    )
    head = ("valid, %", *(f"wait ratio {waits:.2f}" for waits in _WAITS))
    source = command(
        f"t = pd.read_parquet('{asked[0].runs[0].name}/{asked[0].runs[0].last}/eval/{HEADLINE}.parquet'); "
        "r = t.groupby('needs_wait')['valid'].mean(); print([w * r[True] + (1 - w) * r[False] for w in (.25, .5, .75)])"
    )
    return Section("Contexts V1 to V6", (Text(text), Table(head, tuple(rows))), source)


def _runs(runs: dict[str, Run], groups: Sequence[Group]) -> Section:
    """Every run by itself: the gain of the last checkpoint over the model before any RL."""
    rows, gains = [], {}
    for name, run in runs.items():
        before, after = first(run), last(run)
        assert before is not None and after is not None
        gain, test = gain_of_tables(before, after), mcnemar(before["valid"], after["valid"])
        gains[name] = gain
        engineer = run.recipe.engineer
        start, end = (f"{100 * float(table['valid'].mean()):.1f}" for table in (before, after))
        cells = [engineer.name, engineer.variant, str(run.recipe.seed), start, end, points(gain), p_value(test.p)]
        rows.append(row(f"`{name}`", cells))
    head = ("run", "engineer", "context", "seed", "start, %", "end, %", "points (95 %)", "p")
    text = (
        f"Valid rate on `{HEADLINE}`; the interval of the paired difference over its boards, and McNemar's exact test."
    )
    low, high = bounds((value for gain in gains.values() for value in (gain.low, gain.high)), least=0.0)
    panels = [_forest(group, series, gains, (100 * low, 100 * high)) for series, group in enumerate(groups, 1)]
    blocks = (Text(text), Figure("gains", "Gains on the same boards, a seed a line", tuple(panels)))
    source = f"python -m experiments.run gains {' '.join(runs)}"
    return Section("Each run", (*blocks, Table(head, tuple(rows), "The runs in numbers")), source)


def _forest(group: Group, series: int, gains: dict[str, Rate], x: tuple[float, float]) -> str:
    """The gains of one kind of runs with their intervals."""
    places = [(len(group.runs) - 1 - index, f"seed {seed}") for index, seed in enumerate(group.seeds)]
    plot = Plot(
        group.name,
        x,
        (-0.6, len(places) - 0.4),
        x_label="points, 95 % interval",
        y_ticks=places,
        left=60,
        height=80 + 16 * len(places),
    )
    for (place, seed), run in zip(places, group.runs, strict=True):
        gain = gains[run.name]
        plot.level(place, 100 * gain.low, 100 * gain.high, series)
        plot.dot(100 * gain.value, place, series, f"{group.name}, {seed}: {points(gain)} points")
    return plot.svg()


def _equal(runs: dict[str, Run], unfinished: Sequence[str]) -> Section:
    """Whether the runs may be compared at all, and what they were made with."""
    budgets: dict[Counts, list[str]] = {}
    boards: dict[str, list[str]] = {}
    for name, run in runs.items():
        budgets.setdefault(counts(run.recipe), []).append(name)
        metadata = run.json(f"{SETS}/{HEADLINE}/metadata.json") or {}
        boards.setdefault(str(metadata.get("content_hash")), []).append(name)
    lines = []
    if len(budgets) > 1:
        lines.append("**The budgets differ; the differences above are those of budgets as well:**")
    for budget, names in budgets.items():
        lines.append(f"- {budget.told()}: {', '.join(names)}")
    lines.append("")
    if len(boards) > 1:
        lines.append(f"**The boards of `{HEADLINE}` are not the same in all runs:**")
    for content, names in boards.items():
        lines.append(f"- boards of `{HEADLINE}`, content hash {content}: {len(names)} runs")
    lines += ["", *(f"- left out, for it is not finished: {name}" for name in unfinished)]
    head = ("run", "commit", "recipe", "recipe hash", "sessions")
    rows = [
        row(
            f"`{name}`",
            [
                str(run.manifest["commit"])[:10],
                run.recipe.name,
                run.manifest["recipe_hash"],
                str(len(run.manifest["sessions"])),
            ],
        )
        for name, run in runs.items()
    ]
    return Section("Equal terms", (Text("\n".join(lines)), Table(head, tuple(rows), "What they were made with")))


def _kinds(groups: Sequence[Group]) -> list[tuple[str, int]]:
    """Sets and numbers of agents that any run was evaluated on."""
    kinds: dict[tuple[str, int], None] = {}
    for group in groups:
        for run in group.runs:
            for name in run.recipe.evaluation.sets:
                table = last(run, name)
                for agents in sorted(set(table["num_agents"].tolist())) if table is not None else ():
                    kinds[(name, agents)] = None
    return list(kinds)


def _last_at(waits: float, run: Run) -> float | None:
    return at_wait_ratio(last(run), waits)


def _both(group: Group, name: str, agents: int, at: Callable[[Run, str], Rows | None] = last) -> Cell:
    """acc and opt over the seeds, with their intervals where there are any."""

    def mean(column: str) -> Rate:
        return group.over_seeds(lambda run: rate(at(run, name), column, agents))

    acc, opt = mean("valid"), mean("optimal")
    if not acc.count:
        return Cell("")
    note = f"{_range(acc)} / {_range(opt)}" if _range(acc) and _range(opt) else ""
    return Cell(f"{100 * acc.value:.1f} / {100 * opt.value:.1f}", note)


def _acc(text: str) -> float:
    return float(text.partition(" ")[0] or "-1")


def _range(mean: Rate) -> str:
    return f"{100 * mean.low:.1f}-{100 * mean.high:.1f}" if math.isfinite(mean.low) else ""
