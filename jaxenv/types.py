"""The arrays the parts of LakeLoop exchange, and the small vocabularies in them.

Letters in the shapes: B boards, S the largest map size, A the largest number of agents, T a horizon.
Everything is padded to S and A. Cells outside a map count as holes; padding agents stand at (S, S), start and goal.
Cells are (row, column) with (0, 0) at the top left.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import jax
from flax import struct

MIN_SIZE = 3
HORIZONS = (32, 64, 128)


class Action(IntEnum):
    """What one agent does in one step."""

    WAIT = 0
    UP = 1
    DOWN = 2
    LEFT = 3
    RIGHT = 4


class Status(IntEnum):
    """What the solver can prove about a board."""

    UNDETERMINED = 0
    OPTIMAL = 1
    UNSOLVABLE = 2


class Label(IntEnum):
    """The verdict on one answer. The text reader's labels come first: 0 means that it could read the answer."""

    READ = 0
    TRUNCATED = 1
    PARSE_ERROR = 2
    AGENT_MISMATCH = 3
    TOO_LONG = 4
    OFF_MAP = 5
    HOLE = 6
    VERTEX_CONFLICT = 7
    SWAP_CONFLICT = 8
    GOAL_NOT_REACHED = 9
    SUBOPTIMAL = 10
    OPTIMAL = 11
    SOLVER_FAULT = 12


@dataclass(frozen=True)
class Limits:
    """Static bounds every array is padded to; a new value means a new compilation."""

    max_size: int = 10
    max_agents: int = 5
    horizon: int = 64


@struct.dataclass
class Instances:
    """Boards: a map with holes, and a start and a goal for each agent."""

    size: jax.Array  # i32[B]
    num_agents: jax.Array  # i32[B]
    holes: jax.Array  # bool[B, S, S], True outside the map too
    starts: jax.Array  # i32[B, A, 2] row, col
    goals: jax.Array  # i32[B, A, 2] row, col

    def __len__(self) -> int:
        return int(self.size.shape[0])


@struct.dataclass
class Plans:
    """One plan per board: actions of every agent, WAIT past an agent's length and for padding agents."""

    actions: jax.Array  # i8[B, A, T] Action
    lengths: jax.Array  # i32[B, A] actions given per agent
    outcome: jax.Array  # i32[B] 0, or the text reader's Label

    def __len__(self) -> int:
        return int(self.outcome.shape[0])


@struct.dataclass
class Solutions:
    """What the solver proved about each board; costs are -1 where the status is not OPTIMAL."""

    status: jax.Array  # i32[B] Status
    sum_of_costs: jax.Array  # i32[B] steps
    makespan: jax.Array  # i32[B] steps
    lower_bound: jax.Array  # i32[B] steps, proven bound on the objective
    single_path_bound: jax.Array  # i32[B] steps, by the objective; -1 where an agent cannot reach its goal
    needs_wait: jax.Array  # bool[B]
    interacts: jax.Array  # bool[B]
    plans: Plans

    def __len__(self) -> int:
        return int(self.status.shape[0])


class Optima(NamedTuple):
    """What of `Solutions` a verdict depends on."""

    status: jax.Array
    sum_of_costs: jax.Array
    makespan: jax.Array


@struct.dataclass
class Verdicts:
    """What the verifier says of one plan per board."""

    label: jax.Array  # i32[B] Label
    flags: jax.Array  # u32[B] bit 1 << label for every offence of the first offending step
    valid: jax.Array  # bool[B]
    optimal: jax.Array  # bool[B]
    sum_of_costs: jax.Array  # i32[B] steps, -1 for an invalid plan
    makespan: jax.Array  # i32[B] steps, -1 for an invalid plan
    gap: jax.Array  # f32[B] (C - C*) / max(C*, 1), NaN when invalid or without certified optimum
    step: jax.Array  # i32[B] index of the first offending action, -1 without one
    agents: jax.Array  # i32[B, 2] smallest offending pair, -1 where there is none
    cell: jax.Array  # i32[B, 2] contested cell, (-1, -1) without one

    def __len__(self) -> int:
        return int(self.label.shape[0])
