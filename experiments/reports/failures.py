"""What goes wrong: size by kind of failure along the checkpoints, and a few of the last one's answers drawn."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from experiments.plan import VALIDATION
from experiments.reports.blocks import Board, Boards, Figure, Section, Table, Text, command, row
from experiments.reports.heat import heat_map
from experiments.reports.labels import LABELS, SHOWN, VALID
from experiments.reports.source import Run
from experiments.tables import Table as Rows

# (run, name of the set, rows of its table, row) -> board and answer as text, and as SVG
Draw = Callable[[Run, str, Rows, int], tuple[str, str]]
_SAMPLES = 6


def heat_section(run: Run) -> Section | None:
    """Verdicts on the validation set, per size, for every checkpoint, and how each stage changed them."""
    tables = {name: table for name, folder in run.checkpoints.items() if (table := run.verdicts(folder, VALIDATION))}
    if not tables:
        return None
    sizes = np.unique(next(iter(tables.values()))["size"]).tolist()
    kinds = [kind for kind in SHOWN if any((table["label"] == kind).any() for table in tables.values())]
    shares = {name: _shares(table, sizes, kinds) for name, table in tables.items()}
    rises = [LABELS[kind] in VALID for kind in kinds]
    names, columns = [LABELS[kind] for kind in kinds], [str(size) for size in sizes]
    panels = [
        heat_map(name.capitalize(), names, columns, share.tolist(), top=1.0, told=_told(share, names, sizes))
        for name, share in shares.items()
    ]
    order = list(shares)
    pairs = [*pairwise(order), *([(order[0], order[-1])] if len(order) > 2 else [])]
    changes = [
        heat_map(
            f"{first} → {second}",
            names,
            columns,
            (shares[second] - shares[first]).tolist(),
            top=0.5,
            told=_told(shares[second] - shares[first], names, sizes, signed=True),
            rises=rises,
        )
        for first, second in pairs
    ]
    counts = {name: np.bincount(table["label"], minlength=len(LABELS)) for name, table in tables.items()}
    rows = [row(LABELS[kind], [str(counts[name][kind]) for name in tables]) for kind in kinds]
    text = (
        "Verdicts on the validation set, in percent of a size's boards: what the engineer's evidence is made of. An "
        "answer has the label of its first offence."
    )
    blocks = (
        Text(text),
        Figure("failures", "Verdicts in percent, size by size", tuple(panels)),
        Figure("failures-changes", "Changes in points from checkpoint to checkpoint", tuple(changes)),
        Table(("answers", *tables), tuple(rows)),
    )
    labels = {kind: LABELS[kind] for kind in kinds}
    source = command(
        f"t = pd.read_parquet('{run.last}/eval/{VALIDATION}.parquet'); "
        f"print(pd.crosstab(t['label'].map({labels}), t['size']), t['label'].value_counts())"
    )
    return Section("Where it fails", blocks, source)


def samples_section(run: Run, draw: Draw) -> Section | None:
    """A few boards that the last checkpoint got wrong, of different kinds."""
    if not run.checkpoints:
        return None
    label, folder = list(run.checkpoints.items())[-1]
    rows = run.verdicts(folder, VALIDATION)
    if rows is None:
        return None
    wrong = np.flatnonzero(~rows["valid"].astype(bool))
    if not len(wrong):
        return Section("Failures", (Text(f"{label} answered every validation board with a valid plan."),))
    # The first of each kind, the kinds that happen most often first.
    _, first, counts = np.unique(rows["label"][wrong], return_index=True, return_counts=True)
    boards = []
    for place in np.argsort(-counts, kind="stable")[:_SAMPLES].tolist():
        index = int(wrong[first[place]])
        text, svg = draw(run, VALIDATION, rows, index)
        board = f"board {rows['board'][index]}"
        text = text.rstrip("\n")
        verdict = text.rpartition("\n")[2].replace("_", " ")
        boards.append(Board(f"{verdict[:1].upper()}{verdict[1:]} ({board}); {counts[place]} like this one", text, svg))
    text = f"Of {label} on the validation set: {len(wrong)} of {len(rows['valid'])} boards."
    source = command(
        f"t = pd.read_parquet('{folder}/eval/{VALIDATION}.parquet'); print(t[~t['valid']].drop_duplicates('label').T)"
    )
    return Section("Failures", (Text(text), Boards(tuple(boards))), source)


def _shares(table: Rows, sizes: list[int], kinds: list[int]) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Of the answers on each size the share of each kind, [kinds, sizes]."""
    rows = []
    for kind in kinds:
        rows.append([float((table["label"][table["size"] == size] == kind).mean()) for size in sizes])
    return np.array(rows, dtype=np.float64).reshape(len(kinds), len(sizes))


def _told(
    shares: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    names: list[str],
    sizes: list[int],
    *,
    signed: bool = False,
) -> list[list[str]]:
    form = "+.1f" if signed else ".1f"
    unit = "points" if signed else "%"
    return [
        [f"{name}, {size}x{size}: {100 * shares[r, c]:{form}} {unit}" for c, size in enumerate(sizes)]
        for r, name in enumerate(names)
    ]
