"""Boards side by side make their steps together; compiled by numba for `jaxenv.verify_kernel`."""

import numpy as np
from numba import njit

from jaxenv.bytelanes import (
    HALF,
    WIDTH,
    below_signed,
    both,
    choose,
    either,
    equal,
    larger_signed,
    load,
    pick,
    plus,
    splat,
    store,
    top_bits,
    without,
    zeros_below,
)
from jaxenv.lanes import OUT
from jaxenv.verify_layout import (
    ACTIONS,
    AFTER_OFFENCE,
    AGENT_ROWS,
    AT,
    BEFORE,
    BEFORE_OFFENCE,
    BLOCK,
    COSTS,
    FAILED,
    GOAL,
    LAST,
    NOW,
    SPENT,
    STEP,
    TO,
    UNTIL,
    get_row,
    in_tables,
    set_row,
    turn,
)

_OUT, _ZERO, _ONE, _ALL = (np.uint8(byte) for byte in (OUT, 0, 1, 255))
_NEVER = np.uint8(255)  # as i8 it is -1

_inlined = njit(nogil=True, forceinline=True)
_pass = njit(nogil=True)


@_inlined
def _collisions(turned, agents):
    hits = splat(_ZERO)
    for i in range(agents):
        now_i, before_i = get_row(turned, NOW + i), get_row(turned, BEFORE + i)
        for j in range(i + 1, agents):
            now_j = get_row(turned, NOW + j)
            swap = both(equal(now_i, get_row(turned, BEFORE + j)), equal(before_i, now_j))
            hits = either(hits, either(equal(now_i, now_j), swap))
    return hits


@_pass
def follow(tile, begin, actions, later, horizon, most, agents, narrow, followed, rows, moves, bits, free, turned, ends):
    """Let the 32 boards from `tile` on make up to 16 steps from step `begin` on. Their first 16 actions are at their
    place in `actions`, what follows in `later`.

    Writes into `turned` where all agents are at the end, and where they were around a first offence, and their costs;
    who went wrong and when. Returns u32, the bits of boards that did not go wrong and have steps left.
    """
    row = rows.shape[1]
    for field, place in ((AT, NOW), (TO, GOAL), (UNTIL, LAST)):
        turn(rows, field * row + tile * most, most, turned, place)
    for a in range(agents):
        if begin:
            turn(later, (tile * most + a) * horizon + begin, most * horizon, turned, ACTIONS + a * HALF)
        else:
            turn(actions, (tile * most + a) * horizon, most * horizon, turned, ACTIONS + a * HALF)
    bad = splat(_ZERO)
    if begin:
        turn(rows, SPENT * row + tile * most, most, turned, COSTS)
    else:
        for a in range(agents):
            code = get_row(turned, NOW + a)
            set_row(
                turned,
                COSTS + a,
                choose(equal(code, get_row(turned, GOAL + a)), splat(_ZERO), splat(_ONE)),
            )
            # Whoever starts off the map is off it, wherever its actions lead.
            bad = either(bad, equal(code, splat(_OUT)))
    move, bit = load(moves, 0), load(bits, 0)
    wrong, when = splat(_ZERO), splat(_NEVER)
    last_of_all = splat(_ZERO)
    for a in range(agents):
        last_of_all = larger_signed(last_of_all, get_row(turned, LAST + a))
    going = without(load(followed, tile), below_signed(last_of_all, splat(np.uint8(begin))))
    for t in range(begin, begin + HALF):
        well = splat(_ALL)
        for a in range(agents):
            over = below_signed(get_row(turned, LAST + a), splat(np.uint8(t)))
            action = without(get_row(turned, ACTIONS + a * HALF + t - begin), over)
            old = get_row(turned, NOW + a)
            code = plus(old, pick(move, action))
            set_row(turned, BEFORE + a, old)
            set_row(turned, NOW + a, code)
            well = both(well, in_tables(free, bit, code, narrow))
            there = equal(code, get_row(turned, GOAL + a))
            set_row(turned, COSTS + a, choose(there, get_row(turned, COSTS + a), splat(np.uint8(t + 2))))
        bad = either(bad, either(_collisions(turned, agents), without(splat(_ALL), well)))
        bad = both(bad, going)
        if top_bits(bad):
            for a in range(agents):
                set_row(
                    turned,
                    AFTER_OFFENCE + a,
                    choose(bad, get_row(turned, NOW + a), get_row(turned, AFTER_OFFENCE + a)),
                )
                set_row(
                    turned,
                    BEFORE_OFFENCE + a,
                    choose(bad, get_row(turned, BEFORE + a), get_row(turned, BEFORE_OFFENCE + a)),
                )
            when = choose(bad, splat(np.uint8(t)), when)
            wrong = either(wrong, bad)
            going = without(going, bad)
        going = both(going, below_signed(splat(np.uint8(t)), last_of_all))
        bad = splat(_ZERO)
        if not top_bits(going):
            break
    store(ends, FAILED * BLOCK + tile, wrong)
    store(ends, STEP * BLOCK + tile, when)
    return top_bits(going)


@_inlined
def keep(left, tile, survivors, kept, most, turned, rows):
    """Note boards that go on, a bit each, and where their agents are and what they cost so far."""
    while left:
        k = np.int64(zeros_below(left))
        left &= left - np.uint32(1)
        survivors[kept] = tile + k
        kept += 1
        for a in range(most):
            rows[AT, (tile + k) * most + a] = turned[NOW + a, k]
            rows[SPENT, (tile + k) * most + a] = turned[COSTS + a, k]
    return kept


@_pass
def move_together(survivors, most, length, begin, actions, later, followed, who, free, maps, rows):
    """The rows of boards that go on to the first places, in their order; `length` bytes of actions for each."""
    for j in range(len(survivors)):
        k = survivors[j]
        who[j], followed[j] = who[k], _ALL
        for word in range(4):
            free[j, word], maps[j, word] = free[k, word], maps[k, word]
        for field in range(AGENT_ROWS):
            for a in range(most):
                rows[field, j * most + a] = rows[field, k * most + a]
        for byte in range(0, length, WIDTH):
            here = load(later, k * length + byte) if begin else load(actions, k * length + byte)
            store(later, j * length + byte, here)
