"""The verifier: one verdict per board and plan. It never repairs a plan.

Inside, the batch is the last axis and a cell is one byte on a map with a border, (row + 1) * 16 + col + 1: every step
is a handful of elementwise operations over all boards. The walk only looks for the first offending step, at which a
board stops; what the offence was is read from the two positions it stopped between, once, after the walk.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import or_
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxenv.errors import InstanceError, JaxenvError
from jaxenv.types import HORIZONS, Action, Instances, Label, Plans, Solutions, Status, Verdicts

OBJECTIVES = ("sum_of_costs", "makespan")

_WIDTH = 16  # cells per row in the one-byte coding
_MAX_SIZE = 13  # rows 0..14 hold a map with its border; row 15 is for padding agents
_PARKED = 15 * _WIDTH  # plus the agent's number: a code of its own that no agent can walk to
_NEVER = 255  # no step
_CODE_STEP = {Action.UP: 256 - _WIDTH, Action.DOWN: _WIDTH, Action.LEFT: 255, Action.RIGHT: 1}  # modulo 256


def verify(instances: Instances, solutions: Solutions, plans: Plans, *, objective: str = "sum_of_costs") -> Verdicts:
    """Judge one plan per board by the rules of the world; `objective` decides `optimal` and `gap`.

    All offences of the first offending step are in `flags`; `label` is the first of off_map, hole, vertex_conflict,
    swap_conflict. An agent that leaves the map or enters a hole is where it went, not where it was. `agents` and `cell`
    speak of the label: the smallest agent (and -1), or pair of agents; the cell left (off_map), else the cell that the
    first of them entered. A goal_not_reached names the smallest agent not on its goal, without step and cell.

    A plan with an unknown action is a parse_error, one with lengths beyond T is too_long; what padding agents are given
    and what stands after an agent's length is ignored. A valid plan that contradicts the board's labels has the flag
    1 << SOLVER_FAULT.

    One compilation per number of boards and horizon: plans are padded to a horizon of 32, 64 or 128, boards are not.
    """
    if objective not in OBJECTIVES:
        raise JaxenvError(f"objective {objective!r} is unknown; choose one of {', '.join(OBJECTIVES)}")
    _check_shapes(instances, solutions, plans)
    actions = jnp.asarray(plans.actions, jnp.int8)
    longest = actions.shape[2]
    horizon = next((t for t in HORIZONS if longest <= t), None)
    if horizon is None:
        raise InstanceError(f"plans have {longest} steps; the verifier takes at most {HORIZONS[-1]}")
    if longest < horizon:
        actions = jnp.pad(actions, ((0, 0), (0, 0), (0, horizon - longest)), constant_values=int(Action.WAIT))
    # Lengths beyond the actions given must stay beyond the padded ones.
    lengths = jnp.asarray(plans.lengths, jnp.int32)
    lengths = jnp.where(lengths > longest, horizon + 1, lengths)
    int32 = partial(jnp.asarray, dtype=jnp.int32)
    verdicts: Verdicts = _judge(
        Instances(
            size=int32(instances.size),
            num_agents=int32(instances.num_agents),
            holes=jnp.asarray(instances.holes, jnp.bool_),
            starts=int32(instances.starts),
            goals=int32(instances.goals),
        ),
        Plans(actions=actions, lengths=lengths, outcome=int32(plans.outcome)),
        int32(solutions.status),
        int32(solutions.sum_of_costs),
        int32(solutions.makespan),
        objective=objective,
    )
    return verdicts


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
    if size > _MAX_SIZE or agents > _WIDTH:
        raise InstanceError(f"the verifier takes maps up to {_MAX_SIZE} and {_WIDTH} agents; got {size} and {agents}")


class _Walk(NamedTuple):
    """All boards after the same number of steps; a board with an offence stays as it was when it happened."""

    before: jax.Array  # u8[A, B] cell codes before the last step
    now: jax.Array  # u8[A, B] cell codes after it
    cost: jax.Array  # u8[A, B] steps after which the agent has been on its goal ever since
    step: jax.Array  # u8[B] index of the offending action, _NEVER so far
    unknown: jax.Array  # bool[B] an action that is none


@partial(jax.jit, static_argnames=("objective",))
def _judge(
    boards: Instances, plans: Plans, status: jax.Array, best_sum: jax.Array, best_makespan: jax.Array, *, objective: str
) -> Verdicts:
    num_boards, num_agents, horizon = plans.actions.shape
    agent = jnp.arange(num_agents)[:, None]
    present = agent < boards.num_agents  # bool[A, B]
    parked = jnp.broadcast_to((_PARKED + agent).astype(jnp.uint8), present.shape)
    start = jnp.where(present, _encode(boards.starts), parked)
    goal = jnp.where(present, _encode(boards.goals), parked)
    lengths = jnp.where(present, plans.lengths.T, 0)
    blocked = _blocked_rows(boards)
    actions = jnp.transpose(plans.actions, (2, 1, 0))  # i8[T, A, B]

    def step(t: jax.Array, walk: _Walk) -> _Walk:
        action = jnp.where(t < lengths, actions[t], jnp.int8(Action.WAIT))
        going = walk.step == _NEVER
        before = jnp.where(going, walk.now, walk.before)
        now = jnp.where(going, walk.now + _code_step(action), walk.now)
        offends = _is_blocked(blocked, now).any(0)
        for hit in _pairs(_meet, before, now) + _pairs(_swap, before, now):
            offends |= hit
        return _Walk(
            before=before,
            now=now,
            cost=jnp.where(now == goal, walk.cost, (t + 2).astype(jnp.uint8)),
            step=jnp.where(going & offends, t.astype(jnp.uint8), walk.step),
            unknown=walk.unknown | ((action < 0) | (action > max(Action))).any(0),
        )

    at_start = _Walk(
        before=start,
        now=start,
        cost=(start != goal).astype(jnp.uint8),
        step=jnp.full(num_boards, _NEVER, jnp.uint8),
        unknown=jnp.zeros(num_boards, jnp.bool_),
    )
    # Nothing changes once every plan has ended, so later steps need not be taken. The first always is, so that a board
    # built by hand with a start in a hole is told whatever else is in the batch.
    walk = lax.fori_loop(0, jnp.minimum(lengths.max(initial=1), horizon), step, at_start)

    outcome = jnp.where(_any(lengths > horizon), Label.TOO_LONG, jnp.where(walk.unknown, Label.PARSE_ERROR, Label.READ))
    outcome = jnp.where(plans.outcome != Label.READ, plans.outcome, outcome)
    read = outcome == Label.READ
    # Kept apart, for the compiler would work all of it out anew for every field that is returned.
    label, flags, agents, cell = lax.optimization_barrier(  # type: ignore[no-untyped-call]
        _offence(walk, boards, goal, blocked)
    )
    label = jnp.where(read, label, outcome)
    valid = label == Label.READ
    judged = read & ~valid
    flags = jnp.where(read, flags, jnp.left_shift(1, outcome))

    cost = walk.cost.astype(jnp.int32)
    costs = {"sum_of_costs": cost.sum(0), "makespan": cost.max(0)}
    bests = {"sum_of_costs": best_sum, "makespan": best_makespan}
    certified = status == Status.OPTIMAL
    optimal = valid & certified & (costs[objective] == bests[objective])
    excess = (costs[objective] - bests[objective]).astype(jnp.float32)
    gap = excess / jnp.maximum(bests[objective], 1).astype(jnp.float32)
    below = (costs["sum_of_costs"] < best_sum) | (costs["makespan"] < best_makespan)
    fault = valid & ((certified & below) | (status == Status.UNSOLVABLE))
    return Verdicts(
        label=jnp.where(valid, jnp.where(optimal, Label.OPTIMAL, Label.SUBOPTIMAL), label).astype(jnp.int32),
        flags=(flags | jnp.where(fault, 1 << Label.SOLVER_FAULT, 0)).astype(jnp.uint32),
        valid=valid,
        optimal=optimal,
        sum_of_costs=jnp.where(valid, costs["sum_of_costs"], -1),
        makespan=jnp.where(valid, costs["makespan"], -1),
        gap=jnp.where(valid & certified, gap, jnp.nan),
        step=jnp.where(judged & (walk.step != _NEVER), walk.step.astype(jnp.int32), -1),
        agents=jnp.where(judged[:, None], agents, -1),
        cell=jnp.where(judged[:, None], cell, -1),
    )


def _offence(
    walk: _Walk, boards: Instances, goal: jax.Array, blocked: Sequence[jax.Array]
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Label (READ without offence), flags, agents [B, 2] and cell [B, 2] of the step at which each board stopped."""
    row, col = _decode(walk.now)
    parked = walk.now >= _PARKED
    off = ~parked & ((row < 0) | (row >= boards.size) | (col < 0) | (col >= boards.size))
    hole = ~off & _is_blocked(blocked, walk.now)
    alone = [(a, -1) for a in range(len(off))]
    pairs = [(i, j) for i in range(len(off)) for j in range(i + 1, len(off))]
    found: list[tuple[Label, Sequence[jax.Array], list[tuple[int, int]], jax.Array]] = [
        (Label.OFF_MAP, list(off), alone, walk.before),
        (Label.HOLE, list(hole), alone, walk.now),
        (Label.VERTEX_CONFLICT, _pairs(_meet, walk.before, walk.now), pairs, walk.now),
        (Label.SWAP_CONFLICT, _pairs(_swap, walk.before, walk.now), pairs, walk.now),
        (Label.GOAL_NOT_REACHED, list((walk.now != goal) & (walk.step == _NEVER)), alone, jnp.zeros_like(walk.now)),
    ]
    label = jnp.full(boards.size.shape, Label.READ)
    flags = jnp.zeros_like(label)
    first, second, cell = jnp.full_like(label, -1), jnp.full_like(label, -1), jnp.zeros_like(walk.now[0])
    # Backwards, so that the first label and its smallest agents are written last.
    for name, hits, names, where in reversed(found):
        flags |= jnp.where(_any(hits), 1 << name, 0)
        for hit, (i, j) in reversed(list(zip(hits, names, strict=True))):
            label = jnp.where(hit, name, label)
            first, second = jnp.where(hit, i, first), jnp.where(hit, j, second)
            cell = jnp.where(hit, where[i], cell)
    return label, flags, jnp.stack([first, second], 1), jnp.stack(_decode(cell), 1)


def _encode(cells: jax.Array) -> jax.Array:
    """(row, col) i32[B, A, 2] to cell codes u8[A, B]."""
    return ((cells[..., 0] + 1) * _WIDTH + cells[..., 1] + 1).astype(jnp.uint8).T


def _decode(code: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Row and column, i32; the code 0 is (-1, -1)."""
    return (code >> 4).astype(jnp.int32) - 1, (code & 15).astype(jnp.int32) - 1


def _code_step(action: jax.Array) -> jax.Array:
    """What an action adds to a cell code, modulo 256."""
    step = jnp.zeros(action.shape, jnp.uint8)
    for name, code in _CODE_STEP.items():
        step = jnp.where(action == name, jnp.uint8(code), step)
    return step


def _blocked_rows(boards: Instances) -> list[jax.Array]:
    """u16[B] for every row of the bordered map, bit c set where code column c is a hole or off the map."""
    inside = jnp.arange(boards.holes.shape[-1]) < boards.size[:, None]
    free = ~boards.holes & inside[:, :, None] & inside[:, None, :]
    bits = jnp.left_shift(2, jnp.arange(boards.holes.shape[-1]))
    rows = (0xFFFF - jnp.where(free, bits, 0).sum(-1)).astype(jnp.uint16).T  # u16[S, B]
    return list(rows)


def _is_blocked(blocked: Sequence[jax.Array], code: jax.Array) -> jax.Array:
    """Whether each cell is a hole or off the map. Rows are picked by select: a gather is many times slower."""
    row, col = code >> 4, (code & 15).astype(jnp.uint16)
    bits = jnp.where(code >= _PARKED, jnp.uint16(0), jnp.uint16(0xFFFF))
    for r, word in enumerate(blocked, 1):
        bits = jnp.where(row == r, word, bits)
    return (bits >> col) & 1 == 1


def _meet(before: jax.Array, now: jax.Array, i: int, j: int) -> jax.Array:
    return now[i] == now[j]


def _swap(before: jax.Array, now: jax.Array, i: int, j: int) -> jax.Array:
    return (now[i] == before[j]) & (now[j] == before[i])


def _pairs(test: Callable[..., jax.Array], before: jax.Array, now: jax.Array) -> list[jax.Array]:
    """A test on every pair of agents, the smallest first: bool[B] each."""
    agents = len(now)
    return [test(before, now, i, j) for i in range(agents) for j in range(i + 1, agents)]


def _any(hits: Sequence[jax.Array] | jax.Array) -> jax.Array:
    """Whether a board is hit in any row. Rows are few: joined one by one they fuse, where a reduction would not."""
    return reduce(or_, list(hits)) if len(hits) else jnp.zeros((), jnp.bool_)
