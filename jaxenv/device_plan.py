"""The plan that a search of the device engine found: its actions and costs, and whether it keeps the world's rules.

The replay is the engine's safeguard: a fault of the search must not become a label. All functions are pure, of one
board.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxenv.device_search import MAX_DEPTH, unpack_positions
from jaxenv.device_step import CELL


class Replay(NamedTuple):
    """What is true of a plan; `costs` and `waits` are to be trusted where `legal`."""

    legal: jax.Array  # bool[]
    costs: jax.Array  # i32[N] the first time from which an agent stays on its goal
    waits: jax.Array  # bool[] whether an agent stands still before that time
    actions: jax.Array  # i8[N, MAX_DEPTH] Action, WAIT past an agent's cost


def replay(holes: jax.Array, starts: jax.Array, goals: jax.Array, stack: jax.Array, depth: jax.Array) -> Replay:
    """Replay a plan of `depth` steps.

    Args: `holes` bool[S, S]; `starts`, `goals` i32[N] cell codes; `stack` u32[MAX_DEPTH, 4] as the search left it.
    """
    n, size = starts.shape[0], holes.shape[0]
    times = jnp.arange(MAX_DEPTH + 1, dtype=jnp.int32)
    positions = jnp.stack(unpack_positions(stack[:, 0], stack[:, 1], n), -1) & CELL
    path = jnp.concatenate([positions, goals[None]])
    path = jnp.where((times < depth)[:, None], path, goals)
    costs = jnp.max(jnp.where(path != goals, times[:, None] + 1, 0), axis=0)

    here, there = path[:-1], path[1:]
    row, column = jnp.divmod(path, size)
    down, right = row[1:] - row[:-1], column[1:] - column[:-1]
    linked = jnp.all(jnp.abs(down) + jnp.abs(right) <= 1)
    on_map = jnp.all((path >= 0) & (row < size) & ~holes[jnp.minimum(row, size - 1), column])
    others = ~jnp.eye(n, dtype=bool)
    meet = jnp.any((there[:, :, None] == there[:, None, :]) & others)
    swap = jnp.any((there[:, :, None] == here[:, None, :]) & (here[:, :, None] == there[:, None, :]) & others)
    legal = jnp.all(path[0] == starts) & linked & on_map & ~meet & ~swap

    action = jnp.where(down != 0, jnp.where(down < 0, 1, 2), jnp.where(right != 0, jnp.where(right < 0, 3, 4), 0))
    before = times[:-1, None] < costs
    waits = jnp.any(before & (here == there))
    return Replay(legal, costs, waits, jnp.where(before, action, 0).astype(jnp.int8).T)
