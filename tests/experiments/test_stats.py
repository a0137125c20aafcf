"""Intervals against published examples and written-out formulas."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from experiments.errors import RunFolderError
from experiments.gains import gain_of_tables
from experiments.stats import bootstrap_mean, holm, mcnemar, needed, paired_difference, paired_p, wilson


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


def judgements(both, first, second, neither):
    """Two columns of a table of agreement."""
    counts = [both, first, second, neither]
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


@pytest.mark.parametrize(
    ("table", "p"),
    # Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91, tables 1 to 3, the exact test
    [((1, 1, 7, 12), 0.0703), ((59, 6, 16, 80), 0.0525)],
)
def test_mcnemars_exact_test_is_that_of_fagerland_lydersen_and_laake_2013(table, p):
    test = mcnemar(*judgements(*table))
    assert (test.won, test.lost) == (table[2], table[1])
    assert round(test.p, 4) == p


def test_two_models_that_agree_on_every_board_are_not_told_apart():
    assert mcnemar([1, 0, 1], [1, 0, 1]).p == 1.0


def test_holms_adjustment_is_the_textbooks():
    # The worked example of the Holm-Bonferroni method: the first and the last hypothesis are rejected at 0.05.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_the_bootstraps_spread_of_a_mean_is_that_of_efron_and_tibshirani():
    # An Introduction to the Bootstrap, table 2.2: seven treated mice, mean 86.86, standard error 23.36 for many samples
    mean = bootstrap_mean([94, 197, 16, 38, 99, 141, 23])
    assert round(mean.value, 2) == 86.86
    assert (mean.high - mean.low) / (2 * 1.96) == pytest.approx(23.36, rel=0.03)
    assert mean.low < mean.value < mean.high and mean == bootstrap_mean([94, 197, 16, 38, 99, 141, 23])


def test_few_seeds_give_a_mean_and_no_interval():
    assert bootstrap_mean([0.5, 0.7]).value == 0.6 and math.isnan(bootstrap_mean([0.5, 0.7]).low)
    assert (bootstrap_mean([0.5] * 4).low, bootstrap_mean([0.5] * 4).high) == (0.5, 0.5)


@pytest.mark.parametrize(("effect", "count"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_sample_sizes_are_those_of_cohen_for_small_medium_and_large_effects(effect, count):
    # Paired t test, two-sided 5 %, power 0.80; as in Cohen 1988 and G*Power 3
    assert needed(1.0, effect) == count
    assert needed(0.5, effect / 2) == count


def test_a_larger_difference_never_needs_more():
    counts = [needed(1.0, effect) for effect in np.geomspace(0.01, 100, 150)]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 3


def test_what_never_varies_says_nothing_of_the_count_needed():
    assert needed(0.0, 0.01) is None and needed(float("nan"), 0.01) is None and needed(1e-6, 0.5) <= 3


def test_the_test_over_seeds_is_students_on_the_differences():
    # Student 1908, the ten patients of the sleep data: t = 4.0621, p = 0.002833
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    assert round(paired_p(first, second), 6) == 0.002833
    assert math.isnan(paired_p([1.0], [2.0])) and math.isnan(paired_p([1.0, 2.0], [2.0, 3.0]))
