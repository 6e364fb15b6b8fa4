"""GPUs, CPUs, links and latencies as SimPy resources, and the activities that use them."""

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from simpy.resources import base

from hetsim.engine.clock import Clock

if TYPE_CHECKING:
    from hetsim.engine.settle import Settlement

Order = int
"""Instruction of the plan, then iteration, as one number: the order in which things of one tick happen."""

ITERATION_BITS = 31
"""Low bits of an order that hold the iteration."""

BY_ORDER = attrgetter("order")
"""Sorts activities."""

_BY_ARRIVAL = attrgetter("arrived", "order")

Usage = tuple[tuple[int, float], ...]
"""Resources of an activity, each with its use for one unit of progress."""


class Use(Protocol):
    """What all activities of one instruction have in common."""

    @property
    def home(self) -> "Shared | None":
        """Where work queues, or the first link of a transfer; None where there is only a latency."""

    @property
    def kind(self) -> int:
        """All the resources, an index into the usages of the simulation."""

    @property
    def ticks(self) -> int:
        """How long a latency holds each before."""

    def end(self, activity: "Activity", now: int) -> None:
        """Do what follows when one is over, at a tick."""


class Activity(base.Put["Resource"]):
    """Use of one or more resources until an amount is done; a SimPy event, for a process that waits for its end.

    Parameters
    ----------
    resource : Resource
        Where it begins.
    use : Use
        Of what, and what follows.
    amount : float
        Device ticks of work, or bytes.
    order : Order
        Its place among the things of one tick.
    now : int
        Present tick.
    """

    def __init__(self, resource: "Resource", use: Use, amount: float, order: Order, now: int) -> None:
        # As SimPy's own events do, without the constructors of the parents. Nothing is ever got out of these resources,
        # so that there is nobody to tell that something was put in.
        self.env = resource.clock
        self.callbacks = []
        self.resource = resource
        self.use = use
        self.amount = amount
        self.order = order
        self.arrived = now
        resource.take(self)

    def pass_on(self, now: int) -> None:
        """Leave a latency.

        Parameters
        ----------
        now : int
            Tick.
        """
        home = self.use.home
        if home is None:
            self.use.end(self, now)
        else:
            self.resource = home
            self.arrived = now
            home.take(self)


class Resource(base.BaseResource[Activity, Any]):
    """What activities can be put into.

    Parameters
    ----------
    env : Clock
        Clock.
    settlement : Settlement
        Where activities start and end: nothing does outside it, so that the order of processes cannot matter.
    name : str
        For messages.
    limit : float
        How many activities are served at once.
    """

    def __init__(self, env: Clock, settlement: "Settlement", name: str, limit: float = float("inf")) -> None:
        super().__init__(env, limit)
        self.clock = env
        self.name = name
        self._settlement = settlement

    def take(self, activity: Activity) -> None:
        """Let an activity in.

        Parameters
        ----------
        activity : Activity
            That uses this resource.
        """
        raise NotImplementedError(self)

    def release(self) -> None:
        """Let one activity go."""


class Latency(Resource):
    """The delay of a way: any number of messages at once, each held for its own time."""

    def take(self, activity: Activity) -> None:
        """Hold a message.

        Parameters
        ----------
        activity : Activity
            The message.
        """
        self._settlement.hold(activity, activity.arrived + activity.use.ticks)


class Shared(Resource):
    """A resource whose activities are served all at once and share its capacity max-min fairly."""

    def take(self, activity: Activity) -> None:
        """Serve an activity; none has to queue.

        Parameters
        ----------
        activity : Activity
            That uses this resource.
        """
        self._settlement.admit(activity)


class Device(Shared):
    """A GPU: one activity at a time, first come first served."""

    put_queue: list[Activity]

    def __init__(self, env: Clock, settlement: "Settlement", name: str) -> None:
        super().__init__(env, settlement, name, limit=1)
        self._is_busy = False

    def take(self, activity: Activity) -> None:
        """Let an activity queue.

        Parameters
        ----------
        activity : Activity
            That uses this device.
        """
        self.put_queue.append(activity)
        self._settlement.touch(self)

    def release(self) -> None:
        """Let the activity go; what waits is granted in the same settlement."""
        self._is_busy = False
        if self.put_queue:
            self._settlement.touch(self)

    def grant(self) -> None:
        """Serve the first in the queue, by arrival and order, if nothing is served."""
        if self._is_busy or not self.put_queue:
            return
        if len(self.put_queue) > 1:
            self.put_queue.sort(key=_BY_ARRIVAL)
        self._is_busy = True
        self._settlement.admit(self.put_queue.pop(0))


class SharedDevice(Shared):
    """A CPU, or the power budget of a card: all activities at once."""


class Link(Shared):
    """One direction of a link: all transfers at once."""
