"""Pairs of board and answer for the warm start: agents that each walk as if alone, and properly coordinated plans.

An agent that walks as if alone takes a shortest path, at every step a uniformly drawn move among those that come
nearer to its goal, and ignores the others: such a plan may collide. Each pair is turned by one of the eight symmetries
of the square, and its agents are put in random order, so that no habit of the solver's search order is taught.
"""

from collections.abc import Sequence

import numpy as np

import jaxenv
from policy.compact import render_answer, render_board
from policy.starter import Pair

_MOVES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)], np.int32)  # row, col by Action
_FAR = 1 << 14


def board_pairs(
    boards: jaxenv.Instances, solutions: jaxenv.Solutions, coordinated: float, random: np.random.Generator
) -> list[Pair]:
    """One pair for every board; all of them have a certified optimum.

    Args: `coordinated` the share answered with the solver's optimal plan; the others walk as if alone.
    """
    sizes, counts = np.asarray(boards.size), np.asarray(boards.num_agents)
    holes, starts, goals = np.asarray(boards.holes), np.asarray(boards.starts), np.asarray(boards.goals)
    alone = walk_alone(holes, starts, goals, random)
    optimal, lengths = np.asarray(solutions.plans.actions), np.asarray(solutions.plans.lengths)
    together = random.random(len(sizes)) < coordinated
    pairs = []
    for board, (size, agents) in enumerate(zip(sizes.tolist(), counts.tolist(), strict=True)):
        if together[board]:
            plan = [optimal[board, a, : lengths[board, a]] for a in range(agents)]
        else:
            plan = [np.array(path, np.int32) for path in alone[board][:agents]]
        symmetry = int(random.integers(8))
        order = random.permutation(agents)
        turned = turn_cells(np.stack([starts[board, order], goals[board, order]]), size, symmetry)
        prompt = render_board(size, turn_map(holes[board, :size, :size], symmetry), *turned.tolist())
        actions = [turn_actions(plan[agent], symmetry).tolist() for agent in order]
        pairs.append((prompt, render_answer(actions, turned[0].tolist())))
    return pairs


def walk_alone(
    holes: np.ndarray, starts: np.ndarray, goals: np.ndarray, random: np.random.Generator
) -> list[list[list[int]]]:
    """For every board and agent the moves of a random shortest path; padding agents get none.

    Args: holes bool[B, S, S], starts and goals i32[B, A, 2] (row, col), padding at (S, S).
    """
    boards, agents = starts.shape[:2]
    edge = holes.shape[1]
    far = _distances(holes, goals)  # i32[B, A, S + 2, S + 2], a frame of unreachable cells around the map
    at = np.where(starts < edge, starts, -1) + 1
    b, a = np.arange(boards)[:, None], np.arange(agents)[None, :]
    paths: list[list[list[int]]] = [[[] for _ in range(agents)] for _ in range(boards)]
    here = far[b, a, at[..., 0], at[..., 1]]
    while (walking := (here > 0) & (here < _FAR)).any():
        next_cells = at[:, :, None, :] + _MOVES[None, None, 1:]  # B, A, 4, 2
        nearer = far[b[..., None], a[..., None], next_cells[..., 0], next_cells[..., 1]] == here[..., None] - 1
        move = np.argmax(np.where(nearer, random.random(nearer.shape), -1.0), axis=-1) + 1
        at = np.where(walking[..., None], at + _MOVES[move], at)
        here = np.where(walking, here - 1, here)
        for board, agent in np.argwhere(walking):
            paths[board][agent].append(int(move[board, agent]))
    return paths


def _distances(holes: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Steps to each agent's goal from every cell, alone on the map, with a frame one cell wide."""
    boards, agents = goals.shape[:2]
    edge = holes.shape[1]
    blocked = np.pad(holes, ((0, 0), (1, 1), (1, 1)), constant_values=True)[:, None]
    far = np.full((boards, agents, edge + 2, edge + 2), _FAR, np.int32)
    real = (goals < edge).all(-1)
    b, a = np.nonzero(real)
    far[b, a, goals[b, a, 0] + 1, goals[b, a, 1] + 1] = 0
    while True:
        near = far.copy()
        for axis in (2, 3):
            for shift in (1, -1):  # the frame is blocked, so that nothing comes around the edge
                near = np.minimum(near, np.roll(far, shift, axis) + 1)
        near = np.where(blocked, _FAR, np.minimum(near, _FAR))
        if (near == far).all():
            return far
        far = near


def turn_cells(cells: np.ndarray, size: int, symmetry: int) -> np.ndarray:
    """Cells i32[..., 2] under one of eight symmetries: bit 0 exchanges row and column, bits 1 and 2 mirror them."""
    turned = cells[..., ::-1].copy() if symmetry & 1 else cells.copy()
    for axis, bit in ((0, 2), (1, 4)):
        if symmetry & bit:
            turned[..., axis] = size - 1 - turned[..., axis]
    return turned


def turn_map(holes: np.ndarray, symmetry: int) -> np.ndarray:
    """The map bool[size, size] under the same symmetry."""
    turned = holes.T if symmetry & 1 else holes
    turned = turned[::-1] if symmetry & 2 else turned
    return turned[:, ::-1] if symmetry & 4 else turned


def turn_actions(actions: Sequence[int] | np.ndarray, symmetry: int) -> np.ndarray:
    """The actions under the same symmetry."""
    moves = _MOVES[:, ::-1].copy() if symmetry & 1 else _MOVES.copy()
    for axis, bit in ((0, 2), (1, 4)):
        if symmetry & bit:
            moves[:, axis] *= -1
    table = [next(k for k, original in enumerate(_MOVES) if (original == move).all()) for move in moves]
    return np.asarray(table, np.int32)[np.asarray(actions, np.int32)]
