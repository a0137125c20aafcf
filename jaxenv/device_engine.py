"""The device engine: the labels of many boards by searches that run side by side on a CPU, GPU or TPU.

`device_solve` takes and gives plain NumPy arrays, like `host_engine.host_solve`, and finds the same labels by the same
search, without the host's tools for the hard tail (pair tables, exhaustion): what it cannot finish is UNDETERMINED. It
labels in up to three passes, each a queue of searches:

1. the least sum of costs, as excess above the single shortest paths;
2. the least makespan where that plan's is above the longest single path, and, if the sum of costs is the objective, an
   equally cheap plan without a wait where that plan has one (an odd excess always has: a step costs 0, 1 or 2);
3. if the makespan is the objective, an equally fast plan without a wait where the fastest one found has one.
"""

from typing import NamedTuple

import numpy as np

from jaxenv.device_graph import UNREACHABLE
from jaxenv.device_queue import Found, Group, search
from jaxenv.device_search import MAX_BUDGET
from jaxenv.types import Status

DEFAULT_MAX_STEPS = 1_000
MAX_PLAN = 128  # the largest horizon a plan is stored with


class _Labels(NamedTuple):
    """What is known of each board while it is labelled; later passes improve it in place."""

    status: np.ndarray  # i32[B]
    sum_of_costs: np.ndarray  # i32[B]
    makespan: np.ndarray  # i32[B]
    lower_bound: np.ndarray  # i32[B]
    single_path_bound: np.ndarray  # i32[B]
    needs_wait: np.ndarray  # bool[B]
    actions: np.ndarray  # i8[B, N, MAX_DEPTH]
    lengths: np.ndarray  # i32[B, N]


def _label(boards: Group, by_makespan: bool, max_steps: int, cost_alone: bool) -> _Labels:
    """Every label of boards of one number of agents, or the sum of costs and its plan alone."""
    everyone = np.arange(len(boards.starts))
    found = search(boards, everyone, by_time=False, no_wait=False, low=0, high=MAX_BUDGET, max_steps=max_steps)
    cut_off = (found.alone == UNREACHABLE).any(1)
    singles, longest = found.alone.sum(1), found.alone.max(1)
    if (found.solved & (found.costs.sum(1) != singles + found.budget)).any():
        raise RuntimeError("the solver's plan does not cost what it claims: report this board")
    single_path_bound = np.where(cut_off, -1, longest if by_makespan else singles)
    labels = _Labels(
        status=np.where(found.solved, Status.OPTIMAL, Status.UNDETERMINED),
        sum_of_costs=singles + found.budget,
        makespan=found.costs.max(1),
        lower_bound=np.where(cut_off, -1, longest if by_makespan else singles + found.budget),
        single_path_bound=single_path_bound,
        needs_wait=found.waits.copy(),
        actions=found.actions.copy(),
        lengths=found.costs.copy(),
    )
    labels.status[cut_off] = Status.UNSOLVABLE
    if cost_alone:
        return labels._replace(makespan=np.full_like(labels.makespan, -1), needs_wait=np.zeros_like(labels.needs_wait))

    # Both kinds of search of the second pass in one queue.
    faster = np.flatnonzero(found.solved & (longest < labels.makespan))
    even = found.solved & found.waits & (found.budget % 2 == 0)
    without = np.flatnonzero(even & (not by_makespan))
    excess = found.budget
    by_time = np.arange(len(faster) + len(without)) < len(faster)
    second = search(
        boards,
        np.concatenate([faster, without]),
        by_time=by_time,
        no_wait=~by_time,
        low=np.concatenate([longest[faster], excess[without]]),
        high=np.concatenate([labels.makespan[faster] - 1, excess[without]]),
        max_steps=max_steps,
    )
    times, waitless = (Found(*(x[part] for x in second)) for part in (by_time, ~by_time))
    _take_times(labels, faster, times, by_makespan)
    _take_waitless(labels, without, waitless, singles[without] + excess[without], waitless.costs.sum(1))

    if by_makespan:
        solved = labels.status == Status.OPTIMAL
        labels.lower_bound[solved] = labels.makespan[solved]
        without = np.flatnonzero(solved & labels.needs_wait)
        time = labels.makespan[without]
        third = search(boards, without, by_time=True, no_wait=True, low=time, high=time, max_steps=max_steps)
        _take_waitless(labels, without, third, time, third.costs.max(1))
    return labels


def _take_times(labels: _Labels, boards: np.ndarray, found: Found[np.ndarray], by_makespan: bool) -> None:
    """Lower the makespans of `boards`; where the search gave up they are not known."""
    time = np.where(found.solved, found.budget, labels.makespan[boards])
    if (found.solved & (found.costs.max(1, initial=0) != time)).any():
        raise RuntimeError("the solver's plan does not take the time it claims: report this board")
    open_ = found.gave_up
    labels.makespan[boards] = time
    labels.status[boards[open_]] = Status.UNDETERMINED
    if by_makespan:
        labels.lower_bound[boards] = found.budget
        better = boards[found.solved]
        labels.needs_wait[better] = found.waits[found.solved]
        labels.actions[better] = found.actions[found.solved]
        labels.lengths[better] = found.costs[found.solved]


def _take_waitless(
    labels: _Labels, boards: np.ndarray, found: Found[np.ndarray], optimum: np.ndarray, cost: np.ndarray
) -> None:
    """Say of `boards`, whose plan has a wait, whether one of the same cost has none."""
    if (found.solved & (found.waits | (cost != optimum))).any():
        raise RuntimeError("the solver's plan without waits is none, or costs more: report this board")
    labels.needs_wait[boards] = ~found.solved
    labels.status[boards[found.gave_up]] = Status.UNDETERMINED


def device_solve(
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

    `max_steps` bounds each of the searches that a board needs, and is rounded up to a full joint step. `cost_alone`:
    only the first pass, by the sum of costs, as for `host_solve`.
    """
    boards, agents = starts.shape[:2]
    width = holes.shape[-1]
    out = {
        name: np.zeros(boards, np.int32)
        for name in ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound")
    }
    out["needs_wait"] = np.zeros(boards, np.bool_)
    out["actions"] = np.zeros((boards, agents, MAX_PLAN), np.int8)
    out["lengths"] = np.zeros((boards, agents), np.int32)
    outside = np.arange(width) >= size[:, None]
    holes = holes | outside[:, :, None] | outside[:, None, :]
    for n in np.unique(num_agents):
        chosen = np.flatnonzero(num_agents == n)
        cells = (np.asarray(x[chosen, :n, 0] * width + x[chosen, :n, 1], np.int32) for x in (starts, goals))
        labels = _label(
            Group(holes[chosen], *cells),
            objective == "makespan",
            DEFAULT_MAX_STEPS if max_steps is None else max_steps,
            cost_alone,
        )
        optimal = labels.status == Status.OPTIMAL
        for name in ("status", "lower_bound", "single_path_bound"):
            out[name][chosen] = getattr(labels, name)
        for name in ("sum_of_costs", "makespan"):
            out[name][chosen] = np.where(optimal, getattr(labels, name), -1)
        out["needs_wait"][chosen] = labels.needs_wait & optimal
        solved = chosen[optimal]
        out["actions"][solved, :n, : labels.actions.shape[2]] = labels.actions[optimal]
        out["lengths"][solved, :n] = labels.lengths[optimal]
    return out
