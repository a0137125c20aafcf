"""The candidates of `jaxenv.candidates`, compiled for the CPU: the same boards bit for bit, but faster.

One candidate at a time, on bit maps, and only the random words that its size needs. A test holds it to
`candidates.draw` board by board; what is drawn, and why, is written there.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from jaxenv.bitmap import ONE, WIDTH, ZERO, beside, count, holds, member, only
from jaxenv.candidates import DRAWS_BESIDE

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_PARITY = np.uint32(0x1BD11BDA)


@numba.njit(nogil=True)
def _turn(x0: Any, x1: Any, distance: Any) -> Any:
    x0 = np.uint32(x0 + x1)
    x1 = np.uint32(np.uint32(x1 << np.uint32(distance)) | np.uint32(x1 >> np.uint32(32 - distance)))
    return x0, np.uint32(x1 ^ x0)


@numba.njit(nogil=True)
def _four_turns(x0: Any, x1: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    x0, x1 = _turn(x0, x1, a)
    x0, x1 = _turn(x0, x1, b)
    x0, x1 = _turn(x0, x1, c)
    return _turn(x0, x1, d)


@numba.njit(nogil=True)
def threefry(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
    """Threefry-2x32 with 20 rounds (Salmon and others, 2011), which is what JAX's default keys are."""
    k2 = np.uint32(k0 ^ k1 ^ _PARITY)
    x0, x1 = _four_turns(np.uint32(x0 + k0), np.uint32(x1 + k1), 13, 15, 26, 6)
    x0, x1 = _four_turns(np.uint32(x0 + k1), np.uint32(x1 + k2 + np.uint32(1)), 17, 29, 16, 24)
    x0, x1 = _four_turns(np.uint32(x0 + k2), np.uint32(x1 + k0 + np.uint32(2)), 13, 15, 26, 6)
    x0, x1 = _four_turns(np.uint32(x0 + k0), np.uint32(x1 + k1 + np.uint32(3)), 17, 29, 16, 24)
    x0, x1 = _four_turns(np.uint32(x0 + k1), np.uint32(x1 + k2 + np.uint32(4)), 13, 15, 26, 6)
    return np.uint32(x0 + k2), np.uint32(x1 + k0 + np.uint32(5))


@numba.njit(nogil=True)
def fill_words(k0: Any, k1: Any, index: Any, numbers: Any, words: Any) -> None:
    """The words with these `numbers` of `jax.random.bits(fold_in(key, index))`."""
    f0, f1 = threefry(k0, k1, np.uint32(0), np.uint32(index))
    for j in range(len(numbers)):
        a, b = threefry(f0, f1, np.uint32(0), numbers[j])
        words[j] = np.uint32(a ^ b)


@numba.njit(nogil=True)
def _below(word: Any, n: Any) -> Any:
    return np.int64((np.uint64(word) * np.uint64(n)) >> _HALF)


def word_numbers(size: int, num_agents: int, max_size: int) -> NDArray[np.uint32]:
    """Which words a candidate needs: those beside, its cells row by row, each agent's start and goal."""
    side = np.arange(size)
    cells = DRAWS_BESIDE + (side[:, None] * max_size + side[None, :]).reshape(-1)
    agents = DRAWS_BESIDE + max_size * max_size + np.arange(2 * num_agents)
    return np.concatenate([np.arange(DRAWS_BESIDE), cells, agents]).astype(np.uint32)


def race_table(size: int, max_size: int) -> NDArray[np.int64]:
    """i64[pairs, 6]: row and col of both starts of a race, which side the second is on, and the cumulative weight."""
    side = np.arange(max_size)
    apart = np.concatenate([np.arange(1 - max_size, 0), np.arange(1, max_size)])
    row, col, k = (axis.reshape(-1) for axis in np.meshgrid(side, side, apart, indexing="ij"))
    first, second = np.stack([row, col]), np.stack([row + k, col - k])
    inside = ((first >= 0) & (first < size) & (second >= 0) & (second < size)).all(0)
    ahead = [(size - cells[0]) * (size - cells[1]) - 1 for cells in (first, second)]
    weight = np.cumsum(np.where(inside, ahead[0] * ahead[1], 0))
    return np.ascontiguousarray(np.stack([row, col, row + k, col - k, k, weight], 1).astype(np.int64))


@numba.njit(nogil=True)
def _race(words: Any, size: Any, races: Any, ends: Any) -> Any:
    """Starts and goals of the first two agents as cells in `ends`; False where they do not change sides."""
    pick = np.searchsorted(races[:, 5], _below(words[0], races[-1, 5]), side="right")
    mirror_row, mirror_col = words[3] & 1, (words[3] >> 1) & 1
    side = np.zeros(2, np.int64)
    for agent in range(2):
        row, col = races[pick, 2 * agent], races[pick, 2 * agent + 1]
        wide = size - col
        step = 1 + _below(words[1 + agent], (size - row) * wide - 1)
        goal_row, goal_col = row + step // wide, col + step % wide
        side[agent] = goal_col - goal_row
        if mirror_row:
            row, goal_row = size - 1 - row, size - 1 - goal_row
        if mirror_col:
            col, goal_col = size - 1 - col, size - 1 - goal_col
        ends[agent, 0] = WIDTH * row + col
        ends[agent, 1] = WIDTH * goal_row + goal_col
    return side[0] <= side[1] if races[pick, 4] > 0 else side[0] >= side[1]


@numba.njit(nogil=True)
def propose(
    k0: Any,
    k1: Any,
    index: Any,
    size: Any,
    holes_low: Any,
    holes_more: Any,
    num_agents: Any,
    rare: Any,
    numbers: Any,
    races: Any,
    words: Any,
    rows: Any,
    ends: Any,
    raced: Any,
) -> Any:
    """Draw one candidate: its free cells (two words), and whether it could be placed.

    Writes the holes of each row (bit = column) to `rows`, start and goal of each agent as cells to `ends`.
    """
    fill_words(k0, k1, index, numbers, words)
    wanted = holes_low + (1 if words[0] < holes_more else 0)
    at, remaining = DRAWS_BESIDE, size * size
    low, high = ZERO, ZERO
    for row in range(size):
        line = ZERO
        for col in range(size):
            if _below(words[at], remaining) < wanted:
                wanted -= 1
                line |= ONE << np.uint64(col)
            at += 1
            remaining -= 1
        rows[row] = line
        open_cells = ~line & ((ONE << np.uint64(size)) - ONE)
        shift = WIDTH * row
        if shift < 64:
            low |= open_cells << np.uint64(shift)
            if shift > 64 - WIDTH:
                high |= open_cells >> np.uint64(64 - shift)
        else:
            high |= open_cells << np.uint64(shift - 64)

    near_low, near_high = beside(low, high)
    roomy_low, roomy_high = low & near_low, high & near_high
    race = rare and index % 2 == 0
    company = rare and index % 2 == 1
    if race and not _race(words[1:], size, races, raced):
        return low, high, False
    starts_low, starts_high, goals_low, goals_high = ZERO, ZERO, ZERO, ZERO
    home_low, home_high = ZERO, ZERO
    for agent in range(num_agents):
        may_low, may_high = roomy_low & ~starts_low, roomy_high & ~starts_high
        if company and agent > 0:
            may_low &= home_low
            may_high &= home_high
        if race and agent < 2:
            start = raced[agent, 0]
            if not holds(may_low, may_high, start):
                return low, high, False
        else:
            choices = count(may_low, may_high)
            if choices == 0:
                return low, high, False
            start = member(may_low, may_high, _below(words[at + 2 * agent], choices))
        mine_low, mine_high = only(start)
        starts_low |= mine_low
        starts_high |= mine_high

        found_low, found_high = mine_low, mine_high
        while True:
            near_low, near_high = beside(found_low, found_high)
            near_low = (near_low & low) | found_low
            near_high = (near_high & high) | found_high
            if near_low == found_low and near_high == found_high:
                break
            found_low, found_high = near_low, near_high
        if agent == 0:
            home_low, home_high = found_low, found_high
        may_low, may_high = found_low & ~mine_low & ~goals_low, found_high & ~mine_high & ~goals_high
        if race and agent < 2:
            goal = raced[agent, 1]
            if not holds(may_low, may_high, goal):
                return low, high, False
        else:
            choices = count(may_low, may_high)
            if choices == 0:
                return low, high, False
            goal = member(may_low, may_high, _below(words[at + 2 * agent + 1], choices))
        mine_low, mine_high = only(goal)
        goals_low |= mine_low
        goals_high |= mine_high
        ends[agent, 0], ends[agent, 1] = start, goal
    return low, high, True
