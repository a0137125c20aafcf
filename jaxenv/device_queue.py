"""Searches by the thousand: the one compiled program of the device engine, fed chunk by chunk over the local devices.

Queues are padded to a chunk and split over the devices: one compilation for each number of agents and chunk.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxenv.device_graph import UNREACHABLE, board_words
from jaxenv.device_plan import replay
from jaxenv.device_search import Tasks, work_off
from jaxenv.device_step import GAVE_UP, SOLVED

# Searches of a queue and lanes that work it off, on each device; the smallest queue that holds what there is is taken.
# A queue has fewer than 2^16 searches: a nogood carries the number of its search in two bytes. On a CPU it is so short
# that no table reaches the size from which on XLA would split the work on it (`device_kernels`).
CHUNKS = ((256, 64), (1_024, 128))
ACCELERATOR_CHUNKS = ((4_096, 512), (16_384, 512))
_BOARDS = "boards"  # the axis of the device mesh

_Array = TypeVar("_Array", jax.Array, np.ndarray)


class Group(NamedTuple):
    """Boards of one number of agents, N, on maps padded to S; cells outside a map count as holes."""

    holes: np.ndarray  # bool[B, S, S]
    starts: np.ndarray  # i32[B, N] cell codes
    goals: np.ndarray  # i32[B, N] cell codes


class Found(NamedTuple, Generic[_Array]):
    """What each of M searches found; the plan's fields mean nothing where there is none."""

    alone: _Array  # i32[M, N] single shortest distances, UNREACHABLE where there is no way
    solved: _Array  # bool[M]
    gave_up: _Array  # bool[M] out of steps; where neither, no budget of the search has a plan
    budget: _Array  # i32[M] of the plan, else a bound: no plan below it
    legal: _Array  # bool[M] whether the plan keeps the world's rules
    costs: _Array  # i32[M, N] the first time from which an agent stays on its goal
    waits: _Array  # bool[M] whether somebody stands still before that time
    actions: _Array  # i8[M, N, MAX_DEPTH]


def _search_shard(tasks: Tasks, real: jax.Array, max_steps: jax.Array, lanes: int) -> Found[jax.Array]:
    """The searches of one device; those that are not `real` (bool[M]) come last and are left out."""
    words = board_words(tasks.holes, tasks.goals)
    alone = (jnp.take_along_axis(words, tasks.starts[:, :, None], axis=2)[:, :, 0] >> 8).astype(jnp.int32)
    cut_off = jnp.any(alone == UNREACHABLE, axis=1)
    tasks = tasks._replace(high=jnp.where(cut_off, tasks.low - 1, tasks.high))
    results = work_off(tasks, words, jnp.sum(real, dtype=jnp.int32), max_steps, lanes)
    plan = jax.vmap(replay)(tasks.holes, tasks.starts, tasks.goals, results.stack, results.depth)
    solved, gave_up = results.outcome == SOLVED, results.outcome == GAVE_UP
    return Found(alone, solved, gave_up, results.budget, plan.legal, plan.costs, plan.waits, plan.actions)


@cache
def _mesh() -> Mesh:
    return Mesh(np.array(jax.local_devices()), (_BOARDS,))


@cache
def program(lanes: int) -> Callable[[Tasks, jax.Array, jax.Array], Found[jax.Array]]:
    """The one place of `jit` and of the mesh: each device works off a queue of its own."""
    split, same = PartitionSpec(_BOARDS), PartitionSpec()  # type: ignore[no-untyped-call]
    sharded = jax.shard_map(
        partial(_search_shard, lanes=lanes),
        mesh=_mesh(),
        in_specs=(split, split, same),
        out_specs=split,
        check_vma=False,  # the loops' carries start as constants, the same on every device
    )
    return jax.jit(sharded)


def _padded(values: np.ndarray, total: int) -> jax.Array:
    """The rows and zeros after them, `total` in all, split over the devices."""
    rows = np.pad(values, [(0, total - len(values))] + [(0, 0)] * (values.ndim - 1))
    sharding = NamedSharding(_mesh(), PartitionSpec(_BOARDS))  # type: ignore[no-untyped-call]
    split: jax.Array = jax.device_put(rows, sharding)
    return split


def search(
    boards: Group,
    chosen: np.ndarray,
    *,
    by_time: bool | np.ndarray,
    no_wait: bool | np.ndarray,
    low: int | np.ndarray,
    high: int | np.ndarray,
    max_steps: int,
) -> Found[np.ndarray]:
    """One search for each board number in `chosen` (i[M]); what is searched is the same for all, or an array [M].

    `by_time`: the budget is the makespan, else the excess of the sum of costs. `no_wait`: only plans without a wait.
    Budgets `low` to `high` are searched in turn, with at most about `max_steps` choices of an agent in all.
    """
    modes = (np.broadcast_to(np.asarray(x, np.int32), chosen.shape) for x in (by_time, no_wait, low, high))
    columns = [*(x[chosen] for x in boards), *modes]
    limit = jnp.int32(min(max_steps, np.iinfo(np.int32).max // 2))
    devices = _mesh().size
    chunks = CHUNKS if jax.local_devices()[0].platform == "cpu" else ACCELERATOR_CHUNKS
    parts: list[list[np.ndarray]] = []
    done = 0
    while done < len(chosen) or not parts:
        rest = len(chosen) - done
        chunk, lanes = next((c for c in chunks if rest <= c[0] * devices), chunks[-1])
        total = chunk * devices
        now = min(rest, total)
        tasks = Tasks(*(_padded(x[done : done + now], total) for x in columns))
        found = program(lanes)(tasks, _padded(np.ones(now, bool), total), limit)
        parts.append([np.asarray(x)[:now] for x in found])
        done += now
    result = Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    if (result.solved & ~result.legal).any():
        raise RuntimeError("the solver's plan breaks a rule of the world: report this board")
    return result
