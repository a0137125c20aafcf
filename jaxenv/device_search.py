"""A queue of exact searches, worked off by lanes that advance together in one `lax.while_loop`.

A lane runs one search at a time (`device_step`): N choices, then once the bookkeeping that touches memory: look-up
among the nogoods, push and pop of the stack, insertion of a nogood. Every few rounds the lanes that have ended take the
next searches from the queue. What a search finds depends neither on its lane nor on the others: nogoods carry the
number of their search, and the limit counts the search's own choices. Why it is written as it is: `device_kernels`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxenv.device_kernels import computed_once, look
from jaxenv.device_nogoods import Nogoods, known_failure, no_nogoods, pack_positions, remember
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
MAX_BUDGET = 250  # a budget must fit in a byte
_ROUNDS = 4  # between two refills
_CELLS = 0x7F7F7F7F  # CELL in each byte


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


class _Lanes(NamedTuple):
    """The searches under way; every array [lanes]."""

    task: jax.Array  # u32 the number of the search in the queue (any, for an idle lane)
    goals: tuple[jax.Array, jax.Array]  # u32 packed like positions
    budgets: jax.Array  # u32 the budget searched now, and the last one to search above it
    taken: jax.Array  # i32 choices made, but for those of this round
    steps: Packed


class _Memory(NamedTuple):
    lanes: _Lanes
    stack: Agents  # u32[M * MAX_DEPTH] of each search, the agent's words at the end of each step
    nogoods: Nogoods


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
        task=jnp.arange(len(tasks.low), dtype=jnp.uint32),
        goals=pack_positions(tuple(tasks.goals[:, j] for j in range(n)), (1 << n) - 1),
        budgets=tasks.low.astype(jnp.uint32) | jnp.maximum(tasks.high, 0).astype(jnp.uint32) << 8,
        taken=zero,
        steps=pack(steps),
    )


def _take(lanes: _Lanes, fresh: _Lanes, task: jax.Array, taking: jax.Array, count: jax.Array) -> _Lanes:
    """Lanes that are `taking` begin search number `task`, or are idle where the queue has ended."""
    index = jnp.minimum(task, len(fresh.task) - 1).astype(jnp.uint32)
    taken: _Lanes = jax.tree.map(lambda new, old: jnp.where(taking, look(new, index), old), fresh, lanes)
    idle = jnp.uint32(IDLE << MODE_BIT)
    control = jnp.where(taking & (task >= count), idle, taken.steps.control)
    return taken._replace(steps=taken.steps._replace(control=control))


def _choices(lanes: _Lanes, words: Agents, width: int, always: jax.Array) -> Lane:
    """N choices of every lane. What is to be had in an agent's cell is looked up once, for within a step none moves."""
    options = tuple(
        look(table, lanes.task * width**2 + (agent & CELL)).astype(jnp.int32)
        for table, agent in zip(words, lanes.steps.agents, strict=True)
    )

    def choose(_: int, steps: Packed) -> Packed:
        decision = computed_once(always, lambda: decide(unpack(steps), options, width), jnp.zeros_like(lanes.taken))
        return pack(advance(unpack(steps), decision, width))

    return unpack(lax.fori_loop(0, len(words), choose, lanes.steps))


def _round(memory: _Memory, words: Agents, width: int, max_steps: jax.Array) -> _Memory:
    """N choices of every lane, then the bookkeeping of those whose joint step is complete or refuted."""
    lanes, stack, nogoods = memory
    always = max_steps > 0
    lane = _choices(lanes, words, width, always)
    agents = pack(lane).agents
    n = len(agents)
    reached, refuted = lane.mode == REACHED, lane.mode == REFUTED
    root, pop = refuted & (lane.time == 0), refuted & (lane.time > 0)
    why = pick(lane.reason, lane.agent)

    # First the tables are written, then read; the other way round XLA would copy them. One frame of the stack is a step
    # that is complete.
    nogoods = remember(nogoods, refuted, lane.position, why, lane.left, lanes.task)
    frames = lanes.task * MAX_DEPTH
    top = jnp.where(reached, frames + lane.time.astype(jnp.uint32), len(stack[0]))
    stack = tuple(table.at[top].set(word, mode="drop") for table, word in zip(stack, agents, strict=True))
    below = frames + jnp.maximum(lane.time - 1, 0).astype(jnp.uint32)
    frame = computed_once(always, lambda: tuple(look(table, below) for table in stack), agents)

    # A complete step: is it the end, or refuted already?
    total = sum((spent(lane, key) for key in lane.key), jnp.zeros_like(lane.left))
    left_after = lane.left - jnp.where(lane.by_time == 1, 1, total)
    known = known_failure(nogoods, lane.chosen, left_after, lanes.task, always)
    low, high = pack_positions(lane.chosen, (1 << n) - 1)
    home = ((low ^ lanes.goals[0]) & _CELLS | (high ^ lanes.goals[1]) & CELL) == 0
    solved = reached & home
    hit = reached & ~home & (known != 0)
    push = reached & ~home & (known == 0)

    # The step before, where this one is refuted: what was left at its start is what is left now and what it spent.
    old = unpack(Packed(lanes.steps.control, frame))
    old_total = sum((spent(lane, key) for key in old.key), jnp.zeros_like(lane.left))
    old_left = lane.left + jnp.where(lane.by_time == 1, 1, old_total)
    key = tuple(jnp.where(pop, *keys) for keys in zip(old.key, lane.key, strict=True))

    # Back into a step whose result is refuted, to the last agent that the failure depends on.
    back, anew = pop | hit, push | root
    conflict = jnp.where(pop, why, known) | spenders(lane._replace(key=key))
    jump = highest(conflict, n)
    position, chosen, reason = [], [], []
    for j in range(n):
        position.append(jnp.where(pop, old.position[j], jnp.where(push, lane.chosen[j], lane.position[j])))
        chosen.append(jnp.where(pop, old.chosen[j], lane.chosen[j]))
        before = jnp.where(pop, old.reason[j], lane.reason[j])
        reason.append(jnp.where(anew, 0, jnp.where(back & (jump == j), before | conflict, before)))

    budget, last_budget = lanes.budgets & 0xFF, lanes.budgets >> 8
    budget += root.astype(jnp.uint32)
    taken = lanes.taken + lane.made
    time = jnp.where(pop, lane.time - 1, jnp.where(push | solved, lane.time + 1, lane.time))
    mode = jnp.where(reached | refuted, CHOOSE, lane.mode)
    stop = (mode == CHOOSE) & ((taken >= max_steps) | (time >= MAX_DEPTH))
    mode = jnp.where(stop, GAVE_UP, mode)
    mode = jnp.where(root & (budget > last_budget), EXHAUSTED, mode)
    lane = lane._replace(
        left=jnp.where(
            pop, old_left, jnp.where(push, left_after, jnp.where(root, budget.astype(jnp.int32), lane.left))
        ),
        time=time,
        agent=jnp.where(back, jump, jnp.where(anew, 0, lane.agent)),
        made=jnp.zeros_like(lane.made),
        mode=jnp.where(solved, SOLVED, mode),
        position=tuple(position),
        chosen=tuple(chosen),
        key=tuple(jnp.where(anew, 0, x) for x in key),
        reason=tuple(reason),
    )
    lanes = lanes._replace(budgets=budget | last_budget << 8, taken=taken, steps=pack(lane))
    return _Memory(lanes, stack, nogoods)


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
        no_nogoods(lanes),
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
    stack = jnp.stack([words.reshape(many, MAX_DEPTH) for words in memory.stack], axis=-1)
    return Results(last.mode, (ends[:, 1] & 0xFF).astype(jnp.int32), last.time, stack)
