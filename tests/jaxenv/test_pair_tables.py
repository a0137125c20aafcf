"""The solver's tables of two agents alone, against a plain relaxation over all their joint places."""

import random

import numpy as np
import pytest

from jaxenv.bitmap import WIDTH
from jaxenv.host_graph import MAX_AGENTS, UNREACHABLE, Board, fill_distances, link_cells, number_cells
from jaxenv.host_pair_tables import fill_pair_excesses, fill_pair_times
from jaxenv.host_pairs import INFINITE, MAX_PAIRS, PAIR

FINISHED = "finished"


def board_of(holes, starts, goals):
    """The solver's view of a board whose starts and goals are numbers of free cells, and the cells by number."""
    side = len(holes)
    number, cells = np.empty((side, side), np.int32), np.empty((side * side, 2), np.int32)
    count = int(number_cells(holes, side, number, cells))
    neighbours = np.empty((side * side, 4), np.int32)
    link_cells(number, cells, count, side, neighbours)
    distance, queue = np.empty((MAX_AGENTS, side * side), np.int32), np.empty(side * side, np.int32)
    for i, goal in enumerate(goals):
        fill_distances(neighbours, count, goal, distance[i], queue)
    codes = (WIDTH * cells[:, 0] + cells[:, 1]).astype(np.int64)
    padded = (np.array([*x, *[0] * (MAX_AGENTS - len(x))], np.int64) for x in (starts, goals))
    return Board(neighbours, codes, distance, *padded, np.int64(len(starts)), np.int64(count))


def relaxed(board, i, j, excess):
    """Least cost of i and j by joint place: the excess, or else the steps. Sweeps until nothing falls."""
    count, goal = int(board.num_cells), {i: int(board.goals[i]), j: int(board.goals[j])}
    places = [*range(count), *([FINISHED] if excess else [])]

    def cell(a, place):
        return goal[a] if place == FINISHED else place

    def ways(a, place):
        if place == FINISHED:
            return [(FINISHED, 0)]
        far = board.distance[a]
        found = [(int(k), 1 + int(far[k]) - int(far[place])) for k in board.neighbours[place] if k >= 0]
        return [*found, (place, 1), *([(FINISHED, 0)] if excess and place == goal[a] else [])]

    at_home = FINISHED if excess else None
    least = {(x, y): INFINITE for x in places for y in places if cell(i, x) != cell(j, y)}
    least[(at_home, at_home) if excess else (goal[i], goal[j])] = 0
    next_of = {
        (x, y): [
            ((x1, y1), cost_i + cost_j if excess else 1)
            for x1, cost_i in ways(i, x)
            for y1, cost_j in ways(j, y)
            if cell(i, x1) != cell(j, y1) and not (cell(i, x1) == cell(j, y) and cell(j, y1) == cell(i, x))
        ]
        for x, y in least
    }
    fell = True
    while fell:
        fell = False
        for state, value in least.items():
            best = min((least[after] + cost for after, cost in next_of[state]), default=INFINITE)
            if best < value:
                least[state] = best
                fell = True
    table = np.full((count + 1, count + 1), INFINITE)
    for (x, y), value in least.items():
        table[count if x == FINISHED else x, count if y == FINISHED else y] = value
    return table


def boards():
    """Small maps with any number of holes, in parts too, and mazes of 11x11, whose cells take two machine words."""
    rng = random.Random(3)
    for k in range(24):
        side, ratio = (11, 0.75) if k % 6 == 5 else (rng.randint(2, 5), k % 4 * 0.15)
        while True:
            holes = np.array([rng.random() < ratio for _ in range(side**2)]).reshape(side, side)
            free = int((~holes).sum())
            agents = rng.randint(2, 3)
            if agents <= free <= 30:
                break
        yield board_of(holes, rng.sample(range(free), agents), rng.sample(range(free), agents))


@pytest.mark.parametrize("board", list(boards()))
def test_every_two_agents_cost_alone_what_a_plain_relaxation_says(board):
    n, count = int(board.num_agents), int(board.num_cells)
    excesses, times = (np.zeros((MAX_PAIRS, count + 1, count + 1), np.int16) for _ in range(2))
    solvable, bound = fill_pair_excesses(board, excesses), fill_pair_times(board, times)
    expected, at_start = True, 0
    for j in range(n):
        for i in range(j + 1, n):
            starts = board.starts[i], board.starts[j]
            apart = max(board.distance[a, board.starts[a]] for a in (i, j)) >= UNREACHABLE
            excess, steps = relaxed(board, i, j, True), relaxed(board, i, j, False)
            expected = expected and excess[starts] < INFINITE
            at_start = max(at_start, steps[starts])
            if expected:  # else the tables after it are not filled
                np.testing.assert_array_equal(excesses[PAIR[i, j]], excess)
            np.testing.assert_array_equal(times[PAIR[i, j], :count, :count], steps[:count, :count])
            assert not apart or not expected
    assert solvable == expected and bound == at_start
