"""The verifier on the host: plan after plan, straight on the arrays that it is given, on all cores."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from jaxenv.bytelanes import WIDTH
from jaxenv.compiled import fingerprint
from jaxenv.types import Instances, Plans, Solutions, Verdicts
from jaxenv.verify_kernel import judge_boards, rows_and_columns

_PART = 4096  # boards; what a thread takes at once, and the fewest that are worth a second thread
_ALIGNMENT = 64  # bytes
_KINDS = {"flags": np.uint32, "valid": np.bool_, "optimal": np.bool_, "gap": np.float32}  # the others are int32


def host_verify(instances: Instances, solutions: Solutions, plans: Plans, objective: str) -> dict[str, NDArray[Any]]:
    """The fields of `Verdicts`, for well-formed arrays; a horizon is a multiple of 32."""
    boards, side = len(instances), np.shape(instances.holes)[-1]
    holes = _readable(instances.holes).reshape(-1)
    tail = min(boards, -(-WIDTH // max(side * side, 1)))  # boards behind whose rows the array may end too soon
    last_holes = np.pad(holes[len(holes) - tail * side * side :], (0, WIDTH))
    given = (
        *(_readable(field) for field in (instances.size, instances.num_agents)),
        *(_readable(field) for field in (holes, last_holes, instances.starts, instances.goals)),
        *(_readable(field) for field in (plans.actions, plans.lengths, plans.outcome)),
        *(_readable(field) for field in (solutions.status, solutions.sum_of_costs, solutions.makespan)),
        _readable(rows_and_columns(side)),
    )
    found = _verdicts(boards)

    def judge(first: int) -> None:
        past = min(first + _PART, boards)
        made_from = _entry(first, past, side, given, objective == "makespan", tuple(found.values()))
        if made_from != _FINGERPRINT:
            raise RuntimeError("the verifier's compiled code is stale; delete jaxenv/__pycache__")

    parts = range(0, boards, _PART)
    threads = min(numba.get_num_threads(), len(parts))
    if threads <= 1:
        for first in parts:
            judge(first)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(judge, parts))
    return found


def _readable(field: Any) -> NDArray[Any]:
    """The array as it is, marked read-only as JAX's are: numba compiles once more for those that are not."""
    array = np.require(np.asarray(field), requirements=["C", "A"]).view()
    array.flags.writeable = False
    return array


def _verdicts(boards: int) -> dict[str, NDArray[Any]]:
    """Room for the fields of `Verdicts`, in their order: each begins where JAX can take it over without a copy."""
    pairs = ("agents", "cell")
    kinds: dict[str, Any] = {field.name: _KINDS.get(field.name, np.int32) for field in dataclasses.fields(Verdicts)}
    sizes = [boards * np.dtype(kind).itemsize * (2 if name in pairs else 1) for name, kind in kinds.items()]
    rooms = [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes]
    memory = np.empty(sum(rooms) + _ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    found = {}
    for (name, kind), room in zip(kinds.items(), rooms, strict=True):
        shape = (boards, 2) if name in pairs else (boards,)
        found[name] = np.ndarray(shape, kind, memory.data, first)
        first += room
    return found


def _cached_entry(made_from: int) -> Any:
    """The compiled entry, cached as `jaxenv.compiled` says."""

    @njit(cache=True, nogil=True)
    def entry(first_board, past_board, side, given, by_makespan, found):  # type: ignore[no-untyped-def]
        judge_boards(first_board, past_board, side, given, by_makespan, found)
        return made_from

    return entry


_FINGERPRINT = fingerprint(("bytelanes", "lanes", "types", "verify_host", "verify_kernel"))
_entry = _cached_entry(_FINGERPRINT)
