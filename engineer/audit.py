"""What a redesign answered to, in numbers: the change against the evidence, its size, and whether it is a template."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from engineer.evidence import Evidence, Row
from engineer.reply import Maps
from jaxenv.schema import FIELDS, SIZES
from jaxenv.types import Label

_SAME = 1e-3  # ratios closer than this are the same to a reader of the reply
_CLASSES = {
    "conflict": (Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT),
    "hole": (Label.HOLE,),
    "off the map": (Label.OFF_MAP,),
    "goal not reached": (Label.GOAL_NOT_REACHED,),
    "no plan": (Label.TRUNCATED, Label.PARSE_ERROR, Label.AGENT_MISMATCH, Label.TOO_LONG),
}
_AGAINST = {"conflict": "wait_ratio", "hole": "hole_ratio"}  # the ratio that trains against a class
_FEW = 3  # sizes below which a correlation says nothing


def audit(evidence: Evidence, previous: Maps, proposed: Maps, num_agents: int | None = None) -> dict[str, Any]:
    """Plain numbers for the report; None where there is nothing to say.

    - `edit`: per field the mean absolute change over the sizes (of `data_ratio`: the share of boards that moved).
    - `kept`: sizes whose three ratios stayed.
    - `signal_gain`: mean 4 v (1 - v) of the boards' sizes after the change, minus before it.
    - `data_follows_signal`, `holes_follow_valid`, `waits_follow_conflicts`: correlation over the sizes of the change
      with the evidence it should answer to.
    - `dominant`: the commonest class of the validation's failures, its share of them, and the mean change of the ratio
      that trains against it (waits against conflicts, holes against holes), weighted with where it happened.
    - `monotone`: per field whether it never falls with the size and rises somewhere; `template` if all of them do.
    """
    agents = min((row.num_agents for row in evidence.validation), default=0) if num_agents is None else num_agents
    rows = {row.size: row for row in evidence.validation if row.num_agents == agents and row.n}
    change = {f.name: [proposed[s][f.name] - previous[s][f.name] for s in map(str, SIZES)] for f in FIELDS}
    seen = [index for index, size in enumerate(SIZES) if size in rows]
    valid = [rows[SIZES[i]].valid / rows[SIZES[i]].n for i in seen]
    signal = [4 * v * (1 - v) for v in valid]
    conflicts = [rows[SIZES[i]].conflict_percent / 100 for i in seen]
    moved = {name: [values[i] for i in seen] for name, values in change.items()}
    edit = {name: sum(map(abs, values)) / len(SIZES) for name, values in change.items()}
    edit["data_ratio"] = sum(map(abs, change["data_ratio"])) / 2
    monotone = {f.name: _rises([proposed[str(size)][f.name] for size in SIZES]) for f in FIELDS}
    return {
        "edit": edit,
        "kept": [size for i, size in enumerate(SIZES) if all(abs(values[i]) < _SAME for values in change.values())],
        "signal_gain": sum(d * s for d, s in zip(moved["data_ratio"], signal, strict=True)) if seen else None,
        "data_follows_signal": _correlation(moved["data_ratio"], signal),
        "holes_follow_valid": _correlation(moved["hole_ratio"], valid),
        "waits_follow_conflicts": _correlation(moved["wait_ratio"], conflicts),
        "dominant": _dominant([rows[SIZES[i]] for i in seen], moved),
        "monotone": monotone,
        "template": all(monotone.values()),
    }


def _dominant(rows: Sequence[Row], moved: dict[str, list[float]]) -> dict[str, Any] | None:
    counts = {name: [sum(row.labels[label] for label in labels) for row in rows] for name, labels in _CLASSES.items()}
    failures = sum(map(sum, counts.values()))
    if not failures:
        return None
    name = max(counts, key=lambda each: sum(counts[each]))
    here = counts[name]
    field = _AGAINST.get(name)
    answer = sum(c * d for c, d in zip(here, moved[field], strict=True)) / sum(here) if field else None
    return {"failure": name, "share": sum(here) / failures, "answer": answer}


def _rises(values: Sequence[float]) -> bool:
    steps = [b - a for a, b in pairwise(values)]
    return min(steps) > -_SAME and max(steps) > _SAME


def _correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(left) < _FEW:
        return None
    a, b = sum(left) / len(left), sum(right) / len(right)
    both = math.fsum((x - a) * (y - b) for x, y in zip(left, right, strict=True))
    own = math.fsum((x - a) ** 2 for x in left) * math.fsum((y - b) ** 2 for y in right)
    return both / math.sqrt(own) if own > 1e-12 else None
