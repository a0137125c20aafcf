"""The environment along the stages: configs asked for and realised, and what each share of the data was good for."""

from typing import Any

import numpy as np

from experiments.plan import stage_folder
from experiments.report_engineer import KEPT
from experiments.reports.blocks import Figure, Section, Table, Text, command, row
from experiments.reports.charts import Plot, bounds
from experiments.reports.source import Run
from experiments.tables import Table as Rows

_VALUES = (("share", "share of the boards"), ("hole_ratio", "holes"), ("wait_ratio", "boards that need a wait"))


def configs_section(run: Run) -> Section | None:
    """What each stage was asked for and what its boards became."""
    made = {stage: boards for stage in range(run.recipe.stages) if (boards := run.boards(stage)) is not None}
    if not made:
        return None
    blocks: list[Text | Table | Figure] = [
        Text("Dashed and hollow: asked for. Solid: realised in the boards that the stage was trained on."),
        Figure("configs", "Config evolution, asked for and realised", _panels(made), tuple(map(_stage, made)), 1),
    ]
    for stage, data in made.items():
        blocks.append(Text(f"### Stage {stage}, {_origin(run, stage)}"))
        blocks.append(_table(data, f"Stage {stage} in numbers"))
        notes = []
        if changed := data["realised"].get("changed"):
            notes.append(f"{len(changed)} classes could not be had as asked; the nearest mix was taken.")
        if undetermined := sum(size.get("undetermined", 0) for size in data["realised"]["sizes"].values()):
            notes.append(f"{undetermined} candidates were left out because their optimum was not certified.")
        if notes:
            blocks.append(Text(" ".join(notes)))
    source = command(
        f"import json; d = json.load(open('{stage_folder(max(made))}/data/metadata.json')); "
        "print(pd.DataFrame(d['requested']['sizes']).T, pd.DataFrame(d['realised']['sizes']).T)"
    )
    return Section("Configs, asked for and realised", tuple(blocks), source)


def frontier_section(run: Run) -> Section | None:
    """Valid rate against data share: whether the boards went where there was something to learn."""
    panels, columns = [], {}
    for stage in range(run.recipe.stages):
        rollouts, data = run.rollouts(stage), run.boards(stage)
        if rollouts is not None and data is not None:
            columns[stage] = _places(rollouts, data)
            panels.append(_frontier(f"Stage {stage}", stage, columns[stage]))
    if not columns:
        return None
    rows = []
    for size in sorted({size for places in columns.values() for size in places}):
        here = [places.get(size) for places in columns.values()]
        shown = [" / ".join(f"{100 * value:.1f}" for value in place) if place else "" for place in here]
        rows.append(row(f"{size}x{size}", shown))
    text = (
        "Of the answers sampled in training. A group is the answers to one board; where all of them are valid, or "
        "none, there is little to learn from. The table: data share / valid rate / groups of both kinds, in percent."
    )
    figure = Figure("frontier", "Valid rate in training against data share, a dot a map size", tuple(panels))
    source = command(
        "t = pd.read_parquet('stage_0/policy/rollouts.parquet'); g = t.groupby(['size', 'group'])['valid'].mean(); "
        "print(t.groupby('size')['valid'].agg(['mean', 'count']), g.between(0, 1, 'neither').groupby('size').mean())"
    )
    head = ("share / valid / both", *(f"stage {stage}" for stage in columns))
    return Section("The frontier", (Text(text), figure, Table(head, tuple(rows))), source)


def _places(rollouts: Rows, data: dict[str, Any]) -> dict[int, tuple[float, float, float]]:
    """Of each size: its share of the boards, the valid rate of the answers, and the share of groups of both kinds."""
    counts = {int(size): got["count"] for size, got in data["realised"]["sizes"].items()}
    places = {}
    for size, count in counts.items():
        here = rollouts["size"] == size
        if count and here.any():
            valid = rollouts["valid"][here].astype(bool)
            signal = _with_signal(rollouts["group"][here], valid)
            places[size] = (count / sum(counts.values()), float(valid.mean()), signal)
    return places


def _with_signal(groups: Any, valid: Any) -> float:
    """The share of groups with valid and invalid answers."""
    _, place = np.unique(groups, return_inverse=True)
    right, count = np.bincount(place, weights=valid), np.bincount(place)
    return float(((right > 0) & (right < count)).mean())


def _frontier(title: str, stage: int, places: dict[int, tuple[float, float, float]]) -> str:
    high = 1.12 * max([0.25, *(share for share, *_ in places.values())])
    steps = [(share / 10, f"{10 * share}%") for share in range(11) if share / 10 <= high]
    plot = Plot(title, (0, high), (0, 1), x_label="data share", x_ticks=steps, percent=True)
    for size, (share, valid, signal) in places.items():
        told = f"{size}x{size}: {share:.1%} of the boards, {valid:.1%} valid, {signal:.1%} of the groups of both kinds"
        plot.dot(share, valid, stage + 1, told, label=str(size))
    return plot.svg()


def _panels(made: dict[int, dict[str, Any]]) -> tuple[str, ...]:
    panels = []
    for key, title in _VALUES:
        lines = {stage: (_of(data["requested"], key), _of(data["realised"], key)) for stage, data in made.items()}
        high = max((value for both in lines.values() for line in both for value in line.values()), default=1.0)
        sizes = sorted({size for both in lines.values() for line in both for size in line})
        low_high = bounds((0.0, high), least=0.0)
        plot = Plot(
            title.capitalize(),
            (sizes[0] - 0.3, sizes[-1] + 0.3),
            low_high,
            x_label="map size",
            x_ticks=[(size, str(size)) for size in sizes],
            percent=True,
        )
        for stage, (asked, got) in lines.items():
            plot.line(asked.items(), stage + 1, dashed=True)
            plot.line(got.items(), stage + 1)
            for size, value in asked.items():
                plot.dot(size, value, stage + 1, f"stage {stage}, {size}x{size}: {value:.1%} asked for", hollow=True)
            for size, value in got.items():
                plot.dot(size, value, stage + 1, f"stage {stage}, {size}x{size}: {value:.1%} realised")
        panels.append(plot.svg())
    return tuple(panels)


def _of(side: dict[str, Any], key: str) -> dict[int, float]:
    """One value per size; the ratios of no boards are none."""
    sizes = {int(size): values for size, values in side["sizes"].items()}
    if key == "share":
        total = sum(values["count"] for values in sizes.values()) or 1
        return {size: values["count"] / total for size, values in sizes.items()}
    return {size: values[key] for size, values in sizes.items() if values["count"]}


def _table(data: dict[str, Any], words: str) -> Table:
    rows = []
    for size, asked in data["requested"]["sizes"].items():
        got = data["realised"]["sizes"].get(size, {"count": 0})
        cells = [str(asked["count"]), str(got["count"])]
        for name in ("hole_ratio", "wait_ratio"):
            cells += [f"{asked[name]:.2f}", f"{got[name]:.2f}" if got["count"] else ""]
        rows.append(row(size, cells))
    return Table(("size", "boards asked", "got", "holes asked", "got", "waits asked", "got"), tuple(rows), words)


def _origin(run: Run, stage: int) -> str:
    """Whose config it was."""
    if stage == 0:
        return "drawn at random from the seed"
    proposal = run.proposal(stage - 1)
    if proposal is None:
        return "whose proposal is missing"
    level = proposal["level"]
    if level == KEPT:
        return f"kept from stage {stage - 1}, for no reply could be used (level {KEPT})"
    return f"written by `{run.recipe.engineer.name}` after stage {stage - 1} (level {level})"


def _stage(stage: int) -> str:
    return f"stage {stage}"
