"""Intervals against SciPy, and properties that hold for any replications."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hetsim.experiment.statistics import mean_interval, speedup

times = st.floats(min_value=1e-6, max_value=1e6)
paired = st.lists(st.tuples(times, times), min_size=2, max_size=20)


def split(pairs: list[tuple[float, float]]) -> tuple[dict[int, float], dict[int, float]]:
    return dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs))


@pytest.mark.parametrize("n", [2, 3, 20])
def test_mean_interval_is_that_of_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(10.0, 2.0, n).tolist()
    low, high = stats.t.interval(0.95, n - 1, loc=np.mean(values), scale=stats.sem(values))
    ours = mean_interval(values)
    assert (ours.value, ours.low, ours.high) == pytest.approx((np.mean(values), low, high), rel=1e-12)


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.05, 1.5])
def test_significance_is_that_of_a_paired_t_test_on_logarithms(factor: float) -> None:
    rng = np.random.default_rng(3)
    base = rng.lognormal(0.0, 0.3, 12)
    other = base / factor * rng.lognormal(0.0, 0.03, 12)
    p_value = stats.ttest_rel(np.log(base), np.log(other)).pvalue
    estimate = speedup(dict(enumerate(base)), dict(enumerate(other)), "lower")
    assert estimate is not None
    assert estimate.is_significant == (p_value < 0.05)


def test_pairing_finds_a_difference_that_the_spread_of_each_hides() -> None:
    base = {0: 1.0, 1: 10.0, 2: 100.0, 3: 1000.0}
    other = {0: 0.9, 1: 9.01, 2: 89.9, 3: 900.0}
    estimate = speedup(base, other, "lower")
    assert estimate is not None
    assert estimate.is_significant is True
    assert mean_interval(list(base.values())).low < 9.0 < mean_interval(list(base.values())).high


def test_an_interval_ends_where_no_value_can_lie() -> None:
    assert mean_interval([1.0, 9.0], least=0.0).low == 0.0
    assert mean_interval([-1.0, 9.0], least=0.0).low == -1.0
    assert mean_interval([4.9, 5.0], least=0.0) == mean_interval([4.9, 5.0])


def test_one_replication_has_no_interval() -> None:
    estimate = speedup({0: 3.0}, {0: 2.0}, "lower")
    assert (estimate.value, estimate.low, estimate.high, estimate.is_significant) == (1.5, None, None, None)


def test_constant_ratio_has_an_interval_of_no_width() -> None:
    estimate = speedup({0: 3.0, 1: 6.0}, {0: 2.0, 1: 4.0}, "lower")
    assert (estimate.value, estimate.low, estimate.high, estimate.is_significant) == (1.5, 1.5, 1.5, True)


def test_equal_values_are_no_difference_even_at_zero() -> None:
    estimate = speedup({0: 0.0, 1: 5.0}, {0: 0.0, 1: 5.0}, "lower")
    assert (estimate.value, estimate.low, estimate.high, estimate.is_significant) == (1.0, 1.0, 1.0, False)


@pytest.mark.parametrize(("baseline", "values"), [({0: 0.0}, {0: 1.0}), ({0: 1.0}, {0: 0.0}), ({0: 1.0}, {1: 1.0})])
def test_no_speedup_where_there_is_no_ratio(baseline: dict[int, float], values: dict[int, float]) -> None:
    assert speedup(baseline, values, "lower") is None


def test_only_common_replications_count() -> None:
    estimate = speedup({0: 4.0, 1: 4.0, 2: 1.0}, {0: 2.0, 1: 2.0}, "lower")
    assert (estimate.value, estimate.n) == (2.0, 2)


@given(paired)
def test_swapping_gives_the_reciprocal(pairs: list[tuple[float, float]]) -> None:
    base, other = split(pairs)
    forth, back = speedup(base, other, "lower"), speedup(other, base, "lower")
    assert forth.value * back.value == pytest.approx(1.0, rel=1e-9)
    assert forth.low * back.high == pytest.approx(1.0, rel=1e-9)


@given(paired)
def test_higher_is_better_is_the_mirror(pairs: list[tuple[float, float]]) -> None:
    base, other = split(pairs)
    assert speedup(base, other, "higher") == speedup(other, base, "lower")


@given(paired, st.integers(min_value=-10, max_value=10))
def test_the_unit_of_time_does_not_matter(pairs: list[tuple[float, float]], power: int) -> None:
    base, other = split(pairs)
    scaled = ({key: math.ldexp(value, power) for key, value in side.items()} for side in (base, other))
    assert speedup(*scaled, "lower") == speedup(base, other, "lower")


@given(paired)
def test_the_interval_holds_the_estimate_and_the_ratios_hold_both(pairs: list[tuple[float, float]]) -> None:
    base, other = split(pairs)
    estimate = speedup(base, other, "lower")
    ratios = [a / b for a, b in pairs]
    assert estimate.low <= estimate.value <= estimate.high
    assert min(ratios) * (1 - 1e-9) <= estimate.value <= max(ratios) * (1 + 1e-9)


@given(st.lists(times, min_size=1, max_size=20))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    estimate = mean_interval(values)
    assert min(values) * (1 - 1e-12) <= estimate.value <= max(values) * (1 + 1e-12)
    assert estimate.low is None if len(values) == 1 else estimate.low <= estimate.value <= estimate.high
