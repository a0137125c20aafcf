"""The tables of `jaxenv.host_pairs`: exact costs of every two agents alone, from every pair of places.

They are filled backwards from the goals, all places of the second agent j at once: a set of its places is 128 bits, one
for the cell of each code `row * side + col` and the last one for having finished, so that a step of j in one direction
is a shift. For every place x of the first agent i there is the set of places of j from which both get home for a cost,
and it grows cost by cost. What j can do on the way to a set is worked out once for every x, and serves each place from
which i comes to x.

The only step that depends on where i came from is that of j out of the cell that i comes to: it may go anywhere but to
where i was. Such places of j are kept apart, as the directions in which it would leave.
"""

import numpy as np
from numba import njit

from jaxenv.bytelanes import zeros_below
from jaxenv.host_graph import UNREACHABLE
from jaxenv.host_pairs import INFINITE, PAIR

_OPPOSITE = np.array([1, 0, 3, 2], np.int64)
_ONE = np.uint64(1)
_NONE = np.uint64(0)
_FINISHED = np.uint64(1 << 63)  # in the second word
_SIX, _LOW_SIX = np.uint64(6), np.uint64(63)
_TOP = np.uint64(63)
_MOST_FOR_A_STEP = 4  # both agents go away from their goals


@njit(nogil=True, inline="always")
def _has(places, code):  # type: ignore[no-untyped-def]
    word = places[1] if code >= 64 else places[0]
    return word >> (np.uint64(code) & _LOW_SIX) & _ONE != _NONE


@njit(nogil=True, inline="always")
def _bit(code):  # type: ignore[no-untyped-def]
    """A set of one cell."""
    bit = _ONE << (np.uint64(code) & _LOW_SIX)
    return (bit, _NONE) if code < 64 else (_NONE, bit)


@njit(nogil=True)
def _come_from(cells, masks, side):  # type: ignore[no-untyped-def]
    """The cells from which one step leads into a set, where `masks` u64[4, 2] allow that step by its direction."""
    low, high = cells
    down, rest = np.uint64(side), np.uint64(64 - side)
    first = (
        (low << down & masks[0, 0])
        | ((low >> down | high << rest) & masks[1, 0])
        | (low << _ONE & masks[2, 0])
        | ((low >> _ONE | high << _TOP) & masks[3, 0])
    )
    second = (
        ((high << down | low >> rest) & masks[0, 1])
        | (high >> down & masks[1, 1])
        | ((high << _ONE | low >> _TOP) & masks[2, 1])
        | (high >> _ONE & masks[3, 1])
    )
    return first, second


@njit(nogil=True)
def _step_masks(board, i, toward, away):  # type: ignore[no-untyped-def]
    """The cells from which a step brings agent i nearer to its goal, and farther from it; u64[4, 2] each."""
    toward[:, :] = _NONE
    away[:, :] = _NONE
    for k in range(board.num_cells):
        code = np.uint64(board.codes[k])
        for d in range(4):
            m = board.neighbours[k, d]
            if m >= 0:
                masks = toward if board.distance[i, m] < board.distance[i, k] else away
                masks[d, np.int64(code >> _SIX)] |= _ONE << (code & _LOW_SIX)


@njit(nogil=True, inline="always")
def _write_new(now, then, numbers, value, row):  # type: ignore[no-untyped-def]
    """Give `row` the value at the places that are in a set now and were not then; returns how many."""
    many = 0
    for word in range(2):
        new = now[1] & ~then[1] if word else now[0] & ~then[0]
        while new:
            row[numbers[64 * word + np.int64(zeros_below(new))]] = value
            new &= new - _ONE
            many += 1
    return many


@njit(nogil=True)
def _order_by_distance(distance, count, order):  # type: ignore[no-untyped-def]
    """Write the cells from which the goal can be reached, the nearest first; returns how many."""
    many = 0
    for k in range(count):
        if distance[k] < UNREACHABLE:
            place = many
            while place > 0 and distance[order[place - 1]] > distance[k]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = k
            many += 1
    return many


@njit(nogil=True)
def _leaving(board, x, distance, near, far):  # type: ignore[no-untyped-def]
    """Directions, a bit each, in which j can leave cell x: nearer to its goal into one set, farther into the other."""
    directions = 0
    for d in range(4):
        m = board.neighbours[x, d]
        if m >= 0 and _has(near if distance[m] < distance[x] else far, board.codes[m]):
            directions |= 1 << d
    return directions


@njit(nogil=True)
def _brought_by_steps(board, distance, x, near, far, ways, leaving):  # type: ignore[no-untyped-def]
    """Where j may be for i to step out of cell x, nearer to its goal by the sets numbered `near`, farther by `far`."""
    low = high = _NONE
    for d in range(4):
        m = board.neighbours[x, d]
        if m >= 0:
            at = near if distance[m] < distance[x] else far
            low |= ways[at, m, 0]
            high |= ways[at, m, 1]
            if leaving[at, m] & ~(1 << _OPPOSITE[d]):
                there = _bit(board.codes[m])
                low |= there[0]
                high |= there[1]
    return low, high


@njit(nogil=True)
def _joint_places(board, i, j):  # type: ignore[no-untyped-def]
    """How many places two agents can have together at all."""
    cells_i, cells_j, shared = 0, 0, 0
    for k in range(board.num_cells):
        for_i, for_j = board.distance[i, k] < UNREACHABLE, board.distance[j, k] < UNREACHABLE
        cells_i += for_i
        cells_j += for_j
        shared += for_i and for_j
    for a, b in ((i, j), (j, i)):  # one on the goal of the other, who has finished
        shared += board.distance[a, board.goals[b]] < UNREACHABLE
    return (cells_i + 1) * (cells_j + 1) - shared


@njit(nogil=True)
def _fill_excesses(board, i, j, toward, away, numbers, order, work, table):  # type: ignore[no-untyped-def]
    """`table[x, y]` = least excess of i and j together until both have finished."""
    sets, ways, leaving = work
    finished = board.num_cells
    goal = _bit(board.codes[board.goals[j]])
    table[: finished + 1, : finished + 1] = INFINITE
    sets[:, : finished + 1] = _NONE
    ways[:, : finished + 1] = _NONE
    leaving[:, : finished + 1] = 0
    many = _order_by_distance(board.distance[i], finished, order)
    left = _joint_places(board, i, j)
    value = 0
    idle = 0
    while left and idle <= _MOST_FOR_A_STEP:
        now, one, two = value % 3, (value + 2) % 3, (value + 1) % 3  # of this value, of one less, of two less
        new = 0
        for q in range(many + 1):  # whoever has finished first, then the nearest: steps that cost nothing lead there
            x = order[q - 1] if q else finished
            cell = x if q else board.goals[i]
            taken_low, taken_high = _bit(board.codes[cell])
            if cell == board.goals[j]:
                taken_high |= _FINISHED
            was_low, was_high = sets[one, x, 0], sets[one, x, 1]
            away_low, away_high = _come_from((sets[two, x, 0], sets[two, x, 1] & ~_FINISHED), away, board.side)
            if x == finished:
                low, high = was_low | away_low & ~taken_low, was_high | away_high & ~taken_high
                if value == 0:
                    high |= _FINISHED
                more = True
                while more:
                    near_low, near_high = _come_from((low, high & ~_FINISHED), toward, board.side)
                    near_low = (near_low | goal[0]) & ~taken_low & ~low
                    near_high = (near_high | goal[1]) & ~taken_high & ~high
                    low |= near_low
                    high |= near_high
                    more = near_low | near_high != _NONE
                ways[now, x, 0], ways[now, x, 1] = low, high
            else:
                low, high = _brought_by_steps(board, board.distance[i], x, now, two, ways, leaving)
                low |= was_low | ways[one, x, 0]
                high |= was_high | ways[one, x, 1]
                if x == board.goals[i]:
                    low |= ways[now, finished, 0]
                    high |= ways[now, finished, 1]
                low &= ~taken_low
                high &= ~taken_high
                near_low, near_high = _come_from((low, high & ~_FINISHED), toward, board.side)
                if high & _FINISHED:
                    near_low |= goal[0]
                    near_high |= goal[1] | _FINISHED
                ways[now, x, 0] = (near_low | was_low | away_low) & ~taken_low
                ways[now, x, 1] = (near_high | was_high & ~_FINISHED | away_high) & ~taken_high
                far = sets[two, x, 0], sets[two, x, 1]
                leaving[now, x] = _leaving(board, x, board.distance[j], (low, high), far)
            sets[now, x, 0], sets[now, x, 1] = low, high
            new += _write_new((low, high), (was_low, was_high), numbers, value, table[x])
        left -= new
        idle = 0 if new else idle + 1
        value += 1


@njit(nogil=True)
def _fill_times(board, i, j, toward, away, numbers, work, table):  # type: ignore[no-untyped-def]
    """`table[x, y]` = fewest steps until i (now at x) and j (at y) are both on their goals."""
    sets, ways, leaving = work
    count = board.num_cells
    table[:count, :count] = INFINITE
    sets[0, :count] = _NONE
    sets[0, board.goals[i], 0], sets[0, board.goals[i], 1] = _bit(board.codes[board.goals[j]])
    table[board.goals[i], board.goals[j]] = 0
    masks = toward | away
    value = 0
    new = 1
    while new:
        value += 1
        new = 0
        for x in range(count):
            places = sets[0, x, 0], sets[0, x, 1]
            low, high = _come_from(places, masks, board.side)
            taken_low, taken_high = _bit(board.codes[x])
            ways[0, x, 0] = (places[0] | low) & ~taken_low
            ways[0, x, 1] = (places[1] | high) & ~taken_high
            leaving[0, x] = _leaving(board, x, board.distance[j], places, places)
        for x in range(count):
            low, high = _brought_by_steps(board, board.distance[i], x, 0, 0, ways, leaving)
            taken_low, taken_high = _bit(board.codes[x])
            low = (low | ways[0, x, 0]) & ~taken_low
            high = (high | ways[0, x, 1]) & ~taken_high
            new += _write_new((low, high), (sets[0, x, 0], sets[0, x, 1]), numbers, value, table[x])
            sets[0, x, 0], sets[0, x, 1] = low, high


@njit(nogil=True)
def _new_work(count):  # type: ignore[no-untyped-def]
    """By value (modulo 3) and place of i: the places of j; where j can be to come to one of them, at its cost, while i
    comes to or stays on its place; and from that place, the directions.
    """
    return (
        np.zeros((3, count + 1, 2), np.uint64),
        np.zeros((3, count + 1, 2), np.uint64),
        np.zeros((3, count + 1), np.int64),
    )


@njit(nogil=True)
def _numbers(board):  # type: ignore[no-untyped-def]
    """The place of each bit of a set."""
    numbers = np.zeros(128, np.int64)
    for k in range(board.num_cells):
        numbers[board.codes[k]] = k
    numbers[127] = board.num_cells
    return numbers


@njit(nogil=True)
def fill_pair_excesses(board, excesses):  # type: ignore[no-untyped-def]
    """The table of every pair (higher agent first); False when some pair can never get home together."""
    numbers, work = _numbers(board), _new_work(board.num_cells)
    order = np.empty(board.num_cells, np.int64)
    toward, away = np.empty((4, 2), np.uint64), np.empty((4, 2), np.uint64)
    for j in range(board.num_agents):
        _step_masks(board, j, toward, away)
        for i in range(j + 1, board.num_agents):
            table = excesses[PAIR[i, j]]
            _fill_excesses(board, i, j, toward, away, numbers, order, work, table)
            if table[board.starts[i], board.starts[j]] >= INFINITE:
                return False
    return True


@njit(nogil=True)
def fill_pair_times(board, times):  # type: ignore[no-untyped-def]
    """The table of every pair (higher agent first); returns the bound on the makespan that follows."""
    numbers, work = _numbers(board), _new_work(board.num_cells)
    toward, away = np.empty((4, 2), np.uint64), np.empty((4, 2), np.uint64)
    least = np.int64(0)
    for j in range(board.num_agents):
        _step_masks(board, j, toward, away)
        for i in range(j + 1, board.num_agents):
            table = times[PAIR[i, j]]
            _fill_times(board, i, j, toward, away, numbers, work, table)
            least = max(least, np.int64(table[board.starts[i], board.starts[j]]))
    return least
