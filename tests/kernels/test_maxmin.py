"""The max-min solver against exact filling, from scratch and change by change, and what it looks at."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from hetsim.kernels import batch, state
from hetsim.kernels.state import FEW, NEVER, NONE, State, Usage, new_state, opened_in_python, rates, with_more_slots

CAPACITIES = (0.0, 0.3, 0.5, 1.0, 1.0, 2.0, 3.7, 10.0)
COEFFICIENTS = (0.1, 0.5, 1.0, 1.0, 1.0, 1.75, 2.0)
WEIGHTS = (0.25, 1.0, 1.0, 2.0, 3.0)


def exact_rates(usages: Sequence[Usage], capacity: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Raise all rates together, each as fast as its weight says, until a resource is full; again with the rest."""
    left = [Fraction(size) for size in capacity]
    load = [Fraction(0)] * len(capacity)
    users: list[set[int]] = [set() for _ in capacity]
    for i, usage in enumerate(usages):
        for resource, use in usage:
            load[resource] += Fraction(use) * Fraction(weights[i])
            users[resource].add(i)
    found: dict[int, Fraction] = {}
    while len(found) < len(usages):
        levels = {r: left[r] / load[r] for r in range(len(capacity)) if users[r]}
        level = min(levels.values())
        stopped = {i for r, at in levels.items() if at == level for i in users[r]}
        for i in stopped:
            found[i] = level * Fraction(weights[i])
            for resource, use in usages[i]:
                left[resource] -= Fraction(use) * found[i]
                load[resource] -= Fraction(use) * Fraction(weights[i])
                users[resource].discard(i)
    return [float(found[i]) for i in range(len(usages))]


def lowered(usages: Sequence[Usage], weights: Sequence[float]) -> list[Usage]:
    """Coefficients of activities whose rates are those of the given ones, each over its weight."""
    return [[(r, use * weight) for r, use in usage] for usage, weight in zip(usages, weights, strict=True)]


def begin(held: State, kinds: dict[int, int], amount: float, now: int) -> int:
    """Start activities, by ident and kind, and return the tick of the next end."""
    starts = np.array([number for entry in kinds.items() for number in entry], dtype=np.int64)
    n_started, end = batch.start_and_resolve(starts, np.full(len(kinds), amount), 0, len(kinds), now, *held)
    assert n_started == len(kinds)
    return end


def solved(usages: Sequence[Usage], capacity: Sequence[float], *, may_change: bool) -> list[float]:
    held = new_state(usages, capacity, len(usages), changing=range(len(capacity)) if may_change else ())
    begin(held, {i: i for i in range(len(usages))}, 1e6, 0)
    found = rates(held)
    return [found[i] for i in range(len(usages))]


def random_usages(
    draw: random.Random, n: int, n_resources: int, coefficients: Sequence[float], most: int = 4
) -> list[Usage]:
    def usage() -> Usage:
        ways = draw.sample(range(n_resources), draw.randint(1, min(most, n_resources)))
        return [(resource, draw.choice(coefficients)) for resource in ways]

    return [usage() for _ in range(n)]


@pytest.mark.parametrize("many", range(10))
def test_1000_instances_equal_exact_filling(many: int) -> None:
    draw = random.Random(many)
    n_large = 0
    for _ in range(100):
        n = draw.choice([2, 5, 12, FEW, FEW + 1, 60])
        n_resources = draw.randint(1, max(2, n // 2))
        usages = random_usages(draw, n, n_resources, draw.choice([(1.0,), COEFFICIENTS]))
        capacity = [draw.choice(CAPACITIES) for _ in range(n_resources)]
        weights = [draw.choice(WEIGHTS) for _ in range(n)] if draw.random() < 0.5 else [1.0] * n
        found = solved(lowered(usages, weights), capacity, may_change=draw.random() < 0.5)
        ours = [rate * weight for rate, weight in zip(found, weights, strict=True)]
        np.testing.assert_allclose(ours, exact_rates(usages, capacity, weights), rtol=1e-12, atol=1e-14)
        assert_max_min(usages, capacity, weights, ours)
        n_large += n > FEW
    assert n_large >= 20


@pytest.mark.parametrize("coefficients", [(1.0,), COEFFICIENTS])
@pytest.mark.parametrize("n_first", [0, 150])
def test_many_resources_fill_in_order_whoever_is_there_before(coefficients: Sequence[float], n_first: int) -> None:
    # So many that levels are divided into buckets, and levels all over them.
    draw = random.Random(n_first)
    usages = random_usages(draw, 300, 200, coefficients)
    capacity = [draw.uniform(0.0, 10.0) for _ in range(200)]
    held = new_state(usages, capacity, 300, changing=range(200))
    begin(held, {i: i for i in range(n_first)}, 1e6, 0)
    begin(held, {i: i for i in range(n_first, 300)}, 1e6, 0)
    found = rates(held)
    ours = [found[i] for i in range(300)]
    np.testing.assert_allclose(ours, exact_rates(usages, capacity, [1.0] * 300), rtol=1e-12, atol=1e-14)
    assert opened_in_python(held).resource_floats[state.FULL_AT :: 8].max() == math.inf
    assert len(set(ours)) > 80


def assert_max_min(
    usages: Sequence[Usage], capacity: Sequence[float], weights: Sequence[float], rate: Sequence[float]
) -> None:
    """Nothing is over capacity, and each activity uses a full resource of which nobody has more for its weight."""
    load, most = np.zeros(len(capacity)), np.zeros(len(capacity))
    for i, usage in enumerate(usages):
        for r, use in usage:
            load[r] += use * rate[i]
            most[r] = max(most[r], rate[i] / weights[i])
    size = np.array(capacity)
    assert (load <= size * (1 + 1e-12)).all()
    for i, usage in enumerate(usages):
        assert any(load[r] >= size[r] * (1 - 1e-12) and rate[i] / weights[i] >= most[r] * (1 - 1e-12) for r, _ in usage)


@pytest.mark.parametrize("n_more", [0, FEW])
def test_a_weight_is_a_coefficient_and_a_divisor_of_what_is_to_move(n_more: int) -> None:
    # Weights 1 and 2 share 3 bytes a tick as 1 and 2; 60 bytes each end after 30 ticks and, with all 3, 40.
    usages, weights = [[(0, 1.0)], [(0, 1.0)]], [1.0, 2.0]
    # More of weight 1 on a link of their own, joined to the first two by one that is never full.
    joined = [[*usage, (2, 1.0)] for usage in usages] if n_more else usages
    more = [[(1, 1.0), (2, 1.0)]] * n_more
    held = new_state(lowered([*joined, *more], [*weights, *[1.0] * n_more]), [3.0, 1.0, 1e6], 2 + n_more, changing=[2])
    if n_more:
        begin(held, {2 + i: 2 + i for i in range(n_more)}, 1e9, 0)
    starts, amounts = np.array([0, 0, 1, 1]), np.array([60.0 / weight for weight in weights])
    assert batch.start_and_resolve(starts, amounts, 0, 2, 0, *held) == (2, 30)
    found = rates(held)
    assert [found[i] * weight for i, weight in enumerate(weights)] == [1.0, 2.0]
    assert ended(held, 30) == [1]
    assert begin(held, {}, 1.0, 30) == 40
    assert ended(held, 40) == [0]


def ended(held: State, now: int) -> list[int]:
    idents = np.zeros(500, dtype=np.int64)
    return sorted(idents[: batch.pop_ended(idents, now, *held)].tolist())


def ends(held: State) -> list[int]:
    """Ticks at which activities in service end."""
    slots = opened_in_python(held).slot.reshape(-1, 8)
    return [int(end) for end in slots[slots[:, state.KIND] != NONE, state.END]]


def n_seen(held: State, stamp_before: int) -> int:
    """Resources that solutions looked at since."""
    seen = opened_in_python(held).resource.reshape(-1, 8)[:, state.SEEN]
    return int((seen > stamp_before).sum())


def stamp(held: State) -> int:
    return int(opened_in_python(held).counts[state.STAMP])


class Scene:
    """Activities that come and go on resources whose capacity changes, each step checked against a new solution."""

    def __init__(self, seed: int, n_resources: int, coefficients: Sequence[float], n_slots: int) -> None:
        self.draw = random.Random(seed)
        # Where many meet, components are large; where few do, they come apart and together again.
        self.usages = random_usages(self.draw, 150, n_resources, coefficients)
        self.capacity = [self.draw.choice(CAPACITIES[1:]) for _ in range(n_resources)]
        self.held = new_state(self.usages, self.capacity, n_slots, changing=range(n_resources))
        self.active: dict[int, int] = {}
        self.n_started = self.n_kept = self.now = 0
        self.end = NEVER

    def step(self, n_most: int) -> None:
        """Let some of three things happen in one tick: the next end, changes of capacity, starts."""
        what = self.draw.choices(["end", "start", "capacity", "all"], [4, 3, 1, 1])[0]
        before = rates(self.held)
        self.now = self.end if what in {"end", "all"} and self.end != NEVER else self.now + 1
        if self.end != NEVER:
            self.now = min(self.now, self.end)
        gone = ended(self.held, self.now)
        for ident in gone:
            del self.active[ident]
        if what in {"capacity", "all"}:
            for _ in range(self.draw.randint(1, 2)):
                resource = self.draw.randrange(len(self.capacity))
                self.capacity[resource] = self.draw.choice(CAPACITIES)
                batch.set_capacity(resource, self.capacity[resource], *self.held)
        coming = self.draw.randint(1, 3) if what in {"start", "all"} and len(self.active) < n_most else 0
        for _ in range(coming):
            self.active[self.n_started] = self.draw.randrange(len(self.usages))
            self.start(self.n_started)
            self.n_started += 1
        self.end = begin(self.held, {}, 1.0, self.now)
        self.check(before)

    def start(self, ident: int) -> None:
        starts, amounts = np.array([ident, self.active[ident]]), np.array([self.draw.uniform(50.0, 500.0)])
        while batch.start_and_resolve(starts, amounts, 0, 1, self.now, *self.held)[0] == 0:
            self.held = with_more_slots(self.held)

    def check(self, before: dict[int, float]) -> None:
        found = rates(self.held)
        assert found.keys() == self.active.keys()
        fresh = new_state(self.usages, self.capacity, 200, changing=range(len(self.capacity)))
        begin(fresh, self.active, 1e6, 0)
        expected = rates(fresh)
        for ident, rate in found.items():
            assert math.isclose(rate, expected[ident], rel_tol=1e-12, abs_tol=1e-14)
        self.n_kept += sum(before.get(ident) == rate for ident, rate in found.items())
        due = [end for end in ends(self.held) if end != NEVER]
        assert self.end == min(due, default=NEVER)


@pytest.mark.parametrize("coefficients", [(1.0,), COEFFICIENTS])
@pytest.mark.parametrize(("n_resources", "n_most"), [(12, 60), (40, 150), (60, 45)])
def test_change_by_change_is_as_from_scratch(coefficients: Sequence[float], n_resources: int, n_most: int) -> None:
    scene = Scene(n_resources, n_resources, coefficients, n_slots=16)
    for _ in range(n_most):
        scene.active[scene.n_started] = scene.draw.randrange(150)
        scene.start(scene.n_started)
        scene.n_started += 1
    scene.end = begin(scene.held, {}, 1.0, 0)
    for _ in range(150):
        scene.step(n_most)
    assert scene.n_started > n_most + 20
    assert scene.n_kept > 1000


def chain(n_links: int, n_flows: int) -> list[Usage]:
    """Flows over two links in a row: all in one component."""
    return [[(i % (n_links - 1), 1.0), (i % (n_links - 1) + 1, 1.0)] for i in range(n_flows)]


@pytest.mark.parametrize("n_links", [60, 6000])
@pytest.mark.parametrize("n_flows", [9, 90])
def test_a_change_costs_as_much_as_its_component(n_links: int, n_flows: int) -> None:
    near, far = chain(10, n_flows), [[(r, 1.0), (r + 1, 1.0)] for r in range(10, n_links - 1)]
    held = new_state([*near, *far], [2.0 + i % 7 for i in range(n_links)], n_flows + len(far), changing=range(n_links))
    begin(held, {i: i for i in range(n_flows, n_flows + len(far))}, 1e9, 0)
    before = stamp(held)
    end = begin(held, {i: i for i in range(n_flows)}, 10.0 + n_flows, 0)
    assert n_seen(held, before) == 10
    before = stamp(held)
    assert ended(held, end)
    begin(held, {}, 1.0, end)
    assert 1 <= n_seen(held, before) <= 10


def test_who_is_slower_than_what_ended_is_not_looked_at() -> None:
    # Hosts with links of rate 1, 2, 3, ...; each sends over its own link and one hop of a backbone, to the next.
    n = 100
    usages = [[(i, 1.0), (n + i, 1.0), (n + (i + 1) % n, 1.0)] for i in range(n)]
    capacity = [*(float(i + 1) for i in range(n)), *[1e6] * n]
    held = new_state(usages, capacity, n, changing=range(2 * n))
    end = begin(held, {i: i for i in range(n)}, 1e6, 0)
    assert end == 10**4
    before, rates_before = stamp(held), rates(held)
    assert ended(held, end) == [99]
    begin(held, {}, 1.0, end)
    # The three links of what ended, and none of its neighbours'.
    assert n_seen(held, before) <= 3
    assert rates(held) == {ident: rate for ident, rate in rates_before.items() if ident != 99}


def test_a_scan_and_the_heap_agree_to_the_bit() -> None:
    # Two components alike, but one has more members: FEW decides which way it is solved.
    draw = random.Random(5)
    for _ in range(30):
        usages = random_usages(draw, FEW - 2, 12, (1.0,))
        capacity = [draw.choice(CAPACITIES[1:]) for _ in range(12)]
        # A free link through all and more who use it: the same rates for the others.
        joined = [[*usage, (12, 1.0)] for usage in usages]
        more = [[(12, 1.0), (13, 1.0)]] * 10
        few = solved(joined, [*capacity, 1e6, 1.0], may_change=True)
        many = solved([*joined, *more], [*capacity, 1e6, 1.0], may_change=True)
        np.testing.assert_array_equal(few, many[: len(few)])


def test_rates_in_a_large_component_do_not_depend_on_slots_or_on_who_starts_first() -> None:
    draw = random.Random(11)
    usages = random_usages(draw, 120, 30, COEFFICIENTS)
    capacity = [draw.choice(CAPACITIES[1:]) for _ in range(30)]
    expected = solved(usages, capacity, may_change=True)
    held = new_state(usages, capacity, 200, changing=range(30))
    order = list(range(120))
    draw.shuffle(order)
    begin(held, {i: i for i in order}, 1e6, 0)
    found = rates(held)
    assert [found[i] for i in range(120)] == expected


@pytest.mark.parametrize("shared", [1.0, 1e6])
def test_few_that_many_join_are_all_watched(shared: float) -> None:
    # Many on links 0 and 1, of which 0 is full; then two on link 1, of which the heap of ends has the first alone; then
    # many join that one on link 2, so that the other, which shares nothing with them, ends before it.
    usages: list[Usage] = [[(0, 1.0), (1, 1.0)], [(1, 1.0), (2, 1.0)], [(1, 1.0), (3, 1.0)], [(2, 1.0), (4, 1.0)]]
    held = new_state(usages, [0.5, shared, 1.0, 1.0, 1e6], 100, changing=range(5))
    end = begin(held, dict.fromkeys(range(40), 0), 1.0, 0)
    assert len(ended(held, end)) == 40
    begin(held, {40: 1}, 100.0, end)
    begin(held, {41: 2}, 101.0, end)
    batch.set_capacity(3, 1.0, *held)
    begin(held, {}, 1.0, end)
    counts = opened_in_python(held).counts
    assert counts[state.N_HEAP] == 1
    assert begin(held, dict.fromkeys(range(50, 90), 3), 1e6, end) == min(ends(held))
    assert counts[state.N_HEAP] == 42
    assert ended(held, min(ends(held))) == [41]
