"""Means, paired speed-ups and their intervals over replications."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

CONFIDENCE: Final = 0.95
"""Every interval is a two-sided Student t interval of this confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value and its confidence interval.

    Parameters
    ----------
    value : float
        Arithmetic mean, or geometric mean of ratios.
    low, high : float or None
        Ends of the interval; None where a single replication says nothing of the spread.
    n : int
        Replications behind it.
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def is_significant(self) -> bool | None:
        """Whether a ratio's interval excludes one; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return self.low > 1.0 or self.high < 1.0


def mean_interval(values: Sequence[float], *, least: float = -math.inf) -> Estimate:
    """Return the mean of independent values with its t interval.

    Parameters
    ----------
    values : sequence of float, shape (n,)
        One for each replication, at least one.
    least : float
        What no value can lie below, such as zero for a time: nor does the interval, unless a value does.

    Returns
    -------
    Estimate
        ``mean +- t(n - 1) * s / sqrt(n)``, cut at `least`; equal values have an interval of no width.

    References
    ----------
    Student (1908), "The probable error of a mean", Biometrika 6(1), doi:10.1093/biomet/6.1.1.

    Examples
    --------
    >>> mean_interval([2.0, 2.0])
    Estimate(value=2.0, low=2.0, high=2.0, n=2)
    >>> mean_interval([2.0]).low is None
    True
    >>> mean_interval([1.0, 9.0]).low < -20.0, mean_interval([1.0, 9.0], least=0.0).low
    (True, 0.0)
    """
    n = len(values)
    if n == 1:
        return Estimate(value=values[0], low=None, high=None, n=1)
    if min(values) == max(values):
        # The mean of equal numbers may differ from them in its last digit, which would look like a difference.
        return Estimate(value=values[0], low=values[0], high=values[0], n=n)
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half_width = _t_quantile(n - 1) * spread / math.sqrt(n)
    return Estimate(value=mean, low=max(mean - half_width, min(least, *values)), high=mean + half_width, n=n)


def speedup(
    baseline: Mapping[int, float], values: Mapping[int, float], better: Literal["lower", "higher"]
) -> Estimate | None:
    """Return how many times better a metric is than the baseline, paired by replication.

    The geometric mean of the ratios of common replications, with a t interval on their logarithms: replications share
    their random draws, so what is common to both cancels, and the speed-up of A over B is one over that of B over A.

    Parameters
    ----------
    baseline, values : mapping of int to float
        Metric by replication.
    better : {"lower", "higher"}
        Which way is an improvement.

    Returns
    -------
    Estimate or None
        None where no replication is common, or where a value is not positive and so has no ratio.

    References
    ----------
    Fleming and Wallace (1986), "How not to lie with statistics: the correct way to summarize benchmark results",
    CACM 29(3), doi:10.1145/5666.5673: ratios are summarized by their geometric mean.

    Examples
    --------
    >>> speedup({0: 4.0, 1: 2.0}, {0: 2.0, 1: 1.0}, "lower")
    Estimate(value=2.0, low=2.0, high=2.0, n=2)
    """
    common = sorted(baseline.keys() & values.keys())
    pairs = [(baseline[key], values[key]) for key in common]
    if not pairs:
        return None
    if all(base == value for base, value in pairs):
        bound = 1.0 if len(pairs) > 1 else None
        return Estimate(value=1.0, low=bound, high=bound, n=len(pairs))
    if any(base <= 0.0 or value <= 0.0 for base, value in pairs):
        return None
    if better == "higher":
        pairs = [(value, base) for base, value in pairs]
    ratios = [base / value for base, value in pairs]
    if min(ratios) == max(ratios):
        bound = ratios[0] if len(ratios) > 1 else None
        return Estimate(value=ratios[0], low=bound, high=bound, n=len(ratios))
    logs = mean_interval([math.log(ratio) for ratio in ratios])
    ends = [None if end is None else math.exp(end) for end in (logs.low, logs.high)]
    return Estimate(value=math.exp(logs.value), low=ends[0], high=ends[1], n=logs.n)


def _t_quantile(degrees_of_freedom: int) -> float:
    # scipy.special is a tenth of the start-up time of scipy.stats, whose t.ppf calls the same function.
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, 0.5 + CONFIDENCE / 2.0))
