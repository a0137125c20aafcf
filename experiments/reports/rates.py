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
    head = ("acc / opt in %", *(f"{agents} agents, `{name}`" for name, agents in kinds))
    untrained = sorted({agents for _, agents in kinds} - {run.recipe.num_agents})
    note = ", ".join(map(str, untrained))
    text = "acc: valid plans; opt: plans of optimal " + run.recipe.objective.replace("_", " ") + ". Greedy answers; 95 % Wilson intervals in brackets; our best in bold."
    if untrained:
        text += f" RL never trained on {note} agents (the model card says what the warm start showed)."
    if any(line.published for line in rows):
        text += f" {published.CITATION}"
    last = list(run.checkpoints.values())[-1]
    source = command(
        f"t = pd.read_parquet('{last}/eval/{kinds[0][0]}.parquet'); print(t.groupby('num_agents')[['valid', 'optimal']].agg(['sum', 'count', 'mean']))"
    )
    return Section("Headline", (Text(text), Table(head, tuple(rows))), source)


def set_section(run: Run, name: str) -> Section | None:
    """Every checkpoint on one set, size by size."""
    numbers = _agents(run, name)
    if not numbers:
        return None
    blocks: list[Text | Table | Figure] = []
    panels = []
    for agents in numbers:
        tables = {label: run.verdicts(folder, name) for label, folder in run.checkpoints.items()}
        first = next(table for table in tables.values() if table is not None)
        sizes = np.unique(first["size"][first["num_agents"] == agents]).tolist()
        places = [*sizes, None]
        ours = {label: [rates_of(table, agents, size) for size in places] for label, table in tables.items()}
        count = int((first["num_agents"] == agents).sum())
        limit = run.recipe.evaluation.limit
        boards = f"{count} boards" if limit is None else f"Only {count} boards, of the first {limit} of the set"
        blocks.append(Text(f"{agents} agents: {boards}, {_listed(int((first['size'] == s)[first['num_agents'] == agents].sum()) for s in sizes)} a size."))
        head = ("acc / opt in %", *(f"{size}x{size}" for size in sizes), "sum")
        blocks.append(Table(head, tuple(_best_in_bold(ours, 0))))
        for index, title in enumerate(("Valid", "Optimal")):
            panels.append(_panel(f"{title}, {agents} agents", sizes, {label: [both[index] for both in values if both] for label, values in ours.items()}))
    blocks.append(Figure(f"rates-{name}", f"Rates per size on {name}, with Wilson intervals", tuple(panels), tuple(run.checkpoints)))
    last = list(run.checkpoints.values())[-1]
    source = command(
        f"t = pd.read_parquet('{last}/eval/{name}.parquet'); print(t.groupby(['num_agents', 'size'])[['valid', 'optimal']].agg(['sum', 'count', 'mean']))"
    )
    return Section(f"Set {name}, size by size", tuple(blocks), source)


def samples_section(run: Run) -> Section | None:
    """Sampled answers: their mean, and the best of each board's."""
    rows = []
    count = run.recipe.evaluation.samples
    for name in run.recipe.evaluation.sets:
        for label, folder in run.checkpoints.items():
            greedy, sampled = run.verdicts(folder, name), run.sampled(folder, name)
            if greedy is None or sampled is None:
                continue
            cells = [_percent(wilson(int(greedy["valid"].sum()), len(greedy["valid"])))]
            for column in ("valid", "optimal"):
                mean, best = mean_and_best(sampled, column)
                cells += [Cell(f"{100 * mean:.1f}"), _percent(best)]
            rows.append(row(f"{label}, `{name}`", cells))
    if not rows:
        return None
    text = f"{count} answers a board, sampled at temperature {run.recipe.evaluation.temperature:g}: the mean over all, and the share of boards of which at least one answer is right."
    head = ("in %", "acc greedy", "acc mean", f"acc best of {count}", "opt mean", f"opt best of {count}")
    last = list(run.checkpoints.values())[-1]
    source = command(
        f"t = pd.read_parquet('{last}/eval/samples/{run.recipe.evaluation.sets[0]}.parquet'); print(t['valid'].mean(), t.groupby('board')['valid'].max().mean())"
    )
    return Section("Sampled answers", (Text(text), Table(head, tuple(rows))), source)


def mean_and_best(sampled: Rows, column: str) -> tuple[float, Rate]:
    """The mean over all answers, and the share of boards with at least one right answer."""
    _, place = np.unique(sampled["board"], return_inverse=True)
    best = np.zeros(int(place.max(initial=-1)) + 1, bool)
    np.logical_or.at(best, place, sampled[column].astype(bool))
    return float(sampled[column].mean()), wilson(int(best.sum()), len(best))


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
            note = f"{_interval(acc, decimals)} / {_interval(opt, decimals)}"
            best = len(ours) > 1 and _shown(both) == top
            cells.append(Cell(f"{100 * acc.value:.1f} / {100 * opt.value:.1f}", note, best))
        rows.append(row(label, cells))
    return rows


def _shown(both: Both | None) -> str:
    """acc as shown, so that it sorts: equal figures are equally good."""
    return f"{100 * both[0].value:05.1f}" if both else ""


def _panel(title: str, sizes: list[int], rates: dict[str, list[Rate]]) -> str:
    plot = Plot(title, (sizes[0] - 0.4, sizes[-1] + 0.4), (0, 1), x_label="map size", x_ticks=[(s, str(s)) for s in sizes], percent=True)
    for series, (label, values) in enumerate(rates.items()):
        shift = (series - (len(rates) - 1) / 2) * 0.12
        known = list(zip(sizes, values[: len(sizes)], strict=False))
        plot.line(((size + shift, rate.value) for size, rate in known), series, faint=True)
        for size, rate in known:
            plot.upright(size + shift, rate.low, rate.high, series)
            plot.dot(size + shift, rate.value, series, f"{label}, {size}x{size}: {100 * rate.value:.1f} % ({_interval(rate)}) of {rate.count}")
    return plot.svg()


def _agents(run: Run, name: str) -> list[int]:
    for folder in run.checkpoints.values():
        table = run.verdicts(folder, name)
        if table is not None:
            numbers: list[int] = np.unique(table["num_agents"]).tolist()
            return numbers
    return []


def _percent(rate: Rate) -> Cell:
    return Cell(f"{100 * rate.value:.1f}", _interval(rate))


def _interval(rate: Rate, decimals: int = 1) -> str:
    return f"{100 * rate.low:.{decimals}f}–{100 * rate.high:.{decimals}f}"


def _listed(counts: Iterable[int]) -> str:
    seen = sorted(set(counts))
    return str(seen[0]) if len(seen) == 1 else f"{seen[0]} to {seen[-1]}"
