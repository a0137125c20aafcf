"""The rules of the world for one plan after another, compiled by numba; `jaxenv.verify_host` hands them out to threads.

An agent's cells after 32 steps are 32 bytes (the codes of `jaxenv.lanes`), made at once from its 32 actions. Whether
two agents meet or swap at any of the steps is then a few operations. A plan is followed, 32 steps at a time, to its
first offence or to the end of its longest list.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from jaxenv.bytelanes import (
    WIDTH,
    below,
    both,
    choose,
    counting,
    either,
    equal,
    fetch,
    load,
    look_up,
    minus,
    plus,
    running_sum,
    splat,
    store,
    top_bits,
    zeros_above,
    zeros_below,
)
from jaxenv.lanes import OUT
from jaxenv.types import HORIZONS, Action, Label, Status

_WAYS = HORIZONS[-1] // WIDTH
_OUT = np.uint8(OUT)
_UP, _DOWN, _LEFT, _RIGHT = (np.uint8(action) for action in (Action.UP, Action.DOWN, Action.LEFT, Action.RIGHT))
_READ, _PARSE_ERROR, _TOO_LONG = int(Label.READ), int(Label.PARSE_ERROR), int(Label.TOO_LONG)
_OFF_MAP, _HOLE, _VERTEX, _SWAP = (
    int(label) for label in (Label.OFF_MAP, Label.HOLE, Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT)
)
_GOAL, _SUBOPTIMAL, _OPTIMAL, _FAULT = (
    int(label) for label in (Label.GOAL_NOT_REACHED, Label.SUBOPTIMAL, Label.OPTIMAL, Label.SOLVER_FAULT)
)
_CERTIFIED, _UNSOLVABLE = int(Status.OPTIMAL), int(Status.UNSOLVABLE)
_ONE, _SIX, _ALL = np.uint64(1), np.uint64(6), np.uint64(63)
_LINE = 64  # bytes of memory that come at once
_AHEAD = 16  # boards
_EVERY_STEP = np.uint32(0xFFFFFFFF)

_compiled = njit(nogil=True, forceinline=True)


def rows_and_columns(side: int) -> NDArray[np.uint8]:
    """u8[2, 256]; row and column of every code. One reached from a map's cell is on it if both are below its size."""
    return np.stack(np.divmod(np.arange(256), side + 1)).astype(np.uint8)


@_compiled
def _code(row, col, edge, width):  # type: ignore[no-untyped-def]
    inside = (np.uint32(row) < np.uint32(edge)) & (np.uint32(col) < np.uint32(edge))
    return np.uint8(row * width + col) if inside else _OUT


@_compiled
def _fetch_board(b, most, area, horizon, holes, starts, goals, actions, lengths):  # type: ignore[no-untyped-def]
    """Ask for the memory of a board that comes later: there are more arrays than a processor foresees by itself."""
    for offset in range(b * area, (b + 1) * area, _LINE):
        fetch(holes, offset)
    for offset in range(b * most * horizon, (b + 1) * most * horizon, _LINE):
        fetch(actions, offset)
    fetch(starts, b * most * 8)
    fetch(goals, b * most * 8)
    fetch(lengths, b * most * 4)


@_compiled
def _find_free(holes, offset, side, edge, free):  # type: ignore[no-untyped-def]
    """Set the bit of every code where an agent may be, in u64[5], of which the last stays empty."""
    free[:] = 0
    for row in range(edge):
        no_hole = equal(load(holes, offset + row * side), splat(np.uint8(0)))
        cells = np.uint64(top_bits(no_hole)) & ((_ONE << np.uint64(edge)) - _ONE)
        first = np.uint64(row * (side + 1))
        word, bit = first >> _SIX, first & _ALL
        free[word] |= cells << bit
        free[word + _ONE] |= (cells >> _ONE) >> (_ALL - bit)


@_compiled
def _is_free(free, code):  # type: ignore[no-untyped-def]
    return (free[np.uint64(code) >> _SIX] >> (np.uint64(code) & _ALL)) & _ONE


@_compiled
def _free_steps(now, row, n, free, narrow):  # type: ignore[no-untyped-def]
    """u32: the steps after which nobody is where nobody may be."""
    well = splat(np.uint8(255))
    for a in range(n):
        codes = load(now, WIDTH * (row + a))
        found = look_up(free[0], free[1], codes)
        if not narrow:
            found = choose(codes, look_up(free[2], free[3], codes), found)
        well = both(well, found)
    return top_bits(well)


@_compiled
def _collisions(now, row, before, n):  # type: ignore[no-untyped-def]
    """u32: the steps at which two agents meet or swap."""
    hits = splat(np.uint8(0))
    for i in range(n):
        now_i = load(now, WIDTH * (row + i))
        before_i = load(before, WIDTH * i)
        for j in range(i + 1, n):
            now_j = load(now, WIDTH * (row + j))
            swap = both(equal(now_i, load(before, WIDTH * j)), equal(before_i, now_j))
            hits = either(hits, either(equal(now_i, now_j), swap))
    return top_bits(hits)


@_compiled
def _name_offence(now, row, before, at, n, edge, free, coordinates, collide, around):  # type: ignore[no-untyped-def]
    """Bits of all labels that hold at step `at`, the first label, its agents, and the code of its cell."""
    off = np.uint32(0)
    stuck = np.uint32(0)
    for a in range(n):
        code, left = now[row + a, at], before[a, at]
        around[0, a] = code
        around[1, a] = left
        outside = (coordinates[0, code] >= edge) | (coordinates[1, code] >= edge) | (left == _OUT)
        off |= np.uint32(outside) << np.uint32(a)
        stuck |= np.uint32(_is_free(free, code) == 0) << np.uint32(a)
    holes = stuck & ~off
    flags = np.uint32(off != 0) << np.uint32(_OFF_MAP) | np.uint32(holes != 0) << np.uint32(_HOLE)
    label = _OFF_MAP if off else _HOLE
    first = np.int64(zeros_below(off if off else holes))
    second = np.int64(-1)
    if not collide:
        return flags, label, first, second, around[1 if off else 0, first]
    meeting = swapping = False
    for i in range(n):
        for j in range(i + 1, n):
            # The end of a row and the beginning of the next share their codes beyond the map.
            apart = (off >> np.uint32(i)) & (off >> np.uint32(j)) & np.uint32(around[1, i] != around[1, j])
            if around[0, i] == around[0, j] and not apart & np.uint32(1):
                if not meeting and not flags:
                    label, first, second = _VERTEX, i, j
                meeting = True
    for i in range(n):
        for j in range(i + 1, n):
            if around[0, i] == around[1, j] and around[0, j] == around[1, i]:
                if not swapping and not meeting and not flags:
                    label, first, second = _SWAP, i, j
                swapping = True
    flags |= np.uint32(meeting) << np.uint32(_VERTEX) | np.uint32(swapping) << np.uint32(_SWAP)
    return flags, label, first, second, around[1 if off else 0, first]


@_compiled
def _arrivals(now, b, n, most, ways, start, place, goals, edge, width):  # type: ignore[no-untyped-def]
    """The smallest agent that does not end on its goal, or -1 and the sum and the maximum of the agents' costs."""
    total = latest = np.int64(0)
    for a in range(n):
        goal = _code(goals[b, a, 0], goals[b, a, 1], edge, width)
        if place[a] != goal:
            return np.int64(a), np.int64(-1), np.int64(-1)
        cost = np.int64(start[a] != goal)
        for way in range(ways - 1, -1, -1):
            there = top_bits(equal(load(now, WIDTH * (way * most + a)), splat(goal)))
            if there != _EVERY_STEP:
                cost = np.int64(WIDTH * way + WIDTH + 1) - np.int64(zeros_above(~there))
                break
        total += cost
        latest = max(latest, cost)
    return np.int64(-1), total, latest


@njit(nogil=True)
def judge_boards(first_board, past_board, side, given, by_makespan, found):  # type: ignore[no-untyped-def]
    """Write the verdicts of some boards.

    `given` are the fields of boards, plans and labels as `jaxenv.verify_host` puts them together, `found` those of
    `Verdicts` in their order.
    """
    size, num_agents, holes, last_holes, starts, goals = given[:6]
    actions, lengths, outcomes, status, best_sum, best_makespan, coordinates = given[6:]
    labels, all_flags, valid, optimal, sum_of_costs, makespan, gap, steps, agents, cells = found
    boards, most = lengths.shape
    horizon = actions.shape[2]
    width = side + 1
    area = side * side
    wide = splat(np.uint8(width))
    narrow = width * width <= 128
    free = np.empty(5, np.uint64)
    now = np.empty((_WAYS * most, WIDTH), np.uint8)
    before = np.empty((most, WIDTH), np.uint8)
    around = np.empty((2, most), np.uint8)
    start = np.empty(most, np.uint8)
    place = np.empty(most, np.uint8)
    for b in range(first_board, past_board):
        _fetch_board(b + _AHEAD, most, area, horizon, holes, starts, goals, actions, lengths)
        n = min(max(np.int64(num_agents[b]), 0), most)
        edge = min(max(np.int64(size[b]), 0), side)
        longest = np.int64(0)
        negative = lost = False
        for a in range(n):
            start[a] = _code(starts[b, a, 0], starts[b, a, 1], edge, width)
            place[a] = start[a]
            lost |= start[a] == _OUT
            longest = max(longest, np.int64(lengths[b, a]))
            negative |= lengths[b, a] < 0
        label = np.int64(outcomes[b])
        if label == _READ:
            label = _TOO_LONG if longest > horizon else _PARSE_ERROR if negative else _READ
        ways = max((longest + WIDTH - 1) // WIDTH, 1) if label == _READ else 0
        if ways:
            if b * area + WIDTH + area <= boards * area:
                _find_free(holes, b * area, side, edge, free)
            else:
                _find_free(last_holes, len(last_holes) - WIDTH - (boards - b) * area, side, edge, free)
        unknown = splat(np.uint8(0))
        step = first = second = np.int64(-1)
        code = _OUT
        flags = np.uint32(0)
        offence = _READ
        for way in range(ways):
            row = way * most
            for a in range(n):
                left = min(max(np.int64(lengths[b, a]) - WIDTH * way, 0), WIDTH)
                within = below(counting(), splat(np.uint8(left)))
                action = both(load(actions, (b * most + a) * horizon + WIDTH * way), within)
                unknown = either(unknown, below(splat(_RIGHT), action))
                along = minus(equal(action, splat(_LEFT)), equal(action, splat(_RIGHT)))
                across = minus(both(equal(action, splat(_DOWN)), wide), both(equal(action, splat(_UP)), wide))
                change = plus(along, across)
                codes = plus(running_sum(change), splat(place[a]))
                store(now, WIDTH * (row + a), codes)
                store(before, WIDTH * a, minus(codes, change))
            if step < 0:
                collisions = _collisions(now, row, before, n)
                at = np.int64(zeros_below(collisions | ~_free_steps(now, row, n, free, narrow)))
                if lost:
                    at = np.int64(0)  # whoever starts off the map is off it, wherever its actions lead
                if at < WIDTH:
                    step = WIDTH * way + at
                    collide = (collisions >> np.uint32(at)) & np.uint32(1)
                    flags, offence, first, second, code = _name_offence(
                        now, row, before, at, n, edge, free, coordinates, collide, around
                    )
            for a in range(n):
                place[a] = now[row + a, WIDTH - 1]
        if top_bits(unknown):
            label = _PARSE_ERROR
            step = first = second = np.int64(-1)
            code = _OUT
        is_valid = best_found = False
        total = latest = np.int64(-1)
        excess = np.float32(np.nan)
        if label != _READ:
            flags = np.uint32(1) << np.uint32(label) if 0 <= label < 32 else np.uint32(0)
        elif step >= 0:
            label = offence
        else:
            first, total, latest = _arrivals(now, b, n, most, ways, start, place, goals, edge, width)
            is_valid = first < 0
            label, flags = _GOAL, np.uint32(1 << _GOAL)
        if is_valid:
            certified = status[b] == _CERTIFIED
            cost = latest if by_makespan else total
            best = np.int64(best_makespan[b] if by_makespan else best_sum[b])
            best_found = certified and cost == best
            label = _OPTIMAL if best_found else _SUBOPTIMAL
            if certified:
                excess = np.float32(np.int32(cost - best)) / np.float32(max(best, 1))
            cheaper = certified and (total < best_sum[b] or latest < best_makespan[b])
            flags = np.uint32(1 << _FAULT) if cheaper or status[b] == _UNSOLVABLE else np.uint32(0)
        labels[b] = label
        all_flags[b] = flags
        valid[b] = is_valid
        optimal[b] = best_found
        sum_of_costs[b] = total
        makespan[b] = latest
        gap[b] = excess
        steps[b] = step
        agents[b, 0] = first
        agents[b, 1] = second
        cells[b, 0] = -1 if code == _OUT else np.int32(coordinates[0, code])
        cells[b, 1] = -1 if code == _OUT else np.int32(coordinates[1, code])
