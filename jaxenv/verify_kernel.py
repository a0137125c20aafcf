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
from jaxenv.verify_read import find_free, read_boards
from jaxenv.verify_walk import follow, keep, move_together


@njit(nogil=True, forceinline=True)
def _turn_tables(tables, tile, narrow, turned):
    """The tables u64[K, 4] of 32 boards as u8[32, 32], the byte of a code first; half of it for a narrow map."""
    turn(tables, tile * WIDTH, WIDTH, turned, 0)
    if not narrow:
        turn(tables, tile * WIDTH + HALF, WIDTH, turned, HALF)


# A part of the cached entry, which would else be this function compiled a second time.
@njit(nogil=True, inline="always")
def judge_boards(first_board, past_board, side, given, by_makespan, found):
    """Write the verdicts of some boards.

    `given` are the fields of boards, plans and labels as `jaxenv.verify_host` puts them together, `found` those of
    `Verdicts` in their order.
    """
    boards, plans, best, ends, tables = given
    size, num_agents, holes, starts, goals = boards
    actions, lengths, outcomes = plans
    last_boards, last_holes, last_actions = ends
    coordinates, on_map, parked, moves, bits = tables
    most, area = lengths.shape[1], side * side
    horizon = len(actions) // lengths.size
    length = most * horizon
    narrow = (side + 1) ** 2 + most <= 128  # agents that a board lacks have codes beyond its map
    labels = np.empty(BLOCK, np.int32)
    edges = np.empty(BLOCK, np.int64)
    who = np.empty(BLOCK, np.int64)
    survivors = np.empty(BLOCK, np.int64)
    size_of = np.empty(BLOCK * most, np.uint32)
    followed = np.zeros(BLOCK, np.uint8)
    odd = np.empty(BLOCK * most, np.bool_)
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
            first = lo - last_boards
            block_holes, block_actions = last_holes[first * area :], last_actions[first * length :]
        agents = read_boards(
            side,
            horizon,
            (size[lo:hi], num_agents[lo:hi], starts[lo:hi], goals[lo:hi]),
            (lengths[lo:hi], outcomes[lo:hi]),
            block_actions,
            labels,
            followed,
            edges,
            size_of,
            odd,
            rows,
        )
        find_free(block_holes, side, most, edges[:count], on_map, parked, free, maps)
        for begin in range(0, horizon, HALF):
            followed[count:] = 0
            kept = 0
            ended, sums = (part, part_totals) if begin else (results, totals)
            for tile in range(0, count, WIDTH):
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
                see_arrivals(tile, agents, turned, ended, sums)
                if went_wrong(tile, ended):
                    _turn_tables(maps, tile, narrow, map_tile)
                    name_offences(tile, agents, narrow, bits, free_tile, map_tile, turned, ended)
                kept = keep(left, tile, survivors, kept, most, turned, rows)
            for j in range(count):
                if begin:
                    for row in range(ENDS):
                        results[row, who[j]] = part[row, j]
                    totals[who[j]] = part_totals[j]
                else:
                    who[j] = j
            if not kept:
                break
            move_together(survivors[:kept], most, length, begin, block_actions, later, followed, who, free, maps, rows)
            count = kept
        write_verdicts(lo, hi, by_makespan, best, labels, results, totals, coordinates, found)
