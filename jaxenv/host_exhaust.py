"""Can these agents get home at all? Decided by exhausting the joint space, from both ends, within bounded memory.

One step of several agents at once is a row of single moves into empty cells, front agent first, unless agents follow
one another round a closed ring. A ring on a grid has an even length of at least four, and with at most five agents it
is a full 2x2 block. So single moves and turns of full 2x2 blocks reach the same joint states as the steps of the game
(in other numbers of steps, which does not matter here), with far fewer ways on from each state. All of them can be undone, so
the states that can reach the goals are those that the goals can reach, and either end's exhaustion is a proof.
"""

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS

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
def reachable(neighbours, starts, goals, n, max_entries):  # type: ignore[no-untyped-def]
    """Breadth first from the starts and from the goals, always the smaller front, at most `max_entries` states each."""
    capacity = 1
    while capacity < 2 * max_entries:
        capacity *= 2
    mask = capacity - 1
    tables = (np.zeros(capacity, np.uint64), np.zeros(capacity, np.uint64))
    queues = (np.empty(max_entries, np.uint64), np.empty(max_entries, np.uint64))
    heads = np.zeros(2, np.int64)
    tails = np.ones(2, np.int64)
    first = _pack(starts, n)
    last = _pack(goals, n)
    if first == last:
        return REACHABLE
    queues[0][0] = first
    queues[1][0] = last
    _insert(tables[0], mask, first)
    _insert(tables[1], mask, last)
    cells = np.empty(MAX_AGENTS, np.int64)
    out = np.empty(4 * MAX_AGENTS + 2 * MAX_AGENTS, np.uint64)
    while True:
        side = 0 if tails[0] - heads[0] <= tails[1] - heads[1] else 1
        table, queue = tables[side], queues[side]
        if heads[side] == tails[side]:
            return UNREACHABLE_TOGETHER
        key = queue[heads[side]]
        heads[side] += 1
        for j in range(n):
            cells[j] = np.int64((key >> np.uint64(7 * j)) & np.uint64(127))
        for q in range(_ways_on(neighbours, cells, n, out)):
            if _insert(table, mask, out[q]):
                if _holds(tables[1 - side], mask, out[q]):
                    return REACHABLE
                if tails[side] == max_entries:
                    return UNKNOWN
                queue[tails[side]] = out[q]
                tails[side] += 1
