"""What the current policy makes of a proposal's boards before they are used.

A group of answers to one board carries a learning signal only if some of them are valid and some are not (GRPO's
advantages are all zero otherwise). A preview counts such groups on a few boards drawn from the proposal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engineer.evidence import Row, count_rows


@dataclass(frozen=True)
class Preview:
    """Groups per size; a size without boards has no row."""

    rows: tuple[Row, ...]

    @property
    def signal(self) -> float:
        """The share of all groups that carry a signal, 0 without any group."""
        groups = sum(row.groups for row in self.rows)
        return sum(map(_mixed, self.rows)) / groups if groups else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data: the share of all, and per size the groups, those without a signal and the share of the others."""
        sizes = {
            str(row.size): {
                "groups": row.groups,
                "wrong": row.groups_wrong,
                "right": row.groups_right,
                "signal": _mixed(row) / row.groups,
            }
            for row in self.rows
            if row.groups
        }
        return {"signal": self.signal, "sizes": sizes}


def build_preview(columns: Mapping[str, Any]) -> Preview:
    """From the columns that `build_evidence` takes for training, one entry per answer, of one number of agents."""
    return Preview(count_rows(columns))


def most_signal(previews: Sequence[Preview]) -> int:
    """Which of several proposals has the largest share of groups with a signal; of equal ones the first."""
    shares = [preview.signal for preview in previews]
    return shares.index(max(shares))


def _mixed(row: Row) -> int:
    return row.groups - row.groups_wrong - row.groups_right
