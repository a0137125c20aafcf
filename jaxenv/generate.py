"""`generate`: exactly the boards a config asks for, labelled, distinct, in one split, whatever the batch size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from jaxenv.batches import concatenate, fitted, take
from jaxenv.candidates import CHUNK
from jaxenv.canonical import UInt64s, check_split
from jaxenv.config import EnvConfig
from jaxenv.dataset import Dataset
from jaxenv.errors import GenerationError
from jaxenv.filling import WINDOW, Filler, Taken
from jaxenv.judging import new_table
from jaxenv.labelling import Labeller, Range
from jaxenv.multihost import Hosts
from jaxenv.quotas import Part, as_fraction, largest_remainder, parts_of
from jaxenv.sifting import SourceName
from jaxenv.types import MIN_SIZE, Limits

Progress = Callable[[int, int], None]
_ORDER = 0x6F726472  # folded into the key for the order of the rows; no class folds in a first number this large
_AT_ONCE = 65536  # candidates of the split labelled together, which bounds the memory for them


@dataclass(frozen=True)
class Order:
    """All that the content of a set depends on, and what is written down of it."""

    key: jax.Array
    parts: list[Part]
    requested: dict[str, Any]
    split: str = "train"
    objective: str = "sum_of_costs"
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    nearest: bool = False

    @property
    def total(self) -> int:
        return sum(part.wanted for part in self.parts)

    @property
    def described(self) -> dict[str, Any]:
        """What was asked for, as a set stores it."""
        return {**self.requested, "split": self.split, "objective": self.objective}

    def ranks(self, hashes: UInt64s) -> UInt64s:
        """By which rows are ordered, then by hash: the boards' hashes scrambled by the key, so that classes mix."""
        bits = np.asarray(jax.random.bits(jax.random.fold_in(self.key, _ORDER), (2,), np.uint32)).tolist()
        mixed = (hashes ^ np.uint64(bits[0] << 32 | bits[1])) * np.uint64(0xBF58476D1CE4E5B9)
        return mixed ^ (mixed >> np.uint64(31))


def order_of(
    key: jax.Array,
    config: EnvConfig,
    count: int,
    *,
    split: str = "train",
    objective: str = "sum_of_costs",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    nearest: bool = False,
) -> Order:
    """Read a config as counts of classes."""
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
    return Order(key, parts, requested, split, objective, limits, nearest)


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
    """Make `count` boards to order, in memory; `generate_to` makes the same set on disk, of any size.

    `chunk`, how many candidates JAX draws at once, does not change the result. With `nearest`, boards of a class that
    cannot be had come from the other class of their size, then from other sizes, and `.realised["changed"]` says so;
    without it they are a GenerationError.
    """
    order = order_of(key, config, count, split=split, objective=objective, limits=limits, nearest=nearest)
    return fill(order, engine=engine, chunk=chunk, progress=progress)


def fill(order: Order, *, engine: str = "auto", chunk: int = CHUNK, progress: Progress | None = None) -> Dataset:
    """The set of an order. Of several hosts each makes the whole set."""
    filling = Filling(order, Labeller(order.objective, engine, chunk, Hosts.alone()))
    pieces = []
    for taken in filling.run():
        pieces += taken
        if progress is not None:
            progress(filling.taken, order.total)
    instances, solutions = concatenate([piece[:2] for piece in pieces])
    hashes = np.concatenate([piece[2] for piece in pieces])
    rows = np.lexsort((hashes, order.ranks(hashes)))
    return Dataset.create(
        take(instances, rows), fitted(take(solutions, rows)), requested=order.described, realised=filling.realised()
    )


class Filling:
    """All classes of an order, filled side by side, one window of candidates of each after another."""

    def __init__(self, order: Order, labeller: Labeller) -> None:
        check_split(order.split)
        self._order, self._labeller = order, labeller
        parts = _with_other_classes(order.parts) if order.nearest else order.parts
        self._fillers = [Filler(order.key, part, order.split, order.limits) for part in parts]
        self._to_go: list[int] = []  # fillers whose turn comes before the next round
        self.seen = new_table(order.total)

    @property
    def taken(self) -> int:
        return sum(filler.taken for filler in self._fillers)

    def state(self) -> list[list[int]]:
        """Where the fillers are, between two steps of `run`; with `seen`, all that is needed to go on."""
        return [[*filler.state(), int(k in self._to_go)] for k, filler in enumerate(self._fillers)]

    def restore(self, state: list[list[int]]) -> None:
        """Go on from a `state`; the hashes of what was taken have to be in `seen` by then."""
        for filler, (*numbers, _) in zip(self._fillers, state, strict=True):
            filler.restore(numbers)
        self._to_go = [k for k, numbers in enumerate(state) if numbers[-1]]

    def realised(self) -> dict[str, Any]:
        """The fates of all candidates by class, and the classes that are not as wanted."""
        records = [filler.record() for filler in self._fillers if filler.part.wanted or filler.index]
        return {"changed": [r for r in records if r["count"] != r["wanted"]], "classes": records}

    def run(self) -> Iterator[list[Taken]]:
        """Fill every class; gives the boards taken since the last step (on several hosts, those made here).

        Raises:
            GenerationError: a class cannot be filled.
        """
        while True:
            if not self._to_go:
                self._to_go = [k for k, f in enumerate(self._fillers) if f.missing > 0 and not f.given_up]
            if not self._to_go:
                return
            group = self._to_go[: _AT_ONCE // WINDOW]
            allowance = _AT_ONCE // len(self._to_go)
            self._label([self._fillers[k] for k in group], allowance)
            pieces = []
            for k in group:
                pieces += self._turn(self._fillers[k])
            del self._to_go[: len(group)]
            yield pieces

    def _turn(self, filler: Filler) -> list[Taken]:
        """One window of a class, and what follows from giving it up."""
        pieces, done = [], False
        while not done:
            more, done = filler.advance(self.seen, to_the_end=self._order.nearest)
            pieces += more
            if not done:
                self._label([filler], 0)
        if filler.given_up:
            if not self._order.nearest:
                raise GenerationError(filler.complaint())
            _pass_on(filler, self._fillers)
        return pieces

    def _label(self, fillers: list[Filler], allowance: int) -> None:
        """What these fillers need next, and what others need of the same sources."""
        names = {filler.source.name for filler in fillers}
        sharing = [f for f in self._fillers if f.missing > 0 and not f.given_up and f.source.name in names]
        asked = [(filler, one) for filler in sharing if (one := filler.next_range(allowance)) is not None]
        shared = list(_share(asked))
        made = self._labeller.label([one for one, _ in shared], self.seen)
        for (_, takers), blocks in zip(shared, made, strict=True):
            for labelled in blocks:
                for filler in takers:
                    filler.supply(labelled)


def _share(asked: list[tuple[Filler, Range]]) -> Iterator[tuple[Range, list[Filler]]]:
    """The ranges cut where one of the same source begins or ends: each part once, in order, and who wants it."""
    sources: dict[SourceName, list[tuple[Filler, Range]]] = {}
    for filler, one in asked:
        sources.setdefault(one.source.name, []).append((filler, one))
    for wanted in sources.values():
        cuts = sorted({cut for _, one in wanted for cut in (one.first, one.end)})
        for first, end in pairwise(cuts):
            takers = [(filler, one) for filler, one in wanted if one.first <= first and end <= one.end]
            if takers:
                easy = any(one.with_easy for _, one in takers)
                yield takers[0][1].part(first, end, easy), [filler for filler, _ in takers]


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
