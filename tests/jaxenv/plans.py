"""Boards and plans of every kind for the verifier's tests: wild ones, walks on free cells, valid ones, edited ones."""

from collections import deque

import numpy as np

import jaxenv
from jaxenv import Plans, Solutions, Status
from tests.jaxenv.oracle import MOVES, Board


def random_board(random, size=None, agents=None):
    """A board with up to a third of holes; starts may be goals, their own agent's too."""
    size = size or random.randint(3, 10)
    agents = agents or random.randint(1, 5)
    cells = [(row, col) for row in range(size) for col in range(size)]
    density = random.choice([0, 0.1, 0.3])
    while True:
        rows = ["".join("H" if random.random() < density else "." for _ in range(size)) for _ in range(size)]
        free = [(row, col) for row, col in cells if rows[row][col] == "."]
        if len(free) >= agents:
            return Board(rows, random.sample(free, agents), random.sample(free, agents))


def wild_plan(random, board):
    """Any actions, mostly waits, so that offences are spread over time."""
    return [random.choices(range(5), [6, 1, 1, 1, 1], k=random.randint(0, 12)) for _ in board.starts]


def is_free(board, row, col):
    return row in range(len(board.rows)) and col in range(len(board.rows)) and board.rows[row][col] == "."


def walking_plan(random, board):
    """Every agent walks on free cells only and minds nobody, so that only collisions are left to go wrong."""
    plan = []
    for row, col in board.starts:
        actions = []
        for _ in range(random.randint(0, 9)):
            action = random.choice([a for a, (dr, dc) in MOVES.items() if is_free(board, row + dr, col + dc)])
            row, col = row + MOVES[action][0], col + MOVES[action][1]
            actions.append(action)
        plan.append(actions)
    return plan


def walk_to_the_end(board, plan):
    """The board with its goals moved to where the plan ends, where these are distinct."""
    ends = []
    for (row, col), actions in zip(board.starts, plan, strict=True):
        for action in actions:
            row, col = row + MOVES[action][0], col + MOVES[action][1]
        ends.append((row, col))
    distinct = len(set(ends)) == len(ends) and all(is_free(board, *end) for end in ends)
    return Board(board.rows, board.starts, ends) if distinct else board


def valid_plan(board, horizon=24):
    """One agent after another takes a shortest path in space and time around those before it; None where one cannot."""
    paths, plan = [], []
    for start, goal in zip(board.starts, board.goals, strict=True):
        seen, queue, found = {(start, 0)}, deque([(start, 0, [])]), None
        while queue and found is None:
            cell, time, actions = queue.popleft()
            if cell == goal and all(cell not in path[time:] for path in paths):
                found = actions
            for action, (dr, dc) in MOVES.items():
                after = (cell[0] + dr, cell[1] + dc)
                if time == horizon or (after, time + 1) in seen or not is_free(board, *after):
                    continue
                if all(path[time + 1] != after and (path[time + 1], path[time]) != (cell, after) for path in paths):
                    seen.add((after, time + 1))
                    queue.append((after, time + 1, [*actions, action]))
        if found is None:
            return None
        cells = [start]
        for action in found:
            cells.append((cells[-1][0] + MOVES[action][0], cells[-1][1] + MOVES[action][1]))
        paths.append(cells + [goal] * (horizon + 1 - len(cells)))
        plan.append(found)
    return plan


def edited(random, plan):
    """The plan with one action changed, left out or put in, or with two agents' plans exchanged."""
    plan = [list(actions) for actions in plan]
    actions = random.choice(plan)
    at = random.randint(0, len(actions))
    kind = random.choice(["change", "leave out", "put in", "exchange"])
    if kind == "change" and at < len(actions):
        actions[at] = random.randrange(5)
    elif kind == "leave out" and at < len(actions):
        del actions[at]
    elif kind == "exchange":
        random.shuffle(plan)
    else:
        actions.insert(at, random.randrange(5))
    return plan


def solutions_of(status, sums, makespans):
    """Labels as if the solver had given them; the plans are of another horizon and must not matter."""
    status, sums, makespans = (np.array(x, np.int32) for x in (status, sums, makespans))
    no = np.zeros(len(status), bool)
    plans = Plans(np.zeros((len(no), 5, 128), np.int8), np.zeros((len(no), 5), np.int32), np.zeros(len(no), np.int32))
    return Solutions(status, sums, makespans, sums, sums, no, no, plans)


def known(count, status=Status.OPTIMAL, total=0, makespan=0):
    return solutions_of([status] * count, [total] * count, [makespan] * count)


def instances_of(boards):
    return jaxenv.make_instances([b.rows for b in boards], [b.starts for b in boards], [b.goals for b in boards])
