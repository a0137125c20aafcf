"""Training along its steps: reward and its parts, weights, ability, lengths."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.reports.blocks import Figure, Section, Table, Text, command, row
from experiments.reports.charts import Plot, bounds
from experiments.reports.source import Run

_POINTS = 8
_TABLE = ("reward", "valid", "optimal", "reward/accuracy", "reward/length", "weights/length", "ability", "loss")
# title, the metrics with their short names, whether they are shares
_PANELS: tuple[tuple[str, tuple[tuple[str, str], ...], bool], ...] = (
    ("Training answers", (("valid", "valid"), ("optimal", "optimal"), ("reward", "reward")), False),
    ("Parts of the reward", (("accuracy", "reward/accuracy"), ("length penalty", "reward/length")), False),
    ("Weight and ability", (("weight of length", "weights/length"), ("ability", "ability")), False),
    ("Tokens of an answer", (("mean", "completions/mean_length"), ("longest", "completions/max_length")), False),
    ("Entropy and groups without signal", (("entropy", "entropy"), ("no signal", "frac_reward_zero_std")), False),
    ("GRPO loss", (("loss", "loss"),), False),
)


def learning_section(run: Run) -> Section | None:
    """The training answers' numbers along the stages: drawn for every step, listed for some."""
    steps = run.steps
    columns = [name for name in _TABLE if any(name in step for step in steps)]
    if not columns:
        return None
    panels = [panel for spec in _PANELS if (panel := _panel(steps, *spec))]
    rows = []
    for stage in sorted({step["stage"] for step in steps}):
        mine = [step for step in steps if step["stage"] == stage]
        for index in sorted({round(i) for i in np.linspace(0, len(mine) - 1, min(_POINTS, len(mine)))}):
            cells = [f"{mine[index][name]:.4g}" if name in mine[index] else "" for name in columns]
            rows.append(row(str(stage), [str(mine[index]["step"]), *cells]))
    blocks: list[Text | Figure | Table] = [
        Text("Means over the answers sampled for each optimiser step; stages are parted by fine lines."),
        Table(("stage", "step", *columns), tuple(rows), "Some steps in numbers"),
    ]
    if panels:
        blocks.insert(1, Figure("learning", "Training, step by step", tuple(panels)))
    source = command(
        "t = pd.read_json('metrics.jsonl', lines=True); t = t[t['job'].str.endswith('/policy') & t['step'].notna()]; "
        "print(t.drop_duplicates(['stage', 'step'], keep='last')[['stage', 'step', 'reward', 'valid']])"
    )
    return Section("Learning curve", tuple(blocks), source)


def _panel(steps: Sequence[dict[str, Any]], title: str, metrics: Sequence[tuple[str, str]], percent: bool) -> str:
    """One plot; empty when none of its metrics was logged."""
    lines = {name: [_number(step.get(key)) for step in steps] for name, key in metrics}
    lines = {name: values for name, values in lines.items() if any(map(math.isfinite, values))}
    if not lines:
        return ""
    low_high = bounds((value for values in lines.values() for value in values), least=0.0)
    plot = Plot(title, (1, len(steps)), low_high, x_label="optimiser step", percent=percent)
    for place, (step, after) in enumerate(pairwise(steps), 1):
        if step["stage"] != after["stage"]:
            plot.parting(place + 0.5)
    for series, (name, values) in enumerate(lines.items(), 1):
        plot.line(enumerate(values, 1), series)
        last = next(value for value in reversed(values) if math.isfinite(value))
        plot.dot(len(values), last, series, f"{name} at the end: {last:.4g}")
    plot.legend(list(lines), 1)
    return plot.svg()


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
