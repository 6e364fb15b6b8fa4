"""SimPy's environment with an integer clock."""

from heapq import heappush

from simpy.core import Environment
from simpy.events import Event, EventPriority

from hetsim.errors import SimulationError
from hetsim.units import MAX_TICKS, to_seconds


class Clock(Environment):
    """A SimPy environment whose time is an integer number of ticks."""

    _now: int

    @property
    def tick(self) -> int:
        """Present tick."""
        return self._now

    def schedule_at(self, event: Event, priority: EventPriority, tick: int) -> None:
        """Schedule an event at a tick instead of after a delay.

        Parameters
        ----------
        event : Event
            Triggered.
        priority : EventPriority
            Among the events of that tick.
        tick : int
            Not in the past.
        """
        heappush(self._queue, (tick, priority, next(self._eid), event))


def too_long(now: int) -> SimulationError:
    """Return the error of a simulation that the clock cannot count.

    Parameters
    ----------
    now : int
        Tick at which that shows.

    Returns
    -------
    SimulationError
        To be raised.
    """
    days = to_seconds(MAX_TICKS) / 86400
    return SimulationError(
        f"this goes on for more than {days:.0f} days, the most that the clock can count: ask for fewer steps",
        to_seconds(now),
    )
