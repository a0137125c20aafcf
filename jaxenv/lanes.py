"""The verifier's layout: boards side by side in the last axis, one byte a cell, four actions a word.

A map of size S is stored S + 1 wide: code = row * (S + 1) + col, modulo 256. A row's end and the next row's beginning
share the column between them, and what lies above and below a map are the codes next to those of its cells. So one
table of bits, `blocked`, tells holes and everything off the map alike. Which of them it was is asked once, at the step
at which a board goes wrong. Agents that a board lacks have codes of their own, out of everybody's reach.

Letters: N tiles of K boards (so that what belongs together stays in the cache), A agents, T steps, W = T / 4 words.
"""

from functools import reduce
from operator import or_

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxenv.types import Action

MAX_SIZE = 13  # larger maps have more codes than a byte, or prefix sums that spill into the next byte
OUT = 255  # the code of a cell given off the map; no agent can be there before its first offence
TILE = 256  # boards; of 128 to 1,024 the fastest to transpose on the CPUs tried

_BYTES = np.uint32(0x01010101)
_SIGNS = np.uint32(0x80808080)


def tile_of(boards: int) -> int:
    """K for so many boards."""
    return min(TILE, max(boards, 1))


def lanes(field: jax.Array, tile: int) -> jax.Array:
    """[B, ...] to [N, ..., K]."""
    return jnp.moveaxis(field.reshape(-1, tile, *field.shape[1:]), 1, -1)


def encode(cells: jax.Array, size: jax.Array, max_size: int) -> jax.Array:
    """Codes u8[B, A] of cells i32[B, A, 2] (row, col); OUT for what is not on the map."""
    row, col = cells[..., 0], cells[..., 1]
    inside = (row >= 0) & (col >= 0) & (row < size[:, None]) & (col < size[:, None])
    return jnp.where(inside, row * (max_size + 1) + col, OUT).astype(jnp.uint8)


def decode(code: jax.Array, max_size: int) -> tuple[jax.Array, jax.Array]:
    """Row and column, i32; -1, -1 for OUT."""
    wide = code.astype(jnp.int32)
    out = code == OUT
    return jnp.where(out, -1, wide // (max_size + 1)), jnp.where(out, -1, wide % (max_size + 1))


def parked(max_size: int, agents: int) -> np.ndarray:
    """Codes u8[A] of agents that a board lacks: distinct, and no step away from any cell or border."""
    return ((max_size + 1) ** 2 + np.arange(agents)).astype(np.uint8)


def blocked_table(holes: jax.Array, size: jax.Array) -> jax.Array:
    """One bit for each code, set where no agent may be: u8[N, bytes, K], the lowest code in a byte's highest bit.

    `holes` is bool[B, S, S], `size` u8[N, K].
    """
    side = holes.shape[-1]
    cells = lanes(holes.astype(jnp.uint8), size.shape[-1])
    width = side + 1
    codes = 128 if width * width <= 128 else 256
    table = []
    for first in range(0, codes, 8):
        byte, bits = 0, []
        for code in range(first, first + 8):
            row, col = divmod(code, width)
            place = 7 - code % 8
            if row < side and col < side:
                bits.append((cells[:, row, col] | (size <= max(row, col)).astype(jnp.uint8)) << np.uint8(place))
            else:
                byte |= 1 << place
        table.append(reduce(or_, bits, jnp.full(size.shape, byte, jnp.uint8)))
    return jnp.stack(table, 1)


def look_up(table: jax.Array, code: jax.Array) -> jax.Array:
    """u8 with the highest bit set where the table has the code's; `code` is u8[N, K] or u8[N, T, K].

    The bits of the code, the highest first, choose half of the table, then half of a byte. A select for each is many
    times faster than a gather.
    """
    entries = [table[:, k] if code.ndim == 2 else table[:, None, k] for k in range(table.shape[1])]
    bits = code if len(entries) == 32 else code << np.uint8(1)
    while (half := len(entries) // 2) > 0:
        upper = is_high(bits)
        entries = [jnp.where(upper, entries[k + half], entries[k]) for k in range(half)]
        bits += bits
    found = entries[0]
    for shift in (4, 2, 1):
        found = jnp.where(is_high(bits), found << np.uint8(shift), found)
        bits += bits
    return found


def is_high(byte: jax.Array) -> jax.Array:
    """Whether the highest bit is set."""
    return byte.astype(jnp.int8) < 0


def is_off(code: jax.Array, size: jax.Array, max_size: int) -> jax.Array:
    """Whether a code reached by one step from a cell of the map is off the map."""
    width = jnp.uint8(max_size + 1)
    off: jax.Array = (code // width >= size) | (code % width >= size)
    return off


def sums_of_steps(actions: jax.Array, lengths: jax.Array, max_size: int, tile: int) -> jax.Array:
    """Codes walked within each word of four actions, u32[N, W, A, K], as `positions` takes them.

    `actions` is i8[B, A, T], `lengths` i32[B, A]. Byte j is the sum of the steps 0 to j, each step's code made positive
    by `max_size + 1`; a word with an unknown action has its highest bit set, and nothing else in it means anything.
    """
    boards, agents, horizon = actions.shape
    words = lax.bitcast_convert_type(actions.reshape(boards, agents, horizon // 4, 4), jnp.uint32)
    given = jnp.clip(lengths[..., None] - 4 * np.arange(horizon // 4, dtype=np.int32), 0, 4).astype(jnp.uint32)
    words = jnp.where(given == 4, words, words & ((np.uint32(1) << (8 * (given & 3))) - np.uint32(1)))
    unknown = (words | (words + _BYTES * np.uint32(127 - max(Action)))) & _SIGNS
    # A polynomial in the bits of WAIT 0, UP 1, DOWN 2, LEFT 3, RIGHT 4.
    low, middle, high = words & _BYTES, words >> 1 & _BYTES, words >> 2 & _BYTES
    steps = np.uint32(max_size + 1) * (_BYTES + middle - low) - (low & middle) + high
    # Multiplied by ones, byte j becomes the sum of the bytes 0 to j. It is below 128.
    sums = jnp.where(unknown == 0, steps * _BYTES, np.uint32(1 << 31))
    return sums.reshape(-1, tile, agents, horizon // 4).transpose(0, 3, 2, 1)


def positions(sums: jax.Array, start: jax.Array, max_size: int) -> tuple[jax.Array, jax.Array]:
    """Where all agents are before the first and after every step, u8[N, T + 1, A, K], and which plans are no plans.

    `start` is u8[N, A, K]. The second result, bool[N, K], marks the boards with an unknown action within an agent's
    length; they are at no position in particular.
    """
    width = max_size + 1

    def next_word(k: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        base, at, seen = carry
        total = (lax.dynamic_index_in_dim(sums, k, 1, keepdims=False) >> 24).astype(jnp.uint8)
        base = lax.dynamic_update_index_in_dim(base, at, k, 1)
        return base, at + total - np.uint8(4 * width), seen | total

    base = jnp.zeros(sums.shape, jnp.uint8)  # codes before each word
    base, _, seen = lax.fori_loop(0, sums.shape[1], next_word, (base, start, jnp.zeros_like(start)))
    places = np.arange(4)[:, None, None]
    within = (sums[:, :, None] >> (8 * places).astype(np.uint32)).astype(jnp.uint8)
    after = within + base[:, :, None] - (width * (places + 1)).astype(np.uint8)
    where = jnp.concatenate([start[:, None], after.reshape(len(start), 4 * sums.shape[1], *start.shape[1:])], 1)
    return where, is_high(reduce(or_, [seen[:, a] for a in range(start.shape[1])]))
