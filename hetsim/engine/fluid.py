"""Activities in service: SimPy events on one side, the arrays of the kernel on the other."""

from collections.abc import Sequence

from hetsim.engine.resources import Activity, Usage
from hetsim.kernels import fluid as kernel

_N_SLOTS = 64
"""Slots to begin with; they double when they run out."""


class Fluid:
    """Rates and ends of all activities in service.

    Parameters
    ----------
    usages : sequence of Usage, shape (n_kinds,)
        What each kind of activity uses: one resource at least.
    capacities : sequence of float, shape (n_resources,)
        Amount per tick of each resource at tick 0.
    """

    def __init__(self, usages: Sequence[Usage], capacities: Sequence[float]) -> None:
        self._state = kernel.new_state(usages, capacities, _N_SLOTS)
        self._active: dict[int, Activity] = {}
        self._free = list(range(_N_SLOTS - 1, -1, -1))
        self._next = kernel.NEVER
        self._is_touched = False

    @property
    def carried(self) -> list[float]:
        """Amount that each resource has moved, of activities that have ended."""
        return [float(amount) for amount in self._state.row(kernel.CARRIED, is_float=True)]

    def add(self, activity: Activity, now: int) -> None:
        """Put an activity in service; it moves from the next `resolve` on.

        Parameters
        ----------
        activity : Activity
            With a positive amount.
        now : int
            Tick.
        """
        while not self._free or not kernel.has_room(self._state, activity.kind):
            n_slots = len(self._state.row(kernel.KIND))
            self._state = kernel.with_more_slots(self._state)
            self._free += range(2 * n_slots - 1, n_slots - 1, -1)
        slot = self._free.pop()
        self._active[slot] = activity
        kernel.start(self._state, slot, activity.order, activity.kind, activity.amount, now)
        self._is_touched = True

    def set_capacity(self, resource: int, capacity: float) -> None:
        """Change a capacity from now on.

        Parameters
        ----------
        resource : int
            Index.
        capacity : float
            Amount per tick.
        """
        kernel.set_capacity(self._state, resource, capacity)
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
        ended: list[Activity] = []
        while self._next != kernel.NEVER and self._next <= now:
            slot = kernel.pop_end(self._state, now)
            ended.append(self._active.pop(slot))
            self._free.append(slot)
            self._next = kernel.next_end(self._state)
            self._is_touched = True
        ended.sort(key=lambda activity: activity.order)
        return ended

    def resolve(self, now: int) -> int | None:
        """Solve again each component that was touched since the last time.

        Parameters
        ----------
        now : int
            Tick.

        Returns
        -------
        int or None
            Tick at which the next activity ends; None where nothing moves.
        """
        if self._is_touched:
            self._next = kernel.resolve(self._state, now)
            self._is_touched = False
        return None if self._next == kernel.NEVER else self._next

    def empty_resources(self) -> list[int]:
        """Return the resources without capacity that hold activities up.

        Returns
        -------
        list of int
            Indices, ascending.
        """
        ints, capacity = self._state.ints, self._state.row(kernel.CAPACITY, is_float=True)
        uses: set[int] = set()
        for kind in ints[kernel.KIND, list(self._active)].tolist():
            first, last = ints[kernel.FIRST, kind : kind + 2]
            uses.update(ints[kernel.USED, first:last].tolist())
        return sorted(resource for resource in uses if capacity[resource] == 0.0)
