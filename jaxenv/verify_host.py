"""The verifier on the host: blocks of plans, straight on the arrays of a JAX program, on all cores."""

from functools import cache, partial
from math import prod
from typing import Any

import jax
import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from jaxenv.compiled import fingerprint
from jaxenv.threads import for_each
from jaxenv.types import Instances, Optima, Plans, Solutions, Verdicts
from jaxenv.verify_kernel import judge_boards
from jaxenv.verify_layout import bit_of_byte, cells_by_size, moves, parked_codes
from jaxenv.xla_buffers import flat, shape
from jaxenv.xla_call import register

_PART = 4096  # boards; what a thread takes at once, and the fewest that are worth a second thread
_HOLES, _ACTIONS = 2, 5  # of the buffers that are given
_RESULTS = {
    "label": (np.int32, ()),
    "flags": (np.uint32, ()),
    "valid": (np.bool_, ()),
    "optimal": (np.bool_, ()),
    "sum_of_costs": (np.int32, ()),
    "makespan": (np.int32, ()),
    "gap": (np.float32, ()),
    "step": (np.int32, ()),
    "agents": (np.int32, (2,)),
    "cell": (np.int32, (2,)),
}


def host_verify(instances: Instances, optima: Optima | Solutions, plans: Plans, objective: str) -> Verdicts:
    """`Verdicts` of well-formed arrays in a program for CPUs; a horizon is a multiple of 32."""
    target = f"lakeloop_verify_by_{objective}"
    register(target, partial(_judge, by_makespan=objective == "makespan"))
    given = (
        *(instances.size, instances.num_agents, instances.holes, instances.starts, instances.goals),
        *(plans.actions, plans.lengths, plans.outcome),
        *(optima.status, optima.sum_of_costs, optima.makespan),
    )
    boards = instances.size.shape
    shapes = [
        jax.ShapeDtypeStruct((*boards, *rest), dtype)  # type: ignore[no-untyped-call]
        for dtype, rest in _RESULTS.values()
    ]
    found = jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")(*given)
    return Verdicts(**dict(zip(_RESULTS, found, strict=True)))


def _judge(given: int, found: int, by_makespan: bool) -> None:
    """Fill the buffers of `_RESULTS`. All have axes for boards first, more than one under `vmap`."""
    *axes, most, horizon = shape(given, _ACTIONS)
    boards, side = prod(axes), shape(given, _HOLES)[-1]
    everything = boards, (side, most, horizon), given, found, by_makespan, _tables(side, most)

    def judge(first: int) -> None:
        if _entry(first, min(first + _PART, boards), *everything) != _FINGERPRINT:
            raise RuntimeError("the verifier's compiled code is stale; delete jaxenv/__pycache__")

    for_each(judge, range(0, boards, _PART), numba.get_num_threads())


@cache
def _tables(side: int, agents: int) -> tuple[NDArray[Any], ...]:
    return cells_by_size(side), parked_codes(side, agents), moves(side), bit_of_byte()


def _cached_entry(made_from: int) -> Any:
    """The compiled entry, cached as `jaxenv.compiled` says."""

    @njit(cache=True, nogil=True)
    def entry(first_board, past_board, all_boards, shape, given, found, by_makespan, tables):  # type: ignore[no-untyped-def]
        boards = (
            flat(given, 0, np.int32),
            flat(given, 1, np.int32),
            flat(given, _HOLES, np.uint8),
            flat(given, 3, np.int32),
            flat(given, 4, np.int32),
        )
        plans = flat(given, _ACTIONS, np.uint8), flat(given, 6, np.int32), flat(given, 7, np.int32)
        best = flat(given, 8, np.int32), flat(given, 9, np.int32), flat(given, 10, np.int32)
        verdicts = (
            flat(found, 0, np.int32),
            flat(found, 1, np.uint32),
            flat(found, 2, np.bool_),
            flat(found, 3, np.bool_),
            flat(found, 4, np.int32),
            flat(found, 5, np.int32),
            flat(found, 6, np.float32),
            flat(found, 7, np.int32),
            flat(found, 8, np.int32),
            flat(found, 9, np.int32),
        )
        judge_boards(first_board, past_board, all_boards, shape, boards, plans, best, by_makespan, verdicts, tables)
        return made_from

    return entry


_SOURCES = (
    *("bytelanes", "lanes", "types"),
    *("verify_ends", "verify_host", "verify_kernel", "verify_layout", "verify_read", "verify_walk", "xla_buffers"),
)
_FINGERPRINT = fingerprint(_SOURCES)
_entry = _cached_entry(_FINGERPRINT)
