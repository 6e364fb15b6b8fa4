"""Many steps in one call against one call for each step."""

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.kernels import batch
from hetsim.kernels.state import NEVER, State, new_state, rates, with_more_slots

Case = tuple[list[list[tuple[int, float]]], list[float], list[tuple[int, int, float]]]
Log = list[tuple[int, list[int]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Usages, capacities, and who starts: (tick, kind, amount)."""
    n_resources = draw(st.integers(1, 5))
    usages = draw(
        st.lists(
            st.lists(st.integers(0, n_resources - 1), min_size=1, max_size=3, unique=True).map(
                lambda used: [(resource, 1.0) for resource in used]
            ),
            min_size=1,
            max_size=4,
        )
    )
    capacity = draw(st.lists(st.integers(1, 8).map(float), min_size=n_resources, max_size=n_resources))
    start = st.tuples(st.integers(0, 30), st.integers(0, len(usages) - 1), st.integers(1, 100).map(float))
    return usages, capacity, sorted(draw(st.lists(start, min_size=1, max_size=12)))


def one_by_one(state: State, starting: list[tuple[int, int, float]], now: int) -> tuple[list[int], int]:
    """Enter the compiled code for each."""
    ended: list[int] = []
    while taken := pop(state, now, 1):
        ended += taken
    end = NEVER
    for ident, kind, amount in starting:
        _, end = batch.start_and_resolve(np.array([ident, kind]), np.array([amount]), 0, 1, now, *state)
    if not starting:
        _, end = batch.start_and_resolve(np.zeros(0, dtype=np.int64), np.zeros(0), 0, 0, now, *state)
    return ended, end


def pop(state: State, now: int, n_room: int) -> list[int]:
    idents = np.full(n_room, -7)
    n_ended = batch.pop_ended(idents, now, *state)
    assert (idents[n_ended:] == -7).all()
    return idents[:n_ended].tolist()


def at_once(state: State, starting: list[tuple[int, int, float]], now: int) -> tuple[list[int], int]:
    ended = pop(state, now, 20)
    starts = np.array([(ident, kind) for ident, kind, _ in starting], dtype=np.int64).ravel()
    amounts = np.array([amount for _, _, amount in starting])
    n_started, end = batch.start_and_resolve(starts, amounts, 0, len(starting), now, *state)
    assert n_started == len(starting)
    return ended, end


def log_of(case: Case, step: Callable[..., tuple[list[int], int]]) -> Log:
    """Run to the end of all, and return what ended at each tick."""
    usages, capacity, starts = case
    state = new_state(usages, capacity, len(starts))
    log: Log = []
    waiting = [(tick, ident, kind, amount) for ident, (tick, kind, amount) in enumerate(starts)]
    now = 0
    while True:
        starting = [entry[1:] for entry in waiting if entry[0] == now]
        waiting = waiting[len(starting) :]
        ended, end = step(state, starting, now)
        log.append((now, ended))
        due = [tick for tick in (end, *(entry[0] for entry in waiting)) if tick != NEVER]
        if not due:
            return log
        now = min(due)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(cases())
def test_activities_end_in_the_same_order_at_once_as_one_by_one(case: Case) -> None:
    log = log_of(case, at_once)
    assert log == log_of(case, one_by_one)
    assert sorted(ident for _, ended in log for ident in ended) == list(range(len(case[2])))


def test_without_room_it_says_how_many_were_started_and_goes_on_from_there() -> None:
    # Two slots of eight uses each and a reserve of twice the widest usage: 40 resources do not fit three times.
    usages = [[(resource, 1.0) for resource in range(40)]]
    state = new_state(usages, [4.0] * 40, 2, changing=range(40))
    starts, amounts = np.array([10, 0, 11, 0, 12, 0, 13, 0]), np.full(4, 8.0)
    first = 0
    n_grown = 0
    while True:
        n_started, end = batch.start_and_resolve(starts, amounts, first, 4, 5, *state)
        if n_started == 4:
            break
        assert end == NEVER
        assert set(rates(state).values()) <= {0.0}
        first = n_started
        state = with_more_slots(state)
        n_grown += 1
    assert n_grown >= 1
    # A quarter of each resource: one a tick.
    assert end == 5 + 8
    assert pop(state, 12, 8) == []
    assert sorted(pop(state, 13, 8)) == [10, 11, 12, 13]
