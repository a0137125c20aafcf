"""Labelled blocks of candidates: sifted by all threads, what is left solved together, over all sources that are open.

A block depends on source and range alone (and on which boards the set has already, which a filler looks at again), so
blocks are made in any order, ahead of need, on any thread and, through `jaxenv.multihost`, on any host.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numba
import numpy as np
from jax.sharding import Mesh
from numpy.typing import NDArray

from jaxenv.batches import fitted, joined, replaced, solutions_of, take, to_numpy
from jaxenv.canonical import UInt64s
from jaxenv.host_engine import host_solve
from jaxenv.judging import Kind
from jaxenv.multihost import Hosts
from jaxenv.sifting import Block, Source, sift, sift_by_jax
from jaxenv.solve import solve
from jaxenv.threads import for_each
from jaxenv.types import MIN_SIZE, Instances, Plans, Solutions, Status

# Search steps per board. What needs more is left undetermined, and counted.
MAX_STEPS = 200_000
PIECE = 2048  # candidates a thread sifts at once
_BATCHES = (64, 512, 4096)  # boards the device solves at once; few sizes, for arrays of a new shape cost compilations


@dataclass(frozen=True)
class Range:
    """Candidates first .. first + count - 1 of a source; boards that no search is needed for only `with_easy`."""

    source: Source
    first: int
    count: int
    with_easy: bool

    @property
    def end(self) -> int:
        return self.first + self.count

    def part(self, first: int, end: int, with_easy: bool) -> "Range":
        return Range(self.source, first, end - first, with_easy)


@dataclass
class Labelled:
    """A block with nothing left open, and the labels of its boards (rows as in the block)."""

    block: Block
    solutions: Solutions | None  # None where another host has the boards


@dataclass
class Labeller:
    """How labels are made: the objective, the engine, and candidates drawn by JAX at once."""

    objective: str
    engine: str
    chunk: int
    hosts: Hosts

    def __post_init__(self) -> None:
        devices = jax.local_devices()
        self.mesh: Mesh | None = None
        if len(devices) > 1:
            self.mesh = Mesh(np.asarray(devices), ("boards",))
            self.chunk = -(-self.chunk // len(devices)) * len(devices)
        # JAX draws where there is more to draw on than this CPU, and when its engine is asked for.
        self.by_jax = self.engine == "device" or len(devices) > 1 or jax.default_backend() != "cpu"

    def label(self, ranges: Sequence[Range], seen: UInt64s) -> list[list[Labelled]]:
        """The blocks of every range, several where it is long; on several hosts each labels its share."""
        host, hosts = self.hosts.number, self.hosts.count
        cut = [_cut(one, min(self._step, -(-one.count // hosts))) for one in ranges]
        pieces = [piece for of_one in cut for piece in of_one]
        own = self._label(pieces[host::hosts], seen)
        told = self.hosts.exchange([(one.block.kind, one.block.hash) for one in own]) if hosts > 1 else []
        result = (
            own[k // hosts]
            if k % hosts == host
            else Labelled(_without_boards(piece, *told[k % hosts][k // hosts]), None)
            for k, piece in enumerate(pieces)
        )
        return [[next(result) for _ in of_one] for of_one in cut]

    @property
    def _step(self) -> int:
        """Candidates in a block."""
        return self.chunk if self.by_jax else PIECE

    def _label(self, pieces: Sequence[Range], seen: UInt64s) -> list[Labelled]:
        if not pieces:
            return []
        blocks: list[Any] = [None] * len(pieces)

        def sift_piece(k: int) -> None:
            one = pieces[k]
            if self.by_jax:
                blocks[k] = sift_by_jax(one.source, one.first, one.count, seen, self.chunk, self.mesh)
            else:
                blocks[k] = sift(one.source, one.first, one.count, one.with_easy, seen)

        for_each(sift_piece, range(len(pieces)), 1 if self.by_jax else numba.get_num_threads())
        return self._finish(blocks)

    def _finish(self, blocks: Sequence[Block]) -> list[Labelled]:
        """Solve all that is left open, together, and write down what came out."""
        boards: Instances = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(block.boards for block in blocks))
        easy, actions, lengths = (
            np.concatenate([getattr(block, name) for block in blocks]) for name in ("easy", "actions", "lengths")
        )
        solutions = _easy(easy, actions, lengths, self.objective)
        hard = np.flatnonzero(~easy)
        if len(hard):
            solutions = replaced(solutions, hard, fitted(self._solve(take(boards, hard))))
        counts = [len(block.easy) for block in blocks]
        kinds = np.where(solutions.needs_wait, Kind.NEEDS_WAIT, Kind.NEEDS_NO_WAIT).astype(np.int8)
        kinds[solutions.status == Status.UNSOLVABLE] = Kind.UNSOLVABLE
        kinds[solutions.status == Status.UNDETERMINED] = Kind.UNDETERMINED
        result = []
        for block, end, count in zip(blocks, np.cumsum(counts), counts, strict=True):
            rows = slice(end - count, end)
            kept = np.flatnonzero(block.row >= 0)
            block.kind[kept] = kinds[rows][block.row[kept]]
            result.append(Labelled(block, take(solutions, rows)))
        return result

    def _solve(self, boards: Instances) -> Solutions:
        if not self.by_jax or (self.engine != "device" and jax.default_backend() == "cpu"):
            return _by_host(boards, self.objective)
        return joined([self._solve_batch(boards, at) for at in range(0, len(boards), _BATCHES[-1])])

    def _solve_batch(self, boards: Instances, at: int) -> Solutions:
        """The device does the bulk, and the host always finishes: a set must not depend on the engine."""
        some: Instances = take(boards, slice(at, at + _BATCHES[-1]))
        count = len(some)
        more = _idle_boards(next(batch for batch in _BATCHES if count <= batch) - count, some)
        batch = jax.tree.map(lambda *leaves: np.concatenate(leaves), some, more)
        if self.engine != "device":
            found = to_numpy(solve(batch, engine=self.engine, objective=self.objective, max_steps=MAX_STEPS))
            labelled: Solutions = take(found, slice(count))
            return labelled
        found = to_numpy(solve(batch, engine="device", objective=self.objective))
        labelled = take(found, slice(count))
        left = np.flatnonzero(labelled.status == Status.UNDETERMINED)
        if not len(left):
            return labelled
        return replaced(labelled, left, _by_host(take(some, left), self.objective))


def _by_host(boards: Instances, objective: str) -> Solutions:
    """`solve` by the host engine, without the way to JAX and back, which compiles for every other number of boards."""
    arrays = (boards.size, boards.num_agents, boards.holes, boards.starts, boards.goals)
    return solutions_of(host_solve(*arrays, objective, MAX_STEPS), objective)  # type: ignore[arg-type]


def _cut(whole: Range, step: int) -> list[Range]:
    """Ranges of at most `step` candidates, in order."""
    return [whole.part(at, min(at + step, whole.end), whole.with_easy) for at in range(whole.first, whole.end, step)]


def _without_boards(part: Range, kind: NDArray[np.int8], hashes: UInt64s) -> Block:
    limits = part.source.limits
    none: dict[str, Any] = {
        "size": np.zeros(0, np.int32),
        "num_agents": np.zeros(0, np.int32),
        "holes": np.zeros((0, limits.max_size, limits.max_size), bool),
        "starts": np.zeros((0, limits.max_agents, 2), np.int32),
        "goals": np.zeros((0, limits.max_agents, 2), np.int32),
    }
    empty = np.zeros((0, limits.max_agents), np.int32)
    row = np.full(len(kind), -1, np.int32)
    return Block(part.first, kind, hashes, row, Instances(**none), np.zeros(0, bool), empty.astype(np.int8), empty)


def _easy(easy: NDArray[np.bool_], actions: NDArray[np.int8], lengths: NDArray[np.int32], objective: str) -> Solutions:
    """Labels that follow from undisturbed shortest paths; undetermined where there are none."""
    total = np.where(easy, lengths.sum(1), -1).astype(np.int32)
    longest = np.where(easy, lengths.max(1, initial=0), -1).astype(np.int32)
    bound = total if objective == "sum_of_costs" else longest
    labels: dict[str, Any] = {
        "status": np.where(easy, Status.OPTIMAL, Status.UNDETERMINED).astype(np.int32),
        "sum_of_costs": total,
        "makespan": longest,
        "lower_bound": bound.copy(),
        "single_path_bound": bound.copy(),
        "needs_wait": np.zeros(len(easy), bool),
        "interacts": np.zeros(len(easy), bool),
    }
    plans: dict[str, Any] = {
        "actions": actions,
        "lengths": lengths,
        "outcome": np.zeros(len(easy), np.int32),
    }
    return Solutions(**labels, plans=Plans(**plans))


def _idle_boards(boards: int, like: Instances) -> Instances:
    """Open maps with one agent a step from its goal."""
    side, most = like.holes.shape[1], like.starts.shape[1]
    holes = np.ones((boards, side, side), bool)
    holes[:, :MIN_SIZE, :MIN_SIZE] = False
    starts = np.full((boards, most, 2), side, np.int32)
    goals = starts.copy()
    starts[:, 0], goals[:, 0] = (0, 0), (0, 1)
    size, one = np.full(boards, MIN_SIZE, np.int32), np.ones(boards, np.int32)
    arrays: dict[str, Any] = {"size": size, "num_agents": one, "holes": holes, "starts": starts, "goals": goals}
    return Instances(**arrays)
