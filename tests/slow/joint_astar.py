"""A* in the joint space of all agents: an oracle for boards of every size, compiled for its speed alone.

It shares nothing with the solver: whole joint steps in the open list, a closed set of joint states, no deepening, no
excess, no nogoods. Small boards hold it against the plainer `tests.jaxenv.joint_search`.

A state is one byte an agent: its cell, and a bit that says it has finished, which it decides on arriving at its goal
(finishing later than on arrival only costs more). An agent that arrives and does not finish has to leave again.
"""

import heapq

import numpy as np
from numba import njit, types
from numba.typed import Dict

from tests.slow.boards import distances, neighbours

_FINISHED = 128
NONE, GAVE_UP = -1, -2


def joint_optimum(board, objective, *, waits=True, limit=10_000, most=1_000_000):
    """The least cost, NONE when there is no plan (of at most `limit`), GAVE_UP after `most` generated states."""
    rows, starts, goals = board
    cells = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "."]
    number = {cell: k for k, cell in enumerate(cells)}
    moves = np.full((len(cells), 4), -1, np.int64)
    for k, cell in enumerate(cells):
        for d, after in enumerate(neighbours(rows, cell)):
            moves[k, d] = number[after]
    to_go = np.full((len(goals), len(cells)), -1, np.int64)
    for agent, goal in enumerate(goals):
        for cell, distance in distances(rows, goal).items():
            to_go[agent, number[cell]] = distance
    first, last = (np.array([number[cell] for cell in ends], np.int64) for ends in (starts, goals))
    if (to_go[np.arange(len(goals)), first] < 0).any():
        return NONE
    return int(_search(moves, to_go, first, last, objective == "makespan", waits, limit, most))


@njit
def _remaining(codes, goals, to_go, by_makespan, may_finish):
    """A bound on what is left to pay, and the steps left of all agents to break ties."""
    total = 0
    longest = 0
    for i in range(len(codes)):
        left = 0
        if codes[i] < _FINISHED:
            left = to_go[i, codes[i]]
            if may_finish and codes[i] == goals[i]:
                left = 2
        total += left
        longest = max(longest, left)
    return (longest if by_makespan else total), total


@njit
def _pack(codes):
    key = np.int64(0)
    for code in codes:
        key = key * 256 + code
    return key


@njit
def _search(moves, to_go, starts, goals, by_makespan, waits, limit, most):
    n = len(starts)
    # To be home at one time needs no record of who has finished, unless waiting before that is forbidden.
    may_finish = not (by_makespan and waits)
    best = Dict.empty(types.int64, types.int64)
    heap = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0))]
    heap.pop()
    before = starts.copy()
    after = starts.copy()
    for finished in range(1 << n):
        possible = finished == 0 or may_finish
        for i in range(n):
            chosen = (finished >> i) & 1
            possible = possible and (not chosen or starts[i] == goals[i])
            after[i] = starts[i] + _FINISHED * chosen
        if possible:
            bound, total = _remaining(after, goals, to_go, by_makespan, may_finish)
            best[_pack(after)] = 0
            heapq.heappush(heap, (bound, total, np.int64(0), _pack(after)))
    options = np.empty((n, 10), np.int64)
    counts = np.empty(n, np.int64)
    choice = np.empty(n, np.int64)
    generated = 0
    while heap:
        bound, _, cost, key = heapq.heappop(heap)
        if bound > limit:
            return NONE
        if cost > best[key]:
            continue
        unfinished = 0
        home = True
        rest = key
        for i in range(n - 1, -1, -1):
            before[i] = rest % 256
            rest //= 256
            unfinished += before[i] < _FINISHED
            home = home and before[i] == goals[i]
        if unfinished == 0 or (home and not may_finish):
            return cost
        for i in range(n):
            counts[i] = 0
            if before[i] >= _FINISHED or waits:
                options[i, 0] = before[i]
                counts[i] = 1
            if before[i] >= _FINISHED:
                continue
            for d in range(4):
                cell = moves[before[i], d]
                if cell >= 0:
                    options[i, counts[i]] = cell
                    counts[i] += 1
                    if may_finish and cell == goals[i]:
                        options[i, counts[i]] = cell + _FINISHED
                        counts[i] += 1
        paid = cost + (1 if by_makespan else unfinished)
        agent = 0
        choice[:] = -1
        while agent >= 0:
            choice[agent] += 1
            if choice[agent] == counts[agent]:
                choice[agent] = -1
                agent -= 1
                continue
            after[agent] = options[agent, choice[agent]]
            cell = after[agent] % _FINISHED
            clash = False
            for j in range(agent):
                other = after[j] % _FINISHED
                swap = other == before[agent] % _FINISHED and before[j] % _FINISHED == cell
                clash = clash or other == cell or swap
            if clash:
                continue
            if agent < n - 1:
                agent += 1
                continue
            generated += 1
            new = _pack(after)
            if new not in best or paid < best[new]:
                best[new] = paid
                bound, total = _remaining(after, goals, to_go, by_makespan, may_finish)
                heapq.heappush(heap, (paid + bound, total, paid, new))
        if generated > most:
            return GAVE_UP
    return NONE
