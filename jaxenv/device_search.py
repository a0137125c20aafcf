"""A queue of exact searches, worked off by lanes that advance together in one `lax.while_loop`.

A lane runs one search at a time (`device_step`): N choices, then once the bookkeeping that touches memory: look-up
among the nogoods, push and pop of the stack, insertion of a nogood. Every few rounds the lanes that have ended take the
next searches from the queue. What a search finds depends neither on its lane nor on the others: nogoods carry the
number of their search, and the limit counts the search's own choices.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxenv.device_step import (
    CELL,
    CHOOSE,
    EXHAUSTED,
    GAVE_UP,
    IDLE,
    REACHED,
    REFUTED,
    SOLVED,
    Agents,
    Lane,
    advance,
    after,
    decide,
    highest,
    pick,
    spenders,
    spent,
)

MAX_DEPTH = 64  # steps a plan may take; a search that would go further gives up
MAX_BUDGET = 250  # a budget must fit in a byte of a nogood
_NOGOOD_BITS = 9  # of the size of a lane's table
_ROUNDS = 4  # between two refills
_ABSENT = 127  # stands for the position of an agent that a nogood does not speak of


class Tasks(NamedTuple):
    """Searches to make, each on a board of its own; M of them, boards of N agents on a padded map of size S."""

    holes: jax.Array  # bool[M, S, S]
    starts: jax.Array  # i32[M, N] cell codes
    goals: jax.Array  # i32[M, N] cell codes
    by_time: jax.Array  # i32[M] 1: the budget is the makespan, 0: the excess of the sum of costs
    no_wait: jax.Array  # i32[M] 1: only plans without a wait
    low: jax.Array  # i32[M] budgets to search; a search with low > high ends at once, without a plan
    high: jax.Array  # i32[M] at most MAX_BUDGET


class Results(NamedTuple):
    outcome: jax.Array  # i32[M] SOLVED, EXHAUSTED or GAVE_UP
    budget: jax.Array  # i32[M] of the plan; else no budget below it has a plan
    depth: jax.Array  # i32[M] steps of the plan
    stack: jax.Array  # u32[M, MAX_DEPTH, 4]; columns 0 and 1 of the rows before `depth` hold the plan's positions


def unpack_positions(low: jax.Array, high: jax.Array, n: int) -> Agents:
    """Positions of n agents, a byte each, from the two words they are packed in."""
    words = [low >> (8 * j) if j < 4 else high for j in range(n)]
    return tuple((word & 0xFF).astype(jnp.int32) for word in words)


def _pack_positions(positions: Agents, members: jax.Array | np.ndarray | int) -> tuple[jax.Array, jax.Array]:
    """Two words with a byte for each agent of the bit set `members`, which is broadcast against the positions."""
    low = high = jnp.zeros((), jnp.uint32)
    for j, position in enumerate(positions):
        byte = jnp.where(members >> j & 1 == 1, position, _ABSENT).astype(jnp.uint32)
        if j < 4:
            low |= byte << (8 * j)
        else:
            high |= byte
    return low, high


def _slot(low: jax.Array, high: jax.Array) -> jax.Array:
    mixed = (low * jnp.uint32(0x9E3779B1)) ^ ((high + 1) * jnp.uint32(0x85EBCA6B))
    mixed = (mixed ^ mixed >> 15) * jnp.uint32(0x2C1B3C6D)
    mixed ^= mixed >> 13
    slot: jax.Array = (mixed >> (32 - _NOGOOD_BITS)).astype(jnp.int32)
    return slot


def _remembered_sets(n: int) -> np.ndarray:
    """The sets of agents that nogoods speak of, i32[sets, 1]: pairs and all. Every other would cost a look-up."""
    sets = [members for members in range(1, 1 << n) if members.bit_count() in (2, n)]
    return np.array(sets, np.int32)[:, None]


def _take(lane: Lane, task: jax.Array, taking: jax.Array, count: jax.Array, tasks: Tasks) -> Lane:
    """Lanes that are `taking` begin search number `task`, or are idle where the queue has ended."""
    n = tasks.starts.shape[1]
    valid = jnp.minimum(task, tasks.low.shape[0] - 1)
    starts, low, high = tasks.starts[valid], tasks.low[valid], tasks.high[valid]
    ended = jnp.where(jnp.all(starts == tasks.goals[valid], axis=1), SOLVED, CHOOSE)
    mode = jnp.where(task < count, jnp.where(low > high, EXHAUSTED, ended), IDLE)
    zero = jnp.zeros_like(task)
    positions = tuple(starts[:, j] for j in range(n))
    fresh = Lane(
        task=valid, generation=lane.generation + 1, by_time=tasks.by_time[valid], no_wait=tasks.no_wait[valid],
        high=high, budget=low, left=low, time=zero, agent=zero, taken=zero, mode=mode,
        position=positions, chosen=positions, key=(zero,) * n, reason=(zero,) * n,
    )  # fmt: skip
    taken: Lane = jax.tree.map(lambda new, old: jnp.where(taking, new, old), fresh, lane)
    return taken


def _round(
    memory: tuple[Lane, jax.Array, jax.Array], tasks: Tasks, words: jax.Array, max_steps: jax.Array
) -> tuple[Lane, jax.Array, jax.Array]:
    """N choices of every lane, then the bookkeeping of those whose joint step is complete or refuted."""
    lane, stack, nogoods = memory
    n, width = tasks.starts.shape[1], tasks.holes.shape[-1]
    # What many results are made of is computed in a loop of one turn, which XLA cannot know and unroll. Else it would
    # fuse the work into each of the results and do it anew for each: three times the running time on a CPU.
    once = jnp.minimum(max_steps, 1)
    zero = jnp.zeros_like(lane.mode)

    def choose(lane: Lane) -> Lane:
        decisions = jax.vmap(decide, in_axes=(0, None, None))
        best, why = lax.fori_loop(0, once, lambda *_: decisions(lane, words, width), (zero, zero))
        return jax.vmap(advance, in_axes=(0, 0, 0, None))(lane, best, why, width)

    lane = lax.fori_loop(0, n, lambda _, x: choose(x), lane)

    everyone = (1 << n) - 1
    size = 1 << _NOGOOD_BITS
    table = jnp.arange(lane.mode.shape[0], dtype=jnp.int32) * size
    generation = lane.generation.astype(jnp.uint32) << 16
    reached, refuted = lane.mode == REACHED, lane.mode == REFUTED

    # A refuted step is remembered for its set, or for all agents: a set that holds one that fails fails too.
    # Before the look-up, which is of other lanes' tables: the other way round XLA would copy all tables.
    sets = _remembered_sets(n)
    why = pick(lane.reason, lane.agent)
    members = jnp.where(jnp.any(why == sets, axis=0), why, everyone)
    low, high = _pack_positions(lane.position, members)
    slot = jnp.where(refuted, table + _slot(low, high), nogoods.shape[0])
    value = high | lane.left.astype(jnp.uint32) << 8 | generation
    nogoods = nogoods.at[slot].set(jnp.stack([low, value], -1), mode="drop")

    # A complete step: is it the end, or refuted already?
    left_after = jnp.where(lane.by_time == 1, lane.left - 1, lane.left - sum(spent(lane, key) for key in lane.key))

    def look_up(_: jax.Array, __: jax.Array) -> jax.Array:
        low, high = _pack_positions(lane.chosen, sets)
        entry = nogoods[table + _slot(low, high)]
        same = (entry[..., 0] == low) & (entry[..., 1] & jnp.uint32(0xFFFF00FF) == generation | high)
        enough = (entry[..., 1] >> 8 & 0xFF).astype(jnp.int32) >= left_after
        return jnp.max(jnp.where(same & enough, sets, 0), axis=0)

    known = lax.fori_loop(0, once, look_up, zero)
    goals = tasks.goals[lane.task]
    home = jnp.ones_like(reached)
    for j in range(n):
        home &= lane.chosen[j] & CELL == goals[:, j]
    solved = reached & home
    hit = reached & ~home & (known != 0)
    push = reached & ~home & (known == 0)
    root = refuted & (lane.time == 0)
    pop = refuted & (lane.time > 0)

    # One frame of the stack is a step that is complete: positions before it, budget, options and reasons.
    low, high = _pack_positions(lane.position, everyone)
    keys = sum((key.astype(jnp.uint32) << (6 * j) for j, key in enumerate(lane.key)), jnp.zeros_like(low))
    reasons = sum((reason.astype(jnp.uint32) << (5 * j) for j, reason in enumerate(lane.reason)), jnp.zeros_like(low))
    frame = jnp.stack([low, high | lane.left.astype(jnp.uint32) << 8, keys, reasons], -1)
    row = jnp.where(push | solved, lane.time, MAX_DEPTH)
    stack = stack.at[lane.task, row].set(frame, mode="drop")
    frame = stack[lane.task, jnp.maximum(lane.time - 1, 0)]
    old_position = unpack_positions(frame[:, 0], frame[:, 1], n)
    old_left = (frame[:, 1] >> 8 & 0xFF).astype(jnp.int32)
    position, chosen, key, reason = [], [], [], []
    for j in range(n):
        old_key = (frame[:, 2] >> (6 * j) & 63).astype(jnp.int32)
        old_reason = (frame[:, 3] >> (5 * j) & 31).astype(jnp.int32)
        position.append(jnp.where(pop, old_position[j], jnp.where(push, lane.chosen[j], lane.position[j])))
        chosen.append(jnp.where(pop, after(lane, old_position[j], old_key, width), lane.chosen[j]))
        key.append(jnp.where(pop, old_key, jnp.where(push | root, 0, lane.key[j])))
        reason.append(jnp.where(pop, old_reason, jnp.where(push | root, 0, lane.reason[j])))
    lane = lane._replace(position=tuple(position), chosen=tuple(chosen), key=tuple(key))

    # The state after a step is refuted: back into the step, to the last agent that the failure depends on.
    back = pop | hit
    conflict = jnp.where(pop, why, known) | spenders(lane)
    jump = highest(conflict, n)
    reason = [jnp.where(back & (jump == j), old | conflict, old) for j, old in enumerate(reason)]

    budget = jnp.where(root, lane.budget + 1, lane.budget)
    time = jnp.where(pop, lane.time - 1, jnp.where(push | solved, lane.time + 1, lane.time))
    mode = jnp.where(reached | refuted, CHOOSE, lane.mode)
    stop = (mode == CHOOSE) & ((lane.taken >= max_steps) | (time >= MAX_DEPTH))
    mode = jnp.where(stop, GAVE_UP, mode)
    mode = jnp.where(root & (budget > lane.high), EXHAUSTED, mode)
    mode = jnp.where(solved, SOLVED, mode)
    left = jnp.where(pop, old_left, jnp.where(push, left_after, jnp.where(root, budget, lane.left)))
    agent = jnp.where(back, jump, jnp.where(push | root, 0, lane.agent))
    lane = lane._replace(budget=budget, left=left, time=time, agent=agent, mode=mode, reason=tuple(reason))
    return lane, stack, nogoods


def work_off(tasks: Tasks, words: jax.Array, count: jax.Array, max_steps: jax.Array, lanes: int) -> Results:
    """Make the first `count` searches of the queue, `lanes` at a time, each with at most about `max_steps` choices.

    Args: `words` u16[M, N, S * S], the options of each board. Results of searches past `count` mean nothing.
    """
    many, n = tasks.starts.shape
    zero = jnp.zeros(lanes, jnp.int32)
    none = Lane(*(zero,) * 11, *((zero,) * n,) * 4)
    lane = _take(none, jnp.arange(lanes, dtype=jnp.int32), jnp.ones(lanes, bool), count, tasks)
    stack = jnp.zeros((many, MAX_DEPTH, 4), jnp.uint32)
    nogoods = jnp.zeros((lanes << _NOGOOD_BITS, 2), jnp.uint32)
    found = jnp.zeros((many, 3), jnp.int32)
    Carry = tuple[Lane, jax.Array, jax.Array, jax.Array, jax.Array]

    def some_rounds(carry: Carry) -> Carry:
        lane, stack, nogoods, found, next_task = carry
        lane, stack, nogoods = lax.fori_loop(
            0, _ROUNDS, lambda _, x: _round(x, tasks, words, max_steps), (lane, stack, nogoods)
        )
        ended = (lane.mode == SOLVED) | (lane.mode == EXHAUSTED) | (lane.mode == GAVE_UP)
        row = jnp.stack([lane.mode, lane.budget, lane.time], -1)
        found = found.at[jnp.where(ended, lane.task, many)].set(row, mode="drop")
        rank = jnp.cumsum(ended, dtype=jnp.int32)
        lane = _take(lane, next_task + rank - 1, ended, count, tasks)
        return lane, stack, nogoods, found, next_task + rank[-1]

    _, stack, _, found, _ = lax.while_loop(
        lambda carry: jnp.any(carry[0].mode != IDLE), some_rounds, (lane, stack, nogoods, found, jnp.int32(lanes))
    )
    return Results(found[:, 0], found[:, 1], found[:, 2], stack)
