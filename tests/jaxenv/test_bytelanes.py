"""32 bytes as one value, against NumPy."""

import numpy as np
import pytest
from numba import njit

from jaxenv import bytelanes as lanes


@njit
def _apply(one, other, found):
    v, w = lanes.load(one, 1), lanes.load(other, 0)
    lanes.store(found, 0, lanes.running_sum(v))
    lanes.store(found, 32, lanes.either(lanes.equal(v, w), lanes.below(v, lanes.counting())))
    lanes.store(found, 64, lanes.both(lanes.minus(v, w), lanes.plus(v, lanes.splat(np.uint8(200)))))
    lanes.store(found, 96, lanes.choose(v, w, lanes.splat(one[0])))
    bits = lanes.top_bits(v)
    return bits, lanes.zeros_below(bits), lanes.zeros_above(bits)


@njit
def _look_up(low, high, indices):
    where = lanes.load(indices, 0)
    return lanes.top_bits(lanes.look_up(low, high, where)), lanes.top_bits(lanes.look_up_anywhere(low, high, where))


@pytest.mark.parametrize("seed", range(20))
def test_every_operation_does_to_32_bytes_what_numpy_does_to_each(seed):
    random = np.random.default_rng(seed)
    one = random.integers(0, 256, 33, np.uint8)
    v = one[1:]
    w = np.where(random.random(32) < 0.5, v, random.integers(0, 256, 32, np.uint8)).astype(np.uint8)
    found = np.empty(128, np.uint8)
    bits, below, above = _apply(one, w, found)
    want = [
        np.cumsum(v, dtype=np.uint8),
        np.where((v == w) | (v < np.arange(32)), 255, 0),
        (v - w) & (v + np.uint8(200)),
        np.where(v >= 128, w, one[0]),
    ]
    np.testing.assert_array_equal(found, np.concatenate(want))
    high = np.flatnonzero(v >= 128)
    assert (int(bits), int(below), int(above)) == (sum(1 << int(k) for k in high), high[0], 31 - high[-1])


@pytest.mark.parametrize("seed", range(20))
def test_bits_are_looked_up_alike_with_and_without_the_instruction_for_it(seed):
    random = np.random.default_rng(seed)
    low, high = random.integers(0, 1 << 64, 2, np.uint64)
    indices = random.integers(0, 128, 32, np.uint8)
    table = int(low) | int(high) << 64
    want = sum((table >> int(index) & 1) << k for k, index in enumerate(indices))
    assert tuple(map(int, _look_up(low, high, indices))) == (want, want)


def test_no_bit_and_all_bits_have_no_zeros_to_count():
    @njit
    def count(byte):
        bits = lanes.top_bits(lanes.splat(byte))
        return lanes.zeros_below(bits), lanes.zeros_above(bits)

    assert (count(np.uint8(0)), count(np.uint8(255))) == ((32, 32), (0, 0))
