"""Small invented stages that the tests of the engineer share."""

import json

import numpy as np

from engineer.context import Pair
from engineer.evidence import build_evidence
from engineer.reply import render_reply
from jaxenv.config import EnvConfig
from jaxenv.schema import SIZES
from jaxenv.types import Label

FAILURES = [Label.OFF_MAP, Label.HOLE, Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT, Label.GOAL_NOT_REACHED]


def columns(valid_of_20, *, groups=False, conflict=False, num_agents=2):
    """20 answers per size, of which so many are valid (every other optimal); groups of four in order."""
    rows = []
    for size, valid in valid_of_20.items():
        for index in range(20):
            if index < valid:
                label = Label.OPTIMAL if index % 2 == 0 else Label.SUBOPTIMAL
            elif conflict:
                label = Label.VERTEX_CONFLICT
            else:
                label = FAILURES[index % len(FAILURES)]
            rows.append((size, num_agents, int(label), index < valid, label == Label.OPTIMAL, size + index % 3))
    size, agents, label, valid, optimal, tokens = (np.array(column) for column in zip(*rows, strict=True))
    table = {
        "size": size,
        "num_agents": agents,
        "label": label,
        "valid": valid.astype(bool),
        "optimal": optimal.astype(bool),
        "gap": np.where(valid, np.where(optimal, 0.0, 0.25), np.nan),
        "tokens": tokens,
        "truncated": np.zeros(len(rows), bool),
        "needs_wait": np.arange(len(rows)) % 2 == 0,
    }
    if groups:
        table["group"] = np.arange(len(rows)) // 4
    return table


FALLING = dict(zip(SIZES, (19, 17, 14, 10, 6, 3, 1, 0), strict=True))


def stage(valid_of_20=FALLING, **options):
    return build_evidence(columns(valid_of_20, **options), columns(valid_of_20, groups=True, **options))


def flat(data=0.125, hole=0.2, wait=0.25):
    return {str(size): {"data_ratio": data, "hole_ratio": hole, "wait_ratio": wait} for size in SIZES}


def flat_config(**values):
    return EnvConfig.from_json({"maps": flat(**values)})


def slope():
    """A legal config in which every value is another one."""
    return {
        str(size): {"data_ratio": round(0.02 + 0.03 * i, 3), "hole_ratio": 0.05 + i / 20, "wait_ratio": 0.10 + i / 10}
        for i, size in enumerate(SIZES)
    }


def slope_reply():
    return render_reply(slope())


def reply_with(size="5", field="data_ratio", value=0.1, maps=None):
    """The reply of `slope`, one value of it replaced by any JSON text."""
    changed = json.loads(json.dumps(maps or slope()))
    changed[size][field] = "VALUE"
    return json.dumps({"maps": changed, "rationale": "why"}).replace('"VALUE"', str(value))


def pair(number, **values):
    return Pair(number, stage(), flat(**values))
