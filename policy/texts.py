"""Completions to verdicts: the one way from text to the verifier, for training, evaluation and re-scoring alike."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

import jaxenv
from jaxenv.types import HORIZONS, Action, Instances, Label, Limits, Plans, Solutions, Verdicts
from policy.answers import parse_answer
from policy.errors import PolicyError, SolverFaultError

Completion = str | Sequence[Mapping[str, Any]]

# Batches are padded to powers of two from here on, so that batches of any size share a handful of compilations.
_SMALLEST_BATCH = 16


def read_texts(
    completions: Sequence[Completion],
    num_agents: object,
    *,
    style: str,
    truncated: object,
    thinking: bool = False,
    limits: Limits | None = None,
) -> Plans:
    """One plan per completion, with the reader's label where it holds none; fields are NumPy arrays."""
    limits = limits or Limits()
    agents, cut = np.asarray(num_agents), np.asarray(truncated, dtype=bool)
    if not len(completions) == len(agents) == len(cut):
        raise PolicyError(
            f"{len(completions)} completions, {len(agents)} boards and {len(cut)} truncation marks do not go together"
        )
    # One bucket whatever the answers are, so that the verifier compiles once.
    width = min(horizon for horizon in HORIZONS if horizon >= limits.horizon)
    actions = np.full((len(completions), limits.max_agents, width), Action.WAIT, dtype=np.int8)
    lengths = np.zeros((len(completions), limits.max_agents), dtype=np.int32)
    outcome = np.zeros(len(completions), dtype=np.int32)
    flat = actions.view(np.uint8).reshape(-1).data
    for row, completion in enumerate(completions):
        if cut[row]:
            outcome[row] = Label.TRUNCATED
            continue
        answer = parse_answer(completion, int(agents[row]), style=style, thinking=thinking)
        outcome[row] = answer.outcome
        if answer.actions is None:
            continue
        if max(map(len, answer.actions), default=0) > limits.horizon:
            outcome[row] = Label.TOO_LONG
            continue
        for agent, listed in enumerate(answer.actions):
            # NumPy would look at every action's type.
            first = (row * limits.max_agents + agent) * width
            flat[first : first + len(listed)] = bytes(listed)
            lengths[row, agent] = len(listed)
    return Plans(actions=actions, lengths=lengths, outcome=outcome)  # type: ignore[arg-type]


def verify_texts(
    instances: Instances,
    solutions: Solutions,
    completions: Sequence[Completion],
    *,
    style: str,
    truncated: object,
    thinking: bool = False,
    objective: str = "sum_of_costs",
    limits: Limits | None = None,
) -> Verdicts:
    """The verdict on each completion for the board in the same row.

    Stops with `SolverFaultError` when a valid plan contradicts the label of its board.
    """
    plans = read_texts(
        completions, instances.num_agents, style=style, truncated=truncated, thinking=thinking, limits=limits
    )
    count = len(completions)
    if not count:
        raise PolicyError("there are no completions to verify")
    padded = max(_SMALLEST_BATCH, 1 << (count - 1).bit_length())
    rows = np.minimum(np.arange(padded), count - 1)
    boards, labels, answers = jax.tree.map(lambda field: np.asarray(field)[rows], (instances, solutions, plans))
    verdicts: Verdicts = jax.tree.map(
        lambda field: np.asarray(field)[:count], jaxenv.verify(boards, labels, answers, objective=objective)
    )
    _stop_on_fault(verdicts, instances)
    placed: Verdicts = jax.device_put(verdicts)
    return placed


def _stop_on_fault(verdicts: Verdicts, instances: Instances) -> None:
    faults = np.flatnonzero(np.asarray(verdicts.flags) & (1 << Label.SOLVER_FAULT))
    if not faults.size:
        return
    row = int(faults[0])
    board: Instances = jax.tree.map(lambda field: np.asarray(field)[row], instances)
    raise SolverFaultError(
        f"{faults.size} valid plans contradict their boards' labels; please report the board of the first, row {row}: "
        f"size {int(board.size)}, starts {board.starts[: int(board.num_agents)].tolist()}, "
        f"goals {board.goals[: int(board.num_agents)].tolist()}, "
        f"holes {np.argwhere(board.holes[: int(board.size), : int(board.size)]).tolist()}"
    )
