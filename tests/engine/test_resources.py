"""Devices and links as what they are, SimPy resources: used by processes that nobody lowered from a plan."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from simpy.events import AllOf, Event
from simpy.resources import base

from hetsim.engine.clock import Clock
from hetsim.engine.fluid import Fluid
from hetsim.engine.resources import Activity, Device, Latency, Link, Resource, Shared, SharedDevice
from hetsim.engine.settle import Settlement
from hetsim.model.plan import CapacityChange


@dataclass
class OneUse:
    """Wake who waits, and note when."""

    settlement: Settlement
    home: Shared | None
    kind: int
    ticks: int = 0
    ends: list[int] = field(default_factory=list)

    def end(self, activity: Activity, now: int) -> None:
        self.ends.append(now)
        self.settlement.wake(activity)


class Bench:
    """A clock and resources, each of which is one kind of use."""

    def __init__(self, *kinds: type[Shared], changes: Sequence[CapacityChange] = (), n_slots: int = 64) -> None:
        self.clock = Clock()
        fluid = Fluid(
            [((index, 1.0),) for index in range(len(kinds))],
            [1.0] * len(kinds),
            n_slots,
            {change.resource for change in changes},
        )
        self.settlement = Settlement(self.clock, fluid, ["counter"], changes)
        self.resources = [kind(self.clock, self.settlement, kind.__name__) for kind in kinds]
        self.latency = Latency(self.clock, self.settlement, "latency")
        self.n_activities = 0

    def use(self, index: int, amount: float, latency: int = 0) -> Activity:
        home = self.resources[index]
        self.n_activities += 1
        use = OneUse(self.settlement, home, index, latency)
        return Activity(self.latency if latency else home, use, amount, self.n_activities, self.clock.tick)

    def delay(self, ticks: int) -> Activity:
        self.n_activities += 1
        use = OneUse(self.settlement, None, -1, ticks)
        return Activity(self.latency, use, 0.0, self.n_activities, self.clock.tick)


@pytest.mark.parametrize("kind", [Device, SharedDevice, Link, Latency])
def test_each_is_a_simpy_resource(kind: type[Resource]) -> None:
    assert issubclass(kind, base.BaseResource)
    assert issubclass(Activity, base.Put)


def test_a_process_of_ones_own_may_use_a_resource_at_any_time() -> None:
    bench, log = Bench(Device, Link), []

    def late() -> Iterator[Event]:
        yield bench.clock.timeout(7)
        yield bench.use(0, 5.0)
        log.append(("work", bench.clock.tick))
        yield bench.use(1, 20.0, latency=3)
        log.append(("transfer", bench.clock.tick))

    def other() -> Iterator[Event]:
        # Begins while nothing is settled until tick 12, and shares the link from tick 20 on.
        yield bench.clock.timeout(9)
        yield bench.delay(0)
        yield bench.delay(11)
        yield bench.use(1, 4.0)
        log.append(("other", bench.clock.tick))

    bench.clock.process(late())
    bench.clock.process(other())
    bench.clock.run()
    # The transfer moves 5 alone from tick 15 on, 4 in 8 ticks beside the other one, and the 11 that are left.
    assert log == [("work", 12), ("other", 28), ("transfer", 39)]
    assert bench.settlement.n_events == 6


def test_an_activity_is_an_event_like_any_other() -> None:
    bench, log = Bench(Device, SharedDevice), []

    def both() -> Iterator[Event]:
        yield AllOf(bench.clock, [bench.use(0, 5.0), bench.use(1, 9.0)])
        log.append(bench.clock.tick)
        yield bench.use(0, 1.0) | bench.use(1, 100.0)
        log.append(bench.clock.tick)

    bench.clock.process(both())
    bench.clock.run()
    assert log == [9, 10]
    assert bench.clock.tick == 109


def test_a_clock_may_stop_on_the_way() -> None:
    bench = Bench(Link)
    first, second = bench.use(0, 10.0), bench.use(0, 30.0)
    bench.clock.run(until=15)
    assert (first.processed, bench.clock.tick) == (False, 15)
    assert bench.clock.run(until=first) is None
    assert bench.clock.tick == 20
    bench.clock.run()
    assert (second.processed, bench.clock.tick) == (True, 40)


def test_a_device_serves_by_arrival_and_then_by_order_and_forgets_who_gave_up() -> None:
    bench, log = Bench(Device), []
    device = bench.resources[0]
    ends: list[str] = []

    def note(name: str) -> Callable[[Event], None]:
        return lambda _event: ends.append(f"{name} at {bench.clock.tick}")

    def arrivals() -> Iterator[Event]:
        for name in ("a", "b", "c"):
            activity = bench.use(0, 4.0)
            activity.order = 10 - activity.order  # last come of a tick, first served
            activity.callbacks.append(note(name))
        yield bench.clock.timeout(1)
        log.append(len(device.put_queue))
        late = bench.use(0, 4.0)
        late.order = 0
        late.callbacks.append(note("late"))
        device.put_queue[0].cancel()
        log.append(len(device.put_queue))

    bench.clock.process(arrivals())
    bench.clock.run()
    assert log == [2, 2]
    assert ends == ["c at 4", "a at 8", "late at 12"]


def test_a_device_whose_only_guest_gave_up_at_once_stays_free() -> None:
    bench = Bench(Device)
    bench.use(0, 4.0).cancel()
    bench.clock.run()
    assert bench.clock.tick == 0
    activity = bench.use(0, 4.0)
    bench.clock.run()
    assert (activity.processed, bench.clock.tick) == (True, 4)


@pytest.mark.parametrize("n_slots", [1, 2, 64])
def test_slots_double_when_they_run_out(n_slots: int) -> None:
    bench = Bench(Link, n_slots=n_slots)
    activities = [bench.use(0, float(i + 1)) for i in range(9)]
    bench.clock.run(until=3)
    activities += [bench.use(0, 100.0) for _ in range(5)]
    bench.clock.run()
    assert all(activity.processed for activity in activities)
    # Never idle; an end is rounded up to a tick, one for each activity at most.
    assert 545 <= bench.clock.tick <= 545 + 14


def test_changes_of_capacity_wait_for_nobody() -> None:
    changes = [CapacityChange(tick=tick, resource=0, capacity=rate) for tick, rate in ((4, 0.0), (10, 2.0))]
    bench = Bench(Link, changes=changes)
    activity = bench.use(0, 10.0)
    bench.clock.run()
    assert activity.processed
    assert bench.clock.tick == 13
