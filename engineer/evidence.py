"""What a stage showed: verdicts counted per size and number of agents, and the one table an engineer reads.

Counts come from plain NumPy columns, one entry per answer: `size`, `num_agents`, `label` (a `jaxenv.Label`), `valid`,
`optimal`, `gap`, `tokens`, `truncated`, `needs_wait` and, for training, `group` (answers to one board share a number).
No config value is part of the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jaxenv.types import Label

_TEXT = (Label.READ, Label.PARSE_ERROR, Label.AGENT_MISMATCH, Label.TOO_LONG, Label.SOLVER_FAULT)
_CONFLICTS = (Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT)
COLUMNS = ("n", "valid", "opt", "gap", "trunc", "text", "off", "hole", "vertex", "swap", "goal", "wait", "tok")
TRAINING_COLUMNS = (*COLUMNS, "wrong", "right")
ABSENT = "-"
LEGEND = (
    "n answers; valid and opt(imal) ones; gap: mean extra cost of the valid ones over the optimum, in percent",
    "failures: trunc(ated), text (unreadable or too long), off the map, into a hole, vertex conflict, swap conflict, "
    "goal not reached",
    "wait: the board needs a wait and the answer ended in a conflict; tok: mean tokens of an answer",
    "wrong and right: percent of the groups of answers to one board that are all wrong or all right",
)


@dataclass(frozen=True)
class Row:
    """All answers to the boards of one size and number of agents. Everything is a count but for the two means."""

    size: int
    num_agents: int
    n: int
    valid: int
    optimal: int
    gap: float | None  # mean over the valid answers, None without one
    labels: tuple[int, ...]  # answers per Label
    truncated: int
    tokens: float  # mean over all answers
    needs_wait: int
    waits_missing: int  # the board needs a wait, and the answer ended in a conflict
    groups: int  # of answers to one board; 0 where nothing was sampled in groups
    groups_wrong: int  # groups without one valid answer: no signal
    groups_right: int  # groups without one invalid answer: no signal

    def percent(self, count: int) -> int:
        """The count as a whole percentage of the answers, halves rounded up; 0 without answers."""
        return _percent(count, self.n)

    @property
    def valid_percent(self) -> int:
        """Valid answers."""
        return self.percent(self.valid)

    @property
    def conflict_percent(self) -> int:
        """Answers in which two agents met, the two shares as the table shows them."""
        return sum(self.percent(self.labels[label]) for label in _CONFLICTS)

    @property
    def wrong_percent(self) -> int:
        """Groups that are all wrong."""
        return _percent(self.groups_wrong, self.groups)

    @property
    def right_percent(self) -> int:
        """Groups that are all right."""
        return _percent(self.groups_right, self.groups)

    def cells(self, columns: Iterable[str]) -> list[str]:
        """The row as the table shows it."""
        if self.n == 0:
            return ["0" if column == "n" else ABSENT for column in columns]
        shown = {
            "n": str(self.n),
            "valid": str(self.valid_percent),
            "opt": str(self.percent(self.optimal)),
            "gap": ABSENT if self.gap is None else str(_half_up(100 * self.gap)),
            "trunc": str(self.percent(self.truncated)),
            "text": str(self.percent(sum(self.labels[label] for label in _TEXT))),
            "off": str(self.percent(self.labels[Label.OFF_MAP])),
            "hole": str(self.percent(self.labels[Label.HOLE])),
            "vertex": str(self.percent(self.labels[Label.VERTEX_CONFLICT])),
            "swap": str(self.percent(self.labels[Label.SWAP_CONFLICT])),
            "goal": str(self.percent(self.labels[Label.GOAL_NOT_REACHED])),
            "wait": str(self.percent(self.waits_missing)),
            "tok": str(_half_up(self.tokens)),
            "wrong": str(self.wrong_percent) if self.groups else ABSENT,
            "right": str(self.right_percent) if self.groups else ABSENT,
        }
        return [shown[column] for column in columns]


@dataclass(frozen=True)
class Evidence:
    """What the validation set and the training rollouts of one stage showed, in the order of agents, then sizes."""

    validation: tuple[Row, ...]
    training: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, labels by name."""
        return {
            "validation": [_row_json(r) for r in self.validation],
            "training": [_row_json(r) for r in self.training],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Evidence":
        """The inverse of `to_json`."""
        return cls(
            tuple(_row_from_json(row) for row in data["validation"]),
            tuple(_row_from_json(row) for row in data["training"]),
        )


def build_evidence(validation: Mapping[str, Any], training: Mapping[str, Any] | None = None) -> Evidence:
    """Count the verdicts in two tables of columns; more columns than those named above do no harm."""
    return Evidence(count_rows(validation), count_rows(training) if training is not None else ())


def count_rows(columns: Mapping[str, Any]) -> tuple[Row, ...]:
    """One `Row` for each pair of number of agents and size that occurs."""
    table = {name: np.asarray(columns[name]) for name in _NEEDED}
    group = np.asarray(columns["group"]) if "group" in columns else None
    places = sorted(set(zip(table["num_agents"].tolist(), table["size"].tolist(), strict=True)))
    rows = []
    for num_agents, size in places:
        here = (table["num_agents"] == num_agents) & (table["size"] == size)
        label = table["label"][here].astype(int)
        valid = table["valid"][here].astype(bool)
        needs_wait = table["needs_wait"][here].astype(bool)
        gaps = table["gap"][here].astype(float)[valid]
        gaps = gaps[np.isfinite(gaps)]
        groups, wrong, right = (0, 0, 0) if group is None else _count_groups(group[here], valid)
        rows.append(
            Row(
                size=int(size),
                num_agents=int(num_agents),
                n=int(here.sum()),
                valid=int(valid.sum()),
                optimal=int(table["optimal"][here].astype(bool).sum()),
                gap=float(gaps.mean()) if gaps.size else None,
                labels=tuple(np.bincount(label, minlength=len(Label)).tolist()),
                truncated=int(table["truncated"][here].astype(bool).sum()),
                tokens=float(table["tokens"][here].astype(float).mean()),
                needs_wait=int(needs_wait.sum()),
                waits_missing=int((needs_wait & np.isin(label, _CONFLICTS)).sum()),
                groups=groups,
                groups_wrong=wrong,
                groups_right=right,
            )
        )
    return tuple(rows)


_NEEDED = ("size", "num_agents", "label", "valid", "optimal", "gap", "tokens", "truncated", "needs_wait")


def render_table(evidence: Evidence) -> list[str]:
    """The table, one line per size: its validation, then its training. Percentages of n, `gap` too; `tok` is a mean."""
    lines = [f"size | validation {' '.join(COLUMNS)} | training {' '.join(TRAINING_COLUMNS)}"]
    validation = {(row.num_agents, row.size): row for row in evidence.validation}
    training = {(row.num_agents, row.size): row for row in evidence.training}
    last = None
    for place in sorted({*validation, *training}):
        if place[0] != last:
            last = place[0]
            lines.append(f"agents {last}")
        left = validation.get(place, _empty(place)).cells(COLUMNS)
        right = training.get(place, _empty(place)).cells(TRAINING_COLUMNS)
        lines.append(f"{place[1]} | {' '.join(left)} | {' '.join(right)}")
    return lines


def _empty(place: tuple[int, int]) -> Row:
    return Row(place[1], place[0], 0, 0, 0, None, (0,) * len(Label), 0, 0.0, 0, 0, 0, 0, 0)


def _count_groups(group: np.ndarray, valid: np.ndarray) -> tuple[int, int, int]:
    _, index, sizes = np.unique(group, return_inverse=True, return_counts=True)
    right = np.bincount(index, weights=valid, minlength=len(sizes))
    return len(sizes), int((right == 0).sum()), int((right == sizes).sum())


def _percent(count: int, n: int) -> int:
    return (200 * count + n) // (2 * n) if n else 0


def _half_up(value: float) -> int:
    return int(np.floor(value + 0.5))


def _row_json(row: Row) -> dict[str, Any]:
    return {**asdict(row), "labels": {label.name.lower(): row.labels[label] for label in Label}}


def _row_from_json(data: Mapping[str, Any]) -> Row:
    labels = tuple(int(data["labels"].get(label.name.lower(), 0)) for label in Label)
    return Row(**{**data, "labels": labels})
