"""The vector operations that the verifier on the host is made of, against NumPy."""

import numpy as np
import pytest
from numba import njit

from jaxenv import bytelanes as lanes
from jaxenv.verify_layout import bit_of_byte, in_tables

BYTES = np.random.default_rng(0).integers(0, 256, (64, 32), np.uint8)


@njit
def _both_ways(left, right, bits, mask, out):
    one, other = lanes.load(left, 0), lanes.load(right, 0)
    lanes.store(out, 0, lanes.plus(one, other))
    lanes.store(out, 32, lanes.both(one, other))
    lanes.store(out, 64, lanes.either(one, other))
    lanes.store(out, 96, lanes.without(one, other))
    lanes.store(out, 128, lanes.equal(one, other))
    lanes.store(out, 160, lanes.below(one, other))
    lanes.store(out, 192, lanes.below_signed(one, other))
    lanes.store(out, 224, lanes.larger(one, other))
    lanes.store(out, 352, lanes.larger_signed(one, other))
    lanes.store(out, 256, lanes.choose(one, other, lanes.splat(left[3])))
    lanes.store(out, 288, lanes.pick(one, other))
    lanes.store(out, 320, lanes.pick_anywhere(one, other))
    found = lanes.deposit(bits, mask), lanes.deposit_anywhere(bits, mask)
    return lanes.top_bits(one), lanes.zeros_below(lanes.top_bits(one)), lanes.ones(bits), found


def _deposited(bits, mask):
    places = [k for k in range(64) if mask >> k & 1]
    return sum(1 << place for number, place in enumerate(places) if bits >> number & 1)


def test_values_of_32_bytes_are_worked_on_byte_for_byte():
    source = np.random.default_rng(1)
    for left, right in zip(BYTES[:-1].copy(), BYTES[1:].copy(), strict=True):
        left[16:] = left[:16]  # as a table to pick from has to be
        right[:4] = left[:4]
        bits, mask = (int(word) for word in source.integers(0, 1 << 64, 2, np.uint64))
        out = np.zeros((12, 32), np.uint8)
        top, below, count, found = _both_ways(left, right, np.uint64(bits), np.uint64(mask), out)
        picked = left[right % 16]
        wanted = (
            left + right,
            left & right,
            left | right,
            left & ~right,
            np.where(left == right, 255, 0),
            np.where(left < right, 255, 0),
            np.where(left.view(np.int8) < right.view(np.int8), 255, 0),
            np.maximum(left, right),
            np.where(left >= 128, right, left[3]),
            picked,
            picked,
            np.maximum(left.view(np.int8), right.view(np.int8)).view(np.uint8),
        )
        for row, want in zip(out, wanted, strict=True):
            np.testing.assert_array_equal(row, want)
        assert top == int(np.packbits(left >= 128, bitorder="little").view(np.uint32)[0])
        assert below == np.flatnonzero(left >= 128).min(initial=32)
        assert count == bits.bit_count()
        assert found == (_deposited(bits, mask), _deposited(bits, mask))


@njit
def _turn(rows, offset, stride, out, place):
    lanes.transpose(rows, offset, stride, out, place)


@pytest.mark.parametrize("stride", [16, 40, 3])
def test_rows_of_16_bytes_are_turned_into_rows_of_32(stride):
    rows = np.random.default_rng(stride).integers(0, 256, 7 + 31 * stride + 16, np.uint8)
    out = np.zeros((20, 32), np.uint8)
    _turn(rows, 7, stride, out, 64)
    wanted = np.stack([rows[7 + k * stride :][:16] for k in range(32)]).T
    np.testing.assert_array_equal(out[2:18], wanted)
    assert not out[:2].any() and not out[18:].any()


@njit
def _look_up(tables, bits, codes, narrow, out):
    lanes.store(out, 0, in_tables(tables, lanes.load(bits, 0), lanes.load(codes, 0), narrow))


@pytest.mark.parametrize("narrow", [True, False])
def test_every_board_has_its_own_table_of_codes(narrow):
    source = np.random.default_rng(2)
    held = source.random((32, 256)) < 0.5
    if narrow:
        held[:, 128:] = False
    tables = np.ascontiguousarray(np.packbits(held, axis=1, bitorder="little").T)
    for codes in source.integers(0, 256, (200, 32), np.uint8):
        out = np.zeros(32, np.uint8)
        _look_up(tables, bit_of_byte(), codes, narrow, out)
        np.testing.assert_array_equal(out, np.where(held[np.arange(32), codes], 255, 0))
