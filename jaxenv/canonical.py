"""Identity of boards: a hash without the order of agents, a hash without symmetries too, and the split it decides.

A board is written as 64-bit words: size + 256 * agents; the size x size holes, row by row, 64 to a word, first cell in
the lowest bit; then per agent start + 65536 * goal, cells counted row by row. Agents are sorted by that word. The
canonical form is the smallest such list over the eight symmetries of the square. The hash starts at GOLDEN and takes
each word w by h <- mix(h xor w) + GOLDEN (mod 2^64), mix being the finaliser of splitmix64. Neither padding nor
platform enters.
Stored sets rely on these values: a change of anything here moves boards between splits.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from jaxenv.errors import JaxenvError
from jaxenv.types import Instances

UInt64s = NDArray[np.uint64]
BUCKETS = 100
# First and last + 1 of the buckets (canonical hash mod 100) that make a split.
SPLITS = {"evaluation": (0, 10), "validation": (10, 20), "train": (20, 100)}

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ONE = np.uint64(1)
_NO_AGENT = np.uint64(0xFFFFFFFFFFFFFFFF)


@numba.njit(cache=True, nogil=True, inline="always")
def _absorb(state: Any, word: Any) -> Any:
    x = state ^ word
    x = (x ^ (x >> _S30)) * _MIX_A
    x = (x ^ (x >> _S27)) * _MIX_B
    return (x ^ (x >> _S31)) + GOLDEN


@numba.njit(cache=True, nogil=True, inline="always")
def _turn(symmetry: Any, n: Any, row: Any, col: Any) -> Any:
    """The cell that (row, col) goes to; symmetry 0 to 7: bit 0 transposes, bit 1 flips rows, bit 2 flips columns."""
    if symmetry & 1:
        row, col = col, row
    if symmetry & 2:
        row = n - 1 - row
    if symmetry & 4:
        col = n - 1 - col
    return row * n + col


@numba.njit(cache=True, nogil=True)
def hash_rows(symmetries: Any, n: Any, agents: Any, rows: Any, cells: Any, work: Any) -> Any:
    """The hash over the first `symmetries` of a board given by the holes of each row (bit = column) and, per agent,
    row and col of start and goal; `work` is u64[6, WORK].

    Holes come before agents in the words, so agents are turned only for symmetries whose holes are the least so far.
    """
    best, turned = work[4], work[5]
    used = (n * n + 63) // 64
    for kind in range(4):  # rows, columns, each of them backwards too
        work[kind, :n] = 0
    for row in range(n):
        line = rows[row]
        work[0, row] = line
        for col in range(n):
            if (line >> np.uint64(col)) & _ONE:
                work[1, col] |= _ONE << np.uint64(row)
                work[2, row] |= _ONE << np.uint64(n - 1 - col)
                work[3, col] |= _ONE << np.uint64(n - 1 - row)
    for symmetry in range(symmetries):
        kind = (symmetry & 1) + (2 if symmetry & 4 else 0)
        turned[:used] = 0
        for row in range(n):
            line = work[kind, n - 1 - row if symmetry & 2 else row]
            bit = row * n
            turned[bit >> 6] |= line << np.uint64(bit & 63)
            if (bit & 63) + n > 64:
                turned[(bit >> 6) + 1] |= line >> np.uint64(64 - (bit & 63))
        order = 0 if symmetry else -1
        for k in range(used):
            if order == 0 and turned[k] != best[k]:
                order = -1 if turned[k] < best[k] else 1
        if order == 1:
            continue
        for agent in range(agents):
            start = _turn(symmetry, n, cells[agent, 0], cells[agent, 1])
            goal = _turn(symmetry, n, cells[agent, 2], cells[agent, 3])
            word = np.uint64(start + 65536 * goal)
            place = used + agent
            while place > used and turned[place - 1] > word:
                turned[place] = turned[place - 1]
                place -= 1
            turned[place] = word
        for k in range(used, used + agents):
            if order == 0 and turned[k] != best[k]:
                order = -1 if turned[k] < best[k] else 1
        if order == -1:
            best, turned = turned, best
    state = _absorb(GOLDEN, np.uint64(n + 256 * agents))
    for k in range(used + agents):
        state = _absorb(state, best[k])
    return state


@numba.njit(cache=True, nogil=True)
def _hash_boards(symmetries: Any, size: Any, num_agents: Any, holes: Any, starts: Any, goals: Any, result: Any) -> None:
    side, most = holes.shape[1], starts.shape[1]
    work = np.empty((6, max(side, (side * side + 63) // 64 + most)), np.uint64)
    rows = np.empty(side, np.uint64)
    cells = np.empty((most, 4), np.int64)
    for b in range(size.shape[0]):
        for row in range(size[b]):
            line = np.uint64(0)
            for col in range(size[b]):
                if holes[b, row, col]:
                    line |= _ONE << np.uint64(col)
            rows[row] = line
        for agent in range(num_agents[b]):
            cells[agent, :2] = starts[b, agent]
            cells[agent, 2:] = goals[b, agent]
        result[b] = hash_rows(symmetries, size[b], num_agents[b], rows, cells, work)


@numba.njit(cache=True, nogil=True)
def _encode_boards(size: Any, num_agents: Any, holes: Any, starts: Any, goals: Any, result: Any) -> None:
    for b in range(size.shape[0]):
        n, agents = size[b], num_agents[b]
        used = 1 + (n * n + 63) // 64
        result[b, 0] = np.uint64(n + 256 * agents)
        result[b, 1:used] = 0
        for row in range(n):
            for col in range(n):
                if holes[b, row, col]:
                    cell = row * n + col
                    result[b, 1 + cell // 64] |= _ONE << np.uint64(cell % 64)
        for agent in range(agents):
            start = starts[b, agent, 0] * n + starts[b, agent, 1]
            result[b, used + agent] = np.uint64(start + 65536 * (goals[b, agent, 0] * n + goals[b, agent, 1]))


def _arrays(boards: Instances) -> tuple[NDArray[Any], ...]:
    fields = (boards.size, boards.num_agents, boards.holes, boards.starts, boards.goals)
    kinds = (np.int64, np.int64, np.bool_, np.int64, np.int64)
    return tuple(np.ascontiguousarray(field, kind) for field, kind in zip(fields, kinds, strict=True))


def _hash(boards: Instances, symmetries: int) -> UInt64s:
    size, num_agents, holes, starts, goals = _arrays(boards)
    result = np.empty(len(size), np.uint64)
    _hash_boards(symmetries, size, num_agents, holes, starts, goals, result)
    return result


def board_hash(boards: Instances) -> UInt64s:
    """uint64[B]; equal for boards that differ in nothing but the order of agents."""
    return _hash(boards, 1)


def canonical_hash(boards: Instances) -> UInt64s:
    """uint64[B]; equal for boards that a symmetry of the square and an order of agents make the same."""
    return _hash(boards, 8)


def encode(boards: Instances, width: int | None = None) -> UInt64s:
    """uint64[B, W]; the words of each board in its own order of agents, all ones past its end, free of padding.

    W is what the longest board takes, or `width`.
    """
    size, num_agents, holes, starts, goals = _arrays(boards)
    longest = words_of(size, num_agents) if width is None else width
    result = np.full((len(size), longest), _NO_AGENT)
    _encode_boards(size, num_agents, holes, starts, goals, result)
    return result


def words_of(size: NDArray[Any], num_agents: NDArray[Any]) -> int:
    """The most words that any of these boards is written in."""
    return int((1 + (size.astype(np.int64) ** 2 + 63) // 64 + num_agents).max(initial=0))


def check_split(split: str) -> None:
    if split not in SPLITS:
        raise JaxenvError(f"unknown split {split!r}; choose one of {', '.join(SPLITS)}")


def in_split(hashes: UInt64s, split: str) -> NDArray[np.bool_]:
    """bool[B]; whether the boards with these canonical hashes belong to `split`."""
    check_split(split)
    low, high = SPLITS[split]
    bucket = hashes % np.uint64(BUCKETS)
    return (bucket >= np.uint64(low)) & (bucket < np.uint64(high))


def split_of(boards: Instances) -> list[str]:
    """The split each board belongs to, whoever made it."""
    hashes = canonical_hash(boards)
    names = np.empty(len(hashes), dtype=object)
    for split in SPLITS:
        names[in_split(hashes, split)] = split
    return [str(name) for name in names]
