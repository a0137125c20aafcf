"""What can be said of candidates without a search: which are boards of the split, and which of those are easy.

From three agents on, boards that need a wait and boards that need none are chosen from one `Source`, each class in its
own time: whatever a search has found of a candidate is of use to either. A `Block` is a range of a source's candidates
with what is known of each. Two ways lead to one, told apart by nothing in it but the easy boards: compiled (`sift`), on
the CPU; and JAX (`sift_by_jax`), on whatever devices there are.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numpy.typing import NDArray

from jaxenv.bitmap import WIDTH
from jaxenv.candidates import draw
from jaxenv.canonical import BUCKETS, SPLITS, board_hash, canonical_hash, hash_rows, in_split
from jaxenv.compiled import fingerprint
from jaxenv.judging import UNHEARD_OF, Kind, look_up
from jaxenv.propose import propose, race_table, word_numbers
from jaxenv.quotas import Part
from jaxenv.shortest import ATTEMPTS, LONGEST, action_of, undisturbed
from jaxenv.types import Instances, Limits

SourceName = tuple[bytes, Fraction]

_WORK = 16  # at least rows of a map, and words of a board


@dataclass(frozen=True)
class Source:
    """What drawing needs to know of a part, but for its class: key and numbers, and the tables that follow from them.

    Rare proposals have a key of their own, so that they have no random word in common with what others draw. Of two
    agents each class has its own candidates: few of them need a search, and those searches are short.
    """

    key: NDArray[np.uint32]  # u32[2]
    part: Part
    rare: bool
    split: str
    limits: Limits
    numbers: NDArray[np.uint32]
    races: NDArray[np.int64]

    @classmethod
    def of(cls, key: jax.Array, part: Part, split: str, limits: Limits, rare: bool = False) -> "Source":
        apart = rare if part.num_agents > 2 else part.needs_wait
        numbers = (list(SPLITS).index(split), part.num_agents, part.size, int(apart), part.group)
        return cls(
            np.asarray(jax.random.key_data(_folded(key, np.array(numbers, np.uint32))), np.uint32),
            part,
            rare,
            split,
            limits,
            word_numbers(part.size, part.num_agents, limits.max_size),
            race_table(part.size, limits.max_size),
        )

    @property
    def name(self) -> SourceName:
        """What tells it from others, to know it again."""
        return self.key.tobytes(), self.part.hole_ratio

    @property
    def holes(self) -> tuple[int, int]:
        """Holes that every board has, and the chance in 2^32 of one more."""
        holes = self.part.hole_ratio * self.part.size**2
        return int(holes), int((holes - int(holes)) * 2**32)


@jax.jit
def _folded(key: jax.Array, numbers: jax.Array) -> jax.Array:
    """The key with all of the numbers folded in; a call for each would take longer than many boards."""
    for k in range(len(numbers)):
        key = jax.random.fold_in(key, numbers[k])
    return key


@dataclass
class Block:
    """Candidates first .. first + len(kind) - 1 of a source."""

    first: int
    kind: NDArray[np.int8]  # of every candidate; OPEN where a search has to tell
    hash: NDArray[np.uint64]  # of every board of the split
    row: NDArray[np.int32]  # of every candidate, its row among the boards below, or -1
    boards: Instances  # NumPy: the open ones, and (where they are asked for) the easy ones
    easy: NDArray[np.bool_]  # of every row: solved, by the plan below
    actions: NDArray[np.int8]  # [rows, A, T]
    lengths: NDArray[np.int32]  # [rows, A]


def sift(source: Source, first: int, count: int, with_easy: bool, seen: NDArray[np.uint64]) -> Block:
    """The block from `first` on; what the table `seen` tells of a board is not looked for again, and gets no row."""
    part, limits = source.part, source.limits
    low, high = SPLITS[source.split]
    holes, more = source.holes
    kind, hashes = np.empty(count, np.int8), np.zeros(count, np.uint64)
    row = np.full(count, -1, np.int32)
    maps = np.empty((count, limits.max_size, limits.max_size), np.bool_)
    starts = np.empty((count, limits.max_agents, 2), np.int32)
    goals = np.empty_like(starts)
    easy = np.zeros(count, np.bool_)
    actions = np.zeros((count, limits.max_agents, LONGEST + 1), np.int8)
    lengths = np.zeros((count, limits.max_agents), np.int32)
    made_from, rows = _entry(
        source.key[0], source.key[1], np.int64(first), np.int64(part.size), np.int64(holes), np.int64(more),
        np.int64(part.num_agents), source.rare, source.numbers, source.races, bool(with_easy), np.uint64(BUCKETS),
        np.uint64(low), np.uint64(high), seen, kind, hashes, row, maps, starts, goals, easy, actions, lengths,
    )  # fmt: skip
    if made_from != _FINGERPRINT:
        raise RuntimeError("the generator's compiled code is stale; delete jaxenv/__pycache__")
    return Block(
        first,
        kind,
        hashes,
        row,
        _boards(part, maps[:rows], starts[:rows], goals[:rows]),
        easy[:rows],
        actions[:rows],
        lengths[:rows],
    )


def sift_by_jax(source: Source, first: int, count: int, seen: NDArray[np.uint64], chunk: int, mesh: Any) -> Block:
    """As `sift`, `chunk` candidates drawn at once (and `count` of them used); no board is found to be easy."""
    part, limits = source.part, source.limits
    holes, more = source.holes
    boards, placed = draw(
        jax.random.wrap_key_data(jnp.asarray(source.key)),
        jnp.uint32(first),
        jnp.int32(part.size),
        jnp.int32(holes),
        jnp.uint32(more),
        jnp.int32(part.num_agents),
        jnp.bool_(source.rare),
        chunk=chunk,
        max_size=limits.max_size,
        max_agents=limits.max_agents,
        mesh=mesh,
    )
    boards, placed = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], (boards, placed))
    kind = np.where(placed, Kind.OPEN, Kind.UNPLACED).astype(np.int8)
    rows = np.flatnonzero(placed)
    other = ~in_split(canonical_hash(jax.tree.map(lambda leaf: leaf[rows], boards)), source.split)
    kind[rows[other]] = Kind.OTHER_SPLIT
    rows = rows[~other]
    hashes = np.zeros(count, np.uint64)
    hashes[rows] = board_hash(jax.tree.map(lambda leaf: leaf[rows], boards))
    waits = np.fromiter((look_up(seen, value) for value in hashes[rows]), np.int64, len(rows))
    known = waits != UNHEARD_OF
    kind[rows[known]] = np.where(waits[known], Kind.NEEDS_WAIT, Kind.NEEDS_NO_WAIT)
    rows = rows[~known]
    row = np.full(count, -1, np.int32)
    row[rows] = np.arange(len(rows))
    return Block(
        first,
        kind,
        hashes,
        row,
        jax.tree.map(lambda leaf: leaf[rows], boards),
        np.zeros(len(rows), np.bool_),
        np.zeros((len(rows), limits.max_agents, LONGEST + 1), np.int8),
        np.zeros((len(rows), limits.max_agents), np.int32),
    )


def _boards(part: Part, maps: Any, starts: Any, goals: Any) -> Instances:
    size, agents = (np.full(len(maps), value, np.int32) for value in (part.size, part.num_agents))
    arrays: dict[str, Any] = {"size": size, "num_agents": agents, "holes": maps, "starts": starts, "goals": goals}
    return Instances(**arrays)


@numba.njit(nogil=True)
def _sift(  # type: ignore[no-untyped-def]
    k0, k1, first, size, holes_low, holes_more, num_agents, rare, numbers, races, with_easy, buckets, low, high, seen,
    kind, hashes, row, maps, starts, goals, easy, actions, lengths,
):  # fmt: skip
    words = np.empty(len(numbers), np.uint32)
    rows = np.zeros(_WORK, np.uint64)
    ends = np.zeros((starts.shape[1], 2), np.int64)
    raced = np.zeros((2, 2), np.int64)
    cells = np.zeros((starts.shape[1], 4), np.int64)
    work = np.zeros((6, _WORK), np.uint64)
    layers = np.zeros((LONGEST + 1, 2), np.uint64)
    back = np.zeros((LONGEST + 1, 2), np.uint64)
    paths = np.zeros((starts.shape[1], LONGEST + 1), np.int64)
    steps = np.zeros(starts.shape[1], np.int64)
    used = 0
    for i in range(len(kind)):
        free_low, free_high, placed = propose(
            k0, k1, first + i, size, holes_low, holes_more, num_agents, rare, numbers, races, words, rows, ends, raced
        )
        if not placed:
            kind[i] = _UNPLACED
            continue
        for agent in range(num_agents):
            for k in range(2):
                cells[agent, 2 * k] = ends[agent, k] // WIDTH
                cells[agent, 2 * k + 1] = ends[agent, k] % WIDTH
        bucket = hash_rows(8, size, num_agents, rows, cells, work) % buckets
        if bucket < low or bucket >= high:
            kind[i] = _OTHER_SPLIT
            continue
        hashes[i] = hash_rows(1, size, num_agents, rows, cells, work)
        waits = look_up(seen, hashes[i])
        if waits != UNHEARD_OF:
            kind[i] = _NEEDS_WAIT if waits else _NEEDS_NO_WAIT
            continue
        simple = False
        for attempt in range(ATTEMPTS):
            if not simple:
                simple = undisturbed(free_low, free_high, num_agents, ends, attempt, layers, back, paths, steps)
        kind[i] = _NEEDS_NO_WAIT if simple else _OPEN
        if simple and not with_easy:
            continue
        row[i] = used
        easy[used] = simple
        maps[used] = True
        starts[used] = maps.shape[1]
        goals[used] = maps.shape[1]
        for r in range(size):
            for c in range(size):
                maps[used, r, c] = (rows[r] >> np.uint64(c)) & np.uint64(1) != np.uint64(0)
        for agent in range(num_agents):
            starts[used, agent] = cells[agent, :2]
            goals[used, agent] = cells[agent, 2:]
            if simple:
                lengths[used, agent] = steps[agent]
                for t in range(steps[agent]):
                    actions[used, agent, t] = action_of(paths[agent, t], paths[agent, t + 1])
        used += 1
    return used


_OPEN, _UNPLACED, _OTHER_SPLIT, _NEEDS_NO_WAIT, _NEEDS_WAIT = (
    int(kind) for kind in (Kind.OPEN, Kind.UNPLACED, Kind.OTHER_SPLIT, Kind.NEEDS_NO_WAIT, Kind.NEEDS_WAIT)
)


def _cached_entry(made_from: int) -> Any:
    """The compiled entry, cached as `jaxenv.compiled` says."""

    @numba.njit(cache=True, nogil=True)
    def entry(  # type: ignore[no-untyped-def]
        k0, k1, first, size, holes_low, holes_more, num_agents, rare, numbers, races, with_easy, buckets, low, high,
        seen, kind, hashes, row, maps, starts, goals, easy, actions, lengths,
    ):  # fmt: skip
        used = _sift(
            k0, k1, first, size, holes_low, holes_more, num_agents, rare, numbers, races, with_easy, buckets, low,
            high, seen, kind, hashes, row, maps, starts, goals, easy, actions, lengths,
        )  # fmt: skip
        return made_from, used

    return entry


_FINGERPRINT = fingerprint(("bitmap", "candidates", "canonical", "judging", "propose", "shortest", "sifting"))
_entry = _cached_entry(_FINGERPRINT)
