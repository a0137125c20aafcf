"""A queue of exact searches, worked off by lanes that advance together in one `lax.while_loop`.

A lane runs one search at a time (`device_step`): N choices, then once the bookkeeping that touches memory: look-up
among the nogoods, push and pop of the stack, insertion of a nogood. Every few rounds the lanes that have ended take the
next searches from the queue. What a search finds depends neither on its lane nor on the others: nogoods carry the
number of their search, and the limit counts the search's own choices.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxenv.device_step import (
    CELL,
    CHOOSE,
    EXHAUSTED,
    GAVE_UP,
    IDLE,
    MODE_BIT,
    REACHED,
    REFUTED,
    SOLVED,
    Agents,
    Lane,
    Packed,
    advance,
    decide,
    highest,
    pack,
    pick,
    spenders,
    spent,
    unpack,
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
    stack: jax.Array  # u32[M, MAX_DEPTH, N]; the rows before `depth` hold the plan's positions in the lowest bytes


def _pack_positions(positions: Agents, members: jax.Array | int) -> tuple[jax.Array, jax.Array]:
    """Two words with a byte for each agent of the bit set `members`."""
    low = high = jnp.zeros_like(positions[0], jnp.uint32)
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
    slot: jax.Array = mixed >> (32 - _NOGOOD_BITS)
    return slot


def look(values: jax.Array, index: jax.Array) -> jax.Array:
    """`values[index]` for an index u32 that is known to be in bounds, which spares its checks."""
    found: jax.Array = values.at[index].get(mode="promise_in_bounds")
    return found


def _remembered_sets(n: int) -> list[int]:
    """The sets of agents that nogoods speak of: pairs and all. Every other would cost a look-up."""
    return [members for members in range(1, 1 << n) if members.bit_count() in (2, n)]


class _Lanes(NamedTuple):
    """The searches under way; every array [lanes]."""

    task: jax.Array  # i32 the number of the search in the queue (any, for an idle lane)
    goals: tuple[jax.Array, jax.Array]  # u32 packed like positions
    budgets: jax.Array  # u32 the budget searched now, and the last one to search above it
    taken: jax.Array  # i32 choices made, but for those of this round
    steps: Packed


class _Memory(NamedTuple):
    lanes: _Lanes
    stack: Agents  # u32[M * MAX_DEPTH] of each search, the agent's words at the end of each step
    keys: jax.Array  # u32[lanes << _NOGOOD_BITS]
    values: jax.Array


def _fresh(tasks: Tasks) -> _Lanes:
    """Every search of the queue at its start, as lanes take it."""
    n = tasks.starts.shape[1]
    zero = jnp.zeros_like(tasks.low)
    home = jnp.where(jnp.all(tasks.starts == tasks.goals, axis=1), SOLVED, CHOOSE)
    positions = tuple(tasks.starts[:, j] for j in range(n))
    steps = Lane(
        left=tasks.low, time=zero, agent=zero, made=zero, mode=jnp.where(tasks.low > tasks.high, EXHAUSTED, home),
        by_time=tasks.by_time, no_wait=tasks.no_wait,
        position=positions, chosen=positions, key=(zero,) * n, reason=(zero,) * n,
    )  # fmt: skip
    return _Lanes(
        task=jnp.arange(len(tasks.low), dtype=jnp.int32),
        goals=_pack_positions(tuple(tasks.goals[:, j] for j in range(n)), (1 << n) - 1),
        budgets=tasks.low.astype(jnp.uint32) | jnp.maximum(tasks.high, 0).astype(jnp.uint32) << 8,
        taken=zero,
        steps=pack(steps),
    )


def _take(lanes: _Lanes, fresh: _Lanes, task: jax.Array, taking: jax.Array, count: jax.Array) -> _Lanes:
    """Lanes that are `taking` begin search number `task`, or are idle where the queue has ended."""
    index = jnp.minimum(task, len(fresh.task) - 1).astype(jnp.uint32)
    taken: _Lanes = jax.tree.map(
        lambda new, old: jnp.where(taking, look(new, index), old), fresh, lanes
    )
    idle = jnp.uint32(IDLE << MODE_BIT)
    control = jnp.where(taking & (task >= count), idle, taken.steps.control)
    return taken._replace(steps=taken.steps._replace(control=control))


def _round(memory: _Memory, words: Agents, width: int, max_steps: jax.Array) -> _Memory:
    """N choices of every lane, then the bookkeeping of those whose joint step is complete or refuted."""
    lanes, stack, keys, values = memory
    n = len(lanes.steps.agents)
    # What many results are made of is computed in a branch of which XLA cannot know that it is always taken. Else it
    # would fuse the work into each of the results and do it anew for each.
    always = max_steps > 0
    zero = jnp.zeros_like(lanes.task)
    task = lanes.task.astype(jnp.uint32)
    options = tuple(
        look(table, task * width**2 + (word & CELL)).astype(jnp.int32)
        for table, word in zip(words, lanes.steps.agents, strict=True)
    )

    def choose(_: int, steps: Packed) -> Packed:
        decision = lax.cond(always, lambda: decide(unpack(steps), options, width), lambda: zero)
        return pack(advance(unpack(steps), decision, width))

    lane = unpack(lax.fori_loop(0, n, choose, lanes.steps))
    agents = pack(lane).agents

    everyone = (1 << n) - 1
    table = jnp.arange(len(lanes.task), dtype=jnp.uint32) << _NOGOOD_BITS
    owner = task + 1 << 16
    reached, refuted = lane.mode == REACHED, lane.mode == REFUTED

    # A refuted step is remembered for its set, or for all agents: a set that holds one that fails fails too.
    # Before the look-up, which is of other lanes' tables: the other way round XLA would copy all tables.
    sets = _remembered_sets(n)
    why = pick(lane.reason, lane.agent)
    members = jnp.full_like(why, everyone)
    for s in sets:
        members = jnp.where(why == s, s, members)
    low, high = _pack_positions(lane.position, members)
    slot = jnp.where(refuted, table + _slot(low, high), len(keys))
    value = high | lane.left.astype(jnp.uint32) << 8 | owner
    keys, values = keys.at[slot].set(low, mode="drop"), values.at[slot].set(value, mode="drop")

    # A complete step: is it the end, or refuted already?
    left_after = jnp.where(lane.by_time == 1, lane.left - 1, lane.left - sum(spent(lane, key) for key in lane.key))
    low, high = _pack_positions(lane.chosen, everyone)
    home = ((low ^ lanes.goals[0]) & 0x7F7F7F7F | (high ^ lanes.goals[1]) & 0x7F) == 0
    solved = reached & home
    # One frame of the stack is a step that is complete, by the agents' words.
    row = task * MAX_DEPTH
    top = jnp.where(reached, row + lane.time.astype(jnp.uint32), len(stack[0]))
    stack = tuple(x.at[top].set(word, mode="drop") for x, word in zip(stack, agents, strict=True))

    wanted = [_pack_positions(lane.chosen, members) for members in sets]
    slots = lax.cond(
        always, lambda: tuple(table + _slot(*key) for key in wanted), lambda: (task,) * len(sets)
    )
    last = row + jnp.maximum(lane.time - 1, 0).astype(jnp.uint32)

    def memory_of() -> tuple[Agents, Agents, Agents]:
        return tuple(look(keys, x) for x in slots), tuple(look(values, x) for x in slots), tuple(look(x, last) for x in stack)

    lows, highs, frame = lax.cond(always, memory_of, lambda: (slots, slots, agents))

    def refuted_by() -> jax.Array:
        known = zero
        for members, (low, high), entry, value in zip(sets, wanted, lows, highs, strict=True):
            same = (entry == low) & (value & jnp.uint32(0xFFFF00FF) == owner | high)
            enough = (value >> 8 & 0xFF).astype(jnp.int32) >= left_after
            known = jnp.where(same & enough, members, known)
        return known

    known = lax.cond(always, refuted_by, lambda: zero)
    hit = reached & ~home & (known != 0)
    push = reached & ~home & (known == 0)
    root = refuted & (lane.time == 0)
    pop = refuted & (lane.time > 0)

    # Back into the step before; what was left at its start is what is left now and what was spent in it.
    old = unpack(Packed(lanes.steps.control, frame))
    old_spent = jnp.where(lane.by_time == 1, 1, sum(spent(lane, key) for key in old.key))
    now = {}
    for name in ("position", "chosen", "key", "reason"):
        now[name] = [jnp.where(pop, *x) for x in zip(getattr(old, name), getattr(lane, name), strict=True)]
    back = pop | hit
    conflict = jnp.where(pop, why, known) | spenders(lane._replace(key=tuple(now["key"])))
    jump = highest(conflict, n)
    anew = push | root
    for j in range(n):
        now["position"][j] = jnp.where(push, lane.chosen[j], now["position"][j])
        now["key"][j] = jnp.where(anew, 0, now["key"][j])
        reason = now["reason"][j]
        now["reason"][j] = jnp.where(anew, 0, jnp.where(back & (jump == j), reason | conflict, reason))

    budget, highest_budget = lanes.budgets & 0xFF, lanes.budgets >> 8
    budget += root.astype(jnp.uint32)
    time = jnp.where(pop, lane.time - 1, jnp.where(push | solved, lane.time + 1, lane.time))
    taken = lanes.taken + lane.made
    mode = jnp.where(reached | refuted, CHOOSE, lane.mode)
    stop = (mode == CHOOSE) & ((taken >= max_steps) | (time >= MAX_DEPTH))
    mode = jnp.where(stop, GAVE_UP, mode)
    mode = jnp.where(root & (budget > highest_budget), EXHAUSTED, mode)
    mode = jnp.where(solved, SOLVED, mode)
    left = jnp.where(root, budget.astype(jnp.int32), lane.left)
    left = jnp.where(pop, lane.left + old_spent, jnp.where(push, left_after, left))
    agent = jnp.where(back, jump, jnp.where(anew, 0, lane.agent))
    lane = lane._replace(left=left, time=time, agent=agent, made=zero, mode=mode)
    lane = lane._replace(**{name: tuple(values) for name, values in now.items()})
    lanes = lanes._replace(budgets=budget | highest_budget << 8, taken=taken, steps=pack(lane))
    return _Memory(lanes, stack, keys, values)


def work_off(tasks: Tasks, words: jax.Array, count: jax.Array, max_steps: jax.Array, lanes: int) -> Results:
    """Make the first `count` searches of the queue, `lanes` at a time, each with at most about `max_steps` choices.

    Args: `words` u16[M, N, S * S], the options of each board. Results of searches past `count` mean nothing.
    """
    many, n = tasks.starts.shape
    width = tasks.holes.shape[-1]
    options = tuple(words[:, j].reshape(-1) for j in range(n))
    fresh = _fresh(tasks)
    none = jax.tree.map(lambda x: jnp.zeros(lanes, x.dtype), fresh)
    first = jnp.arange(lanes, dtype=jnp.int32)
    memory = _Memory(
        _take(none, fresh, first, jnp.ones(lanes, bool), count),
        (jnp.zeros(many * MAX_DEPTH, jnp.uint32),) * n,
        *(jnp.zeros(lanes << _NOGOOD_BITS, jnp.uint32),) * 2,
    )
    ends = jnp.zeros((many, 2), jnp.uint32)
    Carry = tuple[_Memory, jax.Array, jax.Array]

    def some_rounds(carry: Carry) -> Carry:
        memory, ends, next_task = carry
        memory = lax.fori_loop(0, _ROUNDS, lambda _, x: _round(x, options, width, max_steps), memory)
        lanes = memory.lanes
        mode = unpack(lanes.steps).mode
        ended = (mode == SOLVED) | (mode == EXHAUSTED) | (mode == GAVE_UP)
        end = jnp.stack([lanes.steps.control, lanes.budgets], -1)
        ends = ends.at[jnp.where(ended, lanes.task, many)].set(end, mode="drop")
        rank = jnp.cumsum(ended, dtype=jnp.int32)
        lanes = _take(lanes, fresh, next_task + rank - 1, ended, count)
        return memory._replace(lanes=lanes), ends, next_task + rank[-1]

    def busy(carry: Carry) -> jax.Array:
        return jnp.any(unpack(carry[0].lanes.steps).mode != IDLE)

    memory, ends, _ = lax.while_loop(busy, some_rounds, (memory, ends, jnp.int32(lanes)))
    last = unpack(Packed(ends[:, 0], ()))
    return Results(last.mode, (ends[:, 1] & 0xFF).astype(jnp.int32), last.time, jnp.stack([x.reshape(many, MAX_DEPTH) for x in memory.stack], -1))
