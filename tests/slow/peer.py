"""Conflict-based search by w9-pathfinding, an independent implementation in C++, on our boards and by our rules.

The peer names cells (x, y), which is (column, row). Vertex conflicts, staying at the goal and paying for waits are as
here; exchanging cells is forbidden only with `edge_collision`.
"""

from importlib.metadata import version
from itertools import pairwise

from w9_pathfinding.envs import Grid
from w9_pathfinding.mapf import CBS

from jaxenv import Action

NAME = f"w9-pathfinding {version('w9-pathfinding')} CBS"
_ACTIONS = {
    (0, 0): Action.WAIT,
    (0, -1): Action.UP,
    (0, 1): Action.DOWN,
    (-1, 0): Action.LEFT,
    (1, 0): Action.RIGHT,
}


def grid_of(rows):
    return Grid([[1 if mark == "." else -1 for mark in row] for row in rows], edge_collision=True)


def find_paths(grid, starts, goals, seconds):
    """A path of (x, y) per agent, or None when the peer ran out of time or found none."""
    try:
        paths = CBS(grid, seed=0).mapf(
            [cell[::-1] for cell in starts], [cell[::-1] for cell in goals], max_time=seconds
        )
    except RuntimeError:
        return None
    return paths or None


def peer_plan(board, seconds):
    """The peer's plan as actions per agent, or None."""
    rows, starts, goals = board
    paths = find_paths(grid_of(rows), starts, goals, seconds)
    if paths is None:
        return None
    return [[_ACTIONS[b[0] - a[0], b[1] - a[1]] for a, b in pairwise(path)] for path in paths]
