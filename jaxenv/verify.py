"""The verifier: one verdict per board and plan. It never repairs a plan.

On a CPU, also inside `jax.jit`, code compiled for the host judges, straight on the arrays; on an accelerator and over
several devices JAX programs do. Both give the same verdicts, bit for bit.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import lanes
from jaxenv.errors import InstanceError, JaxenvError
from jaxenv.types import HORIZONS, Action, Instances, Optima, Plans, Solutions, Verdicts
from jaxenv.verify_device import device_verify
from jaxenv.verify_host import host_verify

OBJECTIVES = ("sum_of_costs", "makespan")

_MAX_AGENTS = 15  # of more, the rules that they can break have no room in a byte
_INT32, _INT8, _BOOL = np.dtype(np.int32), np.dtype(np.int8), np.dtype(np.bool_)
_FIELDS: dict[str, dict[str, tuple[Any, str]]] = {  # dtype and axes, as in `jaxenv.types`
    "instances": {
        "size": (_INT32, "B"),
        "num_agents": (_INT32, "B"),
        "holes": (_BOOL, "BSS"),
        "starts": (_INT32, "BA2"),
        "goals": (_INT32, "BA2"),
    },
    "solutions": {"status": (_INT32, "B"), "sum_of_costs": (_INT32, "B"), "makespan": (_INT32, "B")},
    "plans": {"actions": (_INT8, "BAT"), "lengths": (_INT32, "BA"), "outcome": (_INT32, "B")},
}


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
    _check(instances, solutions, plans)
    optima = Optima(solutions.status, solutions.sum_of_costs, solutions.makespan)
    devices = _devices(jax.tree.leaves((instances, optima, plans)))
    if [device.platform for device in devices] == ["cpu"]:
        verdicts: Verdicts = _host_program(instances, optima, plans, objective)
        return verdicts
    # Once: several programs take them, and what lies on the host would be sent to the device for each.
    instances, plans = jax.tree.map(jnp.asarray, (instances, plans))
    plans = _to_horizon(plans)
    if devices or len(jax.devices("cpu")) > 1:  # XLA would not divide a call of the host among devices
        return device_verify(instances, optima, plans, objective)
    verdicts = jax.lax.platform_dependent(
        instances,
        optima,
        plans,
        cpu=partial(host_verify, objective=objective),
        default=partial(device_verify, objective=objective),
    )
    return verdicts


@partial(jax.jit, static_argnames="objective")
def _host_program(instances: Instances, optima: Optima, plans: Plans, objective: str) -> Verdicts:
    return host_verify(instances, optima, _to_horizon(plans), objective)


def _devices(arrays: list[Any]) -> set[jax.Device]:
    """Where the arrays are or would be put; nowhere if there are no values yet, in a trace."""
    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        return set()
    devices: set[jax.Device] = set().union(*(array.devices() for array in arrays if isinstance(array, jax.Array)))
    return devices or jnp.zeros(()).devices()


def _to_horizon(plans: Plans) -> Plans:
    """The plans padded to the next horizon."""
    longest = plans.actions.shape[2]
    horizon = next(t for t in HORIZONS if longest <= t)
    if longest == horizon:
        return plans
    actions = jnp.pad(plans.actions, ((0, 0), (0, 0), (0, horizon - longest)), constant_values=int(Action.WAIT))
    # Lengths beyond the actions given must stay beyond the padded ones.
    lengths = jnp.where(plans.lengths > longest, horizon + 1, plans.lengths)
    return replace(plans, actions=actions, lengths=lengths)


def _check(instances: Instances, solutions: Solutions, plans: Plans) -> None:
    """Shapes and dtypes only, so that `verify` can be traced too.

    Nothing is cast: that could turn a wrong value into a legal one, an action of 260 into RIGHT.
    """
    lengths = {"2": 2}
    for batch, values in (("instances", instances), ("solutions", solutions), ("plans", plans)):
        for name, (wanted, axes) in _FIELDS[batch].items():
            value = getattr(values, name)
            if getattr(value, "dtype", None) != wanted:
                found = getattr(value, "dtype", type(value).__name__)
                raise InstanceError(f"{batch}.{name} is an array of {wanted}; got {found}")
            if len(value.shape) != len(axes) or any(
                lengths.setdefault(axis, length) != length for axis, length in zip(axes, value.shape, strict=True)
            ):
                known = ", ".join(f"{axis} = {length}" for axis, length in lengths.items() if axis in axes)
                raise InstanceError(
                    "boards, solutions and plans do not go together: "
                    f"{batch}.{name} has the shape {value.shape}, not [{', '.join(axes)}] with {known}"
                )
    size, agents, longest = lengths["S"], lengths["A"], lengths["T"]
    if not (0 < size <= lanes.MAX_SIZE and 0 < agents <= _MAX_AGENTS):
        raise InstanceError(
            f"the verifier takes maps up to {lanes.MAX_SIZE} and 1 to {_MAX_AGENTS} agents; got {size} and {agents}"
        )
    if longest > HORIZONS[-1]:
        raise InstanceError(f"plans have {longest} steps; the verifier takes at most {HORIZONS[-1]}")
