"""Rates, differences and tests of them, by scipy and statsmodels. Intervals are of 95 %, tests two-sided."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

LEVEL = 0.95
POWER = 0.8  # chance of telling a difference that is there
_RESAMPLES = 9999
_FEWEST = 3  # values that a bootstrap interval is made of


@dataclass(frozen=True)
class Rate:
    """A share or a mean with its 95 % interval; NaN bounds where there is nothing to make one of."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Paired:
    """McNemar's test: boards that only the second got right, boards that only the first did, and the p value."""

    won: int
    lost: int
    p: float


def wilson(hits: int, count: int) -> Rate:
    """A binomial share with Wilson's score interval."""
    if count == 0:
        return Rate(math.nan, math.nan, math.nan, 0)
    interval = stats.binomtest(hits, count).proportion_ci(LEVEL, method="wilson")
    return Rate(hits / count, float(interval.low), float(interval.high), count)


def paired_difference(before: ArrayLike, after: ArrayLike) -> Rate:
    """Mean of after - before over the same boards, with the t interval of the paired differences.

    d_i = after_i - before_i is -1, 0 or 1; the interval is mean(d) -+ t(0.975, n - 1) sd(d) / sqrt(n).
    """
    difference = _differences(before, after)
    mean = float(difference.mean()) if difference.size else math.nan
    if difference.size < 2 or np.ptp(difference) == 0:  # no spread to make an interval of
        return Rate(mean, mean, mean, difference.size)
    interval = stats.ttest_1samp(difference, 0.0).confidence_interval(LEVEL)
    return Rate(mean, float(interval.low), float(interval.high), difference.size)


def mcnemar(before: ArrayLike, after: ArrayLike) -> Paired:
    """McNemar's exact test (binomial, on the boards that differ) of two judgements of the same boards."""
    from statsmodels.stats.contingency_tables import mcnemar as test

    difference = _differences(before, after)
    won, lost = int((difference > 0).sum()), int((difference < 0).sum())
    return Paired(won, lost, float(test([[0, won], [lost, 0]], exact=True).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, for all tests of one table."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if len(p_values) else []


def bootstrap_mean(values: ArrayLike) -> Rate:
    """The mean over seeds with its BCa bootstrap interval; no interval from fewer than three."""
    seen = np.asarray(values, np.float64)
    mean = float(seen.mean()) if seen.size else math.nan
    if seen.size < _FEWEST:
        return Rate(mean, math.nan, math.nan, seen.size)
    if np.ptp(seen) == 0:
        return Rate(mean, mean, mean, seen.size)
    random = np.random.default_rng(0)  # the same numbers in every report
    interval = stats.bootstrap(
        (seen,), np.mean, n_resamples=_RESAMPLES, confidence_level=LEVEL, method="BCa", rng=random
    ).confidence_interval
    return Rate(mean, float(interval.low), float(interval.high), seen.size)


def paired_p(before: ArrayLike, after: ArrayLike) -> float:
    """The p value of Student's paired t test over seeds; NaN from fewer than two, or without any spread."""
    difference = _differences(before, after)
    if difference.size < 2 or np.ptp(difference) == 0:
        return math.nan
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def needed(deviation: float, difference: float) -> int | None:
    """How many paired values (boards, seeds) tell a mean difference of this size at 5 %, four times in five.

    `deviation` is the standard deviation of one paired difference; without any nothing can be said (None). Student's t,
    by statsmodels.
    """
    from statsmodels.stats.power import TTestPower

    if not deviation > 0:
        return None
    effect = min(difference / deviation, 5.0)  # three do for all that is larger, and the solver finds not even that
    count = TTestPower().solve_power(effect_size=effect, alpha=1 - LEVEL, power=POWER)
    return max(2, math.ceil(float(np.squeeze(count))))


def deviation(before: ArrayLike, after: ArrayLike) -> float:
    """The standard deviation of the paired differences."""
    difference = _differences(before, after)
    return float(difference.std(ddof=1)) if difference.size > 1 else math.nan


def _differences(before: ArrayLike, after: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"a paired difference needs two columns of one length, not {first.shape} and {second.shape}")
    return second - first
