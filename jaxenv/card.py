"""What stands beside a set's boards: the numbers of what was asked and what came of it, and a card for readers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
_CATEGORIES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))

COLUMNS = """\
| column | meaning |
|---|---|
| board | row number in the set |
| board_id, canonical_id | hash without the order of agents; without symmetries too (16 hexadecimal digits) |
| size, num_agents | |
| map | rows of `.` (free) and `H` (hole), joined by line ends |
| starts, goals | row, col of agent 0, row, col of agent 1, ... |
| status | 0 undetermined, 1 optimal, 2 unsolvable |
| sum_of_costs, makespan, lower_bound, single_path_bound, needs_wait, interacts | labels |
| plan | one optimal plan: a letter a step (W U D L R), agents separated by a bar |
"""

Tally = Mapping[int, tuple[int, int, int]]  # per size: boards, holes, boards that need a wait


def tally(size: NDArray[Any], holes: NDArray[Any], waits: NDArray[Any]) -> dict[int, tuple[int, int, int]]:
    """Of boards with these sizes, numbers of holes and needs."""
    return {
        int(n): (int((size == n).sum()), int(holes[size == n].sum()), int(waits[size == n].sum()))
        for n in np.unique(size)
    }


def add(one: Tally, other: Tally) -> dict[int, tuple[int, int, int]]:
    none = (0, 0, 0)
    sums = {n: [a + b for a, b in zip(one.get(n, none), other.get(n, none), strict=True)] for n in {*one, *other}}
    return {n: (row[0], row[1], row[2]) for n, row in sums.items()}


def describe(counts: Tally, realised: dict[str, Any]) -> dict[str, Any]:
    """`realised`, completed by what the boards themselves say of each size."""
    classes = realised.get("classes", [])
    sizes = {}
    for n in sorted({*counts, *(record["size"] for record in classes)}):
        boards, holes, waits = counts.get(n, (0, 0, 0))
        drawn = [record for record in classes if record["size"] == n]
        eligible = sum(record["candidates"] - record["other_split"] for record in drawn)
        sizes[str(n)] = {
            "count": boards,
            "hole_ratio": holes / boards / n**2 if boards else 0.0,
            "wait_ratio": waits / boards if boards else 0.0,
            "acceptance": sum(record["count"] for record in drawn) / eligible if eligible else 0.0,
            "undetermined": sum(record["undetermined"] for record in drawn),
            "unsolvable": sum(record["unsolvable"] for record in drawn),
        }
    return {"count": sum(row[0] for row in counts.values()), "sizes": sizes, **realised}


def card(metadata: dict[str, Any], files: str) -> str:
    """The card of a set whose boards are in `files` (a pattern), in the form the hub reads."""
    requested, realised = metadata["requested"], metadata["realised"]
    count = realised["count"]
    category = next((name for limit, name in _CATEGORIES if count < limit), "n>10M")
    lines = [
        "---",
        f"pretty_name: Multi-agent grid boards {metadata['content_hash'][:8]}",
        "license: apache-2.0",
        "tags:",
        "- multi-agent-path-finding",
        "- reinforcement-learning",
        "size_categories:",
        f"- {category}",
        "configs:",
        "- config_name: default",
        f"  data_files: {files}",
        "---",
        f"# {count} multi-agent grid boards, `{metadata['content_hash']}`",
        "",
        f"Split `{requested.get('split', 'unknown')}`, objective `{requested.get('objective', 'unknown')}`.",
        "Every board has a certified optimum. No two are equal up to the order of agents. A board's split follows",
        "from its canonical hash, so no board of another split is a symmetric copy of one here.",
        "",
        "| size | boards | hole ratio | wait ratio | acceptance | undetermined | unsolvable |",
        "|---|---|---|---|---|---|---|",
    ]
    for size, row in realised["sizes"].items():
        lines.append(
            f"| {size} | {row['count']} | {row['hole_ratio']:.3f} | {row['wait_ratio']:.3f} "
            f"| {row['acceptance']:.4f} | {row['undetermined']} | {row['unsolvable']} |"
        )
    lines += ["", "What was asked for and what became of every candidate is in `metadata.json`. Columns:", ""]
    return "\n".join([*lines, *COLUMNS.splitlines(), ""])
