"""Fixed sets by name: the same boards for everyone, told by their content hash (pinned in the tests).

| name | split | agents | sizes | holes | waits | boards |
|---|---|---|---|---|---|---|
| learn | evaluation | 2 | 3..10 alike | .2 | .25 | 1,600 |
| learn3 | evaluation | 3 | 3..10 alike | .2 | .25 | 800 |
| validation | validation | 2, or as asked | 3..10 alike | .1 .2 .3 alike | .5 | 480, or as asked |
| quick | evaluation | 3, 4, 5 | from 3, 4, 5 to 10 alike | .1 .2 .3 alike | .5 | 600 |
| paper | evaluation | 3, 4, 5 | from 3, 4, 5 to 10 | .1 .2 .3 alike | .25 .5 .75 alike | 3,150: 50 a cell |
| paper-large | evaluation | as `paper` | as `paper` | as `paper` | as `paper` | 126,000: 2,000 a cell |

`paper` has the layout of the published evaluation (a cell is agents, size and waits); its hole ratios
were not published, hence three in equal parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import jax

from jaxenv.dataset import Dataset
from jaxenv.errors import GenerationError
from jaxenv.generate import Order, Progress, fill
from jaxenv.quotas import Part, largest_remainder
from jaxenv.types import MIN_SIZE, Limits

_SEED = 2606
_TENTH = Fraction(1, 10)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Set:
    """What a name stands for: `boards` shared out to cells of `agents` and size, then to `waits`, classes, `tenths`."""

    split: str
    agents: tuple[int, ...]
    boards: int
    tenths: tuple[int, ...]  # of the cells are holes
    waits: tuple[Fraction, ...]  # shares that need a wait

    def parts(self) -> list[Part]:
        """The classes to fill, by largest remainder at every level."""
        parts = []
        cells = [(agents, size) for agents in self.agents for size in _sizes(agents)]
        for (agents, size), of_cell in _shared(cells, self.boards):
            for number, (waits, of_waits) in enumerate(_shared(self.waits, of_cell)):
                classes = largest_remainder([waits, 1 - waits], of_waits)
                for needs_wait, wanted in zip((True, False), classes, strict=True):
                    for k, (tenth, count) in enumerate(_shared(self.tenths, wanted)):
                        group = number * len(self.tenths) + k
                        if count:
                            parts.append(Part(agents, size, needs_wait, tenth * _TENTH, count, group))
        return parts


def _sizes(agents: int) -> range:
    """A map has at least as many rows as it has agents, as in the published evaluation; two agents begin at 3."""
    return range(max(MIN_SIZE, agents), Limits().max_size + 1)


def _shared(kinds: Sequence[_T], count: int) -> Iterator[tuple[_T, int]]:
    return zip(kinds, largest_remainder([Fraction(1)] * len(kinds), count), strict=True)


_QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_SETS = {
    "learn": _Set("evaluation", (2,), 1600, (2,), _QUARTERS[:1]),
    "learn3": _Set("evaluation", (3,), 800, (2,), _QUARTERS[:1]),
    "validation": _Set("validation", (2,), 480, (1, 2, 3), _QUARTERS[1:2]),
    "quick": _Set("evaluation", (3, 4, 5), 600, (1, 2, 3), _QUARTERS[1:2]),
    "paper": _Set("evaluation", (3, 4, 5), 3_150, (1, 2, 3), _QUARTERS),
    "paper-large": _Set("evaluation", (3, 4, 5), 126_000, (1, 2, 3), _QUARTERS),
}
NAMES = tuple(_SETS)
_OPEN = ("validation",)  # sets whose agents and number of boards a recipe chooses


def benchmark(
    name: str,
    *,
    num_agents: int | None = None,
    count: int | None = None,
    engine: str = "auto",
    progress: Progress | None = None,
) -> Dataset:
    """Build a named set in memory; `num_agents` and `count` are for `validation` only."""
    return fill(order_of_set(name, num_agents, count), engine=engine, progress=progress)


def order_of_set(name: str, num_agents: int | None = None, count: int | None = None) -> Order:
    """What a name stands for, to be filled in memory or streamed to a folder."""
    if name not in _SETS:
        raise GenerationError(f"there is no set {name!r}; choose one of {', '.join(NAMES)}")
    if name not in _OPEN and (num_agents is not None or count is not None):
        raise GenerationError(f"agents and boards of {name!r} are fixed; leave num_agents and count out")
    chosen = _SETS[name]
    if num_agents is not None:
        chosen = replace(chosen, agents=(num_agents,))
    if count is not None:
        chosen = replace(chosen, boards=count)
    several = len(chosen.agents) > 1
    requested = {
        "benchmark": name,
        "count": chosen.boards,
        "num_agents": list(chosen.agents) if several else chosen.agents[0],
        "hole_ratios": [tenth / 10 for tenth in chosen.tenths],
        "wait_ratio": [float(waits) for waits in chosen.waits] if several else float(chosen.waits[0]),
    }
    key = jax.random.fold_in(jax.random.key(_SEED), NAMES.index(name))
    return Order(key, chosen.parts(), requested, chosen.split)
