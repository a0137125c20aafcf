"""The host engine: every label of a board, by searches that grow from a quick look to the hard tail.

`host_solve` takes and gives plain NumPy arrays. Boards are independent; a pool of threads (as many as Numba is set to)
takes them in chunks, and the compiled code holds no interpreter lock. All limits are counts, so a label never depends on the
machine.

A board first gets a quick search with a small table of nogoods. What is left open gets pair tables, then the exhaustion
of the joint space of ever larger sets of agents (unsolvable alone is unsolvable with more agents about), then searches
with a large table up to `max_steps`.
"""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit

from jaxenv.host_exhaust import UNKNOWN, UNREACHABLE_TOGETHER, reachable
from jaxenv.host_graph import MAX_AGENTS, UNREACHABLE, fill_distances, link_cells, number_cells
from jaxenv.host_pairs import INFINITE, MAX_PAIRS, fill_pair_excesses, fill_pair_times
from jaxenv.host_search import EXHAUSTED, FINISHED, GAVE_UP, MAX_DEPTH, SOLVED, new_work, pair_bound, search

DEFAULT_MAX_STEPS = 10_000_000
MAX_PLAN = 128  # the largest horizon a plan is stored with

_UNDETERMINED, _OPTIMAL, _UNSOLVABLE = 0, 1, 2
_QUICK_STEPS = 1_000
_QUICK_BITS = 10
_MAX_BUDGET = 1_000
# Boards a thread takes at once: many easy ones, few hard ones.
_CHUNK = 512
_HARD_CHUNK = 8
# Rounds of the hard tail: states kept from each end when the joint space is exhausted, steps and nogoods per search.
_EXHAUST_ENTRIES = (1 << 12, 1 << 15, 1 << 20)
_THOROUGH_STEPS = (20_000, 200_000, 1 << 62)
_THOROUGH_BITS = (14, 17, 20)


@njit(nogil=True)
def _costs(path, depth, goals, n, arrivals):  # type: ignore[no-untyped-def]
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
def _is_legal(path, depth, neighbours, starts, goals, n):  # type: ignore[no-untyped-def]
    """Replay of a plan under the rules of the world: a fault of the search must not become a label."""
    for i in range(n):
        if path[0, i] != starts[i] or path[depth, i] != goals[i]:
            return False
        for t in range(depth):
            a = path[t, i]
            b = path[t + 1, i]
            if a != b:
                linked = False
                for d in range(4):
                    linked = linked or neighbours[a, d] == b
                if not linked:
                    return False
            for j in range(i):
                if b == path[t + 1, j] or (a == path[t + 1, j] and b == path[t, j]):
                    return False
    return True


@njit(nogil=True)
def _keep_path(work, depth, n, path):  # type: ignore[no-untyped-def]
    for t in range(depth + 1):
        for i in range(n):
            path[t, i] = work[0][t, i] & (FINISHED - 1)


@njit(nogil=True)
def _label_board(  # type: ignore[no-untyped-def]
    neighbours, distance, starts, goals, n, by_makespan, low_excess, low_time, max_steps, nogoods,
    excesses, times, with_pairs, finished, work, path, result
):
    """Both optima, the plan (in `path`) and needs_wait; writes `result` and returns whether all was determined.

    result: excess (or the proven bound on it), makespan (or the proven bound), needs_wait, depth of the path.
    """
    arrivals = np.empty(MAX_AGENTS, np.int64)
    result[0] = low_excess
    result[1] = low_time
    nogoods[:] = 0
    outcome, excess, _, depth = search(
        neighbours, distance, starts, n, False, False, low_excess, _MAX_BUDGET, max_steps,
        nogoods, excesses, with_pairs, finished, work,
    )
    result[0] = excess
    if outcome != SOLVED:
        return False
    _keep_path(work, depth, n, path)
    waits = _costs(path, depth, goals, n, arrivals)
    makespan = 0
    total = 0
    singles = 0
    for i in range(n):
        makespan = max(makespan, arrivals[i])
        total += arrivals[i]
        singles += distance[i, starts[i]]
    if total != singles + excess or not _is_legal(path, makespan, neighbours, starts, goals, n):
        raise RuntimeError("the solver's plan does not cost what it claims; please report this board")
    depth = makespan

    needs_wait = False
    if not by_makespan:
        needs_wait = waits
        if waits and excess % 2 == 0:
            outcome, _, _, _ = search(
                neighbours, distance, starts, n, False, True, excess, excess, max_steps,
                nogoods, excesses, with_pairs, finished, work,
            )
            if outcome == GAVE_UP:
                return False
            needs_wait = outcome == EXHAUSTED

    nogoods[:] = 0
    if makespan > low_time:
        outcome, time, _, found_depth = search(
            neighbours, distance, starts, n, True, False, low_time, makespan - 1, max_steps,
            nogoods, times, with_pairs, finished, work,
        )
        if outcome == GAVE_UP:
            result[1] = time
            return False
        if outcome == SOLVED:
            makespan = time
            if by_makespan:
                depth = found_depth
                _keep_path(work, depth, n, path)
                waits = _costs(path, depth, goals, n, arrivals)
                if not _is_legal(path, depth, neighbours, starts, goals, n):
                    raise RuntimeError("the solver's plan breaks a rule of the world; please report this board")
    result[1] = makespan
    if by_makespan:
        needs_wait = waits
        if waits:
            outcome, _, _, _ = search(
                neighbours, distance, starts, n, True, True, makespan, makespan, max_steps,
                nogoods, times, with_pairs, finished, work,
            )
            if outcome == GAVE_UP:
                return False
            needs_wait = outcome == EXHAUSTED
    result[2] = needs_wait
    result[3] = depth
    return True


@njit(nogil=True)
def _write(b, n, status, objective_bound, single, result, singles, path, cells, goals, out):  # type: ignore[no-untyped-def]
    """One board's row of the answer."""
    out_status, out_sum, out_makespan, out_bound, out_waits, out_single, actions, lengths = out
    out_status[b] = status
    out_bound[b] = objective_bound
    out_single[b] = single
    if status != _OPTIMAL:
        return
    depth = result[3]
    out_sum[b] = singles + result[0]
    out_makespan[b] = result[1]
    out_waits[b] = result[2] != 0
    arrivals = np.empty(MAX_AGENTS, np.int64)
    _costs(path, depth, goals, n, arrivals)
    for i in range(n):
        lengths[b, i] = arrivals[i]
        for t in range(arrivals[i]):
            down = cells[path[t + 1, i], 0] - cells[path[t, i], 0]
            right = cells[path[t + 1, i], 1] - cells[path[t, i], 1]
            action = 0
            if down != 0:
                action = 1 if down < 0 else 2
            elif right != 0:
                action = 3 if right < 0 else 4
            actions[b, i, t] = action


@njit(nogil=True)
def _solvable(neighbours, to_goals, to_starts, starts, goals, n, max_entries):  # type: ignore[no-untyped-def]
    """REACHABLE, UNREACHABLE_TOGETHER or UNKNOWN for all agents; sets of three and more are tried too (see above)."""
    answer = reachable(neighbours, to_goals, to_starts, starts, goals, n, max_entries)
    if answer != UNKNOWN:
        return answer
    some_starts = np.empty(MAX_AGENTS, np.int64)
    some_goals = np.empty(MAX_AGENTS, np.int64)
    some_to_goals = np.empty_like(to_goals)
    some_to_starts = np.empty_like(to_starts)
    for many in range(3, n):
        for s in range(1 << n):
            m = 0
            for i in range(n):
                if s >> i & 1:
                    some_starts[m] = starts[i]
                    some_goals[m] = goals[i]
                    some_to_goals[m] = to_goals[i]
                    some_to_starts[m] = to_starts[i]
                    m += 1
            if m == many:
                answer = reachable(
                    neighbours, some_to_goals, some_to_starts, some_starts, some_goals, m, max_entries
                )
                if answer == UNREACHABLE_TOGETHER:
                    return answer
    return UNKNOWN


@njit(nogil=True)
def _solve_some(boards, size, num_agents, holes, starts, goals, by_makespan, max_steps, thorough, out):  # type: ignore[no-untyped-def]
    """Label the boards numbered in `boards`: a quick look at each, or (`thorough`) all that the engine can do."""
    max_size = holes.shape[1]
    area = max_size * max_size
    number = np.empty((max_size, max_size), np.int32)
    cells = np.empty((area, 2), np.int32)
    neighbours = np.empty((area, 4), np.int32)
    distance = np.empty((MAX_AGENTS, area), np.int32)
    to_starts = np.empty((MAX_AGENTS, area), np.int32)
    queue = np.empty(area, np.int32)
    nogoods = np.empty(1 << _QUICK_BITS, np.uint64)
    width = area + 1 if thorough else 1
    excesses = np.empty((MAX_PAIRS, width, width), np.int16)
    times = np.empty((MAX_PAIRS, width, width), np.int16)
    work = new_work()
    path = np.empty((MAX_DEPTH + 1, MAX_AGENTS), np.int64)
    result = np.zeros(4, np.int64)
    first = np.empty(MAX_AGENTS, np.int64)
    last = np.empty(MAX_AGENTS, np.int64)
    for b in boards:
        n = num_agents[b]
        count = number_cells(holes[b], size[b], number, cells)
        link_cells(number, cells, count, size[b], neighbours)
        singles = 0
        longest = 0
        for i in range(n):
            first[i] = number[starts[b, i, 0], starts[b, i, 1]]
            last[i] = number[goals[b, i, 0], goals[b, i, 1]]
            fill_distances(neighbours, count, last[i], distance[i], queue)
            singles += distance[i, first[i]]
            longest = max(longest, distance[i, first[i]])
        if longest >= UNREACHABLE:
            _write(b, n, _UNSOLVABLE, -1, -1, result, singles, path, cells, last, out)
            continue
        single = longest if by_makespan else singles
        if not thorough:
            done = _label_board(
                neighbours, distance, first, last, n, by_makespan, 0, longest, min(max_steps, _QUICK_STEPS), nogoods,
                excesses, times, False, count, work, path, result,
            )
        else:
            done = False
            hopeless = False
            low_time = longest
            for i in range(n):
                for j in range(i):
                    p = i * (i - 1) // 2 + j
                    fill_pair_times(neighbours, count, last[i], last[j], times[p])
                    low_time = max(low_time, times[p, first[i], first[j]])
            hopeless = low_time >= INFINITE
            if not hopeless:
                for i in range(n):
                    for j in range(i):
                        p = i * (i - 1) // 2 + j
                        fill_pair_excesses(
                            neighbours, count, last[i], last[j], distance[i], distance[j], excesses[p]
                        )
                low_excess, _ = pair_bound(first, n, excesses, count)
                for i in range(n):
                    fill_distances(neighbours, count, first[i], to_starts[i], queue)
                solvable = UNKNOWN
                for k in range(len(_EXHAUST_ENTRIES)):
                    if solvable == UNKNOWN:
                        solvable = _solvable(neighbours, distance, to_starts, first, last, n, _EXHAUST_ENTRIES[k])
                        if solvable == UNREACHABLE_TOGETHER:
                            hopeless = True
                            break
                    nogoods = np.empty(1 << _THOROUGH_BITS[k], np.uint64)
                    done = _label_board(
                        neighbours, distance, first, last, n, by_makespan, low_excess, low_time,
                        min(max_steps, _THOROUGH_STEPS[k]), nogoods, excesses, times, True, count, work, path, result,
                    )
                    if done:
                        break
            if hopeless:
                _write(b, n, _UNSOLVABLE, single, single, result, singles, path, cells, last, out)
                continue
        bound = result[1] if by_makespan else singles + result[0]
        status = _OPTIMAL if done and result[3] <= MAX_PLAN else _UNDETERMINED
        _write(b, n, status, bound, single, result, singles, path, cells, last, out)


def _source_fingerprint() -> int:
    """One number for all sources that are compiled together."""
    here = Path(__file__)
    digest = sha256()
    for path in sorted(here.parent.glob("host_*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")


def _cached_entry(fingerprint: int) -> Any:
    """The compiled entry, cached between processes.

    Numba looks only at the file of a cached function to see whether it changed, not at the functions it calls: a label could come
    from code that is no longer there. What a function closes over is part of the cache's key, though; so only this
    entry is cached, and it closes over the fingerprint of all sources.
    """

    @njit(cache=True, nogil=True)
    def entry(boards, size, num_agents, holes, starts, goals, by_makespan, max_steps, thorough, out):  # type: ignore[no-untyped-def]
        _solve_some(boards, size, num_agents, holes, starts, goals, by_makespan, max_steps, thorough, out)
        return fingerprint

    return entry


_FINGERPRINT = _source_fingerprint()
_entry = _cached_entry(_FINGERPRINT)


def host_solve(
    size: np.ndarray,
    num_agents: np.ndarray,
    holes: np.ndarray,
    starts: np.ndarray,
    goals: np.ndarray,
    objective: str = "sum_of_costs",
    max_steps: int | None = None,
) -> dict[str, np.ndarray]:
    """Label well-formed boards (arrays as in `Instances`); keys as in `Solutions`, and the plans' actions and lengths.

    `max_steps` bounds each of the searches that a board needs. With few steps (at most a quick look's) neither pair
    tables nor exhaustion are tried, so that a caller who wants only easy boards pays for no others.
    """
    size, num_agents = np.ascontiguousarray(size, np.int32), np.ascontiguousarray(num_agents, np.int32)
    holes = np.ascontiguousarray(holes, np.bool_)
    starts, goals = np.ascontiguousarray(starts, np.int32), np.ascontiguousarray(goals, np.int32)
    boards, agents = starts.shape[:2]
    steps = DEFAULT_MAX_STEPS if max_steps is None else int(max_steps)
    by_makespan = objective == "makespan"
    status = np.full(boards, _UNDETERMINED, np.int32)
    sum_of_costs = np.full(boards, -1, np.int32)
    makespan = np.full(boards, -1, np.int32)
    lower_bound = np.zeros(boards, np.int32)
    single_path_bound = np.zeros(boards, np.int32)
    needs_wait = np.zeros(boards, np.bool_)
    actions = np.zeros((boards, agents, MAX_PLAN), np.int8)
    lengths = np.zeros((boards, agents), np.int32)
    out = (status, sum_of_costs, makespan, lower_bound, needs_wait, single_path_bound, actions, lengths)

    def work(chosen: np.ndarray, thorough: bool) -> None:
        made_from = _entry(chosen, size, num_agents, holes, starts, goals, by_makespan, steps, thorough, out)
        if made_from != _FINGERPRINT:
            raise RuntimeError("the solver's compiled code is stale; delete jaxenv/__pycache__")

    def share(chosen: np.ndarray, chunk: int, thorough: bool) -> None:
        parts = [chosen[k : k + chunk] for k in range(0, len(chosen), chunk)]
        threads = min(numba.get_num_threads(), len(parts))
        if threads <= 1:
            for part in parts:
                work(part, thorough)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, parts, [thorough] * len(parts)))

    share(np.arange(boards), _CHUNK, False)
    if steps > _QUICK_STEPS:
        share(np.flatnonzero(status == _UNDETERMINED), _HARD_CHUNK, True)
    return {
        "status": status,
        "sum_of_costs": sum_of_costs,
        "makespan": makespan,
        "lower_bound": lower_bound,
        "single_path_bound": single_path_bound,
        "needs_wait": needs_wait,
        "actions": actions,
        "lengths": lengths,
    }
