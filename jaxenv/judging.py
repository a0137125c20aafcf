"""Which candidates are taken: those of the class, in order, whose board the set does not hold yet.

The boards a set holds are an open table, at most half full. A board goes by its hash, the lowest bit of which gives way
to whether it needs a wait: both classes of a size choose among the same candidates.
"""

from enum import IntEnum
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

_FREE, _ONE = np.uint64(0), np.uint64(1)
_STANDS_IN = np.uint64(2)  # for a hash that looks free
_MIX, _TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
UNHEARD_OF = -1


class Kind(IntEnum):
    """What a candidate is, whoever asks."""

    OPEN = 0
    UNPLACED = 1
    OTHER_SPLIT = 2
    UNSOLVABLE = 3
    UNDETERMINED = 4
    NEEDS_NO_WAIT = 5
    NEEDS_WAIT = 6


class Fate(IntEnum):
    """What became of a candidate of a class; up to UNDETERMINED as its kind."""

    UNPLACED = Kind.UNPLACED
    OTHER_SPLIT = Kind.OTHER_SPLIT
    UNSOLVABLE = Kind.UNSOLVABLE
    UNDETERMINED = Kind.UNDETERMINED
    DUPLICATE = 5
    OTHER_CLASS = 6
    TAKEN = 7


def new_table(boards: int) -> NDArray[np.uint64]:
    """A table for so many boards: 16 to 32 bytes each."""
    return np.zeros(1 << max(2 * boards, 4).bit_length(), np.uint64)


@numba.njit(cache=True, nogil=True)
def _place(table: Any, value: Any) -> Any:
    """Where the board is, or would be; and its hash without the bit."""
    value &= ~_ONE
    value = _STANDS_IN if value == _FREE else value
    last = np.uint64(len(table) - 1)
    place = ((value * _MIX) >> _TOP) & last
    while table[place] != _FREE and table[place] & ~_ONE != value:
        place = (place + _ONE) & last
    return place, value


@numba.njit(cache=True, nogil=True)
def look_up(table: Any, value: Any) -> Any:
    """Whether the board of this hash needs a wait (1 or 0), if the set has it; else UNHEARD_OF."""
    place, _ = _place(table, value)
    return UNHEARD_OF if table[place] == _FREE else np.int64(table[place] & _ONE)


@numba.njit(cache=True, nogil=True)
def insert(table: Any, value: Any, needs_wait: Any) -> Any:
    """Add a board; False where it was there already."""
    place, value = _place(table, value)
    if table[place] != _FREE:
        return False
    table[place] = value | (_ONE if needs_wait else _FREE)
    return True


@numba.njit(cache=True, nogil=True)
def insert_all(table: Any, values: Any, needs_wait: Any) -> None:
    for k in range(len(values)):
        insert(table, values[k], needs_wait[k])


@numba.njit(cache=True, nogil=True)
def choose(kind: Any, hashes: Any, seen: Any, needs_wait: Any, missing: Any, fates: Any, chosen: Any) -> Any:
    """Judge candidates for a class until `missing` are taken: how many were judged (`fates`), how many `chosen`."""
    count = 0
    at = 0
    while at < len(kind) and count < missing:
        if kind[at] < _NEEDS_NO_WAIT:
            fates[at] = kind[at]
        elif (kind[at] == _NEEDS_WAIT) != needs_wait:
            fates[at] = _OTHER_CLASS
        elif insert(seen, hashes[at], needs_wait):
            fates[at] = _TAKEN
            chosen[count] = at
            count += 1
        else:
            fates[at] = _DUPLICATE
        at += 1
    return at, count


_NEEDS_NO_WAIT, _NEEDS_WAIT = int(Kind.NEEDS_NO_WAIT), int(Kind.NEEDS_WAIT)
_DUPLICATE, _OTHER_CLASS, _TAKEN = int(Fate.DUPLICATE), int(Fate.OTHER_CLASS), int(Fate.TAKEN)
