"""Engineers without a language model: a human schedule, two rules from the literature, and the two controls.

Each is a function from a `Situation` to ratios per size, and answers with the same canonical reply as a model does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engineer.evidence import Evidence, Row
from engineer.reply import Maps
from engineer.synthetic import random_maps
from engineer.teacher import focused_shares, teacher
from jaxenv.schema import HOLE_RATIO, SIZES

_TARGET = 0.5  # valid rate at which AdaRFT holds the difficulty: the variance of the outcome is largest there
_PULL = 4.0  # sizes by which the centre moves for a valid rate that is off by one
_MASTERED, _LOST = 0.9, 0.1  # RLVE opens the next size above the first, and closes the last size below the second
_STEP = 0.05


@dataclass(frozen=True)
class Situation:
    """What an engineer may know when it redesigns: stage `stage` of `stages` (from 0) has just ended."""

    evidence: Evidence
    previous: Maps
    stage: int
    stages: int
    num_agents: int
    seed: int = 0


def curriculum(situation: Situation) -> Maps:
    """What a person would plan beforehand: larger maps, more holes and more waits from stage to stage."""
    part = min(1.0, (situation.stage + 1) / max(1, situation.stages - 1))
    shares = focused_shares(_nearest_size(SIZES[0] + part * (SIZES[-1] - SIZES[0])))
    hole, wait = 0.10 + 0.20 * part, 0.20 + 0.30 * part
    return {
        str(size): {"data_ratio": shares[size], "hole_ratio": round(hole, 2), "wait_ratio": round(wait, 2)}
        for size in SIZES
    }


def adarft(situation: Situation) -> Maps:
    """After AdaRFT: one scalar difficulty, here the boards' mean size, moved by the distance from a target success."""
    rows = _rows(situation)
    previous = {size: situation.previous[str(size)] for size in SIZES}
    centre = sum(size * values["data_ratio"] for size, values in previous.items())
    weights = [previous[size]["data_ratio"] for size in rows]
    if sum(weights) > 0:
        reached = sum(w * row.valid / row.n for w, row in zip(weights, rows.values(), strict=True)) / sum(weights)
        centre += _PULL * (reached - _TARGET)
    shares = focused_shares(_nearest_size(centre))
    return {str(size): {**previous[size], "data_ratio": shares[size]} for size in SIZES}


def rlve(situation: Situation) -> Maps:
    """After RLVE: difficulty levels open one by one, each when the last one open is mastered; holes move per size."""
    rows = _rows(situation)
    used = [size for size in SIZES if situation.previous[str(size)]["data_ratio"] > 0]
    first, last = used[0], used[-1]
    rates = {size: row.valid / row.n for size, row in rows.items()}
    if rates.get(last, 0.0) >= _MASTERED:
        last = min(SIZES[-1], last + 1)
    elif rates.get(last, 1.0) <= _LOST:
        last = max(first, last - 1)
    if rates.get(first, 0.0) >= _MASTERED and first < last:
        first += 1
    count = last - first + 1
    maps = {}
    for size in SIZES:
        values = situation.previous[str(size)]
        rate = rates.get(size, _TARGET)
        step = _STEP * ((rate >= _MASTERED) - (rate <= _LOST))
        maps[str(size)] = {
            "data_ratio": 1 / count if first <= size <= last else 0.0,
            "hole_ratio": round(min(HOLE_RATIO.maximum, max(HOLE_RATIO.minimum, values["hole_ratio"] + step)), 4),
            "wait_ratio": values["wait_ratio"],
        }
    return maps


def fixed(situation: Situation) -> Maps:
    """The control that never redesigns."""
    return situation.previous


def random(situation: Situation) -> Maps:
    """The control that redesigns without looking; a function of seed and stage."""
    return random_maps(np.random.default_rng((situation.seed, situation.stage + 1)))


def by_teacher(situation: Situation) -> Maps:
    """The rule that the starter's examples were made by."""
    return teacher(situation.evidence, situation.num_agents)


RULES: dict[str, Callable[[Situation], Maps]] = {
    "curriculum": curriculum,
    "rule": adarft,
    "rule-rlve": rlve,
    "teacher": by_teacher,
    "fixed": fixed,
    "random": random,
}


def _rows(situation: Situation) -> dict[int, Row]:
    return {row.size: row for row in situation.evidence.validation if row.num_agents == situation.num_agents and row.n}


def _nearest_size(value: float) -> int:
    return min(SIZES, key=lambda size: (abs(size - value), size))
