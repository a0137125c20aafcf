"""The buffers that XLA gives to a function of the host: addresses in a list, each of a structure of words.

For `jaxenv.xla_call`, which says whose structures these are.
"""

from ctypes import c_int64

from llvmlite import ir
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

_DATA, _RANK, _DIMENSIONS, _WORDS = 3, 4, 5, 6  # of a buffer


def shape(buffers: int, k: int) -> tuple[int, ...]:
    """That of the k-th of some buffers."""
    buffer = words(words(buffers, k + 1)[k], _WORDS)
    return tuple(words(buffer[_DIMENSIONS], buffer[_RANK]))


def words(address: int, count: int) -> list[int]:
    """What stands at an address; nobody checks that it does."""
    return (c_int64 * count).from_address(address)[:] if count else []


@njit(nogil=True)
def flat(buffers, k, dtype):
    """The k-th of some buffers as an array of one axis, in code compiled by numba. Nobody checks its dtype."""
    buffer = _word(buffers, k)
    size = 1
    for axis in range(_word(buffer, _RANK)):
        size *= _word(_word(buffer, _DIMENSIONS), axis)
    return carray(_pointer(_word(buffer, _DATA)), (size,), dtype)


@intrinsic
def _word(typing, address, place):
    def make(context, builder, signature, given):
        return builder.load(builder.gep(builder.inttoptr(given[0], given[0].type.as_pointer()), [given[1]]))

    return types.int64(types.int64, types.int64), make


@intrinsic
def _pointer(typing, address):
    def make(context, builder, signature, given):
        return builder.inttoptr(given[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), make
