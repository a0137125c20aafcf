"""The verifier on the host: blocks of plans, straight on the arrays of a JAX program, on all cores."""

from functools import cache, partial
from typing import Any

import jax
import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from jaxenv.bytelanes import WIDTH
from jaxenv.compiled import fingerprint
from jaxenv.threads import for_each
from jaxenv.types import Instances, Optima, Plans, Solutions, Verdicts
from jaxenv.verify_kernel import judge_boards
from jaxenv.verify_layout import BLOCK, bit_of_byte, cells_by_size, coordinates, moves, parked_codes
from jaxenv.xla_call import register

_PART = 4096  # boards; what a thread takes at once, and the fewest that are worth a second thread
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


def _judge(given: list[NDArray[Any]], found: list[NDArray[Any]], by_makespan: bool) -> None:
    """Fill the arrays of `_RESULTS`. All arrays have axes for boards first, more than one under `vmap`."""
    axes = given[0].ndim
    if axes > 1:
        given, found = ([field.reshape(-1, *field.shape[axes:]) for field in fields] for fields in (given, found))
    size, num_agents, holes, starts, goals, actions, lengths, outcome, *best = given
    boards, most, horizon = actions.shape
    side = holes.shape[-1]
    # What is read at once may end after the arrays do: of the last blocks there is a copy with room behind it.
    last_boards = max(-(-boards // BLOCK) - 2, 0) * BLOCK
    ends = (
        last_boards,
        _with_room(holes[last_boards:], 2 * WIDTH),
        _with_room(actions[last_boards:], WIDTH * most * horizon),
    )
    everything = (
        (size, num_agents, holes.reshape(-1), starts, goals),
        (actions.reshape(-1), lengths, outcome),
        tuple(best),
        ends,
        _tables(side, most),
    )

    def judge(first: int) -> None:
        made_from = _entry(first, min(first + _PART, boards), side, everything, by_makespan, tuple(found))
        if made_from != _FINGERPRINT:
            raise RuntimeError("the verifier's compiled code is stale; delete jaxenv/__pycache__")

    for_each(judge, range(0, boards, _PART), numba.get_num_threads())


def _with_room(field: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.empty(field.size + room, field.dtype)
    longer[: field.size] = field.reshape(-1)
    longer[field.size :] = 0
    return _read_only(longer)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """As the arrays that are given: numba compiles once more for others."""
    array.flags.writeable = False
    return array


@cache
def _tables(side: int, agents: int) -> tuple[NDArray[Any], ...]:
    tables = coordinates(side), cells_by_size(side), parked_codes(side, agents), moves(side), bit_of_byte()
    return tuple(_read_only(table) for table in tables)


def _cached_entry(made_from: int) -> Any:
    """The compiled entry, cached as `jaxenv.compiled` says."""

    @njit(cache=True, nogil=True)
    def entry(first_board, past_board, side, given, by_makespan, found):  # type: ignore[no-untyped-def]
        judge_boards(first_board, past_board, side, given, by_makespan, found)
        return made_from

    return entry


_SOURCES = (
    *("bytelanes", "lanes", "types"),
    *("verify_ends", "verify_host", "verify_kernel", "verify_layout", "verify_read", "verify_walk"),
)
_FINGERPRINT = fingerprint(_SOURCES)
_entry = _cached_entry(_FINGERPRINT)
