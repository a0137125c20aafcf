"""Valid and optimal rates in the layout of the published tables, and the published rows beside them."""

from collections.abc import Iterable

import numpy as np

from experiments.reports import published
from experiments.reports.blocks import Cell, Figure, Row, Section, Table, Text, command, row
from experiments.reports.charts import Plot
from experiments.reports.source import Run
from experiments.stats import Rate, wilson
from experiments.tables import Table as Rows

Both = tuple[Rate, Rate]  # acc, the valid rate, and opt, the optimal one


def headline_section(run: Run) -> Section | None:
    """Every checkpoint on every set, all sizes together."""
    kinds = [(name, agents) for name in run.recipe.evaluation.sets for agents in _agents(run, name)]
    if not kinds:
        return None
    ours = {
        label: [rates_of(run.verdicts(folder, name), agents) for name, agents in kinds]
        for label, folder in run.checkpoints.items()
    }
    rows = _best_in_bold(ours)
    for label, values in published.HEADLINE:
        shown = [published.both(values, agents) for _, agents in kinds]
        if any(shown):
            rows.append(row(label, shown, published=True))
    cost = run.recipe.objective.replace("_", " ")
    text = (
        f"acc: valid plans; opt: plans whose {cost} is optimal. Greedy answers; below them 95 % Wilson intervals; our "
        "best acc in bold."
    )
    if untrained := sorted({agents for _, agents in kinds} - {run.recipe.num_agents}):
        listed = ", ".join(map(str, untrained))
        text += f" RL never trained on {listed} agents (the model card says what the warm start showed)."
    if any(line.published for line in rows):
        text += f" {published.CITATION}"
    head = ("acc / opt in %", *(f"{agents} agents, `{name}`" for name, agents in kinds))
    return Section("Headline", (Text(text), Table(head, tuple(rows))), _source(run, kinds[0][0], "'num_agents'"))


def set_section(run: Run, name: str) -> Section | None:
    """Every checkpoint on one set, size by size."""
    numbers = _agents(run, name)
    if not numbers:
        return None
    blocks: list[Text | Table | Figure] = []
    panels = []
    tables = {label: run.verdicts(folder, name) for label, folder in run.checkpoints.items()}
    first = next(table for table in tables.values() if table is not None)
    limit = run.recipe.evaluation.limit
    for agents in numbers:
        counts = np.bincount(first["size"][first["num_agents"] == agents])
        sizes = np.flatnonzero(counts).tolist()
        ours = {label: [rates_of(table, agents, size) for size in [*sizes, None]] for label, table in tables.items()}
        boards = f"{counts.sum()} boards" + ("" if limit is None else f" (only the first {limit} of the set)")
        blocks.append(Text(f"{agents} agents: {boards}, {_listed(counts[sizes].tolist())} a size."))
        head = ("acc / opt in %", *(f"{size}x{size}" for size in sizes), "sum")
        blocks.append(Table(head, tuple(_best_in_bold(ours, 0))))
        for index, title in enumerate(("Valid", "Optimal")):
            lines = {label: [both[index] for both in values if both] for label, values in ours.items()}
            panels.append(_panel(f"{title}, {agents} agents", sizes, lines))
    caption = f"Rates per size on {name}, with Wilson intervals"
    blocks.append(Figure(f"rates-{name}", caption, tuple(panels), tuple(run.checkpoints)))
    return Section(f"Set {name}, size by size", tuple(blocks), _source(run, name, "['num_agents', 'size']"))


def _source(run: Run, name: str, by: str) -> str:
    return command(
        f"t = pd.read_parquet('{run.last}/eval/{name}.parquet'); "
        f"print(t.groupby({by})[['valid', 'optimal']].agg(['sum', 'count', 'mean']))"
    )


def rates_of(table: Rows | None, agents: int, size: int | None = None) -> Both | None:
    """acc and opt over the boards of so many agents, of one size or of all."""
    if table is None:
        return None
    here = table["num_agents"] == agents
    if size is not None:
        here = here & (table["size"] == size)
    acc, opt = (wilson(int(table[name][here].sum()), int(here.sum())) for name in ("valid", "optimal"))
    return (acc, opt) if acc.count else None


def _best_in_bold(ours: dict[str, list[Both | None]], decimals: int = 1) -> list[Row]:
    """A row for each name; in each column those of the highest acc, as shown, are marked."""
    width = max(map(len, ours.values()), default=0)
    tops = [max((_shown(values[c]) for values in ours.values() if values[c]), default="") for c in range(width)]
    rows = []
    for label, values in ours.items():
        cells = []
        for both, top in zip(values, tops, strict=True):
            if both is None:
                cells.append(Cell(""))
                continue
            acc, opt = both
            note = f"{interval(acc, decimals)} / {interval(opt, decimals)}"
            best = len(ours) > 1 and _shown(both) == top
            cells.append(Cell(f"{100 * acc.value:.1f} / {100 * opt.value:.1f}", note, best))
        rows.append(row(label, cells))
    return rows


def _shown(both: Both | None) -> str:
    """acc as shown, so that it sorts: equal figures are equally good."""
    return f"{100 * both[0].value:05.1f}" if both else ""


def _panel(title: str, sizes: list[int], rates: dict[str, list[Rate]]) -> str:
    plot = Plot(
        title,
        (sizes[0] - 0.4, sizes[-1] + 0.4),
        (0, 1),
        x_label="map size",
        x_ticks=[(s, str(s)) for s in sizes],
        percent=True,
    )
    for series, (label, values) in enumerate(rates.items()):
        shift = (series - (len(rates) - 1) / 2) * 0.12
        known = list(zip(sizes, values[: len(sizes)], strict=False))
        plot.line(((size + shift, rate.value) for size, rate in known), series, faint=True)
        for size, rate in known:
            plot.upright(size + shift, rate.low, rate.high, series)
            plot.dot(
                size + shift,
                rate.value,
                series,
                f"{label}, {size}x{size}: {100 * rate.value:.1f} % ({interval(rate)}) of {rate.count}",
            )
    return plot.svg()


def _agents(run: Run, name: str) -> list[int]:
    for folder in run.checkpoints.values():
        table = run.verdicts(folder, name)
        if table is not None:
            numbers: list[int] = np.unique(table["num_agents"]).tolist()
            return numbers
    return []


def interval(rate: Rate, decimals: int = 1) -> str:
    return f"{100 * rate.low:.{decimals}f}-{100 * rate.high:.{decimals}f}"


def _listed(counts: Iterable[int]) -> str:
    seen = sorted(set(counts))
    return str(seen[0]) if len(seen) == 1 else f"{seen[0]} to {seen[-1]}"
