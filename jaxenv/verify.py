"""The verifier: one verdict per board and plan. It never repairs a plan.

Every step of every board is looked at at once, in the layout of `jaxenv.lanes`: is anybody where nobody may be, do two
agents meet or swap? That gives the first offending step of each board. What the offence was is read from the positions
before and after that step alone.
"""

from collections.abc import Sequence
from functools import partial, reduce
from operator import add, or_
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import lanes
from jaxenv.errors import InstanceError, JaxenvError
from jaxenv.types import HORIZONS, Action, Instances, Label, Plans, Solutions, Status, Verdicts

OBJECTIVES = ("sum_of_costs", "makespan")

_MAX_AGENTS = 16
_NEVER = 255  # no step
_DTYPES = {"holes": "bool", "actions": "int8"}  # the others are int32


def verify(instances: Instances, solutions: Solutions, plans: Plans, *, objective: str = "sum_of_costs") -> Verdicts:
    """Judge one plan per board by the rules of the world; `objective` decides `optimal` and `gap`.

    All offences of the first offending step are in `flags`; `label` is the first of off_map, hole, vertex_conflict,
    swap_conflict. An agent that leaves the map or enters a hole is where it went, not where it was. `agents` and `cell`
    speak of the label: the smallest agent (and -1), or pair of agents; the cell left (off_map), else the cell that the
    first of them entered. A goal_not_reached names the smallest agent not on its goal, without step and cell.

    A plan with an unknown action or a negative length is a parse_error, one with lengths beyond T is too_long; what
    padding agents are given and what stands after an agent's length is ignored. An agent that starts off the map, which
    the constructors refuse, is off_map at the first step, at the cell (-1, -1). A valid plan that contradicts the
    board's labels has the flag 1 << SOLVER_FAULT.

    Shapes and dtypes are those of `jaxenv.types`, on the host or on a device; others are an `InstanceError` that names
    the field. One compilation per number of boards and horizon: plans are padded to a horizon of 32, 64 or 128, boards
    are not.
    """
    if objective not in OBJECTIVES:
        raise JaxenvError(f"objective {objective!r} is unknown; choose one of {', '.join(OBJECTIVES)}")
    _check_dtypes(instances, solutions, plans)
    _check_shapes(instances, solutions, plans)
    # Once: two programs take them, and what lies on the host would be sent to the device for each.
    instances, plans = jax.tree.map(jnp.asarray, (instances, plans))
    actions, lengths = plans.actions, plans.lengths
    longest = actions.shape[2]
    horizon = next((t for t in HORIZONS if longest <= t), None)
    if horizon is None:
        raise InstanceError(f"plans have {longest} steps; the verifier takes at most {HORIZONS[-1]}")
    if longest < horizon:
        actions = jnp.pad(actions, ((0, 0), (0, 0), (0, horizon - longest)), constant_values=int(Action.WAIT))
        # Lengths beyond the actions given must stay beyond the padded ones.
        lengths = jnp.where(lengths > longest, horizon + 1, lengths)
    side = instances.holes.shape[-1]
    plans = plans.replace(actions=actions, lengths=lengths)  # type: ignore[attr-defined]
    # Programs of their own: in one, the compiler would work out each one's result anew for every use of it.
    world = _lay_out(instances, plans)
    where, unknown = _walk(_sums(instances, plans), world.start, side=side)
    stop = _stop(where, world)
    verdicts: Verdicts = _judge(
        stop,
        world,
        unknown,
        *_offences(stop, world, side=side),
        *(solutions.status, solutions.sum_of_costs, solutions.makespan),
        side=side,
        objective=objective,
    )
    return verdicts


def _check_dtypes(instances: Instances, solutions: Solutions, plans: Plans) -> None:
    """Nothing is cast: that could turn a wrong value into a legal one, an action of 260 into RIGHT."""
    fields = {
        "instances": (instances, ("size", "num_agents", "holes", "starts", "goals")),
        "solutions": (solutions, ("status", "sum_of_costs", "makespan")),
        "plans": (plans, ("actions", "lengths", "outcome")),
    }
    for batch, (values, names) in fields.items():
        for name in names:
            value, wanted = getattr(values, name), _DTYPES.get(name, "int32")
            found = str(getattr(value, "dtype", type(value).__name__))
            if found != wanted:
                raise InstanceError(f"{batch}.{name} is an array of {wanted}; got {found}")


def _check_shapes(instances: Instances, solutions: Solutions, plans: Plans) -> None:
    """Shapes only, so that `verify` can be traced too."""
    try:
        boards, agents = np.shape(instances.starts)[:2]
        size = np.shape(instances.holes)[-1]
        chex.assert_shape([instances.starts, instances.goals], (boards, agents, 2))
        chex.assert_shape(instances.holes, (boards, size, size))
        chex.assert_shape(plans.actions, (boards, agents, None))
        chex.assert_shape(plans.lengths, (boards, agents))
        per_board = (instances.size, instances.num_agents, plans.outcome)
        chex.assert_shape([*per_board, solutions.status, solutions.sum_of_costs, solutions.makespan], (boards,))
    except (AssertionError, IndexError, ValueError) as error:
        raise InstanceError(f"boards, solutions and plans do not go together: {error}") from None
    if size > lanes.MAX_SIZE or agents > _MAX_AGENTS:
        raise InstanceError(
            f"the verifier takes maps up to {lanes.MAX_SIZE} and {_MAX_AGENTS} agents; got {size} and {agents}"
        )


class _World(NamedTuple):
    """Boards in the layout of `jaxenv.lanes`, and what the plans are at first sight."""

    size: jax.Array  # u8[N, K]
    blocked: jax.Array  # u8[N, bytes, K] the table of `lanes.look_up`
    here: jax.Array  # u8[N, A, K] all ones for an agent that the board has, else 0
    start: jax.Array  # u8[N, A, K]
    goal: jax.Array  # u8[N, A, K]
    outcome: jax.Array  # i32[B] READ, or why the plans are none


class _Stop(NamedTuple):
    """Each board at its first offending step; at any where it has none."""

    step: jax.Array  # u8[N, K] index of the offending action, _NEVER without one
    before: jax.Array  # u8[N, A, K] codes before that step
    now: jax.Array  # u8[N, A, K] codes after it
    end: jax.Array  # u8[N, A, K] codes after the last step of all
    cost: jax.Array  # u8[N, A, K] steps after which the agent has been on its goal ever since


def _in_tiles(tree: Any, tile: int) -> Any:
    """Arrays with leading axis B, padded to a multiple of the tile."""
    return jax.tree.map(lambda field: jnp.pad(field, [(0, -len(field) % tile)] + [(0, 0)] * (field.ndim - 1)), tree)


def _present(boards: Instances) -> jax.Array:
    """bool[B, A]; which agents a board has."""
    return jnp.arange(boards.starts.shape[1]) < boards.num_agents[:, None]


@jax.jit
def _lay_out(boards: Instances, plans: Plans) -> _World:
    agents, horizon = plans.actions.shape[1:]
    side, tile = boards.holes.shape[-1], lanes.tile_of(len(boards))
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
    return _World(
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
def _stop(where: jax.Array, world: _World) -> _Stop:
    """The first step of each board at which anybody offends, and the positions around it."""
    agents = range(where.shape[2])
    before, now = ([half[:, :, a] for a in agents] for half in (where[:, :-1], where[:, 1:]))
    blocked = reduce(or_, [lanes.look_up(world.blocked, now[a]) & world.here[:, None, a] for a in agents])
    offends = reduce(or_, [_meet(before, now, i, j) | _swap(before, now, i, j) for i, j in _pairs(len(agents))], False)
    times = np.arange(where.shape[1] - 1, dtype=np.uint8)[:, None]
    step = jnp.where(lanes.is_high(blocked) | offends, times, jnp.uint8(_NEVER)).min(1)
    # Who starts off the map is off it at the first step, wherever its actions lead.
    step = jnp.where(reduce(or_, [where[:, 0, a] == lanes.OUT for a in agents]), jnp.uint8(0), step)
    at_before, at_now = where[:, 0], where[:, 1]
    cost = jnp.where(at_before == world.goal, jnp.uint8(0), jnp.uint8(1))
    for t in range(len(times)):
        here = step[:, None] == t
        at_before = jnp.where(here, where[:, t], at_before)
        at_now = jnp.where(here, where[:, t + 1], at_now)
        cost = jnp.where(where[:, t + 1] == world.goal, cost, jnp.uint8(t + 2))
    return _Stop(step, at_before, at_now, where[:, -1], cost)


@partial(jax.jit, static_argnames=("side", "objective"))
def _judge(
    stop: _Stop,
    world: _World,
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
    rules = _rules(num_agents)

    def boards(field: jax.Array) -> jax.Array:
        return field.reshape(-1)[: len(status)]

    outcome = jnp.where((world.outcome == Label.READ) & boards(unknown), Label.PARSE_ERROR, world.outcome)
    index = boards(first_broken)
    label, first, second = (_pick(index, column) for column in zip(*rules, strict=True))
    read = outcome == Label.READ
    label = jnp.where(read, jnp.where(index == _NEVER, Label.READ, label), outcome)
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
        code = jnp.where((first == a) & (step != _NEVER), entered, code)
    cell = jnp.stack(lanes.decode(code, side), 1)
    return Verdicts(
        label=jnp.where(valid, jnp.where(optimal, Label.OPTIMAL, Label.SUBOPTIMAL), label).astype(jnp.int32),
        flags=(flags | jnp.where(fault, 1 << Label.SOLVER_FAULT, 0)).astype(jnp.uint32),
        valid=valid,
        optimal=optimal,
        sum_of_costs=jnp.where(valid, costs["sum_of_costs"], -1),
        makespan=jnp.where(valid, costs["makespan"], -1),
        gap=jnp.where(valid & certified, gap, jnp.nan),
        step=jnp.where(judged & (step != _NEVER), step.astype(jnp.int32), -1),
        agents=jnp.where(judged[:, None], jnp.stack([first, second], 1), -1),
        cell=jnp.where(judged[:, None], cell, -1),
    )


class _Rule(NamedTuple):
    """What an agent, or a pair of agents, can break at one step."""

    label: Label
    first: int
    second: int  # -1 for an agent alone


def _rules(agents: int) -> list[_Rule]:
    """All rules, the first label's first and within a label the smallest agents' first."""
    alone, pairs = [(a, -1) for a in range(agents)], _pairs(agents)
    kinds = {
        Label.OFF_MAP: alone,
        Label.HOLE: alone,
        Label.VERTEX_CONFLICT: pairs,
        Label.SWAP_CONFLICT: pairs,
        Label.GOAL_NOT_REACHED: alone,
    }
    return [_Rule(label, *names) for label, all_names in kinds.items() for names in all_names]


@partial(jax.jit, static_argnames="side")
def _offences(stop: _Stop, world: _World, *, side: int) -> tuple[jax.Array, jax.Array]:
    """u8[N, K] each: the first broken rule (_NEVER without one), and bit label - OFF_MAP for every broken one."""
    agents = range(world.goal.shape[1])
    before, now, here = ([codes[:, a] for a in agents] for codes in (stop.before, stop.now, world.here))
    went = stop.step != _NEVER
    off = [(here[a] != 0) & ((before[a] == lanes.OUT) | lanes.is_off(now[a], world.size, side)) for a in agents]

    def breaks(rule: _Rule) -> jax.Array:
        i, j = rule.first, rule.second
        match rule.label:
            case Label.OFF_MAP:
                return went & off[i]
            case Label.HOLE:
                return went & ~off[i] & lanes.is_high(lanes.look_up(world.blocked, now[i]) & here[i])
            case Label.VERTEX_CONFLICT:
                # The end of a row and the beginning of the next share their codes beyond the map.
                return went & _meet(before, now, i, j) & ~(off[i] & off[j] & (before[i] != before[j]))
            case Label.SWAP_CONFLICT:
                return went & _swap(before, now, i, j)
            case _:
                return ~went & (stop.end[:, i] != world.goal[:, i])

    first, broken = jnp.full_like(stop.step, _NEVER), jnp.zeros_like(stop.step)
    for index, rule in reversed(list(enumerate(_rules(len(agents))))):
        hit = breaks(rule)
        first = jnp.where(hit, jnp.uint8(index), first)
        broken |= jnp.where(hit, jnp.uint8(1 << (rule.label - Label.OFF_MAP)), jnp.uint8(0))
    return first, broken


def _pick(index: jax.Array, values: Sequence[int]) -> jax.Array:
    """The value at each index u8, i32; indices past the end get the last one."""
    return jnp.take(jnp.asarray(values, jnp.int32), index, mode="clip")


def _pairs(agents: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(agents) for j in range(i + 1, agents)]


def _meet(before: Sequence[jax.Array], now: Sequence[jax.Array], i: int, j: int) -> jax.Array:
    return now[i] == now[j]


def _swap(before: Sequence[jax.Array], now: Sequence[jax.Array], i: int, j: int) -> jax.Array:
    return (now[i] == before[j]) & (now[j] == before[i])
