"""`generate`: exactly the boards a config asks for, labelled, distinct, in one split, whatever the batch size."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxenv.candidates import CHUNK
from jaxenv.canonical import UInt64s, check_split
from jaxenv.config import EnvConfig
from jaxenv.dataset import Dataset
from jaxenv.errors import GenerationError
from jaxenv.filling import Filler, concatenate, take
from jaxenv.quotas import Part, as_fraction, largest_remainder, parts_of
from jaxenv.types import MIN_SIZE, Limits

Progress = Callable[[int, int], None]
_ORDER = 0x6F726472  # folded into the key for the order of the rows; no class folds in a first number this large


def generate(
    key: jax.Array,
    config: EnvConfig,
    count: int,
    *,
    split: str = "train",
    objective: str = "sum_of_costs",
    engine: str = "auto",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    nearest: bool = False,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Dataset:
    """Make `count` boards to order; `chunk`, how many candidates are drawn at once, does not change the result.

    With `nearest`, boards of a class that cannot be had come from the other class of their size, then from other sizes,
    and `.realised["changed"]` says so; without it they are a GenerationError.
    """
    parts = parts_of(config, count, limits)
    data, holes, waits = (np.asarray(x) for x in (config.data_ratio, config.hole_ratio, config.wait_ratio))
    requested = {
        "count": count,
        "num_agents": int(config.num_agents),
        "nearest": nearest,
        "sizes": {
            str(MIN_SIZE + k): {
                "data_ratio": float(as_fraction(data[k])),
                "hole_ratio": float(as_fraction(holes[k])),
                "wait_ratio": float(as_fraction(waits[k])),
                "count": sum(part.wanted for part in parts if part.size == MIN_SIZE + k),
                "waits": sum(part.wanted for part in parts if part.size == MIN_SIZE + k and part.needs_wait),
            }
            for k in range(len(data))
        },
    }
    return fill(
        key,
        parts,
        requested,
        split=split,
        objective=objective,
        engine=engine,
        limits=limits,
        nearest=nearest,
        chunk=chunk,
        progress=progress,
    )


def fill(
    key: jax.Array,
    parts: list[Part],
    requested: dict[str, Any],
    *,
    split: str,
    objective: str = "sum_of_costs",
    engine: str = "auto",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    nearest: bool = False,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Dataset:
    """Fill every part, one window of candidates after another side by side, and put the boards in a seeded order."""
    check_split(split)
    seen: set[int] = set()
    fillers = [
        Filler(key, p, split=split, objective=objective, engine=engine, limits=limits, seen=seen, chunk=chunk)
        for p in (_with_other_classes(parts) if nearest else parts)
    ]
    total = sum(part.wanted for part in parts)
    while open_fillers := [f for f in fillers if f.missing > 0 and not f.given_up]:
        for filler in open_fillers:
            filler.advance(to_the_end=nearest)
            if filler.given_up:
                if not nearest:
                    raise GenerationError(filler.complaint())
                _pass_on(filler, fillers)
            if progress is not None:
                progress(sum(f.taken for f in fillers), total)
    used = [f for f in fillers if f.pieces]
    instances, solutions = concatenate([piece for f in used for piece in f.pieces])
    order = _order(key, np.concatenate([h for f in used for h in f.hashes]))
    records = [f.record() for f in fillers if f.part.wanted or f.index]
    return Dataset.create(
        take(instances, order),
        take(solutions, order),
        requested={**requested, "split": split, "objective": objective},
        realised={"changed": [r for r in records if r["count"] != r["wanted"]], "classes": records},
    )


def _with_other_classes(parts: list[Part]) -> list[Part]:
    """The parts, and beside each the other class of the same size and holes, of which nothing is wanted yet."""
    have = {(p.num_agents, p.size, p.group, p.needs_wait) for p in parts}
    others = [
        Part(p.num_agents, p.size, not p.needs_wait, p.hole_ratio, 0, p.group)
        for p in parts
        if (p.num_agents, p.size, p.group, not p.needs_wait) not in have
    ]
    return sorted([*parts, *others], key=lambda p: (p.num_agents, p.size, p.group, not p.needs_wait))


def _pass_on(poor: Filler, fillers: list[Filler]) -> None:
    """Order what `poor` lacks from the other class of its size, else from its class at other sizes, else from any."""
    part, missing = poor.part, poor.missing
    can = [f for f in fillers if not f.given_up and f.part.num_agents == part.num_agents]
    heirs = [f for f in can if f.part.size == part.size and f.part.group == part.group]
    heirs = heirs or [f for f in can if f.part.needs_wait == part.needs_wait and f.part.wanted] or can
    if not heirs:
        raise GenerationError(f"no class has boards left to make up for what is missing: {poor.complaint()}")
    poor.wanted = poor.taken
    weights = [as_fraction(f.part.wanted) for f in heirs]
    shares = largest_remainder(weights if sum(weights) else [as_fraction(1)] * len(heirs), missing)
    for heir, share in zip(heirs, shares, strict=True):
        heir.wanted += share


def _order(key: jax.Array, hashes: UInt64s) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rows in a seeded order that mixes sizes and classes: by the boards' hashes, scrambled by the key."""
    high, low = np.asarray(jax.random.bits(jax.random.fold_in(key, _ORDER), (2,), np.uint32)).tolist()
    mixed = (hashes ^ np.uint64(high << 32 | low)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.lexsort((hashes, mixed ^ (mixed >> np.uint64(31))))
