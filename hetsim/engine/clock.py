"""SimPy's environment with an integer clock."""

from simpy.core import Environment


class Clock(Environment):
    """A SimPy environment whose time is an integer number of ticks."""

    @property
    def tick(self) -> int:
        """Present tick."""
        return int(self._now)
