"""Activities in service: SimPy events on one side, the arrays of the kernel on the other."""

from collections.abc import Collection, Sequence

import numpy as np

from hetsim.engine.resources import BY_ORDER, Activity, Order, Usage
from hetsim.kernels import batch
from hetsim.kernels.state import NEVER as KERNEL_NEVER
from hetsim.kernels.state import new_state, with_more_slots

NEVER = 2**64
"""Where there is no next end: after any tick."""


class Fluid:
    """Rates and ends of all activities in service.

    Compiled code is entered once for all that starts at a tick, and once for all that ends at it: the way in costs as
    much as a small solution.

    Parameters
    ----------
    usages : sequence of Usage, shape (n_kinds,)
        What each kind of activity uses: one resource at least.
    capacities : sequence of float, shape (n_resources,)
        Amount per tick of each resource at tick 0.
    n_slots : int
        Room for so many activities at first; it doubles when it runs out.
    changing : collection of int
        Resources whose capacity changes.
    """

    def __init__(
        self, usages: Sequence[Usage], capacities: Sequence[float], n_slots: int, changing: Collection[int]
    ) -> None:
        self._usages = usages
        self._capacities = list(capacities)
        self._state = new_state(usages, capacities, n_slots, changing=changing)
        self._active: dict[Order, Activity] = {}
        self._next_end = NEVER
        self._is_touched = False
        self._make_buffers(n_slots)

    def _make_buffers(self, n_room: int) -> None:
        """Make room to pass activities in and out; Python writes to and reads from the views faster than the arrays."""
        self._n_room = n_room
        self._starts = np.zeros(batch.N_COLUMNS * n_room, dtype=np.int64)
        self._amounts = np.zeros(n_room)
        self._ended = np.zeros(n_room, dtype=np.int64)
        self._starts_view = self._starts.data.cast("B").cast("q")
        self._amounts_view = self._amounts.data.cast("B").cast("d")
        self._ended_view = self._ended.data.cast("B").cast("q")

    def set_capacity(self, resource: int, capacity: float) -> None:
        """Change a capacity from now on.

        Parameters
        ----------
        resource : int
            Index.
        capacity : float
            Amount per tick.
        """
        self._capacities[resource] = capacity
        batch.set_capacity(resource, capacity, *self._state)
        self._is_touched = True

    def pop_ended(self, now: int) -> list[Activity]:
        """Take the activities that end at this tick out of service.

        Parameters
        ----------
        now : int
            Tick.

        Returns
        -------
        list of Activity
            By order.
        """
        ended = []
        n_ended = self._n_room
        while n_ended == self._n_room:
            n_ended = batch.pop_ended(self._ended, now, *self._state)
            ended += [self._active.pop(ident) for ident in self._ended_view[:n_ended]]
        if len(ended) > 1:
            ended.sort(key=BY_ORDER)
        self._is_touched = True
        return ended

    def resolve(self, starting: Sequence[Activity], now: int) -> int:
        """Put activities in service, and solve again each component that was touched since the last time.

        Parameters
        ----------
        starting : sequence of Activity
            With positive amounts, by order.
        now : int
            Tick.

        Returns
        -------
        int
            Tick at which the next activity ends, or `NEVER`.
        """
        if starting:
            self._write(starting)
        elif not self._is_touched:
            return self._next_end
        self._is_touched = False
        n_started, n_starting = 0, len(starting)
        while True:
            n_started, end = batch.start_and_resolve(
                self._starts, self._amounts, n_started, n_starting, now, *self._state
            )
            if n_started == n_starting:
                self._next_end = NEVER if end == KERNEL_NEVER else end
                return self._next_end
            self._state = with_more_slots(self._state)

    def _write(self, starting: Sequence[Activity]) -> None:
        """Write down what is to be started."""
        if len(starting) > self._n_room:
            self._make_buffers(2 * len(starting))
        starts, amounts, i = self._starts_view, self._amounts_view, 0
        for n, activity in enumerate(starting):
            order = activity.order
            self._active[order] = activity
            starts[i], starts[i + 1] = order, activity.use.kind
            amounts[n] = activity.amount
            i += batch.N_COLUMNS

    def empty_resources(self) -> list[int]:
        """Return the resources without capacity that hold activities up.

        Returns
        -------
        list of int
            Indices, ascending.
        """
        used = {resource for activity in self._active.values() for resource, _ in self._usages[activity.use.kind]}
        return sorted(resource for resource in used if self._capacities[resource] == 0.0)
