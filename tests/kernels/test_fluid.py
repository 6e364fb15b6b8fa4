from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.kernels import fluid

Case = tuple[list[list[tuple[int, float]]], list[float]]


def rates_of(usage: list[list[tuple[int, float]]], capacity: list[float]) -> np.ndarray:
    first = np.cumsum([0] + [len(entries) for entries in usage])
    used = np.array([r for entries in usage for r, _ in entries], dtype=np.int64)
    coefficient = np.array([c for entries in usage for _, c in entries])
    rate = np.empty(len(usage))
    fluid.fill_rates(first, used, coefficient, np.array(capacity), rate)
    return rate


def exact_rates(usage: list[list[tuple[int, float]]], capacity: list[float]) -> list[Fraction]:
    """Progressive filling in fractions."""
    rate: list[Fraction | None] = [None] * len(usage)
    while None in rate:
        levels = {}
        for r, size in enumerate(capacity):
            left, load = Fraction(size), Fraction(0)
            for entries, known in zip(usage, rate, strict=True):
                for resource, use in entries:
                    if resource == r:
                        if known is None:
                            load += Fraction(use)
                        else:
                            left -= Fraction(use) * known
            if load:
                levels[r] = left / load
        level = min(levels.values())
        full = {r for r, value in levels.items() if value == level}
        for i, entries in enumerate(usage):
            if rate[i] is None and any(r in full for r, _ in entries):
                rate[i] = level
    return [known for known in rate if known is not None]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_resources = draw(st.integers(1, 6))
    capacity = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.5]), min_size=n_resources, max_size=n_resources)
    )
    ways = st.lists(st.integers(0, n_resources - 1), min_size=1, max_size=n_resources, unique=True)
    usage = draw(st.lists(ways, min_size=1, max_size=8))
    return [[(r, draw(st.sampled_from([0.5, 1.0, 2.0]))) for r in way] for way in usage], capacity


@settings(max_examples=200, deadline=None)
@given(cases())
def test_rates_equal_exact_progressive_filling(case: Case) -> None:
    usage, capacity = case
    np.testing.assert_allclose(
        rates_of(usage, capacity), [float(x) for x in exact_rates(usage, capacity)], rtol=1e-12, atol=1e-12
    )


@settings(max_examples=200, deadline=None)
@given(cases())
def test_no_resource_is_over_capacity_and_each_activity_is_stopped_by_a_full_one(case: Case) -> None:
    usage, capacity = case
    rate = rates_of(usage, capacity)
    load = [
        sum(c * rate[i] for i, entries in enumerate(usage) for r, c in entries if r == k) for k in range(len(capacity))
    ]
    assert all(used <= size * (1 + 1e-12) for used, size in zip(load, capacity, strict=True))
    for i, entries in enumerate(usage):
        assert any(
            load[r] >= capacity[r] * (1 - 1e-9)
            and all(rate[i] >= rate[j] * (1 - 1e-9) for j, other in enumerate(usage) if any(q == r for q, _ in other))
            for r, _ in entries
        )


def test_textbook_parking_lot() -> None:
    # Bertsekas and Gallager, section 6.5.2: one long flow, one short flow on each of two links of capacity 1 and 2.
    np.testing.assert_array_equal(rates_of([[(0, 1.0), (1, 1.0)], [(0, 1.0)], [(1, 1.0)]], [1.0, 2.0]), [0.5, 0.5, 1.5])


def test_resolve_brings_forward_only_what_changes() -> None:
    remaining, since = np.array([100.0, 100.0]), np.array([0, 0])
    rate, end = np.array([2.0, 1.0]), np.array([50, 100])
    first, used, one = np.array([0, 1, 2]), np.array([0, 1]), np.ones(2)
    fluid.resolve(10, first, used, one, np.array([1.0, 1.0]), remaining, since, rate, end)
    assert remaining.tolist() == [80.0, 100.0]
    assert since.tolist() == [10, 0]
    assert end.tolist() == [90, 100]


def test_resolve_without_capacity_never_ends() -> None:
    remaining, since, rate, end = np.array([8.0]), np.array([0]), np.array([1.0]), np.array([8])
    fluid.resolve(3, np.array([0, 1]), np.array([0]), np.ones(1), np.zeros(1), remaining, since, rate, end)
    assert end[0] == fluid.NEVER
    assert remaining[0] == 5.0


@pytest.mark.parametrize("name", ["fill_rates", "resolve"])
def test_kernels_are_compiled(name: str) -> None:
    assert hasattr(getattr(fluid, name), "py_func")
