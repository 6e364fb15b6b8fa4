from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.kernels import fluid

Case = tuple[list[list[tuple[int, float]]], list[float]]


def floats(state: fluid.State, row: int) -> np.ndarray:
    return state.row(row, is_float=True)


def ints(state: fluid.State, row: int) -> np.ndarray:
    return state.row(row)


def started(usage: list[list[tuple[int, float]]], capacity: list[float], amount: float = 1e3) -> fluid.State:
    """All activities in service from tick 0 on."""
    state = fluid.new_state(usage, capacity, len(usage))
    for slot in range(len(usage)):
        fluid.start(state, slot, slot, slot, amount, 0)
    fluid.resolve(state, 0)
    return state


def rates_of(usage: list[list[tuple[int, float]]], capacity: list[float]) -> np.ndarray:
    return floats(started(usage, capacity), fluid.RATE)


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


def test_only_what_changes_is_brought_forward() -> None:
    state = started([[(0, 1.0)], [(1, 1.0)]], [2.0, 1.0], amount=100.0)
    assert ints(state, fluid.END).tolist() == [50, 100]
    fluid.set_capacity(state, 0, 1.0)
    assert fluid.resolve(state, 10) == 90
    assert floats(state, fluid.REMAINING).tolist() == [80.0, 100.0]
    assert ints(state, fluid.SINCE).tolist() == [10, 0]
    assert ints(state, fluid.END).tolist() == [90, 100]


def test_without_capacity_an_activity_never_ends() -> None:
    state = started([[(0, 1.0)]], [1.0], amount=8.0)
    fluid.set_capacity(state, 0, 0.0)
    assert fluid.resolve(state, 3) == fluid.NEVER
    assert floats(state, fluid.REMAINING)[0] == 5.0
    fluid.set_capacity(state, 0, 0.5)
    assert fluid.resolve(state, 100) == 110


def test_an_end_that_moved_is_not_popped_early() -> None:
    state = started([[(0, 1.0)], [(0, 1.0)]], [2.0], amount=100.0)
    fluid.set_capacity(state, 0, 1.0)
    fluid.resolve(state, 50)
    assert fluid.pop_end(state, 100) == -1
    assert sorted([fluid.pop_end(state, 150), fluid.pop_end(state, 150)]) == [0, 1]
    assert fluid.pop_end(state, 10**6) == -1
    assert floats(state, fluid.CARRIED).tolist() == [200.0]


@settings(max_examples=60, deadline=None)
@given(cases(), st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.25, 1.0, 4.0])), max_size=30))
def test_incremental_solutions_equal_solutions_from_scratch(case: Case, changes: list[tuple[int, float]]) -> None:
    usage, capacity = case
    state = started(usage, capacity, amount=1e9)
    for tick, (resource, size) in enumerate(changes, start=1):
        capacity[resource % len(capacity)] = size
        fluid.set_capacity(state, resource % len(capacity), size)
        fluid.resolve(state, tick)
        np.testing.assert_array_equal(floats(state, fluid.RATE), rates_of(usage, capacity))
    ends = [end for end in ints(state, fluid.END).tolist() if end != fluid.NEVER]
    assert fluid.next_end(state) == min(ends, default=fluid.NEVER)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 3))
def test_activities_end_in_order_and_the_heap_survives_many_changes(amounts: list[int], n_resources: int) -> None:
    usage = [[(i % n_resources, 1.0)] for i in range(len(amounts))]
    state = fluid.new_state(usage, [1.0] * n_resources, len(amounts))
    for slot, amount in enumerate(amounts):
        fluid.start(state, slot, slot, slot, float(amount), 0)
    now, ended = 0, []
    while (end := fluid.resolve(state, now)) != fluid.NEVER:
        assert end >= now
        now = end
        while (slot := fluid.pop_end(state, now)) != -1:
            ended.append(slot)
    assert sorted(ended) == list(range(len(amounts)))
    assert now >= max(sum(amounts[r::n_resources]) for r in range(n_resources))
    assert floats(state, fluid.CARRIED).tolist() == [float(sum(amounts[r::n_resources])) for r in range(n_resources)]


def test_rates_do_not_depend_on_slots() -> None:
    usage = [[(0, 1.0), (1, 0.3)], [(0, 0.7)], [(1, 0.1), (2, 1.0)], [(2, 1.0)]] * 20
    capacity = [1.0, 0.3, 0.7]
    forward = rates_of(usage, capacity).tolist()
    state = fluid.new_state(usage, capacity, len(usage))
    for ident in range(len(usage)):
        fluid.start(state, len(usage) - 1 - ident, ident, ident, 1e3, 0)
    fluid.resolve(state, 0)
    assert floats(state, fluid.RATE).tolist() == forward[::-1]


def test_more_slots_keep_what_is_in_service() -> None:
    state = fluid.with_more_slots(started([[(0, 1.0)], [(0, 2.0)]], [3.0], amount=90.0))
    assert ints(state, fluid.KIND).tolist() == [0, 1, -1, -1]
    fluid.start(state, 3, 3, 0, 10.0, 0)
    fluid.resolve(state, 0)
    assert floats(state, fluid.RATE)[[0, 1, 3]].tolist() == [0.75, 0.75, 0.75]


@pytest.mark.parametrize("name", ["start", "resolve", "pop_end"])
def test_kernels_are_compiled(name: str) -> None:
    assert hasattr(getattr(fluid, name), "py_func")
