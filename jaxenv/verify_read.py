"""What a block of boards and plans says before anybody moves; compiled by numba for `jaxenv.verify_kernel`."""

import numpy as np
from numba import njit

from jaxenv.bytelanes import WIDTH, below, deposit, equal, fetch, larger, load, ones, splat, top_bits
from jaxenv.lanes import OUT
from jaxenv.types import Action, Label
from jaxenv.verify_layout import AT, BLOCK, TO, UNTIL

_OUT, _ZERO, _ALL = (np.uint8(byte) for byte in (OUT, 0, 255))
_LINE = 64  # bytes of memory that come at once
_LAST_ACTION = np.uint8(max(Action))
_READ, _PARSE_ERROR, _TOO_LONG = (np.int32(label) for label in (Label.READ, Label.PARSE_ERROR, Label.TOO_LONG))

_inlined = njit(nogil=True, forceinline=True)
_pass = njit(nogil=True)


@_inlined
def _encode(cells, size, side, codes):
    """Codes u8[K * A] of cells i32[K, A, 2] on maps of sizes u32[K * A]; `OUT` for what is not on the map."""
    flat = cells.reshape(-1)
    width = np.int32(side + 1)
    for c in range(len(flat) // 2):
        row, col = flat[2 * c], flat[2 * c + 1]
        inside = (np.uint32(row) < size[c]) & (np.uint32(col) < size[c])
        codes[c] = np.uint8(row * width + col) if inside else _OUT


@_inlined
def _has_unknown(actions, offset, horizon, lengths, k, n):
    """Whether there is an unknown action within the lists of board k, whose actions begin at a byte."""
    highest = splat(_ZERO)
    for word in range(n * horizon // WIDTH):
        highest = larger(highest, load(actions, offset + WIDTH * word))
    if not top_bits(below(splat(_LAST_ACTION), highest)):
        return False
    for a in range(n):
        for t in range(lengths[k, a]):
            if np.uint8(actions[offset + a * horizon + t]) > _LAST_ACTION:
                return True
    return False


@_pass
def read_boards(side, horizon, boards, plans, actions, labels, followed, edges, size_of, odd, rows):
    """Write labels, who can be followed (all ones), sizes, and of each agent the codes of start and goal and the last
    step of its list (or -1). Actions are those of the block, flat.

    Agents that a board lacks stand on codes of their own, out of everybody's reach. Returns the most agents of a board.
    """
    size, num_agents, starts, goals = boards
    lengths, outcomes = plans
    start, goal, last = rows[AT], rows[TO], rows[UNTIL]
    most = lengths.shape[1]
    agents = 0
    for k in range(len(size)):
        edges[k] = min(max(np.int64(size[k]), 0), side)
        for a in range(most):
            size_of[k * most + a] = edges[k]
    _encode(starts, size_of, side, start)
    _encode(goals, size_of, side, goal)
    flat = lengths.reshape(-1)
    for c in range(len(flat)):
        last[c] = np.uint8(flat[c] - 1)
        odd[c] = np.uint32(flat[c]) > np.uint32(horizon)
    for k in range(len(size)):
        for byte in range((BLOCK + k) * most * horizon, (BLOCK + k + 1) * most * horizon, _LINE):
            fetch(actions, byte)
        fetch(starts, (BLOCK + k) * most * 8)
        fetch(goals, (BLOCK + k) * most * 8)
        n = min(max(np.int64(num_agents[k]), 0), most)
        agents = max(agents, n)
        for c in range(k * most + n, (k + 1) * most):
            start[c] = goal[c] = np.uint8((side + 1) ** 2 + c - k * most)
            last[c] = _ALL
        label = outcomes[k]
        if label == _READ:
            strange = False
            for c in range(k * most, k * most + n):
                strange |= odd[c]
            if strange:
                label = _PARSE_ERROR
                for a in range(n):
                    label = _TOO_LONG if lengths[k, a] > horizon else label
            elif _has_unknown(actions, k * most * horizon, horizon, lengths, k, n):
                label = _PARSE_ERROR
        labels[k] = label
        followed[k] = _ALL if label == _READ else _ZERO
    return agents


@_pass
def find_free(holes, side, most, edges, on_map, parked, free, maps):
    """Set the bits u64[K, 4] of the codes where an agent may be, and of those that are on the map.

    `holes` are those of the block, flat.
    """
    words = ((side + 1) ** 2 + most - 1) // 64 + 1  # of all codes that an agent can have
    begins = np.zeros(5, np.int64)  # the first cell of each word of codes
    for word in range(words):
        begins[word + 1] = begins[word] + np.int64(ones(on_map[side, word]))
    for k in range(len(edges)):
        here = k * side * side
        for byte in range(0, side * side, _LINE):
            fetch(holes, here + BLOCK * side * side + byte)
        for word in range(words):
            low = np.uint64(top_bits(equal(load(holes, here + begins[word]), splat(_ZERO))))
            high = np.uint64(top_bits(equal(load(holes, here + begins[word] + WIDTH), splat(_ZERO))))
            inside = on_map[edges[k], word]
            maps[k, word] = inside | parked[word]
            free[k, word] = (deposit(low | high << np.uint64(WIDTH), on_map[side, word]) & inside) | parked[word]
