"""The rules of the world for plans, compiled by numba; `jaxenv.verify_host` hands them out to threads.

Boards lie side by side, a byte of 32 for each (the codes of `jaxenv.lanes`), and go step by step together: an agent of
all of them moves with a few operations, and two agents of all of them meet or swap or do not with a few more. Most go
wrong or come to the end of their lists early. So they make 16 steps at most, then those of a block that are left move
together and make 16 more. What is kept of boards has a row for each; for the 32 that go together it is turned, so that
a row has the bytes of all.

`jaxenv.verify_read` is what comes before, `jaxenv.verify_walk` the steps, `jaxenv.verify_ends` what becomes of boards.
"""

import numpy as np
from numba import njit

from jaxenv.bytelanes import HALF, WIDTH
from jaxenv.verify_ends import name_offences, see_arrivals, went_wrong, write_verdicts
from jaxenv.verify_layout import ACTIONS, AGENT_ROWS, BLOCK, ENDS, turn
from jaxenv.verify_read import find_free, read_actions, read_boards
from jaxenv.verify_walk import follow, keep, move_together


@njit(nogil=True, forceinline=True)
def _turn_tables(tables, tile, narrow, turned):
    """The tables u64[K, 4] of 32 boards as u8[32, 32], the byte of a code first; half of it for a narrow map."""
    turn(tables, tile * WIDTH, WIDTH, turned, 0)
    if not narrow:
        turn(tables, tile * WIDTH + HALF, WIDTH, turned, HALF)


# A part of the cached entry, which would else be this function compiled a second time.
@njit(nogil=True, inline="always")
def judge_boards(first_board, past_board, all_boards, shape, boards, plans, best, by_makespan, found, tables):
    """Write the verdicts of some of all boards.

    All arrays are flat: those of `Instances`, `Plans` and `Optima` that are given, and of `Verdicts` to fill. `shape`
    are side of the maps, agents and steps; `tables` those of `jaxenv.verify_layout`.
    """
    side, most, horizon = shape
    size, num_agents, holes, starts, goals = boards
    actions, lengths, outcomes = plans
    on_map, parked, moves, bits = tables
    area, length = side * side, most * horizon
    narrow = (side + 1) ** 2 + most <= 128  # agents that a board lacks have codes beyond its map
    # What is read at once may end after the arrays do: the last blocks are copied to where there is room behind them.
    last_boards = (-(-all_boards // BLOCK) - 2) * BLOCK
    room = BLOCK if past_board > last_boards else 0
    roomy_holes = np.zeros(room * area + 2 * WIDTH, np.uint8)
    roomy_actions = np.zeros(room * length, np.uint8)
    labels = np.empty(BLOCK, np.int32)
    edges = np.empty(BLOCK, np.int64)
    who = np.empty(BLOCK, np.int64)
    survivors = np.empty(BLOCK, np.int64)
    size_of = np.empty(BLOCK * most, np.uint32)
    followed = np.zeros(BLOCK, np.uint8)
    rows = np.zeros((AGENT_ROWS, BLOCK * most + HALF), np.uint8)
    later = np.zeros(BLOCK * length, np.uint8)
    free = np.zeros((BLOCK, 4), np.uint64)
    maps = np.zeros((BLOCK, 4), np.uint64)
    free_tile = np.empty((WIDTH, WIDTH), np.uint8)
    map_tile = np.empty((WIDTH, WIDTH), np.uint8)
    turned = np.zeros((ACTIONS + most * HALF, WIDTH), np.uint8)
    results = np.empty((ENDS, BLOCK), np.uint8)  # what becomes of all
    part = np.empty((ENDS, BLOCK), np.uint8)  # of those that are together
    totals = np.empty(BLOCK, np.int32)
    part_totals = np.empty(BLOCK, np.int32)
    for lo in range(first_board, past_board, BLOCK):
        hi = min(lo + BLOCK, past_board)
        count = hi - lo
        if lo < last_boards:
            block_holes, block_actions = holes[lo * area :], actions[lo * length :]
        else:
            block_holes, block_actions = roomy_holes, roomy_actions
            block_holes[: count * area] = holes[lo * area : hi * area]
            block_actions[: count * length] = actions[lo * length : hi * length]
        cells = slice(lo * most * 2, hi * most * 2)
        block = size[lo:hi], num_agents[lo:hi], starts[cells], goals[cells]
        lists = lengths[lo * most : hi * most], outcomes[lo:hi]
        agents = read_boards(shape, block, lists, labels, followed, edges, size_of, rows)
        find_free(block_holes, side, most, edges[:count], on_map, parked, free, maps)
        for k in range(count):
            who[k] = k
        for begin in range(0, horizon, HALF):
            followed[count:] = 0
            kept = 0
            ended, sums = (part, part_totals) if begin else (results, totals)
            for tile in range(0, count, WIDTH):
                if not begin:
                    read_actions(tile, shape, block[1], lists[0], block_actions, labels, followed)
                _turn_tables(free, tile, narrow, free_tile)
                left = follow(
                    tile,
                    begin,
                    block_actions,
                    later,
                    horizon,
                    most,
                    agents,
                    narrow,
                    followed,
                    rows,
                    moves,
                    bits,
                    free_tile,
                    turned,
                    ended,
                )
                see_arrivals(tile, agents, followed, turned, ended, sums)
                if went_wrong(tile, ended):
                    _turn_tables(maps, tile, narrow, map_tile)
                    name_offences(tile, agents, narrow, bits, free_tile, map_tile, turned, ended)
                kept = keep(left, tile, survivors, kept, most, turned, rows)
            if begin:
                for j in range(count):
                    for row in range(ENDS):
                        results[row, who[j]] = part[row, j]
                    totals[who[j]] = part_totals[j]
            if not kept:
                break
            move_together(survivors[:kept], most, length, begin, block_actions, later, followed, who, free, maps, rows)
            count = kept
        write_verdicts(lo, hi, side, by_makespan, best, labels, results, totals, found)
