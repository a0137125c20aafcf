"""Every label of one board, by the searches that it needs, and the check that its plan keeps its word."""

from typing import NamedTuple

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS
from jaxenv.host_pair_tables import fill_pair_times
from jaxenv.host_pairs import FINISHED
from jaxenv.host_search import EXHAUSTED, GAVE_UP, SOLVED, search, unpack

_MAX_EXCESS = 1_000  # far above what a plan of the longest horizon can spend


class Tables(NamedTuple):
    """What the searches remember and, for the hard tail, know of pairs."""

    nogoods: np.ndarray  # u64[a power of two]
    with_pairs: bool
    with_pair_times: bool
    excesses: np.ndarray  # i16[pairs, cells + 1, cells + 1]
    times: np.ndarray  # i16[pairs, cells + 1, cells + 1]


@njit(nogil=True)
def costs(path, depth, goals, n, arrivals):  # type: ignore[no-untyped-def]
    """Cost of each agent in `path` (the first time from which it stays on its goal); returns whether somebody waits."""
    waits = False
    for i in range(n):
        arrival = depth
        while arrival > 0 and path[arrival - 1, i] == goals[i]:
            arrival -= 1
        arrivals[i] = arrival
        for t in range(arrival):
            waits = waits or path[t, i] == path[t + 1, i]
    return waits


@njit(nogil=True)
def _is_legal(path, depth, board):  # type: ignore[no-untyped-def]
    """Replay of a plan under the rules of the world: a fault of the search must not become a label."""
    for i in range(board.num_agents):
        if path[0, i] != board.starts[i] or path[depth, i] != board.goals[i]:
            return False
        for t in range(depth):
            a = path[t, i]
            b = path[t + 1, i]
            if a != b:
                linked = False
                for d in range(4):
                    linked = linked or board.neighbours[a, d] == b
                if not linked:
                    return False
            for j in range(i):
                if b == path[t + 1, j] or (a == path[t + 1, j] and b == path[t, j]):
                    return False
    return True


@njit(nogil=True)
def _take_plan(work, depth, board, path):  # type: ignore[no-untyped-def]
    """Copy the plan that a search left in its stack to `path`; returns its costs and whether somebody waits."""
    for t in range(depth + 1):
        unpack(work[0][t], board.num_agents, path[t])
        path[t] &= FINISHED - 1
    arrivals = np.empty(MAX_AGENTS, np.int64)
    waits = costs(path, depth, board.goals, board.num_agents, arrivals)
    total = 0
    makespan = 0
    for i in range(board.num_agents):
        total += arrivals[i]
        makespan = max(makespan, arrivals[i])
    if not _is_legal(path, depth, board):
        raise RuntimeError("the solver's plan breaks a rule of the world: report this board")
    return total, makespan, waits


@njit(nogil=True)
def label_board(board, singles, by_makespan, cost_alone, max_steps, tables, work, path, result):  # type: ignore[no-untyped-def]
    """Find both optima, a plan (into `path`) and needs_wait; returns whether all of them could be determined.

    `result` holds excess, makespan, needs_wait and the length of the path. Its first two are proven lower bounds when
    this is called, and when it has returned False. `cost_alone`: only the sum of costs and its plan.
    """
    nogoods = tables.nogoods
    pairs = tables.with_pairs
    nogoods[:] = 0
    outcome, excess, depth = search(
        board, False, False, result[0], _MAX_EXCESS, max_steps, nogoods, tables.excesses, pairs, work
    )
    result[0] = excess
    if outcome != SOLVED:
        return False
    total, makespan, waits = _take_plan(work, depth, board, path)
    if total != singles + excess:
        raise RuntimeError("the solver's plan does not cost what it claims: report this board")
    depth = makespan
    if cost_alone:
        result[1] = -1
        result[2] = 0
        result[3] = depth
        return True
    # Every step costs 0, 1 (a wait) or 2, so an odd excess has a wait in it.
    if not by_makespan and waits and excess % 2 == 0:
        outcome, _, _ = search(board, False, True, excess, excess, max_steps, nogoods, tables.excesses, pairs, work)
        if outcome == GAVE_UP:
            return False
        waits = outcome == EXHAUSTED

    nogoods[:] = 0
    pairs = tables.with_pair_times
    if pairs and (by_makespan or result[1] < makespan):  # else no search below looks at times
        result[1] = max(result[1], fill_pair_times(board, tables.times))
    if result[1] < makespan:
        outcome, time, found_depth = search(
            board, True, False, result[1], makespan - 1, max_steps, nogoods, tables.times, pairs, work
        )
        if outcome == GAVE_UP:
            result[1] = time
            return False
        if outcome == SOLVED:
            makespan = time
            if by_makespan:
                depth = found_depth
                _, _, waits = _take_plan(work, depth, board, path)
    result[1] = makespan
    if by_makespan and waits:
        outcome, _, _ = search(board, True, True, makespan, makespan, max_steps, nogoods, tables.times, pairs, work)
        if outcome == GAVE_UP:
            return False
        waits = outcome == EXHAUSTED
    result[2] = waits
    result[3] = depth
    return True
