"""Boards as tables for the device engine: distances to the goals, and one word per agent and cell.

A cell's code is row * S + column, as on the padded map. Unlike elsewhere these are functions of many boards, with the
boards as the last axis: the rows of one board are too short for a CPU's vectors.
"""

import jax
import jax.numpy as jnp
from jax import lax

UNREACHABLE = 255  # above every distance on a map of at most 126 cells
BLOCKED = 3
_SWEEPS = 8  # between two looks at whether all is settled
_TOGETHER = 512  # boards whose tables fit in a CPU's cache


def _bordered(cells: jax.Array) -> jax.Array:
    """u8[N, S, S, B] with a border of one cell, UNREACHABLE like every hole."""
    return jnp.pad(cells, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=UNREACHABLE)


def goal_distances(holes: jax.Array, goals: jax.Array) -> jax.Array:
    """Steps of each agent alone from every cell to its goal, UNREACHABLE where there is no way.

    Args: `holes` bool[B, S, S]; `goals` i32[B, N] cell codes. Returns u8[N, S + 2, S + 2, B]: the map with a border of
    one cell, which is UNREACHABLE like every hole.
    """
    size = holes.shape[1]
    free = jnp.moveaxis(~holes, 0, -1)
    row, column = jnp.divmod(goals.T[:, None, None], size)
    lines = jnp.arange(size)
    at_goal = (lines[:, None, None] == row) & (lines[:, None] == column)
    start = _bordered(jnp.where(at_goal, 0, UNREACHABLE).astype(jnp.uint8))

    def sweep(distance: jax.Array) -> jax.Array:
        near = jnp.minimum(
            jnp.minimum(distance[:, :-2, 1:-1], distance[:, 2:, 1:-1]),
            jnp.minimum(distance[:, 1:-1, :-2], distance[:, 1:-1, 2:]),
        )
        near = jnp.minimum(near, UNREACHABLE - 1) + jnp.uint8(1)
        return _bordered(jnp.where(free, jnp.minimum(distance[:, 1:-1, 1:-1], near), jnp.uint8(UNREACHABLE)))

    def more(carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        sweeps = carry[1] + _SWEEPS
        distance = lax.fori_loop(0, _SWEEPS, lambda _, x: sweep(x), carry[0])
        # What is nearer than the sweeps made is settled; where nothing is as far, nothing is farther.
        return distance, sweeps, jnp.any(distance == sweeps)

    distance, _, _ = lax.while_loop(lambda carry: carry[2], more, (start, jnp.uint8(0), jnp.bool_(True)))
    return distance


def option_words(distance: jax.Array) -> jax.Array:
    """What an agent can do in each cell, packed: u16[B, N, S * S] of u8[N, S + 2, S + 2, B].

    Two bits for each direction (up, down, left, right): 0 for a step toward the goal, 2 for one away from it, BLOCKED.
    Above them, from bit 8 on, the distance to the goal. On a grid no step leaves the distance as it is.
    """
    here = distance[:, 1:-1, 1:-1]
    word = here.astype(jnp.uint16) << 8
    sides = (distance[:, :-2, 1:-1], distance[:, 2:, 1:-1], distance[:, 1:-1, :-2], distance[:, 1:-1, 2:])
    for d, there in enumerate(sides):
        closed = (there == UNREACHABLE) | (here == UNREACHABLE)
        word |= jnp.where(closed, BLOCKED, jnp.where(there < here, 0, 2)).astype(jnp.uint16) << (2 * d)
    return jnp.moveaxis(word, -1, 0).reshape(word.shape[-1], word.shape[0], -1)


def board_words(holes: jax.Array, goals: jax.Array) -> jax.Array:
    """The option words of many boards, u16[B, N, S * S], so many at a time as fit in a CPU's cache."""
    together = min(_TOGETHER, len(holes))
    parts = [x.reshape(-1, together, *x.shape[1:]) for x in (holes, goals)]
    words: jax.Array = lax.map(lambda part: option_words(goal_distances(*part)), parts)
    return words.reshape(len(holes), *words.shape[2:])
