from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.kernels import batch, fluid
from hetsim.kernels.state import NEVER, State, binding_usages, new_state, rates, with_more_slots

Case = tuple[list[list[tuple[int, float]]], list[float]]


def start(state: State, activities: list[tuple[int, int, float]], now: int = 0) -> int:
    """Put (ident, kind, amount) in service, and return the tick of the next end."""
    starts = np.array([number for ident, kind, _ in activities for number in (ident, kind)], dtype=np.int64)
    amounts = np.array([amount for _, _, amount in activities])
    n_started, end = batch.start_and_resolve(starts, amounts, 0, len(activities), now, *state)
    assert n_started == len(activities)
    return end


def change(state: State, resource: int, capacity: float, now: int) -> int:
    """Change a capacity, and return the tick of the next end."""
    batch.set_capacity(resource, capacity, *state)
    return start(state, [], now)


def ended(state: State, now: int, n_room: int = 50) -> list[int]:
    """Take out what ends."""
    idents = np.zeros(n_room, dtype=np.int64)
    return idents[: batch.pop_ended(idents, now, *state)].tolist()


def started(usage: list[list[tuple[int, float]]], capacity: list[float], amount: float = 1e3) -> State:
    """All activities in service from tick 0 on; any capacity may change."""
    state = new_state(usage, capacity, len(usage), changing=range(len(capacity)))
    start(state, [(ident, ident, amount) for ident in range(len(usage))])
    return state


def rates_of(usage: list[list[tuple[int, float]]], capacity: list[float], *, may_change: bool = False) -> np.ndarray:
    changing = range(len(capacity)) if may_change else ()
    state = new_state(usage, capacity, len(usage), changing=changing)
    start(state, [(ident, ident, 1e3) for ident in range(len(usage))])
    found = rates(state)
    return np.array([found[ident] for ident in range(len(usage))])


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
@given(cases(), st.booleans())
def test_rates_equal_exact_progressive_filling(case: Case, may_change: bool) -> None:
    usage, capacity = case
    ours = rates_of(usage, capacity, may_change=may_change)
    np.testing.assert_allclose(ours, [float(x) for x in exact_rates(usage, capacity)], rtol=1e-12, atol=1e-12)


def test_resources_that_never_fill_before_another_are_left_out() -> None:
    # Workers 0 and 1 have faster links than the server 2, worker 3 has a slower one; 4 and 5 are one after the other.
    usages = [[(0, 1.0), (2, 1.0)], [(1, 1.0), (2, 1.0)], [(3, 1.0), (2, 1.0)], [(4, 1.0), (5, 1.0)]]
    capacity = [2.0, 1.0, 1.0, 0.5, 3.0, 3.0]
    assert binding_usages(usages, capacity, ()) == [((2, 1.0),), ((2, 1.0),), ((3, 1.0), (2, 1.0)), ((5, 1.0),)]
    assert binding_usages(usages, capacity, {2, 5}) == [
        ((0, 1.0), (2, 1.0)),
        ((1, 1.0), (2, 1.0)),
        ((3, 1.0), (2, 1.0)),
        ((4, 1.0), (5, 1.0)),
    ]


def test_a_resource_used_twice_as_much_fills_first() -> None:
    assert binding_usages([[(0, 1.0), (1, 2.0)]], [2.0, 3.0], ()) == [((1, 2.0),)]
    assert binding_usages([[(0, 1.0), (1, 2.0)], [(0, 1.0)]], [2.0, 3.0], ()) == [
        ((0, 1.0), (1, 2.0)),
        ((0, 1.0),),
    ]


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


def test_what_remains_is_brought_forward() -> None:
    state = started([[(0, 1.0)], [(1, 1.0)]], [2.0, 1.0], amount=100.0)
    assert rates(state) == {0: 2.0, 1: 1.0}
    # 20 of 100 are done at tick 10.
    assert change(state, 0, 1.0, 10) == 90
    assert ended(state, 90) == [0]
    assert start(state, [], 90) == 100


def test_without_capacity_an_activity_never_ends() -> None:
    state = started([[(0, 1.0)]], [1.0], amount=8.0)
    assert change(state, 0, 0.0, 3) == NEVER
    assert change(state, 0, 0.5, 100) == 110


@pytest.mark.parametrize("way", [[(0, 1.0)], [(0, 1.0), (1, 1.0)]])
def test_an_end_that_moved_is_not_popped_early(way: list[tuple[int, float]]) -> None:
    state = started([way, way], [2.0, 3.0], amount=100.0)
    change(state, 0, 1.0, 50)
    assert ended(state, 100) == []
    assert sorted(ended(state, 150)) == [0, 1]
    assert start(state, [], 150) == NEVER
    assert ended(state, 10**6) == []


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=25), st.booleans())
def test_a_pool_ends_its_members_as_the_general_solution_does(members: list[tuple[int, int]], is_late: bool) -> None:
    # A second resource with a capacity that may change keeps the first one from being a pool, and never fills.
    def ends(usages: list[list[tuple[int, float]]], changing: list[int]) -> list[tuple[int, int]]:
        state = new_state(usages, [0.25, 1e9], 2, changing=changing)
        waiting = sorted((tick, ident, float(amount)) for ident, (tick, amount) in enumerate(members))
        now, found = 0, []
        while True:
            found += [(ident, now) for ident in sorted(ended(state, now))]
            for _, ident, amount in [entry for entry in waiting if entry[0] == now]:
                while True:
                    one = np.array([ident, 0]), np.array([amount])
                    n_started, _ = batch.start_and_resolve(*one, 0, 1, now, *state)
                    if n_started:
                        break
                    state = with_more_slots(state)
            waiting = [entry for entry in waiting if entry[0] > now]
            end = start(state, [], now)
            due = [tick for tick in (end, *(entry[0] for entry in waiting)) if tick != NEVER]
            if not due:
                return sorted(found)
            now = min(due)

    pool, general = ends([[(0, 1.0)]], [0] if is_late else []), ends([[(0, 1.0), (1, 1.0)]], [1])
    # Shares such as a sixth are rounded, so that what ends at a tick to the last bit may end one later.
    assert [ident for ident, _ in pool] == [ident for ident, _ in general] == sorted(range(len(members)))
    assert max(abs(tick - other) for (_, tick), (_, other) in zip(pool, general, strict=True)) <= 1


@settings(max_examples=60, deadline=None)
@given(cases(), st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.25, 1.0, 4.0])), max_size=30))
def test_incremental_solutions_equal_solutions_from_scratch(case: Case, changes: list[tuple[int, float]]) -> None:
    usage, capacity = case
    state = started(usage, capacity, amount=1e9)
    for tick, (resource, size) in enumerate(changes, start=1):
        capacity[resource % len(capacity)] = size
        change(state, resource % len(capacity), size, tick)
        found = rates(state)
        ours = [found[ident] for ident in range(len(usage))]
        np.testing.assert_array_equal(ours, rates_of(usage, capacity, may_change=True))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 3))
def test_activities_end_in_order_and_the_heap_survives_many_changes(amounts: list[int], n_resources: int) -> None:
    usage = [[(i % n_resources, 1.0)] for i in range(len(amounts))]
    state = new_state(usage, [1.0] * n_resources, len(amounts))
    end = start(state, [(ident, ident, float(amount)) for ident, amount in enumerate(amounts)])
    now, all_ended = 0, []
    while end != NEVER:
        assert end > now
        now = end
        all_ended += ended(state, now)
        end = start(state, [], now)
    assert sorted(all_ended) == list(range(len(amounts)))
    assert now >= max(sum(amounts[r::n_resources]) for r in range(n_resources))


def test_rates_do_not_depend_on_who_starts_first() -> None:
    usage = [[(0, 1.0), (1, 0.3)], [(0, 0.7)], [(1, 0.1), (2, 1.0)], [(2, 1.0)]] * 20
    capacity = [1.0, 0.3, 0.7]
    state = new_state(usage, capacity, len(usage))
    start(state, [(ident, ident, 1e3) for ident in reversed(range(len(usage)))])
    found = rates(state)
    assert [found[ident] for ident in range(len(usage))] == rates_of(usage, capacity).tolist()


@pytest.mark.parametrize("use", [1.0, 2.0])
def test_more_slots_keep_what_is_in_service(use: float) -> None:
    state = with_more_slots(started([[(0, 1.0)], [(0, use)]], [3.0], amount=90.0))
    start(state, [(7, 0, 10.0)])
    level = 3.0 / (2.0 + use)
    assert rates(state) == {0: level, 1: level, 7: level}


@pytest.mark.parametrize("name", ["start", "resolve", "pop_end"])
def test_kernels_are_compiled(name: str) -> None:
    assert hasattr(getattr(fluid, name), "py_func")
