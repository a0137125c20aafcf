"""The certified optimum of every board.

Both costs are always labelled; `objective` decides which of them `lower_bound`, `single_path_bound`, `interacts`,
`needs_wait` and the plans speak of. How the search works and why it is exact: `jaxenv.host_search`.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.batches import fitted, solutions_of
from jaxenv.device_engine import DEFAULT_MAX_STEPS, device_solve
from jaxenv.errors import InstanceError, JaxenvError
from jaxenv.host_engine import host_solve
from jaxenv.host_graph import MAX_AGENTS, MAX_CELLS
from jaxenv.types import Instances, Solutions, Status

OBJECTIVES = ("sum_of_costs", "makespan")
ENGINES = ("auto", "host", "device")


def solve(
    instances: Instances,
    *,
    engine: str = "auto",
    objective: str = "sum_of_costs",
    max_steps: int | None = None,
) -> Solutions:
    """Both optimal costs, a plan and the labels of each board, or the proof that it has no solution.

    A board is OPTIMAL only when both costs and needs_wait are certified, UNSOLVABLE only by proof, else UNDETERMINED
    with the bound that is proven. `max_steps` (a count, the same on every machine) bounds each search of a board.
    Plans of more than 128 steps are not stored: such a board is UNDETERMINED.

    Engines: `host` is compiled for the CPU (all threads of Numba) and has tools for the hard tail; `device` runs the
    same search on whatever JAX runs on, for many boards side by side, and leaves hard boards open; `auto` is `host` on
    a CPU, and on an accelerator `device` for the bulk and then `host` for what that leaves open. Where both decide
    they agree, but for the plan, of which there may be several.
    """
    if objective not in OBJECTIVES:
        raise JaxenvError(f"objective {objective!r} is unknown; choose one of {', '.join(OBJECTIVES)}")
    if engine not in ENGINES:
        raise JaxenvError(f"engine {engine!r} is unknown; choose one of {', '.join(ENGINES)}")
    if max_steps is not None and max_steps < 1:
        raise JaxenvError(f"max_steps is {max_steps}; give a count of at least 1")
    size, num_agents, holes, starts, goals = (
        np.asarray(x)
        for x in (instances.size, instances.num_agents, instances.holes, instances.starts, instances.goals)
    )
    _check(size, num_agents, holes, starts, goals)
    boards = (size, num_agents, holes, starts, goals)
    if engine == "host" or (engine == "auto" and jax.default_backend() == "cpu"):
        found = host_solve(*boards, objective, max_steps)
    else:
        found = device_solve(*boards, objective, max_steps if engine == "device" else _quick(max_steps))
        if engine == "auto":
            rest = np.flatnonzero(found["status"] == Status.UNDETERMINED)
            left = (size[rest], num_agents[rest], holes[rest], starts[rest], goals[rest])
            for name, values in host_solve(*left, objective, max_steps).items():
                found[name][rest] = values
    solutions: Solutions = jax.tree.map(jnp.asarray, fitted(solutions_of(found, objective)))
    return solutions


def _quick(max_steps: int | None) -> int:
    """Steps after which the device leaves a board to the host."""
    return DEFAULT_MAX_STEPS if max_steps is None else min(max_steps, DEFAULT_MAX_STEPS)


def _check(size: np.ndarray, num_agents: np.ndarray, holes: np.ndarray, starts: np.ndarray, goals: np.ndarray) -> None:
    """Refuse boards that the engine would misread; the error names the board and the agent."""
    if starts.ndim != 3 or holes.ndim != 3:
        raise InstanceError("holes must be [B, S, S], starts and goals [B, A, 2] with the same B and A")
    boards, agents = starts.shape[:2]
    max_size = holes.shape[-1]
    square = holes.shape == (boards, max_size, max_size)
    if not square or starts.shape != (boards, agents, 2) or goals.shape != starts.shape:
        raise InstanceError("holes must be [B, S, S], starts and goals [B, A, 2] with the same B and A")
    numbers = {"size": size, "num_agents": num_agents, "starts": starts, "goals": goals}
    for name, values in numbers.items():
        if not np.issubdtype(values.dtype, np.integer):
            raise InstanceError(f"{name} is {values.dtype}; it must be an integer array")
    if holes.dtype != np.bool_:
        raise InstanceError(f"holes is {holes.dtype}; it must be bool")
    if size.shape != (boards,) or num_agents.shape != (boards,):
        raise InstanceError("size and num_agents must be [B]")
    if max_size * max_size > MAX_CELLS:
        raise InstanceError(f"maps of size {max_size} are too large; the solver takes at most {int(MAX_CELLS**0.5)}")
    if boards == 0:
        return
    for name, values, top in (("size", size, max_size), ("num_agents", num_agents, min(agents, MAX_AGENTS))):
        bad = (values < 1) | (values > top)
        if bad.any():
            b = int(bad.argmax())
            raise InstanceError(f"board {b}: {name} is {values[b]}; it must be between 1 and {top}")
    present = np.arange(agents) < num_agents[:, None]
    for name, cells in (("start", starts), ("goal", goals)):
        off = present & ((cells < 0) | (cells >= size[:, None, None])).any(-1)
        inside = np.clip(cells, 0, max_size - 1)
        in_hole = present & holes[np.arange(boards)[:, None], inside[..., 0], inside[..., 1]]
        code = np.where(present, inside[..., 0] * max_size + inside[..., 1], -1 - np.arange(agents))
        twin = np.triu(code[:, :, None] == code[:, None, :], 1).any(1)
        for wrong, what in ((off, "is off the map"), (in_hole, "is in a hole"), (twin, "is another agent's too")):
            if wrong.any():
                b, a = (int(x) for x in np.argwhere(wrong)[0])
                raise InstanceError(f"board {b}, agent {a}: the {name} {tuple(cells[b, a].tolist())} {what}")
