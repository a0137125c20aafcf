"""Can these agents get home at all? Decided by exhausting the joint space, from both ends, within bounded memory.

One step of several agents at once is a row of single moves into empty cells, front agent first, unless agents follow
one another round a closed ring. A ring on a grid has an even length of at least four, and with at most five agents it
is a full 2x2 block. So single moves and turns of full 2x2 blocks reach the same joint states as the steps of the game
(in other numbers of steps, which does not matter here), with far fewer ways on from each state. All of them can be
undone, so the states that can reach the goals are those that the goals can reach, and either end's exhaustion is a
proof.
"""

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS, MAX_CELLS

REACHABLE = 1
UNREACHABLE_TOGETHER = -1
UNKNOWN = 0


@njit(nogil=True)
def _insert(table, mask, key):  # type: ignore[no-untyped-def]
    """Put `key` + 1 into an open-addressing set; False when it was there."""
    word = key + np.uint64(1)
    slot = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while table[slot]:
        if table[slot] == word:
            return False
        slot = (slot + 1) & mask
    table[slot] = word
    return True


@njit(nogil=True)
def _holds(table, mask, key):  # type: ignore[no-untyped-def]
    word = key + np.uint64(1)
    slot = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while table[slot]:
        if table[slot] == word:
            return True
        slot = (slot + 1) & mask
    return False


@njit(nogil=True)
def _pack(cells, n):  # type: ignore[no-untyped-def]
    key = np.uint64(0)
    for j in range(n):
        key |= np.uint64(cells[j]) << np.uint64(7 * j)
    return key


@njit(nogil=True)
def _unpack(key, cells, n):  # type: ignore[no-untyped-def]
    for j in range(n):
        cells[j] = np.int64((key >> np.uint64(7 * j)) & np.uint64(127))


@njit(nogil=True)
def _ways_on(neighbours, cells, n, out):  # type: ignore[no-untyped-def]
    """Write the keys of all joint states one single move or block turn away; returns how many."""
    many = 0
    key = _pack(cells, n)
    for a in range(n):
        for d in range(4):
            k = neighbours[cells[a], d]
            if k < 0:
                continue
            free = True
            for b in range(n):
                free = free and cells[b] != k
            if free:
                shift = np.uint64(7 * a)
                out[many] = (key & ~(np.uint64(127) << shift)) | (np.uint64(k) << shift)
                many += 1
    if n >= 4:
        ring = np.empty(4, np.int64)
        block = np.empty(4, np.int64)
        turned = np.empty(MAX_AGENTS, np.int64)
        for a in range(n):
            right = neighbours[cells[a], 3]
            down = neighbours[cells[a], 1]
            if right < 0 or down < 0 or neighbours[right, 1] < 0:
                continue
            ring[0] = cells[a]
            ring[1] = right
            ring[2] = neighbours[right, 1]
            ring[3] = down
            full = True
            for q in range(4):
                block[q] = -1
                for b in range(n):
                    if cells[b] == ring[q]:
                        block[q] = b
                full = full and block[q] >= 0
            if full:
                for way in (1, 3):
                    for b in range(n):
                        turned[b] = cells[b]
                    for q in range(4):
                        turned[block[q]] = ring[(q + way) % 4]
                    out[many] = _pack(turned, n)
                    many += 1
    return many


@njit(nogil=True)
def _remoteness(distance, agents, cells, n):  # type: ignore[no-untyped-def]
    total = 0
    for j in range(n):
        total += distance[agents[j], cells[j]]
    return total


@njit(nogil=True)
def _can_get_home(board, to_starts, subset, max_entries):  # type: ignore[no-untyped-def]
    """Whether the agents of `subset` alone can get home, by searches from their starts and from their goals.

    At most `max_entries` states are kept from each end; the nearest states come first.
    The distances (of each agent to its goal, to its start) only order the search: a meeting is mostly found at once,
    and where there is none, the side with fewer open states is exhausted first.
    """
    agents = np.empty(MAX_AGENTS, np.int64)
    starts = np.empty(MAX_AGENTS, np.int64)
    goals = np.empty(MAX_AGENTS, np.int64)
    n = 0
    for i in range(board.num_agents):
        if subset >> i & 1:
            agents[n] = i
            starts[n] = board.starts[i]
            goals[n] = board.goals[i]
            n += 1
    capacity = 1
    while capacity < 2 * max_entries:
        capacity *= 2
    mask = capacity - 1
    tables = (np.zeros(capacity, np.uint64), np.zeros(capacity, np.uint64))
    states = (np.empty(max_entries, np.uint64), np.empty(max_entries, np.uint64))
    nexts = (np.empty(max_entries, np.int32), np.empty(max_entries, np.int32))
    # Open states by remoteness, each list linked through `nexts`.
    heads = np.full((2, MAX_AGENTS * MAX_CELLS), -1, np.int32)
    nearest = np.zeros(2, np.int64)
    open_states = np.ones(2, np.int64)
    used = np.ones(2, np.int64)
    keys = (_pack(starts, n), _pack(goals, n))
    if keys[0] == keys[1]:
        return REACHABLE
    for side in range(2):
        states[side][0] = keys[side]
        nexts[side][0] = -1
        _insert(tables[side], mask, keys[side])
    heads[0, 0] = heads[1, 0] = 0
    cells = np.empty(MAX_AGENTS, np.int64)
    out = np.empty(6 * MAX_AGENTS, np.uint64)
    while True:
        side = 0 if open_states[0] <= open_states[1] else 1
        if open_states[side] == 0:
            return UNREACHABLE_TOGETHER
        table, kept, linked = tables[side], states[side], nexts[side]
        distance = board.distance if side == 0 else to_starts
        while heads[side, nearest[side]] < 0:
            nearest[side] += 1
        entry = heads[side, nearest[side]]
        heads[side, nearest[side]] = linked[entry]
        open_states[side] -= 1
        _unpack(kept[entry], cells, n)
        for q in range(_ways_on(board.neighbours, cells, n, out)):
            if _insert(table, mask, out[q]):
                if _holds(tables[1 - side], mask, out[q]):
                    return REACHABLE
                if used[side] == max_entries:
                    return UNKNOWN
                _unpack(out[q], cells, n)
                far = _remoteness(distance, agents, cells, n)
                new = used[side]
                kept[new] = out[q]
                linked[new] = heads[side, far]
                heads[side, far] = new
                nearest[side] = min(nearest[side], far)
                used[side] += 1
                open_states[side] += 1


@njit(nogil=True)
def can_get_home(board, to_starts, max_entries):  # type: ignore[no-untyped-def]
    """REACHABLE, UNREACHABLE_TOGETHER or UNKNOWN for all agents of the board.

    Three or four agents that are stuck by themselves are stuck with more agents about, and their joint space is
    smaller; so these sets are tried too (pairs have their tables).
    """
    n = board.num_agents
    answer = _can_get_home(board, to_starts, (1 << n) - 1, max_entries)
    if answer != UNKNOWN:
        return answer
    for subset in range((1 << n) - 1):
        members = 0
        for i in range(n):
            members += subset >> i & 1
        if members >= 3 and _can_get_home(board, to_starts, subset, max_entries) == UNREACHABLE_TOGETHER:
            return UNREACHABLE_TOGETHER
    return UNKNOWN
