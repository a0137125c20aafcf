"""The plan that a search of the device engine found: its actions and costs, and whether it keeps the world's rules.

The replay is the engine's safeguard: a fault of the search must not become a label. All functions are pure, of one
board.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxenv.device_search import MAX_DEPTH
from jaxenv.device_step import CELL
from jaxenv.types import Action


class Replay(NamedTuple):
    """What is true of a plan; `costs` and `waits` are to be trusted where `legal`."""

    legal: jax.Array  # bool[]
    costs: jax.Array  # i32[N] the first time from which an agent stays on its goal
    waits: jax.Array  # bool[] whether an agent stands still before that time
    actions: jax.Array  # i8[N, MAX_DEPTH] Action, WAIT past an agent's cost


def replay(holes: jax.Array, starts: jax.Array, goals: jax.Array, stack: jax.Array, depth: jax.Array) -> Replay:
    """Replay a plan of `depth` steps.

    Args: `holes` bool[S, S]; `starts`, `goals` i32[N] cell codes; `stack` u32[MAX_DEPTH, N] as the search left it.
    """
    n, size = starts.shape[0], holes.shape[0]
    times = jnp.arange(MAX_DEPTH + 1, dtype=jnp.int32)
    cells = holes.reshape(-1)
    # A row of its own for each agent: XLA makes better loops of these than of one array with a short axis.
    positions = [(stack[:, j] & 0xFF).astype(jnp.int32) for j in range(n)]
    paths = [
        jnp.where(times < depth, jnp.append(position & CELL, goal), goal)
        for position, goal in zip(positions, goals, strict=True)
    ]
    legal, waits = jnp.bool_(True), jnp.bool_(False)
    costs, actions = [], []
    for j, path in enumerate(paths):
        here, there = path[:-1], path[1:]
        cost = jnp.max(jnp.where(path != goals[j], times + 1, 0))
        costs.append(cost)
        down, right = there // size - here // size, there % size - here % size
        on_map = jnp.all((path >= 0) & (path < size * size) & ~cells[jnp.clip(path, 0, size * size - 1)])
        legal &= (path[0] == starts[j]) & on_map & jnp.all(jnp.abs(down) + jnp.abs(right) <= 1)
        for other in paths[:j]:
            meet = there == other[1:]
            swap = (there == other[:-1]) & (here == other[1:])
            legal &= ~jnp.any(meet | swap)
        vertical = jnp.where(down < 0, Action.UP, Action.DOWN)
        horizontal = jnp.where(right < 0, Action.LEFT, Action.RIGHT)
        action = jnp.where(down != 0, vertical, jnp.where(right != 0, horizontal, Action.WAIT))
        before = times[:-1] < cost
        waits |= jnp.any(before & (here == there))
        actions.append(jnp.where(before, action, Action.WAIT).astype(jnp.int8))
    return Replay(legal, jnp.stack(costs), waits, jnp.stack(actions))
