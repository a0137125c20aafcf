"""Rates and their intervals, by scipy."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Rate:
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float
    count: int


def wilson(hits: int, count: int) -> Rate:
    """A binomial share with Wilson's score interval."""
    if count == 0:
        return Rate(math.nan, math.nan, math.nan, 0)
    interval = stats.binomtest(hits, count).proportion_ci(0.95, method="wilson")
    return Rate(hits / count, float(interval.low), float(interval.high), count)


def paired_difference(before: ArrayLike, after: ArrayLike) -> Rate:
    """Mean of after - before over the same boards, with the t interval of the paired differences.

    d_i = after_i - before_i is -1, 0 or 1; the interval is mean(d) -+ t(0.975, n - 1) sd(d) / sqrt(n).
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"a paired difference needs two columns of one length, not {first.shape} and {second.shape}")
    difference = second - first
    mean = float(difference.mean()) if difference.size else math.nan
    if difference.size < 2 or np.ptp(difference) == 0:  # no spread to make an interval of
        return Rate(mean, mean, mean, difference.size)
    interval = stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)
    return Rate(mean, float(interval.low), float(interval.high), difference.size)
