"""A board as a graph for the host engine: free cells numbered one after another, neighbours, distances.

Only free cells get a number, so tables over cells are as small as the map allows. Directions are numbered as the
moving members of `Action` less one: up, down, left, right.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# Above every distance on a map of at most MAX_CELLS cells; small enough that sums of five stay in 32 bits.
UNREACHABLE = 10_000
# Seven bits hold a cell in a packed state, and one code stays free.
MAX_CELLS = 126
MAX_AGENTS = 5


class Board(NamedTuple):
    """What the searches know of a board."""

    neighbours: np.ndarray  # i32[cells, 4], -1 where there is none
    codes: np.ndarray  # i64[cells] in a `jaxenv.bitmap`
    distance: np.ndarray  # i32[A, cells] steps of each agent alone to its goal
    starts: np.ndarray  # i64[A]
    goals: np.ndarray  # i64[A]
    num_agents: np.int64
    num_cells: np.int64


@njit(nogil=True)
def number_cells(holes, size, number, cells):  # type: ignore[no-untyped-def]
    """Number the free cells row by row: `number[r, c]` (-1 for a hole) and `cells[k]` = r, c; returns how many."""
    count = 0
    number[:, :] = -1
    for r in range(size):
        for c in range(size):
            if not holes[r, c]:
                number[r, c] = count
                cells[count, 0] = r
                cells[count, 1] = c
                count += 1
    return count


@njit(nogil=True)
def link_cells(number, cells, count, size, neighbours):  # type: ignore[no-untyped-def]
    """`neighbours[k, d]` = the cell one step away in direction d, or -1."""
    for k in range(count):
        r = cells[k, 0]
        c = cells[k, 1]
        neighbours[k, 0] = number[r - 1, c] if r > 0 else -1
        neighbours[k, 1] = number[r + 1, c] if r < size - 1 else -1
        neighbours[k, 2] = number[r, c - 1] if c > 0 else -1
        neighbours[k, 3] = number[r, c + 1] if c < size - 1 else -1


@njit(nogil=True)
def fill_distances(neighbours, count, goal, distance, queue):  # type: ignore[no-untyped-def]
    """`distance[k]` = steps from cell k to `goal` for an agent alone (breadth first)."""
    for k in range(count):
        distance[k] = UNREACHABLE
    distance[goal] = 0
    queue[0] = goal
    head = 0
    tail = 1
    while head < tail:
        k = queue[head]
        head += 1
        for d in range(4):
            m = neighbours[k, d]
            if m >= 0 and distance[m] == UNREACHABLE:
                distance[m] = distance[k] + 1
                queue[tail] = m
                tail += 1
