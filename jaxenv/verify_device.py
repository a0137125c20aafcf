"""The verifier as JAX programs, for accelerators.

All steps of all boards are looked at at once, in the layout of `jaxenv.lanes`: is anybody where nobody may be, do two
agents meet or swap? That gives the first offending step of each board. What the offence was is read from the positions
before and after that step alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add, or_
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import lanes
from jaxenv.offences import NEVER, Stop, World, offences_of, pairs_of, rules_of, swap
from jaxenv.types import Instances, Label, Optima, Plans, Solutions, Status, Verdicts


def device_verify(instances: Instances, optima: Optima | Solutions, plans: Plans, objective: str) -> Verdicts:
    """The verdicts for well-formed arrays; a horizon is a multiple of four."""
    side = instances.holes.shape[-1]
    # Programs of their own: in one, the compiler would work out each one's result anew for every use of it.
    world = _lay_out(instances, plans)
    where, unknown = _walk(_sums(instances, plans), world.start, side=side)
    stop = _stop(where, world)
    verdicts: Verdicts = _judge(
        stop,
        world,
        unknown,
        *offences_of(stop, world, side=side),
        *(optima.status, optima.sum_of_costs, optima.makespan),
        side=side,
        objective=objective,
    )
    return verdicts


def _in_tiles(tree: Any, tile: int) -> Any:
    """Arrays with leading axis B, padded to a multiple of the tile."""
    return jax.tree.map(lambda field: jnp.pad(field, [(0, -len(field) % tile)] + [(0, 0)] * (field.ndim - 1)), tree)


def _present(boards: Instances) -> jax.Array:
    """bool[B, A]; which agents a board has."""
    return jnp.arange(boards.starts.shape[1]) < boards.num_agents[:, None]


@jax.jit
def _lay_out(boards: Instances, plans: Plans) -> World:
    agents, horizon = plans.actions.shape[1:]
    side, tile = boards.holes.shape[-1], lanes.tile_of(len(boards))
    boards = replace(boards, size=jnp.clip(boards.size, 0, side))
    lengths = jnp.where(_present(boards), plans.lengths, 0)
    malformed = jnp.where((lengths < 0).any(1), Label.PARSE_ERROR, Label.READ)
    outcome = jnp.where((lengths > horizon).any(1), Label.TOO_LONG, malformed)
    boards = _in_tiles(boards, tile)
    present, parked = _present(boards), lanes.parked(side, agents)
    start, goal = (
        lanes.lanes(jnp.where(present, lanes.encode(cells, boards.size, side), parked), tile)
        for cells in (boards.starts, boards.goals)
    )
    size = boards.size.astype(jnp.uint8).reshape(-1, tile)
    return World(
        size=size,
        blocked=lanes.blocked_table(boards.holes, size),
        here=lanes.lanes(jnp.where(present, jnp.uint8(255), jnp.uint8(0)), tile),
        start=start,
        goal=goal,
        outcome=jnp.where(plans.outcome == Label.READ, outcome, plans.outcome),
    )


@jax.jit
def _sums(boards: Instances, plans: Plans) -> jax.Array:
    tile = lanes.tile_of(len(boards))
    lengths = jnp.where(_present(boards), plans.lengths, 0)
    actions, lengths = _in_tiles((plans.actions, lengths), tile)
    return lanes.sums_of_steps(actions, lengths, boards.holes.shape[-1], tile)


@partial(jax.jit, static_argnames="side")
def _walk(sums: jax.Array, start: jax.Array, *, side: int) -> tuple[jax.Array, jax.Array]:
    return lanes.positions(sums, start, side)


@jax.jit
def _stop(where: jax.Array, world: World) -> Stop:
    """The first step of each board at which anybody offends, and the positions around it."""
    agents = range(where.shape[2])
    before, now = ([half[:, :, a] for a in agents] for half in (where[:, :-1], where[:, 1:]))
    blocked = reduce(or_, [lanes.look_up(world.blocked, now[a]) & world.here[:, None, a] for a in agents])
    offends = reduce(or_, [(now[i] == now[j]) | swap(before, now, i, j) for i, j in pairs_of(len(agents))], False)
    times = np.arange(where.shape[1] - 1, dtype=np.uint8)[:, None]
    step = jnp.where(lanes.is_high(blocked) | offends, times, jnp.uint8(NEVER)).min(1)
    # Who starts off the map is off it at the first step, wherever its actions lead.
    step = jnp.where(reduce(or_, [where[:, 0, a] == lanes.OUT for a in agents]), jnp.uint8(0), step)
    at_before, at_now = where[:, 0], where[:, 1]
    cost = jnp.where(at_before == world.goal, jnp.uint8(0), jnp.uint8(1))
    for t in range(len(times)):
        here = step[:, None] == t
        at_before = jnp.where(here, where[:, t], at_before)
        at_now = jnp.where(here, where[:, t + 1], at_now)
        cost = jnp.where(where[:, t + 1] == world.goal, cost, jnp.uint8(t + 2))
    return Stop(step, at_before, at_now, where[:, -1], cost)


@partial(jax.jit, static_argnames=("side", "objective"))
def _judge(
    stop: Stop,
    world: World,
    unknown: jax.Array,
    first_broken: jax.Array,
    broken: jax.Array,
    status: jax.Array,
    best_sum: jax.Array,
    best_makespan: jax.Array,
    *,
    side: int,
    objective: str,
) -> Verdicts:
    num_agents = world.goal.shape[1]
    rules = rules_of(num_agents)

    def boards(field: jax.Array) -> jax.Array:
        return field.reshape(-1)[: len(status)]

    outcome = jnp.where((world.outcome == Label.READ) & boards(unknown), Label.PARSE_ERROR, world.outcome)
    index = boards(first_broken)
    label, first, second = (_pick(index, column) for column in zip(*rules, strict=True))
    read = outcome == Label.READ
    label = jnp.where(read, jnp.where(index == NEVER, Label.READ, label), outcome)
    valid = label == Label.READ
    judged = read & ~valid
    flags = jnp.where(read, boards(broken).astype(jnp.int32) << Label.OFF_MAP, jnp.left_shift(1, outcome))

    each = [boards(stop.cost[:, a]).astype(jnp.int32) for a in range(num_agents)]
    costs = {"sum_of_costs": reduce(add, each), "makespan": reduce(jnp.maximum, each)}
    bests = {"sum_of_costs": best_sum, "makespan": best_makespan}
    certified = status == Status.OPTIMAL
    optimal = valid & certified & (costs[objective] == bests[objective])
    excess = (costs[objective] - bests[objective]).astype(jnp.float32)
    gap = excess / jnp.maximum(bests[objective], 1).astype(jnp.float32)
    below = (costs["sum_of_costs"] < best_sum) | (costs["makespan"] < best_makespan)
    fault = valid & ((certified & below) | (status == Status.UNSOLVABLE))
    step = boards(stop.step)
    code = jnp.full_like(index, lanes.OUT)
    for a in range(num_agents):
        entered = jnp.where(label == Label.OFF_MAP, boards(stop.before[:, a]), boards(stop.now[:, a]))
        code = jnp.where((first == a) & (step != NEVER), entered, code)
    cell = jnp.stack(lanes.decode(code, side), 1)
    return Verdicts(
        label=jnp.where(valid, jnp.where(optimal, Label.OPTIMAL, Label.SUBOPTIMAL), label).astype(jnp.int32),
        flags=(flags | jnp.where(fault, 1 << Label.SOLVER_FAULT, 0)).astype(jnp.uint32),
        valid=valid,
        optimal=optimal,
        sum_of_costs=jnp.where(valid, costs["sum_of_costs"], -1),
        makespan=jnp.where(valid, costs["makespan"], -1),
        gap=jnp.where(valid & certified, gap, jnp.nan),
        step=jnp.where(judged & (step != NEVER), step.astype(jnp.int32), -1),
        agents=jnp.where(judged[:, None], jnp.stack([first, second], 1), -1),
        cell=jnp.where(judged[:, None], cell, -1),
    )


def _pick(index: jax.Array, values: Sequence[int]) -> jax.Array:
    """The value at each index u8, i32; indices past the end get the last one."""
    return jnp.take(jnp.asarray(values, jnp.int32), index, mode="clip")
