"""Fill one class of boards: take the first candidates, in the order of their index, that qualify.

What a filler does depends on indices only, never on how many candidates are drawn or solved at once. It works in
windows of candidates. After the first window, a class that needs a wait and was seen in less than RARE of the
candidates is drawn by the proposals of `candidates` for rare classes. A class is given up when its last window, carried
on to the end of its budget, would not fill it; the budget is a number of windows, so that an impossible request ends
soon.
"""

from collections import Counter
from enum import IntEnum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxenv.candidates import CHUNK, draw
from jaxenv.canonical import BUCKETS, SPLITS, board_hash, canonical_hash, in_split
from jaxenv.quotas import Part
from jaxenv.solve import solve
from jaxenv.types import MIN_SIZE, Instances, Limits, Solutions, Status

WINDOW = 4096  # candidates of the split; more are drawn for a split that is a part of all boards
RARE = 0.01
BASE_WINDOWS = 16
# Search steps per board. What needs more is left undetermined, and counted.
MAX_STEPS = 200_000
BOARDS_PER_WINDOW = 16  # one window more for so many boards wanted
_BATCHES = (64, 512)  # boards solved at once; few sizes, for arrays of a new shape cost compilations


class Fate(IntEnum):
    """What became of a candidate."""

    OPEN = 0
    UNPLACED = 1
    OTHER_SPLIT = 2
    DUPLICATE = 3
    UNSOLVABLE = 4
    UNDETERMINED = 5
    OTHER_CLASS = 6
    TAKEN = 7


def to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def take(tree: Any, rows: NDArray[Any] | slice) -> Any:
    return jax.tree.map(lambda leaf: leaf[rows], tree)


def concatenate(pieces: list[tuple[Instances, Solutions]]) -> tuple[Instances, Solutions]:
    """Join NumPy sets; plans get the longest horizon among them."""
    horizon = max(solutions.plans.actions.shape[-1] for _, solutions in pieces)

    def widen(solutions: Solutions) -> Solutions:
        more = horizon - solutions.plans.actions.shape[-1]
        actions = np.pad(np.asarray(solutions.plans.actions), ((0, 0), (0, 0), (0, more)))  # Action.WAIT is 0
        return solutions.replace(plans=solutions.plans.replace(actions=actions))  # type: ignore[attr-defined, no-any-return]

    widened = [(instances, widen(solutions)) for instances, solutions in pieces]
    joined: tuple[Instances, Solutions] = jax.tree.map(lambda *leaves: np.concatenate(leaves), *widened)
    return joined


def _idle_boards(boards: int, limits: Limits) -> Instances:
    """Open maps with one agent a step from its goal."""
    holes = np.ones((boards, limits.max_size, limits.max_size), bool)
    holes[:, :MIN_SIZE, :MIN_SIZE] = False
    starts = np.full((boards, limits.max_agents, 2), limits.max_size, np.int32)
    goals = starts.copy()
    starts[:, 0], goals[:, 0] = (0, 0), (0, 1)
    size, one = np.full(boards, MIN_SIZE, np.int32), np.ones(boards, np.int32)
    arrays: dict[str, Any] = {"size": size, "num_agents": one, "holes": holes, "starts": starts, "goals": goals}
    return Instances(**arrays)


class Filler:
    """Progress of one class: the boards taken, what became of the candidates up to `index`, and the current window."""

    def __init__(
        self,
        key: jax.Array,
        part: Part,
        *,
        split: str,
        objective: str,
        engine: str,
        limits: Limits,
        seen: set[int],
        chunk: int = CHUNK,
    ) -> None:
        self.part, self.wanted = part, part.wanted
        self.split, self.objective, self.engine, self.limits = split, objective, engine, limits
        self.seen, self.chunk = seen, chunk
        self.fates: Counter[Fate] = Counter()
        self.pieces: list[tuple[Instances, Solutions]] = []
        self.hashes: list[NDArray[np.uint64]] = []
        self.given_up = False
        self.rare = False
        low, high = SPLITS[split]
        self.window = WINDOW * BUCKETS // (high - low)
        self.windows = 0  # windows done
        self._taken_before = 0  # boards taken before the current window
        self._first = 0  # index of the first candidate in hand
        self._at = 0  # how many of those in hand are judged
        self._fate = np.zeros(0, np.int8)
        self._boards: Instances | None = None
        self._hash = np.zeros(0, np.uint64)
        for value in (list(SPLITS).index(split), part.num_agents, part.size, int(part.needs_wait), part.group):
            key = jax.random.fold_in(key, value)
        self._key = key

    @property
    def taken(self) -> int:
        return self.fates[Fate.TAKEN]

    @property
    def missing(self) -> int:
        return self.wanted - self.taken

    @property
    def index(self) -> int:
        """Candidates judged so far."""
        return self._first + self._at

    @property
    def budget(self) -> int:
        return BASE_WINDOWS + self.wanted // BOARDS_PER_WINDOW

    def advance(self, to_the_end: bool = False) -> None:
        """Go on until the class is full or the window ends; then decide how to go on.

        `to_the_end` uses the whole budget as long as anything is found, for the nearest mix that can be had.
        """
        end = (self.windows + 1) * self.window
        while self.missing > 0 and self.index < end:
            if self._at == len(self._fate):
                self._draw(end)
            self._judge()
        if self.index == end:
            self.windows += 1
            self._decide(self.taken - self._taken_before, to_the_end)
            self._taken_before = self.taken

    def _decide(self, found: int, to_the_end: bool) -> None:
        if self.missing <= 0:
            return
        if self.windows == 1 and self.part.needs_wait and self.part.num_agents > 1 and found < RARE * WINDOW:
            self.rare = True
            return
        left = self.budget - self.windows
        if to_the_end:
            self.given_up = found == 0 or left <= 0
        else:
            self.given_up = (found + 1) * left < self.missing

    def _draw(self, end: int) -> None:
        self._first, self._at = self.index, 0
        count = min(self.chunk, end - self._first)
        holes = self.part.hole_ratio * self.part.size**2
        low = int(holes)
        boards, placed = draw(
            self._key,
            jnp.uint32(self._first),
            jnp.int32(self.part.size),
            jnp.int32(low),
            jnp.uint32(int((holes - low) * 2**32)),
            jnp.int32(self.part.num_agents),
            jnp.bool_(self.rare),
            chunk=self.chunk,
            max_size=self.limits.max_size,
            max_agents=self.limits.max_agents,
        )
        boards, placed = to_numpy((boards, placed))
        self._fate = np.where(placed[:count], Fate.OPEN, Fate.UNPLACED).astype(np.int8)
        self._boards, self._hash = take(boards, slice(count)), np.zeros(count, np.uint64)
        rows = np.flatnonzero(placed[:count])
        self._fate[rows[~in_split(canonical_hash(take(boards, rows)), self.split)]] = Fate.OTHER_SPLIT
        rows = np.flatnonzero(self._fate == Fate.OPEN)
        self._hash[rows] = board_hash(take(boards, rows))

    def _judge(self) -> None:
        """Solve the next open candidates in hand, about as many as are still needed, and take what qualifies."""
        fate, hashes = self._fate, self._hash
        rows = self._at + np.flatnonzero(fate[self._at :] == Fate.OPEN)
        known = np.fromiter((value in self.seen for value in hashes[rows].tolist()), bool, len(rows))
        fate[rows[known]] = Fate.DUPLICATE
        rows = rows[~known]
        rows = rows[: min(self._enough(), _BATCHES[-1])]
        if len(rows) == 0:
            self._move(len(fate))
            return
        boards = take(self._boards, rows)
        solutions = self._solve(boards)
        optimal = solutions.status == Status.OPTIMAL
        fits = optimal & (solutions.needs_wait == self.part.needs_wait)
        judged = np.where(optimal, Fate.OTHER_CLASS, Fate.UNDETERMINED)
        judged[solutions.status == Status.UNSOLVABLE] = Fate.UNSOLVABLE
        chosen, missing, last = [], self.missing, int(rows[-1])
        for k in np.flatnonzero(fits).tolist():
            value = int(hashes[rows[k]])
            if value in self.seen:
                judged[k] = Fate.DUPLICATE
                continue
            self.seen.add(value)
            judged[k] = Fate.TAKEN
            chosen.append(k)
            if len(chosen) == missing:
                last = int(rows[k])
                break
        within = rows <= last
        fate[rows[within]] = judged[within]
        picked = np.asarray(chosen, np.int64)
        if chosen:
            self.pieces.append((take(boards, picked), take(solutions, picked)))
            self.hashes.append(hashes[rows[picked]])
        self._move(last + 1)

    def _solve(self, boards: Instances) -> Solutions:
        """Labels of NumPy boards, made up to one of the batch sizes with boards that cost nothing."""
        count = len(boards)
        more = next(batch for batch in _BATCHES if count <= batch) - count
        filler = _idle_boards(more, self.limits)
        batch = jax.tree.map(lambda *leaves: np.concatenate(leaves), boards, filler)
        if self.engine != "device":
            solutions = solve(batch, engine=self.engine, objective=self.objective, max_steps=MAX_STEPS)
            labelled: Solutions = take(to_numpy(solutions), slice(count))
            return labelled
        # The device does the bulk, and the host always finishes: a set must not depend on the engine.
        labelled = take(to_numpy(solve(batch, engine="device", objective=self.objective)), slice(count))
        left = np.flatnonzero(labelled.status == Status.UNDETERMINED)
        done = np.flatnonzero(labelled.status != Status.UNDETERMINED)
        rest = take(boards, left)
        finished = to_numpy(solve(rest, engine="host", objective=self.objective, max_steps=MAX_STEPS))
        _, both = concatenate([(take(boards, done), take(labelled, done)), (rest, finished)])
        in_order: Solutions = take(both, np.argsort(np.concatenate([done, left])))
        return in_order

    def _move(self, at: int) -> None:
        for value, times in zip(*np.unique(self._fate[self._at : at], return_counts=True), strict=True):
            self.fates[Fate(int(value))] += int(times)
        self._at = at

    def _enough(self) -> int:
        solved = sum(self.fates[f] for f in (Fate.UNSOLVABLE, Fate.UNDETERMINED, Fate.OTHER_CLASS, Fate.TAKEN))
        rate = (self.taken + 1) / (solved + 2)
        return max(_BATCHES[0], int(1.1 * self.missing / rate))

    def record(self) -> dict[str, Any]:
        """Plain numbers for the set's metadata; `acceptance` is of the candidates that lie in the split."""
        fates, part = self.fates, self.part
        return {
            "num_agents": part.num_agents,
            "size": part.size,
            "needs_wait": part.needs_wait,
            "hole_ratio": float(part.hole_ratio),
            "wanted": part.wanted,
            "count": self.taken,
            "proposals": "rare" if self.rare else "uniform",
            "candidates": self.index,
            **{fate.name.lower(): fates[fate] for fate in Fate if fate not in (Fate.OPEN, Fate.TAKEN)},
            "acceptance": self.taken / max(self.index - fates[Fate.OTHER_SPLIT], 1),
        }

    def complaint(self) -> str:
        """Why the class could not be filled, with the rates seen and what to change."""
        fates = self.fates
        drawn = max(self.index, 1)
        solved = max(
            sum(fates[f] for f in (Fate.UNSOLVABLE, Fate.UNDETERMINED, Fate.OTHER_CLASS, Fate.DUPLICATE, Fate.TAKEN)), 1
        )
        crowded = fates[Fate.UNPLACED] > 0.9 * drawn and not self.rare
        if crowded or fates[Fate.UNSOLVABLE] > 0.5 * solved:
            advice = "lower hole_ratio or the number of agents"
        elif fates[Fate.DUPLICATE] > self.taken:
            advice = "there are few distinct boards of this kind, ask for fewer of them"
        elif self.part.needs_wait:
            advice = "lower wait_ratio, or change hole_ratio"
        else:
            advice = "raise wait_ratio, or change hole_ratio"
        return (
            f"cannot find {self.wanted} {self.part.name} in the {self.split} split: {self.taken} found among "
            f"{self.index:,} candidates ({(drawn - fates[Fate.UNPLACED]) / drawn:.1%} placed; of those in the split "
            f"{(self.taken + fates[Fate.DUPLICATE]) / solved:.2%} of the class, "
            f"{fates[Fate.DUPLICATE] / solved:.2%} repeated, "
            f"{fates[Fate.UNSOLVABLE] / solved:.2%} unsolvable, {fates[Fate.UNDETERMINED] / solved:.2%} undetermined); "
            f"{advice} at size {self.part.size}, or ask for the nearest mix"
        )
