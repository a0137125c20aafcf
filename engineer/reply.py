"""The reply an engineer gives, in its canonical form.

    {"rationale": "focus on size 5", "maps": {"3": {"data_ratio": 0.11, "hole_ratio": 0.10, "wait_ratio": 0.30}, ...}}

The rationale comes first: a model that writes from left to right then has decided before it writes numbers.
"""

import json
from collections.abc import Mapping

from jaxenv.schema import SIZES

Maps = dict[str, dict[str, float]]  # the reply's "maps": ratios per size

_HUNDREDTHS = 100


def render_reply(maps: Mapping[str, Mapping[str, float]], rationale: str | None = None) -> str:
    """The shortest canonical reply; every number has two decimals, and the data ratios sum to exactly one."""
    shares = round_shares([maps[str(size)]["data_ratio"] for size in SIZES])
    parts = []
    for size, share in zip(SIZES, shares, strict=True):
        values = maps[str(size)]
        parts.append(
            f'"{size}": {{"data_ratio": {share / _HUNDREDTHS:.2f}, "hole_ratio": {values["hole_ratio"]:.2f}, '
            f'"wait_ratio": {values["wait_ratio"]:.2f}}}'
        )
    said = describe(maps) if rationale is None else rationale
    return f'{{"rationale": {json.dumps(said)}, "maps": {{{", ".join(parts)}}}}}'


def describe(maps: Mapping[str, Mapping[str, float]]) -> str:
    """The rationale that a config itself gives: where most of its boards are."""
    shares = [maps[str(size)]["data_ratio"] for size in SIZES]
    if max(shares) - min(shares) < 1e-6:
        return "all sizes alike"
    return f"focus on size {SIZES[shares.index(max(shares))]}"


def round_shares(shares: list[float], units: int = _HUNDREDTHS) -> list[int]:
    """Whole units that sum to `units`, by the largest remainder, ties to the first; `shares` need not sum to one."""
    total = sum(shares)
    exact = [share / total * units for share in shares]
    floors = [int(value + 1e-9) for value in exact]
    order = sorted(range(len(shares)), key=lambda i: (-round(exact[i] - floors[i], 9), i))
    for index in order[: units - sum(floors)]:
        floors[index] += 1
    return floors
