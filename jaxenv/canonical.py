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
def _words(symmetry: Any, n: Any, agents: Any, holes: Any, starts: Any, goals: Any, order: Any, out: Any) -> Any:
    """Write the turned board's words (agents sorted when `order` is false) to `out` and return how many there are."""
    used = 1 + (n * n + 63) // 64
    out[0] = np.uint64(n + 256 * agents)
    for k in range(1, used):
        out[k] = np.uint64(0)
    for row in range(n):
        for col in range(n):
            if holes[row, col]:
                cell = _turn(symmetry, n, row, col)
                out[1 + cell // 64] |= np.uint64(1) << np.uint64(cell % 64)
    for agent in range(agents):
        start = _turn(symmetry, n, starts[agent, 0], starts[agent, 1])
        goal = _turn(symmetry, n, goals[agent, 0], goals[agent, 1])
        word = np.uint64(start + 65536 * goal)
        place = used + agent
        if not order:
            while place > used and out[place - 1] > word:
                out[place] = out[place - 1]
                place -= 1
        out[place] = word
    return used + agents


@numba.njit(cache=True, nogil=True)
def _hash_boards(symmetries: Any, size: Any, num_agents: Any, holes: Any, starts: Any, goals: Any, result: Any) -> None:
    length = 1 + (holes.shape[1] * holes.shape[1] + 63) // 64 + starts.shape[1]
    best = np.empty(length, np.uint64)
    turned = np.empty(length, np.uint64)
    for b in range(size.shape[0]):
        used = _words(0, size[b], num_agents[b], holes[b], starts[b], goals[b], False, best)
        for symmetry in range(1, symmetries):
            _words(symmetry, size[b], num_agents[b], holes[b], starts[b], goals[b], False, turned)
            for k in range(used):
                if turned[k] != best[k]:
                    if turned[k] < best[k]:
                        best, turned = turned, best
                    break
        state = GOLDEN
        for k in range(used):
            state = _absorb(state, best[k])
        result[b] = state


@numba.njit(cache=True, nogil=True)
def _encode_boards(size: Any, num_agents: Any, holes: Any, starts: Any, goals: Any, result: Any) -> None:
    word = np.empty(1 + (holes.shape[1] * holes.shape[1] + 63) // 64 + starts.shape[1], np.uint64)
    for b in range(size.shape[0]):
        used = _words(0, size[b], num_agents[b], holes[b], starts[b], goals[b], True, word)
        result[b, :used] = word[:used]


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


def encode(boards: Instances) -> UInt64s:
    """uint64[B, W]; the words of each board in its own order of agents, all ones past its end, free of padding."""
    size, num_agents, holes, starts, goals = _arrays(boards)
    longest = int((1 + (size**2 + 63) // 64 + num_agents).max(initial=0))
    result = np.full((len(size), longest), _NO_AGENT)
    _encode_boards(size, num_agents, holes, starts, goals, result)
    return result


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
