"""Fixed sets by name: the same boards for everyone, told by their content hash (pinned in the tests).

| name | split | agents | sizes | holes | waits | boards |
|---|---|---|---|---|---|---|
| learn | evaluation | 2 | 3..10 alike | .2 | .25 | 1,600 |
| learn3 | evaluation | 3 | 3..10 alike | .2 | .25 | 800 |
| validation | validation | 2, or as asked | 3..10 alike | .1 .2 .3 alike | .5 | 480, or as asked |
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import jax

from jaxenv.dataset import Dataset
from jaxenv.errors import GenerationError
from jaxenv.generate import fill
from jaxenv.quotas import Part, largest_remainder
from jaxenv.types import MIN_SIZE, Limits

_SEED = 2606
_TENTH = Fraction(1, 10)
_SIZES = range(MIN_SIZE, Limits().max_size + 1)


def _alike(num_agents: int, count: int, holes: Sequence[Fraction], wait_ratio: Fraction) -> list[Part]:
    """All sizes alike, and within each class of a size all hole ratios alike, by largest remainder."""
    parts = []
    for size, boards in zip(_SIZES, largest_remainder([Fraction(1)] * len(_SIZES), count), strict=True):
        by_class = largest_remainder([wait_ratio, 1 - wait_ratio], boards)
        for needs_wait, wanted in zip((True, False), by_class, strict=True):
            by_holes = largest_remainder([Fraction(1)] * len(holes), wanted)
            cells = enumerate(zip(holes, by_holes, strict=True))
            parts += [Part(num_agents, size, needs_wait, ratio, k, group) for group, (ratio, k) in cells if k]
    return parts


_SETS: dict[str, tuple[str, int, int, tuple[int, ...], Fraction]] = {
    # split, agents, boards, tenths of holes, share that needs a wait
    "learn": ("evaluation", 2, 1600, (2,), Fraction(1, 4)),
    "learn3": ("evaluation", 3, 800, (2,), Fraction(1, 4)),
    "validation": ("validation", 2, 480, (1, 2, 3), Fraction(1, 2)),
}
NAMES = tuple(_SETS)
_OPEN = ("validation",)  # sets whose agents and number of boards a recipe chooses


def benchmark(
    name: str,
    *,
    num_agents: int | None = None,
    count: int | None = None,
    engine: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Build a named set; `num_agents` and `count` are for `validation` only."""
    if name not in _SETS:
        raise GenerationError(f"there is no set {name!r}; choose one of {', '.join(NAMES)}")
    if name not in _OPEN and (num_agents is not None or count is not None):
        raise GenerationError(f"agents and boards of {name!r} are fixed; leave num_agents and count out")
    split, agents, boards, tenths, wait_ratio = _SETS[name]
    agents, boards = num_agents or agents, count or boards
    parts = _alike(agents, boards, [tenth * _TENTH for tenth in tenths], wait_ratio)
    requested = {
        "benchmark": name,
        "count": boards,
        "num_agents": agents,
        "hole_ratios": [tenth / 10 for tenth in tenths],
        "wait_ratio": float(wait_ratio),
    }
    key = jax.random.fold_in(jax.random.key(_SEED), NAMES.index(name))
    return fill(key, parts, requested, split=split, engine=engine, progress=progress)
