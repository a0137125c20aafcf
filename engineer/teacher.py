"""The rule `teacher`: a config from one stage's evidence, simple enough to be said in five lines.

- Signal of a size: 4 v (1 - v) of its validation's valid rate v, averaged with the share of mixed training groups.
- Focus: the size with the largest signal after averaging with its neighbours. Its share is largest, and the others'
  shrink with their distance from it, none to zero.
- Holes of a size: from 0.05 at v = 0 to 0.40 at v = 1.
- Waits of a size: from 0.10 up to 0.60 with the share of conflicts among its failures, as far as v has reached 0.40.
- Both in steps of 0.05.

Whole percentages go in, as the table shows them, so that the config is a function of the prompt's text.
"""

import math

from engineer.evidence import Evidence, Row
from engineer.reply import Maps, round_shares
from jaxenv.schema import SIZES

_FALL = 2.5  # sizes over which a share falls to 1/e
_HUNDREDTHS = 100


def teacher(evidence: Evidence, num_agents: int | None = None) -> Maps:
    """The rule's config; `num_agents` picks the rows where there is more than one number (else the smallest)."""
    validation = _by_size(evidence.validation, num_agents)
    training = _by_size(evidence.training, num_agents)
    focus = _focus(validation, training)
    shares = focused_shares(focus)
    return {
        str(size): {"data_ratio": shares[size], "hole_ratio": _holes(row), "wait_ratio": _waits(row)}
        for size in SIZES
        for row in (validation.get(size),)
    }


def focused_shares(focus: int) -> dict[int, float]:
    """Data ratios in whole hundredths that sum to one, largest at `focus`."""
    falling = [math.exp(-abs(size - focus) / _FALL) for size in SIZES]
    return {size: share / _HUNDREDTHS for size, share in zip(SIZES, round_shares(falling, _HUNDREDTHS), strict=True)}


def _by_size(rows: tuple[Row, ...], num_agents: int | None) -> dict[int, Row]:
    wanted = min((row.num_agents for row in rows), default=0) if num_agents is None else num_agents
    return {row.size: row for row in rows if row.num_agents == wanted and row.n}


def _focus(validation: dict[int, Row], training: dict[int, Row]) -> int:
    signal = [_signal(validation.get(size), training.get(size)) for size in SIZES]
    if not any(signal):
        rates = [row.valid_percent for row in validation.values()]
        return SIZES[-1] if rates and sum(rates) > 50 * len(rates) else SIZES[0]
    smooth = []
    for index in range(len(SIZES)):
        near = signal[max(0, index - 1) : index + 2]
        smooth.append((signal[index] + sum(near)) / (1 + len(near)))
    return SIZES[smooth.index(max(smooth))]


def _signal(validation: Row | None, training: Row | None) -> float:
    parts = []
    if validation is not None:
        parts.append(validation.valid_percent * (100 - validation.valid_percent) / 25)
    if training is not None and training.groups:
        parts.append(max(0, 100 - training.wrong_percent - training.right_percent))
    return sum(parts) / len(parts) if parts else 0.0


def _holes(row: Row | None) -> float:
    valid = row.valid_percent if row is not None else 0
    return _twentieths(1 + 7 * valid / 100)


def _waits(row: Row | None) -> float:
    valid = row.valid_percent if row is not None else 0
    failed = 100 - valid
    conflicts = min(1.0, row.conflict_percent / failed) if row is not None and failed else float(row is not None)
    return _twentieths(2 + 10 * conflicts * min(1.0, valid / 40))


def _twentieths(value: float) -> float:
    return round(math.floor(value + 0.5) / 20, 2)
