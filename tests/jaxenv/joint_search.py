"""Plain searches of the joint space, in Python dictionaries: what the solver is held against. Small boards only.

They share nothing with the solver: no excess, no order of agents within a step, no bounds.
"""

import heapq
from itertools import product


def _neighbours(rows, cell):
    for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        r, c = cell[0] + dr, cell[1] + dc
        if 0 <= r < len(rows) and 0 <= c < len(rows) and rows[r][c] == ".":
            yield r, c


def _joint_steps(before, choices):
    for after in product(*choices):
        if len(set(after)) < len(after):
            continue
        pairs = ((i, j) for i in range(len(after)) for j in range(i))
        if not any(after[i] == before[j] and after[j] == before[i] for i, j in pairs):
            yield after


def _steps(rows, state, waits):
    """All next states; an agent that has finished stays, any other moves or (with `waits`) stays unfinished."""
    before = [cell for cell, _ in state]
    choices = [
        [cell] if finished else [*_neighbours(rows, cell), *([cell] if waits else [])] for cell, finished in state
    ]
    for after in _joint_steps(before, choices):
        yield tuple((cell, finished) for cell, (_, finished) in zip(after, state, strict=True))


def _finishes(state, goals):
    """The states in which one more of the agents on their goals has finished."""
    for i, (cell, finished) in enumerate(state):
        if not finished and cell == goals[i]:
            yield (*state[:i], (cell, True), *state[i + 1 :])


def least_sum_of_costs(rows, starts, goals, waits=True):
    """Dijkstra: every unfinished agent pays 1 a step. None when there is no plan."""
    first = tuple((cell, False) for cell in starts)
    best = {first: 0}
    heap = [(0, first)]
    while heap:
        cost, state = heapq.heappop(heap)
        if cost > best[state]:
            continue
        if all(finished for _, finished in state):
            return cost
        paid = sum(not finished for _, finished in state)
        ways = [(cost, s) for s in _finishes(state, goals)] + [(cost + paid, s) for s in _steps(rows, state, waits)]
        for reached, after in ways:
            if reached < best.get(after, reached + 1):
                best[after] = reached
                heapq.heappush(heap, (reached, after))
    return None


def least_makespan(rows, starts, goals, waits=True):
    """Breadth first over sets of joint states. None when there is no plan."""
    front = {tuple((cell, False) for cell in starts)}
    seen = set()
    time = 0
    while front:
        todo = list(front)
        while todo:
            new = set(_finishes(todo.pop(), goals)) - front
            front |= new
            todo += new
        if any(all(finished for _, finished in state) for state in front):
            return time
        seen |= front
        front = {after for state in front for after in _steps(rows, state, waits)} - seen
        time += 1
    return None


def replay(rows, starts, goals, actions):
    """Costs of the agents in a plan (a list of actions per agent) and all positions; asserts that the plan is valid."""
    moves = {0: (0, 0), 1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
    where = list(starts)
    history = [where]
    for t in range(max(map(len, actions))):
        after = []
        for agent, (r, c) in enumerate(where):
            dr, dc = moves[actions[agent][t] if t < len(actions[agent]) else 0]
            assert 0 <= r + dr < len(rows) and 0 <= c + dc < len(rows) and rows[r + dr][c + dc] == "."
            after.append((r + dr, c + dc))
        assert len(set(after)) == len(after)
        for i in range(len(after)):
            for j in range(i):
                assert not (after[i] == where[j] and after[j] == where[i])
        where = after
        history.append(where)
    assert where == list(goals)
    costs = []
    for agent, goal in enumerate(goals):
        away = [t for t, cells in enumerate(history) if cells[agent] != goal]
        costs.append(away[-1] + 1 if away else 0)
    return costs, history
