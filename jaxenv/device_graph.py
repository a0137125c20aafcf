"""A board as tables for the device engine: distances to the goals, and one word per agent and cell.

A cell's code is row * S + column, as on the padded map. All functions are pure, of one board.
"""

import jax
import jax.numpy as jnp
from jax import lax

UNREACHABLE = 255  # above every distance on a map of at most 126 cells
BLOCKED = 3
_SWEEPS = 4  # between two looks at whether anything still changes


def goal_distances(holes: jax.Array, goals: jax.Array) -> jax.Array:
    """Steps of each agent alone from every cell to its goal, UNREACHABLE where there is no way.

    Args: `holes` bool[S, S]; `goals` i32[N] cell codes. Returns i32[N, S + 2, S + 2]: the map with a border of one
    cell, which is UNREACHABLE like every hole.
    """
    size = holes.shape[0]
    free = jnp.pad(~holes, 1)
    row, column = jnp.divmod(goals, size)
    lines = jnp.arange(size + 2)
    at_goal = (lines[:, None] == row[:, None, None] + 1) & (lines == column[:, None, None] + 1)
    start = jnp.where(at_goal, 0, UNREACHABLE).astype(jnp.int32)

    def sweep(distance: jax.Array) -> jax.Array:
        near = jnp.minimum(
            jnp.minimum(distance[:, :-2, 1:-1], distance[:, 2:, 1:-1]),
            jnp.minimum(distance[:, 1:-1, :-2], distance[:, 1:-1, 2:]),
        )
        near = jnp.pad(near, ((0, 0), (1, 1), (1, 1)), constant_values=UNREACHABLE)
        return jnp.where(free, jnp.minimum(distance, jnp.minimum(near + 1, UNREACHABLE)), distance)

    def more(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        before = carry[0]
        after = lax.fori_loop(0, _SWEEPS, lambda _, x: sweep(x), before)
        return after, jnp.any(after != before)

    distance, _ = lax.while_loop(lambda carry: carry[1], more, (start, jnp.bool_(True)))
    return distance


def option_words(distance: jax.Array) -> jax.Array:
    """What an agent can do in each cell, packed: u16[N, S * S].

    Two bits for each direction (up, down, left, right): 0 for a step toward the goal, 2 for one away from it, BLOCKED.
    Above them, from bit 8 on, the distance to the goal. On a grid no step leaves the distance as it is.
    """
    here = distance[:, 1:-1, 1:-1]
    word = here << 8
    sides = (distance[:, :-2, 1:-1], distance[:, 2:, 1:-1], distance[:, 1:-1, :-2], distance[:, 1:-1, 2:])
    for d, there in enumerate(sides):
        closed = (there == UNREACHABLE) | (here == UNREACHABLE)
        word |= jnp.where(closed, BLOCKED, jnp.where(there < here, 0, 2)) << (2 * d)
    return word.reshape(word.shape[0], -1).astype(jnp.uint16)
