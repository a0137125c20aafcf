"""Batches of boards and labels as NumPy arrays: rows taken, joined, replaced, and plans padded to one horizon."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from jaxenv.types import HORIZONS, Instances, Plans, Solutions, Status


def to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def take(tree: Any, rows: NDArray[Any] | slice) -> Any:
    return jax.tree.map(lambda leaf: leaf[rows], tree)


def solutions_of(found: dict[str, NDArray[Any]], objective: str) -> Solutions:
    """The labels that an engine gives as plain arrays, and what follows from them."""
    optimal = found["status"] == Status.OPTIMAL
    plans: dict[str, Any] = {name: found[name] for name in ("actions", "lengths")}
    plans["outcome"] = np.zeros(len(optimal), np.int32)
    labels: dict[str, Any] = {
        name: found[name]
        for name in ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound", "needs_wait")
    }
    labels["interacts"] = optimal & (found[objective] > found["single_path_bound"])
    return Solutions(**labels, plans=Plans(**plans))


def widened(solutions: Solutions, horizon: int) -> Solutions:
    """With room for plans of `horizon` steps at least; Action.WAIT is 0."""
    actions = np.asarray(solutions.plans.actions)
    missing = horizon - actions.shape[-1]
    if missing <= 0:
        return solutions
    padded: Any = np.pad(actions, ((0, 0), (0, 0), (0, missing)))
    return replace(solutions, plans=replace(solutions.plans, actions=padded))


def fitted(solutions: Solutions) -> Solutions:
    """Plans cut to the smallest horizon that holds them."""
    longest = int(np.asarray(solutions.plans.lengths).max(initial=0))
    horizon = next(steps for steps in HORIZONS if longest <= steps)
    enough = widened(solutions, horizon)
    actions = enough.plans.actions[:, :, :horizon]
    return replace(enough, plans=replace(enough.plans, actions=actions))


def joined(pieces: list[Solutions]) -> Solutions:
    """One after another; plans get the longest horizon among them."""
    horizon = max(piece.plans.actions.shape[-1] for piece in pieces)
    whole: Solutions = jax.tree.map(
        lambda *leaves: np.concatenate(leaves), *(widened(piece, horizon) for piece in pieces)
    )
    return whole


def concatenate(pieces: list[tuple[Instances, Solutions]]) -> tuple[Instances, Solutions]:
    """Boards and their labels, one set after another."""
    boards: Instances = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(piece[0] for piece in pieces))
    return boards, joined([piece[1] for piece in pieces])


def replaced(into: Solutions, rows: NDArray[Any], found: Solutions) -> Solutions:
    """`into` with these rows taken from `found`."""
    horizon = max(into.plans.actions.shape[-1], found.plans.actions.shape[-1])
    into, found = widened(into, horizon), widened(found, horizon)

    def put(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        old = np.array(old)
        old[rows] = new
        return old

    merged: Solutions = jax.tree.map(put, into, found)
    return merged
