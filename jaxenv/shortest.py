"""Boards that need no search: every agent walks a shortest path of its own and none disturbs another.

Agents are planned one after another, each over all its shortest paths at once, as sets of cells per time step. Where
that works out, every agent pays what it would pay alone, which no plan can beat, and nobody waits: the plan is a
certificate for both optimal costs and for `needs_wait` being false. Where it fails nothing is known.
"""

from typing import Any

import numba

from jaxenv.bitmap import WIDTH, ZERO, beside, cell_of, holds, last_cell_of, only

LONGEST = 63  # steps of a path that is looked for
ATTEMPTS = 4


@numba.njit(nogil=True)
def undisturbed(
    low: Any, high: Any, num_agents: Any, ends: Any, attempt: Any, layers: Any, back: Any, paths: Any, lengths: Any
) -> Any:
    """Whether such a plan was found for the free cells `low`, `high`.

    The ATTEMPTS differ: odd ones plan the last agent first, and from 2 on the other one of two ways is taken.
    Writes the cells of agent a at times 0 .. lengths[a] to `paths[a]`; `layers` and `back` are u64[LONGEST + 1, 2].
    """
    reverse = attempt % 2 == 1
    for order in range(num_agents):
        agent = num_agents - 1 - order if reverse else order
        start, goal = ends[agent, 0], ends[agent, 1]
        # layers[t]: the cells at distance t from the start
        at_low, at_high = only(start)
        seen_low, seen_high = at_low, at_high
        layers[0, 0], layers[0, 1] = at_low, at_high
        steps = 0
        while not holds(at_low, at_high, goal):
            if steps == LONGEST:
                return False
            at_low, at_high = beside(at_low, at_high)
            at_low &= low & ~seen_low
            at_high &= high & ~seen_high
            seen_low |= at_low
            seen_high |= at_high
            steps += 1
            layers[steps, 0], layers[steps, 1] = at_low, at_high
        for before in range(order):  # it stays at its goal: nobody may come by later
            other = num_agents - 1 - before if reverse else before
            for t in range(steps, lengths[other]):
                if paths[other, t] == goal:
                    return False
        # back[t]: the cells at time t from which a path leads to the goal
        back[steps, 0], back[steps, 1] = only(goal)
        for t in range(steps - 1, -1, -1):
            next_low, next_high = back[t + 1, 0], back[t + 1, 1]
            at_low, at_high = beside(next_low, next_high)
            at_low &= layers[t, 0]
            at_high &= layers[t, 1]
            for before in range(order):
                other = num_agents - 1 - before if reverse else before
                here = paths[other, min(t, lengths[other])]
                here_low, here_high = only(here)
                at_low &= ~here_low
                at_high &= ~here_high
                if t < lengths[other]:
                    there = paths[other, t + 1]
                    if holds(at_low, at_high, there):  # from there it must not go here, which would be a swap
                        there_low, there_high = only(there)
                        out_low, out_high = beside(there_low, there_high)
                        if out_low & next_low & ~here_low == ZERO and out_high & next_high & ~here_high == ZERO:
                            at_low &= ~there_low
                            at_high &= ~there_high
            if at_low == ZERO and at_high == ZERO:
                return False
            back[t, 0], back[t, 1] = at_low, at_high
        cell = start
        paths[agent, 0] = cell
        for t in range(steps):
            cell_low, cell_high = only(cell)
            at_low, at_high = beside(cell_low, cell_high)
            at_low &= back[t + 1, 0]
            at_high &= back[t + 1, 1]
            for before in range(order):
                other = num_agents - 1 - before if reverse else before
                if t < lengths[other] and paths[other, t + 1] == cell:
                    here_low, here_high = only(paths[other, t])
                    at_low &= ~here_low
                    at_high &= ~here_high
            cell = cell_of(at_low, at_high) if attempt < 2 else last_cell_of(at_low, at_high)
            paths[agent, t + 1] = cell
        lengths[agent] = steps
    return True


@numba.njit(nogil=True)
def action_of(here: Any, there: Any) -> Any:
    """The `Action` that leads from a cell to one beside it."""
    step = there - here
    if step == -WIDTH:
        return 1
    if step == WIDTH:
        return 2
    return 3 if step == -1 else 4
