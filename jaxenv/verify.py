"""The verifier: one verdict per board and plan. It never repairs a plan.

Plans that lie on the host are judged by code compiled for it, straight on the arrays; on an accelerator, over several
devices and inside `jax.jit` it is a JAX program. Both give the same verdicts, bit for bit.
"""

from dataclasses import replace
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import lanes
from jaxenv.errors import InstanceError, JaxenvError
from jaxenv.types import HORIZONS, Action, Instances, Plans, Solutions, Verdicts
from jaxenv.verify_device import device_verify
from jaxenv.verify_host import host_verify

OBJECTIVES = ("sum_of_costs", "makespan")

_MAX_AGENTS = 15  # of more, the rules that they can break have no room in a byte
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
    arrays = jax.tree.leaves((instances, solutions.status, solutions.sum_of_costs, solutions.makespan, plans))
    if _on_host(arrays):
        found: Any = host_verify(instances, solutions, _to_horizon(plans, np), objective)
        verdicts: Verdicts = jax.device_put(Verdicts(**found), _bound_to(arrays))
        return verdicts
    # Once: two programs take them, and what lies on the host would be sent to the device for each.
    instances, plans = jax.tree.map(jnp.asarray, (instances, plans))
    return device_verify(instances, solutions, _to_horizon(plans, jnp), objective)


def _on_host(arrays: list[Any]) -> bool:
    """Whether all are on one CPU, or would be put there; no if there are no values yet, in a trace."""
    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        return False
    devices = set().union(*(array.devices() for array in arrays if isinstance(array, jax.Array)))
    devices = devices or jnp.zeros(()).devices()
    return len(devices) == 1 and devices.pop().platform == "cpu"


def _bound_to(arrays: list[Any]) -> jax.Device | None:
    """The device that results have to stay on, if they do."""
    bound = [array for array in arrays if isinstance(array, jax.Array) and array.committed]
    return next(iter(bound[0].devices())) if bound else None


def _to_horizon(plans: Plans, xp: Any) -> Plans:
    """The plans padded to the next horizon, by NumPy or by JAX."""
    longest = np.shape(plans.actions)[2]
    horizon = next((t for t in HORIZONS if longest <= t), None)
    if horizon is None:
        raise InstanceError(f"plans have {longest} steps; the verifier takes at most {HORIZONS[-1]}")
    if longest == horizon:
        return plans
    actions = xp.pad(plans.actions, ((0, 0), (0, 0), (0, horizon - longest)), constant_values=int(Action.WAIT))
    # Lengths beyond the actions given must stay beyond the padded ones.
    lengths = xp.where(plans.lengths > longest, horizon + 1, plans.lengths)
    return replace(plans, actions=actions, lengths=lengths)


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
