"""What became of plans that were followed: what went wrong, who arrived, and the verdicts; compiled by numba.

Boards lie side by side as in `jaxenv.verify_kernel`, 32 from `tile` on at a time.
"""

import numpy as np
from numba import njit

from jaxenv.bytelanes import WIDTH, both, choose, either, equal, larger, load, splat, store, top_bits, without
from jaxenv.lanes import OUT
from jaxenv.types import Label, Status
from jaxenv.verify_layout import (
    AFTER_OFFENCE,
    BEFORE_OFFENCE,
    CODE,
    COSTS,
    FAILED,
    FIRST,
    GOAL,
    KINDS,
    LABEL,
    LATEST,
    NOW,
    OFF,
    SECOND,
    STEP,
    get_row,
    in_tables,
    set_row,
)

_OUT, _ZERO, _ALL = np.uint8(OUT), np.uint8(0), np.uint8(255)
_NOBODY = np.uint8(255)  # as i8 it is -1
_READ, _OFF_MAP, _GOAL, _SUBOPTIMAL, _OPTIMAL, _FAULT = (
    np.int32(label)
    for label in (
        Label.READ,
        Label.OFF_MAP,
        Label.GOAL_NOT_REACHED,
        Label.SUBOPTIMAL,
        Label.OPTIMAL,
        Label.SOLVER_FAULT,
    )
)
_LEFT, _FELL, _MET, _SWAPPED = (
    np.uint8(label) for label in (Label.OFF_MAP, Label.HOLE, Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT)
)
_CERTIFIED, _UNSOLVABLE = int(Status.OPTIMAL), int(Status.UNSOLVABLE)
# The kinds of offence as bits, in the order of their labels.
_OFF, _IN_HOLE, _MEET, _EXCHANGE = (np.uint8(1 << k) for k in range(4))

_pass = njit(nogil=True)


@_pass
def see_arrivals(tile, agents, followed, turned, ends, totals):
    """Write the smallest agent that does not end on its goal, or 255, and the maximum and sum of the costs.

    It is named alone and without a cell, until `name_offences` knows better; of boards that nobody follows, no agent.
    """
    away, latest = splat(_NOBODY), splat(_ZERO)
    for a in range(agents - 1, -1, -1):
        away = choose(equal(get_row(turned, NOW + a), get_row(turned, GOAL + a)), away, splat(np.uint8(a)))
        latest = larger(latest, get_row(turned, COSTS + a))
    row = ends.shape[1]
    store(ends, LABEL * row + tile, splat(_ZERO))
    store(ends, FIRST * row + tile, choose(load(followed, tile), away, splat(_NOBODY)))
    store(ends, SECOND * row + tile, splat(_NOBODY))
    store(ends, CODE * row + tile, splat(_OUT))
    store(ends, LATEST * row + tile, latest)
    for k in range(WIDTH):
        totals[tile + k] = 0
    for a in range(agents):
        for k in range(WIDTH):
            totals[tile + k] += np.int32(turned[COSTS + a, k])


@_pass
def went_wrong(tile, ends):
    """Whether one of the boards did."""
    return top_bits(load(ends, FAILED * ends.shape[1] + tile)) != 0


@_pass
def name_offences(tile, agents, narrow, bits, free, maps, turned, ends):
    """Of boards that failed write the kinds of offence, the agents of the first kind, and the code of its cell.

    An agent off the map is where it was before, for the cell that is contested; all others are where they went.
    """
    bit = load(bits, 0)
    off_any = hole_any = meet_any = swap_any = splat(_ZERO)
    off_first = hole_first = meet_first = meet_second = swap_first = swap_second = splat(_NOBODY)
    for i in range(agents - 1, -1, -1):  # whoever counts comes last
        now_i, before_i = get_row(turned, AFTER_OFFENCE + i), get_row(turned, BEFORE_OFFENCE + i)
        off_i = either(without(splat(_ALL), in_tables(maps, bit, now_i, narrow)), equal(before_i, splat(_OUT)))
        hole_i = without(without(splat(_ALL), in_tables(free, bit, now_i, narrow)), off_i)
        set_row(turned, OFF + i, off_i)
        off_any, hole_any = either(off_any, off_i), either(hole_any, hole_i)
        off_first = choose(off_i, splat(np.uint8(i)), off_first)
        hole_first = choose(hole_i, splat(np.uint8(i)), hole_first)
        for j in range(agents - 1, i, -1):
            now_j, before_j = get_row(turned, AFTER_OFFENCE + j), get_row(turned, BEFORE_OFFENCE + j)
            # The end of a row and the beginning of the next share their codes beyond the map.
            apart = without(both(off_i, get_row(turned, OFF + j)), equal(before_i, before_j))
            meet = without(equal(now_i, now_j), apart)
            swap = both(equal(now_i, before_j), equal(before_i, now_j))
            meet_any, swap_any = either(meet_any, meet), either(swap_any, swap)
            meet_first = choose(meet, splat(np.uint8(i)), meet_first)
            meet_second = choose(meet, splat(np.uint8(j)), meet_second)
            swap_first = choose(swap, splat(np.uint8(i)), swap_first)
            swap_second = choose(swap, splat(np.uint8(j)), swap_second)
    one = choose(off_any, off_first, choose(hole_any, hole_first, choose(meet_any, meet_first, swap_first)))
    other = choose(meet_any, meet_second, swap_second)
    other = choose(either(off_any, hole_any), splat(_NOBODY), other)
    cell = splat(_OUT)
    for i in range(agents):
        where = choose(off_any, get_row(turned, BEFORE_OFFENCE + i), get_row(turned, AFTER_OFFENCE + i))
        cell = choose(equal(one, splat(np.uint8(i))), where, cell)
    row = ends.shape[1]
    wrong = load(ends, FAILED * row + tile)
    offences = either(both(off_any, splat(_OFF)), both(hole_any, splat(_IN_HOLE)))
    offences = either(offences, either(both(meet_any, splat(_MEET)), both(swap_any, splat(_EXCHANGE))))
    label = choose(hole_any, splat(_FELL), choose(meet_any, splat(_MET), splat(_SWAPPED)))
    store(ends, LABEL * row + tile, both(wrong, choose(off_any, splat(_LEFT), label)))
    store(ends, KINDS * row + tile, offences)
    store(ends, FIRST * row + tile, choose(wrong, one, load(ends, FIRST * row + tile)))
    store(ends, SECOND * row + tile, choose(wrong, other, splat(_NOBODY)))
    store(ends, CODE * row + tile, choose(wrong, cell, splat(_OUT)))


@_pass
def write_verdicts(lo, hi, side, by_makespan, best, read, ends, totals, found):
    """Write the fields of `Verdicts` for boards `lo` to `hi`, the first ones of a block.

    In loops without branches, of which a compiler makes ones that take many boards at once.
    """
    status, best_sum, best_makespan = best[0][lo:hi], best[1][lo:hi], best[2][lo:hi]
    labels, flags, valid, optimal, sum_of_costs, makespan, gap, steps, pairs, cells = found
    labels, flags, valid, optimal = labels[lo:hi], flags[lo:hi], valid[lo:hi], optimal[lo:hi]
    sum_of_costs, makespan, gap, steps = sum_of_costs[lo:hi], makespan[lo:hi], gap[lo:hi], steps[lo:hi]
    pairs, cells = pairs[2 * lo : 2 * hi], cells[2 * lo : 2 * hi]
    for k in range(hi - lo):
        total, latest = totals[k], np.int32(ends[LATEST, k])
        was_read = read[k] == _READ
        is_valid = was_read & (ends[LABEL, k] == 0) & (ends[FIRST, k] == _NOBODY)
        known = is_valid & (status[k] == _CERTIFIED)
        cost, optimum = (latest, best_makespan[k]) if by_makespan else (total, best_sum[k])
        cheaper = (total < best_sum[k]) | (latest < best_makespan[k])
        fault = (known & cheaper) | (is_valid & (status[k] == _UNSOLVABLE))
        best_found = known & (cost == optimum)
        valid[k] = is_valid
        optimal[k] = best_found
        sum_of_costs[k] = total if is_valid else np.int32(-1)
        makespan[k] = latest if is_valid else np.int32(-1)
        excess = np.float32(np.int32(cost - optimum)) / np.float32(max(optimum, np.int32(1)))
        gap[k] = excess if known else np.float32(np.nan)
        steps[k] = np.int32(np.int8(ends[STEP, k]))
        offence = np.int32(ends[LABEL, k])
        ended_well = _OPTIMAL if best_found else _SUBOPTIMAL
        ended = ended_well if is_valid else _GOAL
        followed = offence if offence else ended
        labels[k] = followed if was_read else read[k]
        kinds = np.uint32(ends[KINDS, k]) << np.uint32(_OFF_MAP)
        missed = np.uint32(ended == _GOAL) << np.uint32(_GOAL)
        seen = kinds if offence else missed | np.uint32(fault) << np.uint32(_FAULT)
        said = np.uint32(1) << np.uint32(read[k] & 31)
        flags[k] = seen if was_read else said if 0 <= read[k] < 32 else np.uint32(0)
    width = np.int32(side + 1)
    inverse = np.int32((1 << 16) // width + 1)  # exact for a byte
    for k in range(hi - lo):
        pairs[2 * k] = np.int32(np.int8(ends[FIRST, k]))
        pairs[2 * k + 1] = np.int32(np.int8(ends[SECOND, k]))
        code = np.int32(ends[CODE, k])
        row = np.int32((code * inverse) >> 16)
        cells[2 * k] = row if code != OUT else np.int32(-1)
        cells[2 * k + 1] = np.int32(code - row * width) if code != OUT else np.int32(-1)
