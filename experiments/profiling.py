"""How fast the world is, and how fast the machine would let it be: what `profile` measures, for other scripts too.

A point is measured after a first call that compiles; every timed call is waited for. For `verify` the bound is what a
jitted elementwise copy allows, in the same run, of as many bytes as the verifier reads and returns: boards a second if
judging a board took no longer than copying its bytes. Nothing here asks what kind of device JAX has.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxenv
from jaxenv import EnvConfig, Instances, Limits, Plans, Solutions, Status

ROUNDS = 11
HORIZONS = (32, 64, 128)
AGENTS = (2, 3, 4, 5)
_COPIED = 24 << 20  # bytes
Row = dict[str, Any]


def timed(call: Callable[[], Any], rounds: int = ROUNDS) -> Row:
    """Seconds of the first call beyond a later one (compilation), and median and worst of `rounds` later ones."""

    def once() -> float:
        began = time.perf_counter()
        jax.block_until_ready(call())  # type: ignore[no-untyped-call]
        return time.perf_counter() - began

    first = once()
    once()
    seconds = [once() for _ in range(rounds)]
    median = statistics.median(seconds)
    return {
        "rounds": rounds,
        "compile_seconds": round(max(first - median, 0.0), 3),
        "seconds_median": median,
        "seconds_worst": max(seconds),
    }


def setting() -> Row:
    """Device, versions and cores, as part of a row."""
    device = jax.devices()[0]
    return {
        "platform": device.platform,
        "device": device.device_kind,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "versions": {name: version(name) for name in ("jax", "jaxlib", "numpy", "numba")},
    }


def random_batch(boards: int, agents: int, horizon: int, seed: int = 0) -> tuple[Instances, Solutions, Plans]:
    """Boards of sizes 6 to 10, a tenth of their cells holes, and plans that mostly wait, on the device.

    Nearly all of these plans go wrong within a few steps, each in its own way.
    """
    random, limits = np.random.default_rng(seed), Limits()
    side, most = limits.max_size, limits.max_agents
    few = min(boards, 1 << 14)  # different boards; a larger batch repeats them
    size = random.integers(6, side + 1, few, np.int32)
    inside = np.arange(side) < size[:, None]
    holes = ~(inside[:, :, None] & inside[:, None, :]) | (random.random((few, side, side)) < 0.1)

    def cells() -> np.ndarray:
        order = np.where(holes, 2.0, random.random(holes.shape)).reshape(few, -1).argsort(1)[:, :most]
        found = np.stack(np.divmod(order, side), -1).astype(np.int32)
        found[:, agents:] = side
        return found

    present = np.arange(most) < agents
    lengths = np.where(present, random.integers(horizon // 4, horizon + 1, (few, most)), 0).astype(np.int32)
    moves = np.where(random.random((few, most, horizon)) < 0.85, 0, random.integers(0, 5, (few, most, horizon)))
    actions = np.where(np.arange(horizon) < lengths[..., None], moves, 0).astype(np.int8)
    zero, no = np.zeros(few, np.int32), np.zeros(few, bool)
    costs = zero + 8
    known = zero + np.int32(Status.OPTIMAL)

    def many(field: np.ndarray) -> jax.Array:
        return jnp.asarray(np.resize(field, (boards, *field.shape[1:])))

    plans = Plans(many(actions), many(lengths), many(zero))
    instances = Instances(many(size), many(zero + np.int32(agents)), many(holes), many(cells()), many(cells()))
    cost, never = many(costs), many(no)
    return instances, Solutions(many(known), cost, cost, cost, cost, never, never, plans), plans


def certified_batch(boards: int, agents: int, horizon: int) -> tuple[Instances, Solutions, Plans]:
    """The solver's own plans for boards of the same kind: right, each of its own length, and followed to the end."""
    instances = random_batch(min(boards, 1 << 12), agents, horizon)[0]
    solutions = jaxenv.solve(instances)
    actions, lengths = np.asarray(solutions.plans.actions), np.asarray(solutions.plans.lengths)
    rows = np.flatnonzero((np.asarray(solutions.status) == Status.OPTIMAL) & (lengths.max(1) <= horizon))
    wide: Any = np.zeros((*actions.shape[:2], horizon), np.int8)
    wide[:, :, : actions.shape[2]] = actions[:, :, :horizon]
    solutions = replace(solutions, plans=replace(solutions.plans, actions=wide))
    chosen = np.resize(rows, boards)
    batch: tuple[Instances, Solutions] = jax.tree.map(
        lambda field: jnp.asarray(np.asarray(field)[chosen]), (instances, solutions)
    )
    return *batch, batch[1].plans


def bytes_of(tree: object) -> int:
    return sum(field.size * field.dtype.itemsize for field in jax.tree.leaves(tree))


def copy_of(count: int, rounds: int = ROUNDS) -> Row:
    """The time of a jitted elementwise copy of `count` bytes, and bytes read and written a second.

    More than 24 MiB are taken for several copies of so much: the time of a larger one is mostly that of getting fresh
    memory for it from the system.
    """
    words = jnp.zeros(min(count, _COPIED) // 4, jnp.int32)
    times = count / (4 * len(words))
    copy = jax.jit(lambda array: array + 1)
    found = timed(lambda: copy(words), rounds)
    return {
        "copy_seconds_median": times * found["seconds_median"],
        "copy_seconds_worst": times * found["seconds_worst"],
        "copy_bytes_per_second": 8 * len(words) / found["seconds_median"],
    }


def verify_point(batch: int, agents: int, horizon: int) -> Row:
    """Plans a second of `jaxenv.verify`, and the bound.

    `share_of_copy` is the rate as a share of a copy of the bytes read and returned; `share_of_traffic` counts that a
    copy reads and writes each of its bytes, while the verifier needs each but once, and so is half as large.
    """
    arguments = instances, solutions, plans = random_batch(batch, agents, horizon)
    given = bytes_of((instances, plans, solutions.status, solutions.sum_of_costs, solutions.makespan))
    returned = bytes_of(jax.eval_shape(jaxenv.verify, *arguments))
    found = timed(lambda: jaxenv.verify(*arguments))
    right = certified_batch(batch, agents, horizon)
    certified = timed(lambda: jaxenv.verify(*right))
    copied = copy_of(given + returned)
    bound = batch / copied["copy_seconds_median"]
    rate = batch / found["seconds_median"]
    return {
        **found,
        "certified_per_second_median": batch / certified["seconds_median"],
        "bytes_given": given,
        "bytes_returned": returned,
        "bytes_per_second": (given + returned) / found["seconds_median"],
        **copied,
        "bound_per_second": bound,
        "share_of_copy": rate / bound,
        "share_of_traffic": rate / bound / 2,
        "certified_share_of_copy": batch / certified["seconds_median"] / bound,
    }


def solve_point(batch: int, agents: int, horizon: int) -> Row:
    """Boards a second of `jaxenv.solve`, with the engine that it chooses."""
    instances = random_batch(batch, agents, horizon)[0]
    return timed(lambda: jaxenv.solve(instances))


def generate_point(batch: int, agents: int, horizon: int) -> Row:
    """Finished boards a second of `jaxenv.generate`, each timed call with a key of its own."""
    sizes = {str(size): {"data_ratio": 1 / 8, "hole_ratio": 0.2, "wait_ratio": 0.25} for size in range(3, 11)}
    config = EnvConfig.from_json({"maps": sizes}, num_agents=agents)
    keys = iter(jax.random.split(jax.random.key(0), ROUNDS + 2))
    return timed(lambda: jaxenv.generate(next(keys), config, batch).instances.holes)


_POINTS = {"verify": verify_point, "solve": solve_point, "generate": generate_point}
# Powers of two. A board takes a thousand times longer to make or to solve than a plan takes to judge.
BATCHES = {"verify": range(10, 21, 2), "solve": range(8, 13, 2), "generate": range(8, 13, 2)}


def points(kind: str, largest: int) -> list[tuple[int, int, int]]:
    """(batch, agents, horizon) of a sweep; solving and making boards know no horizon of a plan."""
    horizons = HORIZONS if kind == "verify" else (Limits().horizon,)
    batches = [1 << power for power in BATCHES[kind] if power <= largest] or [1 << BATCHES[kind][0]]
    return [(batch, agents, horizon) for horizon in horizons for batch in batches for agents in AGENTS]


def measure(kind: str, chosen: Sequence[tuple[int, int, int]]) -> Iterator[Row]:
    """A row for each point."""
    for batch, agents, horizon in chosen:
        found = _POINTS[kind](batch, agents, horizon)
        yield {
            "what": kind,
            "batch": batch,
            "agents": agents,
            "horizon": horizon,
            "dtype": "int8 actions, int32 cells, bool holes",
            "per_second_median": batch / found["seconds_median"],
            "per_second_worst": batch / found["seconds_worst"],
            **found,
            **setting(),
        }
