"""How the verifier on the host lays boards out: tables of the codes of `jaxenv.lanes`, and the rows of what it keeps.

Letters: K boards of a block, A agents.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from jaxenv.bytelanes import HALF, WIDTH, both, byte_of_16, choose, equal, load, pick, splat, store, transpose
from jaxenv.lanes import parked
from jaxenv.types import Action

BLOCK = 512  # boards; what is kept of them between the loops stays in the nearest cache

# Of each agent of a block, u8[AGENT_ROWS, K * A and some more]: where it is, its goal, its list's last step, its cost.
AT, TO, UNTIL, SPENT = range(AGENT_ROWS := 4)
# Of 32 boards while they move, u8[ACTIONS + 16 * A, 32], each for 16 agents; then for each agent 16 actions.
NOW, BEFORE, GOAL, LAST, COSTS, AFTER_OFFENCE, BEFORE_OFFENCE, OFF, ACTIONS = range(0, 9 * HALF, HALF)
# What becomes of boards, u8[ENDS, K]: whether one went wrong (all ones), at which step (else 255), the label of that,
# all kinds of offence, the agents that are named (255 is nobody), the code of the cell, and the latest arrival.
FAILED, STEP, LABEL, KINDS, FIRST, SECOND, CODE, LATEST = range(ENDS := 8)

_ZERO = np.uint8(0)


def cells_by_size(side: int) -> NDArray[np.uint64]:
    """u64[side + 1, 4]; for each size of map the bits of the codes that its cells have."""
    row, col = np.divmod(np.arange(256), side + 1)
    sizes = np.arange(side + 1)[:, None]
    bits = np.packbits((row < sizes) & (col < sizes), axis=1, bitorder="little")
    return bits.view("<u8").astype(np.uint64)


def parked_codes(side: int, agents: int) -> NDArray[np.uint64]:
    """u64[4]; the bits of the codes of agents that a board lacks."""
    bits = np.zeros(256, np.bool_)
    bits[parked(side, agents)] = True
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def moves(side: int) -> NDArray[np.uint8]:
    """u8[32]; what each action adds to a code, in both halves."""
    table = np.zeros((2, HALF), np.int64)
    table[:, Action.UP], table[:, Action.DOWN] = -side - 1, side + 1
    table[:, Action.LEFT], table[:, Action.RIGHT] = -1, 1
    return table.astype(np.uint8).reshape(-1)


def bit_of_byte() -> NDArray[np.uint8]:
    """u8[32]; for `in_tables`."""
    return np.tile(np.left_shift(1, np.arange(8)).astype(np.uint8), WIDTH // 8)


@njit(nogil=True, forceinline=True)
def in_tables(tables, bits, codes, narrow):
    """All ones in the bytes of codes that have their bits set, each in the table of its own board.

    Row b of `tables`, u8[32, 32], has byte b of the tables of 32 boards. A narrow map has less than 128 codes, and
    what is above them is not in its table.
    """
    low = byte_of_16(tables, 0, codes)
    # The shuffle takes four bits of an index, and bit 3 makes no difference to a table that is the same again.
    bit = pick(bits, codes)
    if narrow:
        return choose(codes, splat(_ZERO), equal(both(low, bit), bit))
    found = choose(codes, byte_of_16(tables, HALF * WIDTH, codes), low)
    return equal(both(found, bit), bit)


@njit(nogil=True, forceinline=True)
def get_row(turned, row):
    """A row of u8[R, 32] as one value."""
    return load(turned, WIDTH * row)


@njit(nogil=True, forceinline=True)
def set_row(turned, row, value):
    store(turned, WIDTH * row, value)


@njit(nogil=True)
def turn(rows, offset, stride, turned, row):
    """Write 16 bytes each of 32 rows, `stride` bytes apart, into rows of `turned` from `row` on; compiled once."""
    transpose(rows, offset, stride, turned, WIDTH * row)
