"""Sets of cells as two 64-bit words, for compiled code: cell (row, col) is bit WIDTH * row + col.

Column WIDTH - 1 belongs to no map, so that a step to the left or right never comes out on another row. Maps have at
most 10 rows and columns.
"""

from typing import Any

import numba
import numpy as np

WIDTH = 11
LARGEST = WIDTH - 1
ZERO, ONE = np.uint64(0), np.uint64(1)
_ROW, _REST = np.uint64(WIDTH), np.uint64(64 - WIDTH)
_LAST = np.uint64(63)
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES, _TOP = np.uint64(0x0101010101010101), np.uint64(56)


@numba.njit(nogil=True)
def popcount(word: Any) -> Any:
    word = word - ((word >> np.uint64(1)) & _M1)
    word = (word & _M2) + ((word >> np.uint64(2)) & _M2)
    word = (word + (word >> np.uint64(4))) & _M4
    return np.int64((word * _ONES) >> _TOP)


@numba.njit(nogil=True)
def count(low: Any, high: Any) -> Any:
    return popcount(low) + popcount(high)


@numba.njit(nogil=True)
def cell_of(low: Any, high: Any) -> Any:
    """The first cell of a set that is not empty."""
    if low != ZERO:
        return popcount((low & (~low + ONE)) - ONE)
    return 64 + popcount((high & (~high + ONE)) - ONE)


@numba.njit(nogil=True)
def last_cell_of(low: Any, high: Any) -> Any:
    """The last cell of a set that is not empty."""
    word, base = (low, 0) if high == ZERO else (high, 64)
    for width in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(width)
    return base + popcount(word) - 1


@numba.njit(nogil=True)
def only(cell: Any) -> Any:
    if cell < 64:
        return ONE << np.uint64(cell), ZERO
    return ZERO, ONE << np.uint64(cell - 64)


@numba.njit(nogil=True)
def holds(low: Any, high: Any, cell: Any) -> Any:
    word = low if cell < 64 else high
    return (word >> np.uint64(cell & 63)) & ONE != ZERO


@numba.njit(nogil=True)
def moved(low: Any, high: Any) -> Any:
    """The set one step up, down, left and right, off the map too."""
    return (
        ((low >> _ROW) | (high << _REST), high >> _ROW),
        (low << _ROW, (high << _ROW) | (low >> _REST)),
        ((low >> ONE) | (high << _LAST), high >> ONE),
        (low << ONE, (high << ONE) | (low >> _LAST)),
    )


@numba.njit(nogil=True)
def beside(low: Any, high: Any) -> Any:
    """The cells one step from the set's, off the map too."""
    up, down, left, right = moved(low, high)
    return up[0] | down[0] | left[0] | right[0], up[1] | down[1] | left[1] | right[1]


@numba.njit(nogil=True)
def member(low: Any, high: Any, rank: Any) -> Any:
    """Cell number `rank` (from 0, row by row) of a set that has so many."""
    word, base = low, 0
    within = popcount(low)
    if rank >= within:
        rank -= within
        word, base = high, 64
    for width in (32, 16, 8, 4, 2, 1):
        lower = word & ((ONE << np.uint64(width)) - ONE)
        within = popcount(lower)
        if rank >= within:
            rank -= within
            word >>= np.uint64(width)
            base += width
        else:
            word = lower
    return base
