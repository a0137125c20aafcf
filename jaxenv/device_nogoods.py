"""The nogoods of many searches: for each lane a hash table of agents that cannot complete from where they stand.

An entry is two words: the positions of agents 0 to 3, a byte each; and from the lowest byte on the position of agent 4,
the budget left, and in two bytes the search that made it. A later one at the same place replaces it. All words are
compared, so a collision can lose a nogood, never invent one. Why nogoods are sound: `jaxenv.host_search`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxenv.device_kernels import computed_once, look
from jaxenv.device_step import Agents

_BITS = 9  # of the size of a lane's table
_ABSENT = 127  # stands for the position of an agent that a nogood does not speak of


class Nogoods(NamedTuple):
    """The tables of all lanes, one after the other; u32[lanes << _BITS] each."""

    lows: jax.Array
    highs: jax.Array


def no_nogoods(lanes: int) -> Nogoods:
    """Empty tables: no search has number -1, which a word of zero names."""
    return Nogoods(*(jnp.zeros(lanes << _BITS, jnp.uint32),) * 2)


def pack_positions(positions: Agents, members: jax.Array | int) -> tuple[jax.Array, jax.Array]:
    """Two words u32[lanes] with a byte for each agent of the bit set `members`."""
    low = high = jnp.zeros_like(positions[0], jnp.uint32)
    for j, position in enumerate(positions):
        byte = jnp.where(members >> j & 1 == 1, position, _ABSENT).astype(jnp.uint32)
        if j < 4:
            low |= byte << (8 * j)
        else:
            high |= byte
    return low, high


def _places(low: jax.Array, high: jax.Array) -> jax.Array:
    """Where the tables keep what is known of these positions, u32[lanes]."""
    mixed = (low * jnp.uint32(0x9E3779B1)) ^ ((high + 1) * jnp.uint32(0x85EBCA6B))
    mixed = (mixed ^ mixed >> 15) * jnp.uint32(0x2C1B3C6D)
    mixed ^= mixed >> 13
    tables = jnp.arange(len(low), dtype=jnp.uint32) << _BITS
    places: jax.Array = tables + (mixed >> (32 - _BITS))
    return places


def _remembered_sets(n: int) -> list[int]:
    """The sets of agents that nogoods speak of: pairs and all. Every other would cost a look-up."""
    return [members for members in range(1, 1 << n) if members.bit_count() in (2, n)]


def _owner(task: jax.Array) -> jax.Array:
    return task + 1 << 16


def remember(
    nogoods: Nogoods, failed: jax.Array, positions: Agents, why: jax.Array, left: jax.Array, task: jax.Array
) -> Nogoods:
    """Note where the lanes `failed` (bool) that the agents `why` cannot complete from these positions with `left`.

    It is remembered for that set, or for all agents: a set that holds one that fails fails too. `task` u32: the search.
    """
    n = len(positions)
    members = jnp.full_like(why, (1 << n) - 1)
    for remembered in _remembered_sets(n):
        members = jnp.where(why == remembered, remembered, members)
    low, high = pack_positions(positions, members)
    place = jnp.where(failed, _places(low, high), len(nogoods.lows))
    high |= left.astype(jnp.uint32) << 8 | _owner(task)
    lows, highs = (table.at[place].set(x, mode="drop") for table, x in zip(nogoods, (low, high), strict=True))
    return Nogoods(lows, highs)


def known_failure(
    nogoods: Nogoods, positions: Agents, left: jax.Array, task: jax.Array, always: jax.Array
) -> jax.Array:
    """A set of agents known to be unable to complete from these positions with `left`, or 0; i32[lanes].

    `always`: see `computed_once`.
    """
    sets = _remembered_sets(len(positions))
    wanted = [pack_positions(positions, members) for members in sets]
    places = computed_once(always, lambda: tuple(_places(*words) for words in wanted), (task,) * len(sets))

    def entries() -> tuple[Agents, Agents]:
        return tuple(look(nogoods.lows, x) for x in places), tuple(look(nogoods.highs, x) for x in places)

    lows, highs = computed_once(always, entries, (places, places))

    def match() -> jax.Array:
        known = jnp.zeros_like(left)
        for members, (low, high), found_low, found_high in zip(sets, wanted, lows, highs, strict=True):
            same = (found_low == low) & (found_high & jnp.uint32(0xFFFF00FF) == _owner(task) | high)
            enough = (found_high >> 8 & 0xFF).astype(jnp.int32) >= left
            known = jnp.where(same & enough, members, known)
        return known

    return computed_once(always, match, jnp.zeros_like(left))
