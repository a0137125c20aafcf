"""What a block of boards and plans says before anybody moves; compiled by numba for `jaxenv.verify_kernel`."""

import numpy as np
from numba import njit

from jaxenv.bytelanes import WIDTH, below, deposit, equal, larger, load, ones, splat, top_bits
from jaxenv.lanes import OUT
from jaxenv.types import Action, Label
from jaxenv.verify_layout import AT, TO, UNTIL

_OUT, _ZERO, _ALL = (np.uint8(byte) for byte in (OUT, 0, 255))
_LAST_ACTION = np.uint8(max(Action))
_READ, _PARSE_ERROR, _TOO_LONG = (np.int32(label) for label in (Label.READ, Label.PARSE_ERROR, Label.TOO_LONG))

_inlined = njit(nogil=True, forceinline=True)
_pass = njit(nogil=True)


@_inlined
def _encode(cells, size, side, codes):
    """Codes u8[K * A] of cells i32[K * A * 2] on maps of sizes u32[K * A]; `OUT` for what is not on the map."""
    width = np.int32(side + 1)
    for c in range(len(cells) // 2):
        row, col = cells[2 * c], cells[2 * c + 1]
        inside = (np.uint32(row) < size[c]) & (np.uint32(col) < size[c])
        codes[c] = np.uint8(row * width + col) if inside else _OUT


@_pass
def _find_long(num_agents, lengths, most, horizon, labels):
    """Label the boards of a block that have a list of more steps than there is room for, or of less than none."""
    for k in range(len(num_agents)):
        if labels[k] == _READ:
            for a in range(min(np.int64(num_agents[k]), most)):
                if lengths[k * most + a] > horizon:
                    labels[k] = _TOO_LONG
                elif lengths[k * most + a] < 0 and labels[k] == _READ:
                    labels[k] = _PARSE_ERROR


@_pass
def read_boards(shape, boards, plans, labels, followed, edges, size_of, rows):
    """Write labels, who can be followed (all ones), sizes, and of each agent the codes of start and goal and the last
    step of its list (or -1).

    Agents that a board lacks stand on codes of their own, out of everybody's reach. Returns the most agents of a board.
    """
    side, most, horizon = shape
    size, num_agents, starts, goals = boards
    lengths, outcomes = plans
    start, goal, last = rows[AT], rows[TO], rows[UNTIL]
    for k in range(len(size)):
        edges[k] = min(max(np.int64(size[k]), 0), side)
        for a in range(most):
            size_of[k * most + a] = edges[k]
    _encode(starts, size_of, side, start)
    _encode(goals, size_of, side, goal)
    odd = np.uint32(0)
    for c in range(len(lengths)):
        last[c] = np.uint8(lengths[c] - 1)
        odd |= np.uint32(np.uint32(lengths[c]) > np.uint32(horizon))
    agents = 0
    for k in range(len(size)):
        labels[k] = outcomes[k]
        n = min(max(np.int64(num_agents[k]), 0), most)
        agents = max(agents, n)
        for c in range(k * most + n, (k + 1) * most):
            start[c] = goal[c] = np.uint8((side + 1) ** 2 + c - k * most)
            last[c] = _ALL
    if odd:
        _find_long(num_agents, lengths, most, horizon, labels)
    for k in range(len(size)):
        followed[k] = _ALL if labels[k] == _READ else _ZERO
    return agents


@_pass
def read_actions(tile, shape, num_agents, lengths, actions, labels, followed):
    """Label those of the 32 boards from `tile` on that have an unknown action within a list. All are of the block."""
    _, most, horizon = shape
    highest = splat(_ZERO)
    for place in range(tile * most * horizon, (tile + WIDTH) * most * horizon, 2 * WIDTH):
        highest = larger(highest, larger(load(actions, place), load(actions, place + WIDTH)))
    if not top_bits(below(splat(_LAST_ACTION), highest)):
        return
    for k in range(tile, min(tile + WIDTH, len(num_agents))):
        if labels[k] == _READ:
            for a in range(min(np.int64(num_agents[k]), most)):
                for t in range(lengths[k * most + a]):
                    if np.uint8(actions[(k * most + a) * horizon + t]) > _LAST_ACTION:
                        labels[k], followed[k] = _PARSE_ERROR, _ZERO


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
        for word in range(words):
            low = np.uint64(top_bits(equal(load(holes, here + begins[word]), splat(_ZERO))))
            high = np.uint64(top_bits(equal(load(holes, here + begins[word] + WIDTH), splat(_ZERO))))
            inside = on_map[edges[k], word]
            maps[k, word] = inside | parked[word]
            free[k, word] = (deposit(low | high << np.uint64(WIDTH), on_map[side, word]) & inside) | parked[word]
