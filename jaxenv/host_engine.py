"""The host engine: every label of every board, by searches that grow from a quick look to the hard tail.

`host_solve` takes and gives plain NumPy arrays. Boards are independent; a pool of threads (as many as Numba is set to)
takes them in chunks, and the compiled code holds no interpreter lock. All limits are counts, so a label never depends
on the machine.

A board first gets a quick search with a small table of nogoods. What is left open is looked at in rounds, each with
more of everything: the joint space is exhausted from both ends (unless the board is known to be solvable; and in the
first round only on crowded maps, for with more room few are not), then it is searched, up to `max_steps`, with what is
known of pairs: their excesses, and from the second of these rounds on their times, for few boards have a makespan that
is hard to find once the plan of the least sum of costs is known.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit

from jaxenv.bitmap import WIDTH
from jaxenv.compiled import fingerprint
from jaxenv.host_exhaust import UNKNOWN, UNREACHABLE_TOGETHER, can_get_home
from jaxenv.host_graph import MAX_AGENTS, UNREACHABLE, Board, fill_distances, link_cells, number_cells
from jaxenv.host_label import Tables, costs, label_board
from jaxenv.host_pair_tables import fill_pair_excesses
from jaxenv.host_pairs import MAX_PAIRS, pair_bound
from jaxenv.host_search import MAX_DEPTH, new_work
from jaxenv.threads import for_each

DEFAULT_MAX_STEPS = 10_000_000
MAX_PLAN = 128  # the largest horizon a plan is stored with

_UNDETERMINED, _OPTIMAL, _UNSOLVABLE = 0, 1, 2
# Rounds, the quick look first: steps and nogoods of each search, and states kept from each end when the joint space is
# exhausted.
_STEPS = (1_000, 10_000, 200_000, 1 << 62)
_NOGOOD_BITS = (10, 13, 16, 20)
_ENTRIES = (0, 1 << 12, 1 << 15, 1 << 20)
_FIRST_WITH_PAIR_TIMES = 2
# Boards a thread takes at once: many easy ones (but enough parts for all threads), few hard ones.
_CHUNK = 512
_PARTS_PER_THREAD = 4
_HARD_CHUNK = 4


@njit(nogil=True)
def _is_crowded(cells: Any, agents: Any) -> Any:
    """Fewer free cells than agents, once they stand."""
    return cells < 2 * agents


@njit(nogil=True)
def _write_solution(b, board, singles, result, path, cells, out):  # type: ignore[no-untyped-def]
    """The costs and the plan of board b."""
    _, out_sum, out_makespan, _, out_waits, _, actions, lengths = out
    depth = result[3]
    out_sum[b] = singles + result[0]
    out_makespan[b] = result[1]
    out_waits[b] = result[2] != 0
    arrivals = np.empty(MAX_AGENTS, np.int64)
    costs(path, depth, board.goals, board.num_agents, arrivals)
    for i in range(board.num_agents):
        lengths[b, i] = arrivals[i]
        for t in range(arrivals[i]):
            down = cells[path[t + 1, i], 0] - cells[path[t, i], 0]
            right = cells[path[t + 1, i], 1] - cells[path[t, i], 1]
            if down != 0:
                actions[b, i, t] = 1 if down < 0 else 2
            elif right != 0:
                actions[b, i, t] = 3 if right < 0 else 4


@njit(nogil=True)
def _solve_some(  # type: ignore[no-untyped-def]
    boards, size, num_agents, holes, starts, goals, by_makespan, cost_alone, max_steps, thorough, out
):
    """Label the boards numbered in `boards`: a quick look at each, or (`thorough`) all rounds after it."""
    out_status, _, _, out_bound, _, out_single, _, _ = out
    area = holes.shape[1] * holes.shape[1]
    number = np.empty((holes.shape[1], holes.shape[1]), np.int32)
    cells = np.empty((area, 2), np.int32)
    neighbours = np.empty((area, 4), np.int32)
    codes = np.empty(area, np.int64)
    to_goals = np.empty((MAX_AGENTS, area), np.int32)
    to_starts = np.empty((MAX_AGENTS, area), np.int32)
    queue = np.empty(area, np.int32)
    room = MAX_PAIRS * (area + 1) ** 2 if thorough else 0
    excess_room, time_room = np.empty(room, np.int16), np.empty(room, np.int16)
    nogoods = np.empty(1 << _NOGOOD_BITS[0], np.uint64)
    work = new_work()
    path = np.empty((MAX_DEPTH + 1, MAX_AGENTS), np.int64)
    result = np.zeros(4, np.int64)
    first = np.empty(MAX_AGENTS, np.int64)
    last = np.empty(MAX_AGENTS, np.int64)
    rounds = range(1, len(_STEPS)) if thorough else range(0, 1)
    for b in boards:
        n = np.int64(num_agents[b])
        count = np.int64(number_cells(holes[b], size[b], number, cells))
        link_cells(number, cells, count, size[b], neighbours)
        for k in range(count):
            codes[k] = WIDTH * cells[k, 0] + cells[k, 1]
        singles = np.int64(0)
        longest = np.int64(0)
        for i in range(n):
            first[i] = number[starts[b, i, 0], starts[b, i, 1]]
            last[i] = number[goals[b, i, 0], goals[b, i, 1]]
            fill_distances(neighbours, count, last[i], to_goals[i], queue)
            singles += to_goals[i, first[i]]
            longest = max(longest, np.int64(to_goals[i, first[i]]))
        if longest >= UNREACHABLE:
            out_status[b] = _UNSOLVABLE
            out_bound[b] = -1
            out_single[b] = -1
            continue
        width = count + 1 if thorough else 0
        shape = (MAX_PAIRS, width, width)
        most = MAX_PAIRS * width * width
        excesses, times = excess_room[:most].reshape(shape), time_room[:most].reshape(shape)
        board = Board(neighbours, codes, to_goals, first, last, n, count)
        result[0] = 0
        result[1] = longest
        status = _UNDETERMINED
        solvable = UNKNOWN
        if thorough:
            for i in range(n):
                fill_distances(neighbours, count, first[i], to_starts[i], queue)
            if fill_pair_excesses(board, excesses):
                result[0] = pair_bound(first, n, excesses, count, 0)[0]
            else:
                solvable = UNREACHABLE_TOGETHER
        for k in rounds:
            if thorough:
                if solvable == UNKNOWN and (k > 1 or _is_crowded(count, n)):
                    solvable = can_get_home(board, to_starts, _ENTRIES[k])
                if solvable == UNREACHABLE_TOGETHER:
                    status = _UNSOLVABLE
                    break
                nogoods = np.empty(1 << _NOGOOD_BITS[k], np.uint64)
            tables = Tables(nogoods, thorough, k >= _FIRST_WITH_PAIR_TIMES, excesses, times)
            steps = min(max_steps, _STEPS[k])
            if label_board(board, singles, by_makespan, cost_alone, steps, tables, work, path, result):
                if result[3] <= MAX_PLAN:
                    status = _OPTIMAL
                break
        out_status[b] = status
        out_single[b] = longest if by_makespan else singles
        if status == _UNSOLVABLE:
            out_bound[b] = out_single[b]
        else:
            out_bound[b] = result[1] if by_makespan else singles + result[0]
        if status == _OPTIMAL:
            _write_solution(b, board, singles, result, path, cells, out)


def _cached_entry(made_from: int) -> Any:
    """The compiled entry, cached as `jaxenv.compiled` says."""

    @njit(cache=True, nogil=True)
    def entry(  # type: ignore[no-untyped-def]
        boards, size, num_agents, holes, starts, goals, by_makespan, cost_alone, max_steps, thorough, out
    ):
        _solve_some(boards, size, num_agents, holes, starts, goals, by_makespan, cost_alone, max_steps, thorough, out)
        return made_from

    return entry


_FINGERPRINT = fingerprint(["bitmap", *sorted(path.stem for path in Path(__file__).parent.glob("host_*.py"))])
_entry = _cached_entry(_FINGERPRINT)


def host_solve(
    size: np.ndarray,
    num_agents: np.ndarray,
    holes: np.ndarray,
    starts: np.ndarray,
    goals: np.ndarray,
    objective: str = "sum_of_costs",
    max_steps: int | None = None,
    *,
    cost_alone: bool = False,
) -> dict[str, np.ndarray]:
    """Label well-formed boards (arrays as in `Instances`); keys as in `Solutions`, and the plans' actions and lengths.

    `max_steps` bounds each of the searches that a board needs. With few steps (at most a quick look's) neither pair
    tables nor exhaustion are tried, so that a caller who wants only easy boards pays for no others. `cost_alone` is for
    comparisons with solvers that find no more: the sum of costs and a plan, makespan -1, needs_wait False.
    """
    # Numba compiles once more for every other dtype, layout and for read-only arrays (which JAX hands out).
    size, num_agents, starts, goals = (np.require(x, np.int32, ["C", "W"]) for x in (size, num_agents, starts, goals))
    holes = np.require(holes, np.bool_, ["C", "W"])
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
        made_from = _entry(
            chosen, size, num_agents, holes, starts, goals, by_makespan, cost_alone, steps, thorough, out
        )
        if made_from != _FINGERPRINT:
            raise RuntimeError("the solver's compiled code is stale; delete jaxenv/__pycache__")

    def share(chosen: np.ndarray, chunk: int, thorough: bool) -> None:
        parts = [chosen[k : k + chunk] for k in range(0, len(chosen), chunk)]
        for_each(partial(work, thorough=thorough), parts, numba.get_num_threads())

    share(np.arange(boards), min(_CHUNK, 1 + boards // (_PARTS_PER_THREAD * numba.get_num_threads())), False)
    if steps > _STEPS[0]:
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
