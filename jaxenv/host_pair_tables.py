"""The tables of `jaxenv.host_pairs`: exact costs of every two agents alone, from every pair of places.

They are filled backwards from the goals, all places of the second agent j at once: a set of its places is two words of
`jaxenv.bitmap`, whose last bit stands for having finished, so that a step of j in one direction is a shift. (On maps of
11x11 the column that is to be free is not; here every step is masked.) For every place x of the first agent i there is
the set of places of j from which both get home for a cost, and it grows cost by cost. What j can do on the way to a set
is worked out once for every x, and serves each place from which i comes to x.

The only step that depends on where i came from is that of j out of the cell that i comes to: it may go anywhere but to
where i was. Such places of j are kept apart, as the directions in which it would leave.
"""

import numpy as np
from numba import njit

from jaxenv.bitmap import ONE, ZERO, holds, moved, only, popcount
from jaxenv.host_graph import UNREACHABLE
from jaxenv.host_pairs import INFINITE, PAIR

_OPPOSITE = np.array([1, 0, 3, 2], np.int64)
_FINISHED = np.uint64(1 << 63)  # in the second word
_MOST_FOR_A_STEP = 4  # both agents go away from their goals
# Two values after a row was full, all that is kept of it is in the state that stays: the others have seen it for steps
# at any cost, and sets only grow. Open places are counted on below zero till then.
_SETTLED = -2


@njit(nogil=True)
def _come_from(cells, masks):
    """The cells from which one step leads into a set, where `masks` u64[4, 2] allow that step by its direction."""
    up, down, left, right = moved(*cells)  # where they were is the other way
    return (
        down[0] & masks[0, 0] | up[0] & masks[1, 0] | right[0] & masks[2, 0] | left[0] & masks[3, 0],
        down[1] & masks[0, 1] | up[1] & masks[1, 1] | right[1] & masks[2, 1] | left[1] & masks[3, 1],
    )


@njit(nogil=True)
def _step_masks(board, i, toward, away):
    """The cells from which a step brings agent i nearer to its goal, and farther from it; u64[4, 2] each."""
    toward[:, :] = ZERO
    away[:, :] = ZERO
    for k in range(board.num_cells):
        low, high = only(board.codes[k])
        for d in range(4):
            m = board.neighbours[k, d]
            if m >= 0:
                masks = toward if board.distance[i, m] < board.distance[i, k] else away
                masks[d, 0] |= low
                masks[d, 1] |= high


@njit(nogil=True, inline="always")
def _write_new(now, then, numbers, value, row):
    """Give `row` the value at the places that are in a set now and were not then; returns how many."""
    many = 0
    for word in range(2):
        new = now[1] & ~then[1] if word else now[0] & ~then[0]
        while new:
            row[numbers[64 * word + popcount((new & (~new + ONE)) - ONE)]] = value
            new &= new - ONE
            many += 1
    return many


@njit(nogil=True)
def _order_by_distance(distance, count, order):
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
def _leaving(board, x, distance, near, far):
    """Directions, a bit each, in which j can leave cell x: nearer to its goal into one set, farther into the other."""
    directions = 0
    for d in range(4):
        m = board.neighbours[x, d]
        if m >= 0:
            into = near if distance[m] < distance[x] else far
            if holds(into[0], into[1], board.codes[m]):
                directions |= 1 << d
    return directions


@njit(nogil=True)
def _brought_by_steps(board, distance, x, near, far, ways, leaving):
    """Where j may be for i to step out of cell x, nearer to its goal by the sets numbered `near`, farther by `far`."""
    low = high = ZERO
    for d in range(4):
        m = board.neighbours[x, d]
        if m >= 0:
            at = near if distance[m] < distance[x] else far
            low |= ways[at, m, 0]
            high |= ways[at, m, 1]
            if leaving[at, m] & ~(1 << _OPPOSITE[d]):
                there = only(board.codes[m])
                low |= there[0]
                high |= there[1]
    return low, high


@njit(nogil=True)
def _count_open_places(board, i, j, cells, open_places):
    """How many places j can have while i has each of its own; returns their sum."""
    of_j = 1
    for k in range(board.num_cells):
        of_j += board.distance[j, k] < UNREACHABLE
    finished = board.num_cells
    open_places[finished] = of_j - (board.distance[j, board.goals[i]] < UNREACHABLE)
    total = open_places[finished]
    for x in cells:
        open_places[x] = of_j - (board.distance[j, x] < UNREACHABLE) - (x == board.goals[j])
        total += open_places[x]
    return total


@njit(nogil=True)
def _fill_excesses(board, i, j, toward, away, numbers, order, work, table):
    """`table[x, y]` = least excess of i and j together until both have finished."""
    sets, ways, leaving, open_places = work
    finished = board.num_cells
    goal = only(board.codes[board.goals[j]])
    table[: finished + 1, : finished + 1] = INFINITE
    sets[:, : finished + 1] = ZERO
    ways[:, : finished + 1] = ZERO
    leaving[:, : finished + 1] = 0
    many = _order_by_distance(board.distance[i], finished, order)
    left = _count_open_places(board, i, j, order[:many], open_places)
    value = 0
    idle = 0
    while left and idle <= _MOST_FOR_A_STEP:
        now, one, two = value % 3, (value + 2) % 3, (value + 1) % 3  # of this value, of one less, of two less
        new = 0
        for q in range(many + 1):  # whoever has finished first, then the nearest: steps that cost nothing lead there
            x = order[q - 1] if q else finished
            if open_places[x] <= _SETTLED:
                continue
            cell = x if q else board.goals[i]
            taken_low, taken_high = only(board.codes[cell])
            if cell == board.goals[j]:
                taken_high |= _FINISHED
            was_low, was_high = sets[one, x, 0], sets[one, x, 1]
            away_low, away_high = _come_from((sets[two, x, 0], sets[two, x, 1] & ~_FINISHED), away)
            if x == finished:
                low, high = was_low | away_low & ~taken_low, was_high | away_high & ~taken_high
                if value == 0:
                    high |= _FINISHED
                more = True
                while more:
                    near_low, near_high = _come_from((low, high & ~_FINISHED), toward)
                    near_low = (near_low | goal[0]) & ~taken_low & ~low
                    near_high = (near_high | goal[1]) & ~taken_high & ~high
                    low |= near_low
                    high |= near_high
                    more = near_low | near_high != ZERO
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
                near_low, near_high = _come_from((low, high & ~_FINISHED), toward)
                if high & _FINISHED:
                    near_low |= goal[0]
                    near_high |= goal[1] | _FINISHED
                ways[now, x, 0] = (near_low | was_low | away_low) & ~taken_low
                ways[now, x, 1] = (near_high | was_high & ~_FINISHED | away_high) & ~taken_high
                far = sets[two, x, 0], sets[two, x, 1]
                leaving[now, x] = _leaving(board, x, board.distance[j], (low, high), far)
            sets[now, x, 0], sets[now, x, 1] = low, high
            if open_places[x] <= 0:
                open_places[x] -= 1
                continue
            found = _write_new((low, high), (was_low, was_high), numbers, value, table[x])
            open_places[x] -= found
            new += found
        left -= new
        idle = 0 if new else idle + 1
        value += 1


@njit(nogil=True)
def _fill_times(board, i, j, toward, away, numbers, work, table):
    """`table[x, y]` = fewest steps until i (now at x) and j (at y) are both on their goals."""
    sets, ways, leaving, _ = work
    cells = board.num_cells
    table[:cells, :cells] = INFINITE
    sets[0, :cells] = ZERO
    sets[0, board.goals[i], 0], sets[0, board.goals[i], 1] = only(board.codes[board.goals[j]])
    table[board.goals[i], board.goals[j]] = 0
    masks = toward | away
    value = 0
    new = 1
    while new:
        value += 1
        new = 0
        for x in range(cells):
            places = sets[0, x, 0], sets[0, x, 1]
            low, high = _come_from(places, masks)
            taken_low, taken_high = only(board.codes[x])
            ways[0, x, 0] = (places[0] | low) & ~taken_low
            ways[0, x, 1] = (places[1] | high) & ~taken_high
            leaving[0, x] = _leaving(board, x, board.distance[j], places, places)
        for x in range(cells):
            low, high = _brought_by_steps(board, board.distance[i], x, 0, 0, ways, leaving)
            taken_low, taken_high = only(board.codes[x])
            low = (low | ways[0, x, 0]) & ~taken_low
            high = (high | ways[0, x, 1]) & ~taken_high
            new += _write_new((low, high), (sets[0, x, 0], sets[0, x, 1]), numbers, value, table[x])
            sets[0, x, 0], sets[0, x, 1] = low, high


@njit(nogil=True)
def _new_work(count):
    """By value (modulo 3) and place of i: the places of j; where j can be to come to one of them, at its cost, while i
    comes to or stays on its place; and from that place, the directions. Then, by place of i, places of j to be found.
    """
    return (
        np.zeros((3, count + 1, 2), np.uint64),
        np.zeros((3, count + 1, 2), np.uint64),
        np.zeros((3, count + 1), np.int64),
        np.zeros(count + 1, np.int64),
    )


@njit(nogil=True)
def _numbers(board):
    """The place of each bit of a set."""
    numbers = np.zeros(128, np.int64)
    for k in range(board.num_cells):
        numbers[board.codes[k]] = k
    numbers[127] = board.num_cells
    return numbers


@njit(nogil=True)
def fill_pair_excesses(board, excesses):
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
def fill_pair_times(board, times):
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
