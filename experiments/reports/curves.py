"""Kinds of runs drawn beside each other: valid rate along the stages, along the steps, and where the data went."""

from collections.abc import Sequence

import numpy as np

from experiments.gains import HEADLINE
from experiments.reports.blocks import Figure, Section, Table, Text, command, row
from experiments.reports.charts import Plot, bounds
from experiments.reports.groups import Group, rate
from experiments.reports.source import Run
from experiments.stats import Rate, bootstrap_mean

_SMOOTH = 5  # steps


def curves_section(groups: Sequence[Group]) -> Section:
    """Means over seeds."""
    panels = (_checkpoints(groups), _steps(groups), *_shares(groups))
    names = [name for name in groups[0].runs[0].checkpoints]
    rows = []
    for group in groups:
        cells = []
        for name in names:
            mean = _at(group, name)
            cells.append(f"{100 * mean.value:.1f}" if mean.count else "")
        rows.append(row(group.name, cells))
    text = (
        f"Means over seeds: valid rate on `{HEADLINE}` at each checkpoint, valid rate of the training answers (over "
        f"{_SMOOTH} steps), and the share of the boards per map size in each stage."
    )
    figure = Figure("side-by-side", "Kinds of runs, means over seeds", panels, tuple(g.name for g in groups), 1)
    table = Table(("valid, %", *names), tuple(rows), "The checkpoints in numbers")
    source = command(
        f"import glob; fs = sorted(glob.glob('*/*/eval/{HEADLINE}.parquet')); "
        "print(pd.Series({f: pd.read_parquet(f)['valid'].mean() for f in fs}))"
    )
    return Section("Side by side", (Text(text), figure, table), source)


def _at(group: Group, checkpoint: str) -> Rate:
    """The valid rate of one checkpoint."""

    def measure(run: Run) -> float | None:
        folder = run.checkpoints.get(checkpoint)
        return rate(run.verdicts(folder, HEADLINE), "valid") if folder else None

    return group.over_seeds(measure)


def _checkpoints(groups: Sequence[Group]) -> str:
    names = max((list(run.checkpoints) for group in groups for run in group.runs), key=len)
    lines = [[_at(group, name) for name in names] for group in groups]
    low, high = bounds(value for line in lines for mean in line for value in (mean.value, mean.low, mean.high))
    ticks = [(place, name.replace("stage ", "")) for place, name in enumerate(names)]
    plot = Plot(
        f"Valid on {HEADLINE}",
        (-0.3, len(names) - 0.7),
        (low, high),
        x_label="after stage",
        x_ticks=ticks,
        percent=True,
    )
    for series, (group, line) in enumerate(zip(groups, lines, strict=True), 1):
        shift = (series - (len(groups) + 1) / 2) * 0.07
        plot.line(((place + shift, mean.value) for place, mean in enumerate(line)), series)
        for place, mean in enumerate(line):
            plot.upright(place + shift, mean.low, mean.high, series)
            plot.dot(
                place + shift,
                mean.value,
                series,
                f"{group.name}, {names[place]}: {100 * mean.value:.1f} %, {mean.count} seeds",
            )
    return plot.svg()


def _steps(groups: Sequence[Group]) -> str:
    lines = []
    for group in groups:
        curves = [[float(step["valid"]) for step in run.steps if "valid" in step] for run in group.runs]
        length = min((len(curve) for curve in curves), default=0)
        mean = np.mean([curve[:length] for curve in curves], axis=0) if length else np.zeros(0)
        lines.append(np.convolve(mean, np.ones(_SMOOTH) / _SMOOTH, "valid") if length >= _SMOOTH else mean)
    plot = Plot(
        "Valid answers in training",
        (1, max(2, *(len(line) for line in lines), 2)),
        bounds(value for line in lines for value in line.tolist()),
        x_label="optimiser step",
        percent=True,
    )
    for series, (group, line) in enumerate(zip(groups, lines, strict=True), 1):
        plot.line(enumerate(line.tolist(), 1), series)
        if len(line):
            plot.dot(len(line), float(line[-1]), series, f"{group.name}: {100 * line[-1]:.1f} % at the end")
    return plot.svg()


def _shares(groups: Sequence[Group]) -> list[str]:
    panels = []
    stages = max(run.recipe.stages for group in groups for run in group.runs)
    for stage in range(stages):
        lines = []
        for group in groups:
            shares: dict[int, list[float]] = {}
            for run in group.runs:
                data = run.boards(stage) if stage < run.recipe.stages else None
                sizes = data["realised"]["sizes"] if data else {}
                total = sum(got["count"] for got in sizes.values()) or 1
                for size, got in sizes.items():
                    shares.setdefault(int(size), []).append(got["count"] / total)
            lines.append({size: bootstrap_mean(values) for size, values in sorted(shares.items())})
        sizes_seen = sorted({size for line in lines for size in line})
        if not sizes_seen:
            continue
        top = max(mean.value for line in lines for mean in line.values())
        plot = Plot(
            f"Share of the boards, stage {stage}",
            (sizes_seen[0] - 0.3, sizes_seen[-1] + 0.3),
            bounds([top], least=0.0),
            x_label="map size",
            x_ticks=[(size, str(size)) for size in sizes_seen],
            percent=True,
        )
        for series, (group, line) in enumerate(zip(groups, lines, strict=True), 1):
            plot.line(((size, mean.value) for size, mean in line.items()), series)
            for size, mean in line.items():
                plot.dot(size, mean.value, series, f"{group.name}, {size}x{size}: {mean.value:.1%}")
        panels.append(plot.svg())
    return panels
