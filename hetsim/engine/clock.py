"""SimPy's environment with an integer clock."""

from simpy.core import Environment

from hetsim.errors import SimulationError
from hetsim.units import MAX_TICKS, to_seconds


class Clock(Environment):
    """A SimPy environment whose time is an integer number of ticks."""

    @property
    def tick(self) -> int:
        """Present tick."""
        return int(self._now)


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
