"""Exact costs of every two agents alone, from every pair of cells: a bound for the search, a proof of unsolvability.

`jaxenv.host_pair_tables` fills the tables. An agent's place is a cell or, for the excess, `finished` (the index after
the last cell). Infinity says that the two can never get home together.
"""

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS

INFINITE = 30_000
FINISHED = 128  # bit of a position code: the agent has finished, on its goal
MAX_PAIRS = MAX_AGENTS * (MAX_AGENTS - 1) // 2
PAIR = np.full((MAX_AGENTS, MAX_AGENTS), -1, np.int64)  # the table of agents i and j, in either order
for _i in range(MAX_AGENTS):
    for _j in range(_i):
        PAIR[_i, _j] = PAIR[_j, _i] = _i * (_i - 1) // 2 + _j


# Pairs whose excesses add up to a bound, those of the first agents first. Disjoint pairs add up; in a triangle every
# agent's excess is counted twice, so half the sum (rounded up) is a bound, and a pair apart from it adds to that.
_EDGES = [(i, j) for i in range(MAX_AGENTS) for j in range(i)]


def _apart(agents: tuple[int, ...]) -> int:
    """The pair of the other agents."""
    first, second = (k for k in range(MAX_AGENTS) if k not in agents)
    return int(PAIR[second, first])


_MATCHINGS = np.array(
    sorted(
        (max(PAIR[first], PAIR[second]), min(PAIR[first], PAIR[second]))
        for first in _EDGES
        for second in _EDGES
        if PAIR[first] < PAIR[second] and not set(first) & set(second)
    )
)
_TRIANGLES = np.array(
    [
        (PAIR[a, b], PAIR[a, c], PAIR[b, c], _apart((a, b, c)))
        for a in range(MAX_AGENTS)
        for b in range(a)
        for c in range(b)
    ]
)
_MEMBERS = np.array([1 << i | 1 << j for i, j in _EDGES] + [0], np.int64)
_PAIRS_OF = np.array([n * (n - 1) // 2 for n in range(MAX_AGENTS + 1)])
_MATCHINGS_OF = np.array([(_MATCHINGS[:, 0] < pairs).sum() for pairs in _PAIRS_OF])
_TRIANGLES_OF = np.array([n * (n - 1) * (n - 2) // 6 for n in range(MAX_AGENTS + 1)])


@njit(nogil=True)
def pair_bound(codes, n, pairs, finished, enough):  # type: ignore[no-untyped-def]
    """The best bound on the joint excess from the pairs' excesses, and the set of agents it speaks of.

    (0, nobody) when it cannot be above `enough`, which is seen at once from the sum over all pairs.
    `finished` is the index of a finished agent in the tables.
    """
    w = np.zeros(MAX_PAIRS + 1, np.int64)
    best = 0
    who = 0
    total = 0
    p = 0
    for i in range(n):
        a = finished if codes[i] & FINISHED else codes[i]
        for j in range(i):
            w[p] = pairs[p, a, finished if codes[j] & FINISHED else codes[j]]
            total += w[p]
            p += 1
    if total <= enough:
        return best, who
    for p in range(_PAIRS_OF[n]):
        if w[p] > best:
            best = w[p]
            who = _MEMBERS[p]
    for m in range(_MATCHINGS_OF[n]):
        value = w[_MATCHINGS[m, 0]] + w[_MATCHINGS[m, 1]]
        if value > best:
            best = value
            who = _MEMBERS[_MATCHINGS[m, 0]] | _MEMBERS[_MATCHINGS[m, 1]]
    for m in range(_TRIANGLES_OF[n]):
        rest = w[_TRIANGLES[m, 3]]
        value = (w[_TRIANGLES[m, 0]] + w[_TRIANGLES[m, 1]] + w[_TRIANGLES[m, 2]] + 1) // 2 + rest
        if value > best:
            best = value
            who = _MEMBERS[_TRIANGLES[m, 0]] | _MEMBERS[_TRIANGLES[m, 1]] | (_MEMBERS[_TRIANGLES[m, 3]] if rest else 0)
    return best, who
