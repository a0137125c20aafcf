"""Intervals against published examples and written-out formulas."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments.errors import RunFolderError
from experiments.gains import gain_of_tables
from experiments.stats import paired_difference, wilson


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals_are_those_of_newcombe_1998(hits, count, low, high):
    rate = wilson(hits, count)
    assert (round(rate.low, 4), round(rate.high, 4)) == (low, high)
    assert rate.value == hits / count


def test_no_boards_give_no_rate():
    assert math.isnan(wilson(0, 0).value)


def test_the_paired_interval_is_the_t_interval_of_the_differences():
    random = np.random.default_rng(0)
    before, after = random.random((2, 400)) < [[0.4], [0.55]]
    gain = paired_difference(before, after)
    won, lost = int((after & ~before).sum()), int((before & ~after).sum())
    mean = (won - lost) / 400
    deviation = math.sqrt((won + lost - 400 * mean**2) / 399)
    half = scipy_stats.t.ppf(0.975, 399) * deviation / 20
    assert gain.value == pytest.approx(mean)
    assert (gain.low, gain.high) == pytest.approx((mean - half, mean + half))


def test_pairing_makes_the_interval_narrower_than_two_separate_rates():
    before = np.arange(1600) % 2 == 0
    after = before.copy()
    after[1:101:2] = True
    gain = paired_difference(before, after)
    assert gain.value == 50 / 1600
    assert 0.02 < gain.low < gain.value < gain.high < 0.04


def test_a_model_that_did_not_change_gains_exactly_nothing():
    same = np.array([True, False, True])
    gain = paired_difference(same, same)
    assert (gain.value, gain.low, gain.high) == (0, 0, 0)


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="one length"):
        paired_difference([1, 0], [1])


def table(boards, valid):
    return {"board": np.array(boards), "valid": np.array(valid), "size": np.full(len(boards), 3)}


def test_boards_are_matched_by_their_index_whatever_the_order_of_rows():
    before, after = table([0, 1, 2], [True, False, False]), table([2, 0, 1], [True, True, False])
    assert gain_of_tables(before, after).value == pytest.approx(1 / 3)


def test_different_boards_are_no_pair():
    with pytest.raises(RunFolderError, match="not of the same boards"):
        gain_of_tables(table([0, 1], [True, True]), table([0, 2], [True, True]))
