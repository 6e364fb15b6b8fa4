"""All things that happen at one tick, in one order that no process can influence.

SimPy runs the processes of a tick first; they only leave requests here. One settlement, an event of the lowest priority
of the tick, then applies capacity changes, completions, pushes, grants and starts, in that order, until no work of zero
time is left, and re-solves the components that changed. A process that it wakes runs at the same tick and leads to
another settlement.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, Protocol

from simpy.events import Event, EventPriority

from hetsim.engine.clock import Clock, too_long
from hetsim.engine.fluid import NEVER, Fluid
from hetsim.engine.resources import BY_ORDER, Activity, Device, Order
from hetsim.kernels import memory
from hetsim.model.plan import CapacityChange
from hetsim.units import MAX_TICKS

_LAST = EventPriority(9)
"""SimPy priority of a settlement: after every process of the tick (SimPy itself uses 0 and 1)."""

_ORDER_OF_WAITING = itemgetter(1)


class Asking(Protocol):
    """Who wants something of a counter that others want too."""

    def try_to_serve(self, event: Event) -> bool:
        """Take it if it is there, let the event happen, and return whether that was so."""


class Counter:
    """A number that rises, and who waits for it.

    Parameters
    ----------
    name : str
        For messages.

    Attributes
    ----------
    value : int
        Rises so far; of an accumulator, since gradients were collected last.
    version : int
        Of an accumulator: how often gradients were collected.
    n_dropped : int
        Pushes to an accumulator at an earlier version.
    n_taken : int
        Of a queue of tokens: how many are gone.
    """

    __slots__ = ("asking", "n_dropped", "n_taken", "name", "value", "version", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.value = 0
        self.version = 0
        self.n_dropped = 0
        self.n_taken = 0
        self.waiting: list[tuple[int, Order, Event]] = []
        self.asking: list[tuple[int, Order, Event, Asking]] = []

    def hold(self, threshold: int, order: Order, event: Event) -> None:
        """Let an event wait until the counter is high enough.

        Parameters
        ----------
        threshold : int
            Value waited for, above the present one.
        order : Order
            Who waits.
        event : Event
            Triggered then.
        """
        heappush(self.waiting, (threshold, order, event))

    def serve(self) -> None:
        """Give those who ask what there is for them, who asked first and by order within a batch first."""
        asking = self.asking
        while asking and asking[0][3].try_to_serve(asking[0][2]):
            heappop(asking)


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

    Attributes
    ----------
    n_awaited : int
        Programs that have not ended, where there are others that are not waited for; negative where there are none.
    n_iterations : int
        Iterations that such programs have ended.
    """

    def __init__(self, env: Clock, fluid: Fluid, counters: Sequence[str], changes: Sequence[CapacityChange]) -> None:
        self.counters = [Counter(name) for name in counters]
        self.n_events = 0
        self.n_awaited = -1
        self.n_iterations = 0
        self._n_events_seen, self._n_iterations_seen = 0, -1
        self._env = env
        self._fluid = fluid
        self._changes = list(reversed(changes))
        self._touched: dict[Device, None] = {}
        self._admitted: list[Activity] = []
        self._starting: list[Activity] = []
        self._done: list[Activity] = []
        self._pushes: list[Counter] = []
        self._asked: dict[Counter, None] = {}
        self._n_batches = 0
        self._timers: list[tuple[int, Order, Activity]] = []
        self._next_end = NEVER
        self._pending = NEVER
        self._is_due = False
        self._woken = False
        # One event serves all settlements: each puts it back into the state in which SimPy takes it from its queue.
        self._callbacks: list[Callable[[Any], None]] = [self._settle]
        self._event = Event(env)
        self._event.callbacks = self._callbacks
        self._event._ok, self._event._value = True, None

    def touch(self, device: Device) -> None:
        """Let a device grant in the settlement of this tick.

        Parameters
        ----------
        device : Device
            With something in its queue.
        """
        self._touched[device] = None
        if not self._is_due:
            self.start()

    def admit(self, activity: Activity) -> None:
        """Start an activity in the settlement of this tick.

        Parameters
        ----------
        activity : Activity
            Granted by its resource.
        """
        self._admitted.append(activity)
        if not self._is_due:
            self.start()

    def push(self, counter: Counter) -> None:
        """Raise a counter in the settlement of this tick.

        Parameters
        ----------
        counter : Counter
            One of `counters`.
        """
        self._pushes.append(counter)
        if not self._is_due:
            self.start()

    def ask(self, counter: Counter, order: Order, event: Event, who: Asking) -> None:
        """Want something of a counter in the settlement of this tick, or later.

        Parameters
        ----------
        counter : Counter
            One of `counters`.
        order : Order
            Of who wants it.
        event : Event
            Happens when it is there.
        who : Asking
            Takes it.
        """
        heappush(counter.asking, (self._n_batches, order, event, who))
        self._asked[counter] = None
        if not self._is_due:
            self.start()

    def hold(self, activity: Activity, until: int) -> None:
        """Let a message through at its time.

        Parameters
        ----------
        activity : Activity
            In its latency.
        until : int
            Tick.
        """
        heappush(self._timers, (until, activity.order, activity))
        if not self._is_due:
            self.start()

    def wake(self, event: Event) -> None:
        """Let the process that waits for an event go on, at the tick of the settlement under way.

        Parameters
        ----------
        event : Event
            Not triggered yet.
        """
        event.succeed()
        self._woken = True

    def start(self) -> None:
        """Let a settlement come at this tick; the one under way is one of its tick."""
        self._is_due = True
        self._schedule(self._env.tick)

    def _schedule(self, tick: int) -> None:
        """Let a settlement come at a tick or before."""
        if tick >= self._pending:
            return
        if tick >= MAX_TICKS:
            raise too_long(self._env.tick)
        self._pending = tick
        self._env.schedule_at(self._event, _LAST, tick)

    def _settle(self, event: Event) -> None:
        event.callbacks = self._callbacks
        now = self._env.tick
        if self._pending != now:
            return  # an earlier settlement was wanted after this one was scheduled, and has done its work
        self._is_due = True
        self._woken = False
        if self._changes:
            self._change(now)
        self._n_batches += 1
        self._complete(now)
        while self._pushes or self._asked or self._touched or self._admitted:
            if self._pushes or self._asked:
                self._settle_pushes()
            if self._touched:
                self._grant()
            if self._admitted:
                self._start()
            if self._done:
                self._complete(now)
        self._pending = NEVER
        self._is_due = self._woken
        if self.n_awaited >= 0 and not self._woken and self._is_over():
            return
        self._schedule(now if self._woken else self._next_tick(now))

    def _is_over(self) -> bool:
        """Return whether only what is in the background goes on, without end."""
        if self.n_awaited == 0:
            return True
        if self.n_events - self._n_events_seen <= memory.MOST_UNAWAITED:
            return False
        n_before, self._n_iterations_seen = self._n_iterations_seen, self.n_iterations
        self._n_events_seen = self.n_events
        return self._n_iterations_seen == n_before

    def _change(self, now: int) -> None:
        while self._changes and self._changes[-1].tick <= now:
            change = self._changes.pop()
            self._fluid.set_capacity(change.resource, change.capacity)

    def _complete(self, now: int) -> None:
        """End what is due: transfers and work, then messages on their way."""
        done, self._done = self._done, []
        if self._next_end <= now:
            done += self._fluid.pop_ended(now)
            self._next_end = NEVER
        for activity in done:
            self.n_events += 1
            activity.resource.release()
            activity.use.end(activity, now)
        timers = self._timers
        while timers and timers[0][0] <= now:
            self.n_events += 1
            heappop(timers)[2].pass_on(now)

    def _settle_pushes(self) -> None:
        pushes, self._pushes = self._pushes, []
        self.n_events += len(pushes)
        ready: list[tuple[int, Order, Event]] = []
        for counter in pushes:
            counter.value += 1
            waiting = counter.waiting
            while waiting and waiting[0][0] <= counter.value:
                ready.append(heappop(waiting))
            if counter.asking:
                self._asked[counter] = None
        if self._asked:
            asked, self._asked = self._asked, {}
            for counter in asked:
                counter.serve()
        if len(ready) > 1:
            ready.sort(key=_ORDER_OF_WAITING)
        for _, _, event in ready:
            event.succeed()
            self._woken = True

    def _grant(self) -> None:
        devices, self._touched = self._touched, {}
        for device in devices:
            device.grant()

    def _start(self) -> None:
        admitted, self._admitted = self._admitted, []
        if len(admitted) > 1:
            admitted.sort(key=BY_ORDER)
        for activity in admitted:
            if activity.amount > 0.0:
                self._starting.append(activity)
            else:
                self._done.append(activity)

    def _next_tick(self, now: int) -> int:
        """Solve again what changed, and return the tick of the next thing that happens."""
        tick = self._next_end = self._fluid.resolve(self._starting, now)
        self._starting.clear()
        if self._timers and self._timers[0][0] < tick:
            tick = self._timers[0][0]
        if self._changes and self._changes[-1].tick < tick:
            tick = self._changes[-1].tick
        return tick
