"""Boards and plans from plain lists, checked: what cannot be judged is refused with its board, agent and value."""

from collections.abc import Sequence
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np

from jaxenv.errors import InstanceError
from jaxenv.types import HORIZONS, Action, Instances, Limits, Plans

FREE, HOLE = ".", "H"

Cell = Sequence[int]


def make_instances(
    maps: Sequence[Sequence[str]], starts: Sequence[Sequence[Cell]], goals: Sequence[Sequence[Cell]]
) -> Instances:
    """Boards from rows of text (`.` free, `H` hole) and one (row, col) per agent for the starts and for the goals.

    Boards may differ in size and number of agents. A start may be any goal, its own agent's too.
    """
    limits = Limits()
    _same_number(maps=maps, starts=starts, goals=goals)
    boards = len(maps)
    size = np.zeros(boards, np.int32)
    num_agents = np.zeros(boards, np.int32)
    holes = np.ones((boards, limits.max_size, limits.max_size), np.bool_)
    cells = {name: np.full((boards, limits.max_agents, 2), limits.max_size, np.int32) for name in ("start", "goal")}
    for b in range(boards):
        grid = _read_map(b, maps[b], limits)
        size[b] = side = len(grid)
        holes[b, :side, :side] = grid
        if len(starts[b]) != len(goals[b]):
            raise InstanceError(
                f"board {b}: {len(starts[b])} starts and {len(goals[b])} goals; each agent needs one of each"
            )
        num_agents[b] = count = len(starts[b])
        if not 1 <= count <= limits.max_agents:
            raise InstanceError(f"board {b}: {count} agents; a board has 1 to {limits.max_agents}")
        for name, given in (("start", starts[b]), ("goal", goals[b])):
            cells[name][b, :count] = _read_cells(b, name, given, grid)
    return Instances(
        size=jnp.asarray(size),
        num_agents=jnp.asarray(num_agents),
        holes=jnp.asarray(holes),
        starts=jnp.asarray(cells["start"]),
        goals=jnp.asarray(cells["goal"]),
    )


def make_plans(actions: Sequence[Sequence[Sequence[int]]]) -> Plans:
    """Plans from one list of actions per board and agent; an agent past the end of its list waits."""
    limits = Limits()
    lists = [[_read_actions(b, a, plan) for a, plan in enumerate(board)] for b, board in enumerate(actions)]
    for b, board in enumerate(lists):
        if len(board) > limits.max_agents:
            raise InstanceError(f"board {b}: plans for {len(board)} agents; a board has at most {limits.max_agents}")
    longest = max((len(plan) for board in lists for plan in board), default=0)
    horizon = next(t for t in HORIZONS if longest <= t)
    table = np.full((len(lists), limits.max_agents, horizon), Action.WAIT, np.int8)
    lengths = np.zeros((len(lists), limits.max_agents), np.int32)
    for b, board in enumerate(lists):
        for a, plan in enumerate(board):
            table[b, a, : len(plan)] = plan
            lengths[b, a] = len(plan)
    return Plans(actions=jnp.asarray(table), lengths=jnp.asarray(lengths), outcome=jnp.zeros(len(lists), jnp.int32))


def _same_number(**lists: Sequence[Any]) -> None:
    counts = {name: len(values) for name, values in lists.items()}
    try:
        chex.assert_equal(len(set(counts.values())), 1)
    except AssertionError:
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise InstanceError(f"{told}: each board needs one of each") from None


def _read_map(board: int, rows: Sequence[str], limits: Limits) -> np.ndarray:
    """bool[size, size], True for a hole."""
    rows = rows.splitlines() if isinstance(rows, str) else list(rows)
    side = len(rows)
    if not 1 <= side <= limits.max_size:
        raise InstanceError(f"board {board}: the map has {side} rows; it must have 1 to {limits.max_size}")
    for r, row in enumerate(rows):
        if len(row) != side:
            raise InstanceError(
                f"board {board}: row {r} ({row!r}) has {len(row)} cells; a map with {side} rows must be square"
            )
        for c, mark in enumerate(row):
            if mark not in (FREE, HOLE):
                raise InstanceError(
                    f"board {board}: unknown mark {mark!r} at ({r}, {c}); use {FREE!r} free or {HOLE!r} hole"
                )
    return np.array([[mark == HOLE for mark in row] for row in rows], np.bool_)


def _read_cells(board: int, name: str, given: Sequence[Cell], grid: np.ndarray) -> list[tuple[int, int]]:
    """(row, col) of every agent: whole numbers, on the map, in no hole, pairwise distinct."""
    side = len(grid)
    taken: dict[tuple[int, int], int] = {}
    for agent, cell in enumerate(given):
        where = f"board {board}, agent {agent}: the {name} {cell!r}"
        values = np.asarray(cell)
        try:
            chex.assert_shape(values, (2,))
            chex.assert_type(values, int)
        except AssertionError:
            raise InstanceError(f"{where} is not a (row, col) of whole numbers") from None
        row, col = int(values[0]), int(values[1])
        if not (0 <= row < side and 0 <= col < side):
            raise InstanceError(f"{where} is off the map; rows and columns go from 0 to {side - 1}")
        if grid[row, col]:
            raise InstanceError(f"{where} is in a hole")
        if (row, col) in taken:
            raise InstanceError(f"{where} is agent {taken[row, col]}'s too; {name}s must be pairwise distinct")
        taken[row, col] = agent
    return list(taken)


def _read_actions(board: int, agent: int, plan: Sequence[int]) -> list[int]:
    known = {int(action) for action in Action}
    if len(plan) > HORIZONS[-1]:
        raise InstanceError(f"board {board}, agent {agent}: {len(plan)} actions; a plan has at most {HORIZONS[-1]}")
    for t, action in enumerate(plan):
        if isinstance(action, bool) or action not in known:
            told = ", ".join(f"{member.name} {member.value}" for member in Action)
            raise InstanceError(f"board {board}, agent {agent}: action {t} is {action!r}; it must be one of {told}")
    return [int(action) for action in plan]
