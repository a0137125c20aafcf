"""Which candidates are taken: those of the class, in order, whose board the set does not hold yet.

The boards a set holds are an open table of their hashes, at most half full.
"""

from enum import IntEnum
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

_FREE = np.uint64(0)
_STANDS_IN = np.uint64(1)  # for a hash of 0
_MIX, _TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Fate(IntEnum):
    """What became of a candidate."""

    OPEN = 0
    UNPLACED = 1
    OTHER_SPLIT = 2
    DUPLICATE = 3
    UNSOLVABLE = 4
    UNDETERMINED = 5
    OTHER_CLASS = 6
    TAKEN = 7


def new_table(boards: int) -> NDArray[np.uint64]:
    """A table for so many boards: 16 to 32 bytes each."""
    return np.zeros(1 << max(2 * boards, 4).bit_length(), np.uint64)


@numba.njit(cache=True, nogil=True)
def _place(table: Any, value: Any) -> Any:
    last = np.uint64(len(table) - 1)
    place = ((value * _MIX) >> _TOP) & last
    while table[place] != _FREE and table[place] != value:
        place = (place + np.uint64(1)) & last
    return place


@numba.njit(cache=True, nogil=True)
def contains(table: Any, value: Any) -> Any:
    value = _STANDS_IN if value == _FREE else value
    return table[_place(table, value)] == value


@numba.njit(cache=True, nogil=True)
def insert(table: Any, value: Any) -> Any:
    """Add a board; False where it was there already."""
    value = _STANDS_IN if value == _FREE else value
    place = _place(table, value)
    if table[place] == value:
        return False
    table[place] = value
    return True


@numba.njit(cache=True, nogil=True)
def insert_all(table: Any, values: Any) -> None:
    for value in values:
        insert(table, value)


@numba.njit(cache=True, nogil=True)
def choose(fate: Any, hashes: Any, seen: Any, at: Any, stop: Any, missing: Any, chosen: Any) -> Any:
    """Judge candidates at .. stop - 1 until `missing` are taken: where it ended, and how many are `chosen`.

    A board that is in the set already is a duplicate, whatever else it is.
    """
    count = 0
    while at < stop and count < missing:
        if fate[at] == _TAKEN:
            if insert(seen, hashes[at]):
                chosen[count] = at
                count += 1
            else:
                fate[at] = _DUPLICATE
        elif (fate[at] == _UNSOLVABLE or fate[at] == _UNDETERMINED or fate[at] == _OTHER_CLASS) and contains(
            seen, hashes[at]
        ):
            fate[at] = _DUPLICATE
        at += 1
    return at, count


_DUPLICATE, _UNSOLVABLE, _UNDETERMINED, _OTHER_CLASS, _TAKEN = (
    int(fate) for fate in (Fate.DUPLICATE, Fate.UNSOLVABLE, Fate.UNDETERMINED, Fate.OTHER_CLASS, Fate.TAKEN)
)
