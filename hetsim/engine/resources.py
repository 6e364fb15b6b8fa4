"""GPUs, CPUs and links as SimPy resources, and the activities that use them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from simpy.resources import base

from hetsim.engine.clock import Clock

if TYPE_CHECKING:
    from hetsim.engine.settle import Settlement

Order = int
"""Instruction of the plan, then iteration, as one number: the order in which things of one tick happen."""

ITERATION_BITS = 31
"""Low bits of an order that hold the iteration."""

Usage = tuple[tuple[int, float], ...]
"""Resources of an activity, each with its use for one unit of progress."""


class Activity(base.Put["Shared"]):
    """Use of one or more resources until an amount is done; as a SimPy event it triggers at its end.

    Parameters
    ----------
    resource : Shared
        Where it queues; for a transfer the first link.
    kind : int
        Which resources it uses, an index into the usages of its simulation.
    amount : float
        Device ticks of work, or bytes.
    order : Order
        Its place among the things of one tick.
    on_end : callable or None
        Called at its end; None where a process waits for the event.
    """

    def __init__(
        self,
        resource: "Shared",
        *,
        kind: int,
        amount: float,
        order: Order,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self.kind = kind
        self.amount = amount
        self.order = order
        self.on_end = on_end
        self.home = resource
        self.arrived = resource.clock.tick
        super().__init__(resource)


class Shared(base.BaseResource[Activity, base.Get["Shared"]]):
    """A resource whose activities are served all at once and share its capacity max-min fairly.

    Parameters
    ----------
    env : Clock
        Clock.
    settlement : Settlement
        Where activities are admitted: the resource itself grants nothing outside a settlement.
    name : str
        For messages.
    limit : float
        How many activities are served at once.
    """

    def __init__(self, env: Clock, settlement: "Settlement", name: str, limit: float = float("inf")) -> None:
        super().__init__(env, limit)
        self.clock = env
        self.name = name
        self.n_served = 0
        self._settlement = settlement

    def _trigger_put(self, _get_event: object) -> None:
        """Ask for a settlement instead of granting at once, so that the order of processes cannot matter."""
        if self.put_queue:
            self._settlement.touch(self)

    def _do_put(self, event: Activity) -> bool:
        """Admit an activity if there is room."""
        if self.n_served >= self._capacity:
            return False
        self.n_served += 1
        self._settlement.admit(event)
        return True

    def grant(self) -> None:
        """Admit what waits, by order, while there is room."""
        self.put_queue = sorted(self.put_queue, key=_order_of)
        while self.put_queue and self._do_put(self.put_queue[0]):
            self.put_queue.pop(0)

    def release(self) -> None:
        """Let one activity go; what waits is granted in the same settlement."""
        self.n_served -= 1
        if self.put_queue:
            self._settlement.touch(self)


class Device(Shared):
    """A GPU: one activity at a time, first come first served."""

    def __init__(self, env: Clock, settlement: "Settlement", name: str) -> None:
        super().__init__(env, settlement, name, limit=1)


class SharedDevice(Shared):
    """A CPU, or the power budget of a card: all activities at once."""


class Link(Shared):
    """One direction of a link: all transfers at once."""


class Passage(base.Put["Latency"]):
    """A message on its way through a latency; as a SimPy event it triggers when it is through.

    Parameters
    ----------
    resource : Latency
        What it passes.
    ticks : int
        How long.
    order : Order
        Its place among the things of one tick.
    then : callable or None
        Called at the end; None where a process waits for the event.
    """

    def __init__(self, resource: "Latency", *, ticks: int, order: Order, then: Callable[[], None] | None) -> None:
        self.ticks = ticks
        self.order = order
        self.then = then
        self.arrived = resource.clock.tick
        super().__init__(resource)


class Latency(base.BaseResource[Passage, base.Get["Latency"]]):
    """The delay of a way: any number of messages at once, each held for its own time.

    Parameters
    ----------
    env : Clock
        Clock.
    settlement : Settlement
        Where messages are taken in and let out.
    """

    def __init__(self, env: Clock, settlement: "Settlement") -> None:
        super().__init__(env, float("inf"))
        self.clock = env
        self._settlement = settlement

    def _trigger_put(self, _get_event: object) -> None:
        """Ask for a settlement instead of taking the message in at once."""
        if self.put_queue:
            self._settlement.touch(self)

    def grant(self) -> None:
        """Take in every message, by order."""
        for passage in sorted(self.put_queue, key=_order_of):
            self._settlement.hold(passage)
        self.put_queue.clear()


def _order_of(event: Activity | Passage) -> tuple[int, Order]:
    return event.arrived, event.order
