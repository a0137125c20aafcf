"""Exact costs of every two agents alone, from every pair of cells: a bound for the search, a proof of unsolvability.

Both tables are filled backwards from the goals over the joint space of the two agents. An agent's place is a cell or,
for the excess, `finished` (the index after the last cell). Infinity says that the two can never get home together.
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


@njit(nogil=True)
def _fill_pair_times(neighbours, count, goal_i, goal_j, table):  # type: ignore[no-untyped-def]
    """`table[x, y]` = fewest steps until i (now at x) and j (at y) are both on their goals."""
    table[:count, :count] = INFINITE
    table[goal_i, goal_j] = 0
    queue = np.empty((count * count, 2), np.int32)
    queue[0, 0] = goal_i
    queue[0, 1] = goal_j
    head = 0
    tail = 1
    while head < tail:
        x = queue[head, 0]
        y = queue[head, 1]
        head += 1
        value = table[x, y] + 1
        for a in range(5):
            x0 = x if a == 4 else neighbours[x, a]
            if x0 < 0:
                continue
            for b in range(5):
                y0 = y if b == 4 else neighbours[y, b]
                if y0 < 0 or x0 == y0 or (x0 == y and y0 == x) or table[x0, y0] < INFINITE:
                    continue
                table[x0, y0] = value
                queue[tail, 0] = x0
                queue[tail, 1] = y0
                tail += 1


@njit(nogil=True)
def _fill_pair_excesses(neighbours, count, goal_i, goal_j, distance_i, distance_j, table):  # type: ignore[no-untyped-def]
    """`table[x, y]` = least excess of i and j together until both have finished (Dijkstra by buckets).

    A step back adds at most 4, so the open pairs fit in a ring of buckets, each a linked list.
    """
    finished = count
    width = count + 1
    table[:width, :width] = INFINITE
    ring = np.full(8, -1, np.int32)
    pool_state = np.empty(6 * width * width, np.int32)
    pool_next = np.empty(6 * width * width, np.int32)
    used = 1
    table[finished, finished] = 0
    pool_state[0] = finished * width + finished
    pool_next[0] = -1
    ring[0] = 0
    waiting = 1
    value = 0
    from_i = np.empty(6, np.int32)
    from_j = np.empty(6, np.int32)
    cost_i = np.empty(6, np.int32)
    cost_j = np.empty(6, np.int32)
    while waiting:
        entry = ring[value & 7]
        if entry < 0:
            value += 1
            continue
        ring[value & 7] = pool_next[entry]
        waiting -= 1
        x = pool_state[entry] // width
        y = pool_state[entry] % width
        if table[x, y] != value:
            continue  # reached more cheaply since
        cell_x = goal_i if x == finished else x
        cell_y = goal_j if y == finished else y
        many_i = _places_before(neighbours, x, finished, goal_i, distance_i, from_i, cost_i)
        many_j = _places_before(neighbours, y, finished, goal_j, distance_j, from_j, cost_j)
        for a in range(many_i):
            x0 = from_i[a]
            cell_x0 = goal_i if x0 == finished else x0
            for b in range(many_j):
                y0 = from_j[b]
                cell_y0 = goal_j if y0 == finished else y0
                if cell_x0 == cell_y0 or (cell_x0 == cell_y and cell_y0 == cell_x):
                    continue
                reached = value + cost_i[a] + cost_j[b]
                if reached < table[x0, y0]:
                    table[x0, y0] = reached
                    pool_state[used] = x0 * width + y0
                    pool_next[used] = ring[reached & 7]
                    ring[reached & 7] = used
                    used += 1
                    waiting += 1


@njit(nogil=True)
def _places_before(neighbours, place, finished, goal, distance, places, costs):  # type: ignore[no-untyped-def]
    """Where an agent at `place` can have been a step ago, and the excess that the step cost; returns how many."""
    if place == finished:
        places[0] = finished
        places[1] = goal
        costs[0] = 0
        costs[1] = 0
        return 2
    places[0] = place
    costs[0] = 1
    many = 1
    for d in range(4):
        k = neighbours[place, d]
        if k >= 0:
            places[many] = k
            costs[many] = 1 + distance[place] - distance[k]
            many += 1
    return many


@njit(nogil=True)
def fill_pair_excesses(board, excesses):  # type: ignore[no-untyped-def]
    """The table of every pair (higher agent first); False when some pair can never get home together."""
    for i in range(board.num_agents):
        for j in range(i):
            table = excesses[PAIR[i, j]]
            _fill_pair_excesses(
                board.neighbours, board.num_cells, board.goals[i], board.goals[j],
                board.distance[i], board.distance[j], table,
            )  # fmt: skip
            if table[board.starts[i], board.starts[j]] >= INFINITE:
                return False
    return True


@njit(nogil=True)
def fill_pair_times(board, times):  # type: ignore[no-untyped-def]
    """The table of every pair (higher agent first); returns the bound on the makespan that follows."""
    least = np.int64(0)
    for i in range(board.num_agents):
        for j in range(i):
            table = times[PAIR[i, j]]
            _fill_pair_times(board.neighbours, board.num_cells, board.goals[i], board.goals[j], table)
            least = max(least, np.int64(table[board.starts[i], board.starts[j]]))
    return least


@njit(nogil=True)
def pair_bound(codes, n, pairs, finished, enough):  # type: ignore[no-untyped-def]
    """The best bound on the joint excess from the pairs' excesses, and the set of agents it speaks of.

    (0, nobody) when it cannot be above `enough`, which is seen at once from the sum over all pairs.
    Disjoint pairs add up; in a triangle every agent's excess is counted twice, so half the sum (rounded up) is a bound.
    `finished` is the index of a finished agent in the tables.
    """
    best = 0
    who = 0
    total = 0
    w = np.zeros((MAX_AGENTS, MAX_AGENTS), np.int64)
    for i in range(n):
        a = finished if codes[i] & FINISHED else codes[i]
        for j in range(i):
            b = finished if codes[j] & FINISHED else codes[j]
            w[i, j] = w[j, i] = pairs[PAIR[i, j], a, b]
            total += w[i, j]
    if total <= enough:
        return best, who
    for i in range(n):
        for j in range(i):
            first = w[i, j]
            if first > best:
                best = first
                who = 1 << i | 1 << j
            for k in range(i):
                if k == j:
                    continue
                for m in range(k):
                    if m != j and first + w[k, m] > best:
                        best = first + w[k, m]
                        who = 1 << i | 1 << j | 1 << k | 1 << m
            for k in range(j):
                value = (first + w[i, k] + w[j, k] + 1) // 2
                three = 1 << i | 1 << j | 1 << k
                one = -1
                two = -1
                for m in range(n):
                    if not three >> m & 1:
                        one = two
                        two = m
                if one >= 0 and w[one, two] > 0:
                    value += w[one, two]
                    three |= 1 << one | 1 << two
                if value > best:
                    best = value
                    who = three
    return best, who
