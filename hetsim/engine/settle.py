"""All things that happen at one tick, in one order that no process can influence.

SimPy runs the processes of a tick first; they only leave requests here. One settlement, an event of the lowest priority
of the tick, then applies capacity changes, completions, pushes, grants and starts, in that order, until no work of zero
time is left, and re-solves the components that changed. A process that it wakes runs at the same tick and leads to
another settlement.
"""

import heapq
from collections.abc import Callable, Sequence

from simpy.events import Event, EventPriority

from hetsim.engine.clock import Clock, too_long
from hetsim.engine.fluid import Fluid
from hetsim.engine.resources import Activity, Latency, Order, Passage, Shared
from hetsim.model.plan import CapacityChange
from hetsim.units import MAX_TICKS

_LAST = EventPriority(9)
"""SimPy priority of a settlement: after every process of the tick (SimPy itself uses 0 and 1)."""


class Counter:
    """A number that rises, and who waits for it.

    Parameters
    ----------
    name : str
        For messages.
    """

    __slots__ = ("name", "value", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value = 0
        self.waiting: list[tuple[int, Order, Event]] = []


class Settlement:
    """The batch of each tick.

    Parameters
    ----------
    env : Clock
        Clock, in ticks.
    fluid : Fluid
        Activities in service.
    counters : sequence of str
        Their names.
    changes : sequence of CapacityChange
        In order of time.
    """

    def __init__(self, env: Clock, fluid: Fluid, counters: Sequence[str], changes: Sequence[CapacityChange]) -> None:
        self.counters = [Counter(name) for name in counters]
        self.n_events = 0
        self._env = env
        self._fluid = fluid
        self._changes = list(reversed(changes))
        self._touched: dict[Shared | Latency, None] = {}
        self._admitted: list[Activity] = []
        self._done: list[Activity] = []
        self._pushes: list[tuple[Order, int]] = []
        self._timers: list[tuple[int, Order, int, Passage]] = []
        self._n_timers = 0
        self._pending: int | None = None
        self._woken = False

    def touch(self, resource: Shared | Latency) -> None:
        """Let a resource grant in the settlement of this tick.

        Parameters
        ----------
        resource : Shared or Latency
            With something in its queue.
        """
        self._touched[resource] = None
        self._schedule(self._env.tick)

    def admit(self, activity: Activity) -> None:
        """Start an activity in this settlement.

        Parameters
        ----------
        activity : Activity
            Granted by its resource.
        """
        self._admitted.append(activity)

    def push(self, counter: int, order: Order) -> None:
        """Raise a counter in the settlement of this tick.

        Parameters
        ----------
        counter : int
            Index.
        order : Order
            Who pushes.
        """
        self._pushes.append((order, counter))
        self._schedule(self._env.tick)

    def hold(self, passage: Passage) -> None:
        """Let a message through after its time.

        Parameters
        ----------
        passage : Passage
            Taken in at this tick.
        """
        heapq.heappush(self._timers, (passage.arrived + passage.ticks, passage.order, self._n_timers, passage))
        self._n_timers += 1

    def reach(self, counter: int, threshold: int, order: Order) -> Event:
        """Return an event that triggers when a counter is at least `threshold`.

        Parameters
        ----------
        counter : int
            Index.
        threshold : int
            Value waited for, above the present one.
        order : Order
            Who waits.

        Returns
        -------
        Event
            Not triggered yet.
        """
        event = Event(self._env)
        self.counters[counter].waiting.append((threshold, order, event))
        return event

    def start(self) -> None:
        """Schedule the first settlement."""
        self._schedule(self._env.tick)

    def _schedule(self, tick: int) -> None:
        if self._pending is not None and self._pending <= tick:
            return
        if tick >= MAX_TICKS:
            raise too_long(self._env.tick)
        self._pending = tick
        event = Event(self._env)
        event._ok, event._value = True, None
        event.callbacks.append(self._settle)
        self._env.schedule(event, _LAST, tick - self._env.tick)

    def _settle(self, _event: Event) -> None:
        now = self._env.tick
        if self._pending is None or self._pending > now:
            return  # an earlier settlement was wanted after this one was scheduled, and has done its work
        self._pending = None
        self._woken = False
        self._change(now)
        self._complete(now)
        while self._pushes or self._touched:
            self._settle_pushes()
            self._grant(now)
            self._complete(now)
        if self._woken:
            self._schedule(now)
            return
        self._schedule_next(self._fluid.resolve(now))

    def _change(self, now: int) -> None:
        while self._changes and self._changes[-1].tick <= now:
            change = self._changes.pop()
            self._fluid.set_capacity(change.resource, change.capacity)

    def _complete(self, now: int) -> None:
        """End what is due: transfers and work, then messages on their way."""
        self._done += self._fluid.pop_ended(now)
        done, self._done = self._done, []
        for activity in done:
            activity.home.release()
            self._end(activity, activity.on_end)
        while self._timers and self._timers[0][0] <= now:
            passage = heapq.heappop(self._timers)[3]
            self._end(passage, passage.then)

    def _end(self, event: Activity | Passage, action: Callable[[], None] | None) -> None:
        self.n_events += 1
        if action is None:
            self._wake(event)
        else:
            action()

    def _wake(self, event: Event) -> None:
        event.succeed()
        self._woken = True

    def _settle_pushes(self) -> None:
        pushes, self._pushes = sorted(self._pushes), []
        raised: dict[int, None] = {}
        for _, index in pushes:
            self.counters[index].value += 1
            raised[index] = None
        self.n_events += len(pushes)
        ready: list[tuple[Order, Event]] = []
        for index in raised:
            counter = self.counters[index]
            if counter.waiting:
                ready += [(order, event) for least, order, event in counter.waiting if least <= counter.value]
                counter.waiting = [entry for entry in counter.waiting if entry[0] > counter.value]
        ready.sort(key=lambda entry: entry[0])
        for _, event in ready:
            self._wake(event)

    def _grant(self, now: int) -> None:
        resources, self._touched = self._touched, {}
        for resource in resources:
            resource.grant()
        admitted, self._admitted = sorted(self._admitted, key=lambda activity: activity.order), []
        for activity in admitted:
            if activity.amount > 0.0:
                self._fluid.add(activity, now)
            else:
                self._done.append(activity)

    def _schedule_next(self, next_end: int | None) -> None:
        due = [] if next_end is None else [next_end]
        if self._timers:
            due.append(self._timers[0][0])
        if self._changes:
            due.append(self._changes[-1].tick)
        if due:
            self._schedule(min(due))
