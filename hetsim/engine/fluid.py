"""Activities in progress: the connected components of shared resources, and which activity ends next."""

import heapq
from collections.abc import Sequence

import numpy as np

from hetsim.engine.resources import Activity
from hetsim.kernels import fluid as kernel


class Fluid:
    """Rates and ends of all activities in service.

    Parameters
    ----------
    capacities : sequence of float, shape (n_resources,)
        Amount per tick of each resource at tick 0.
    """

    def __init__(self, capacities: Sequence[float]) -> None:
        self.carried = [0.0] * len(capacities)
        self._capacity = list(capacities)
        self._users: list[dict[int, Activity]] = [{} for _ in capacities]
        self._touched: set[int] = set()
        self._ends: list[tuple[int, int, Activity]] = []
        self._n_slots = 0

    def add(self, activity: Activity, now: int) -> None:
        """Put an activity in service; it moves from the next `resolve` on.

        Parameters
        ----------
        activity : Activity
            With at least one resource and a positive amount.
        now : int
            Tick.
        """
        activity.slot = self._n_slots
        self._n_slots += 1
        activity.remaining = activity.amount
        activity.since = now
        activity.rate = 0.0
        activity.end = kernel.NEVER
        for resource, _ in activity.usage:
            self._users[resource][activity.slot] = activity
            self._touched.add(resource)

    def set_capacity(self, resource: int, capacity: float) -> None:
        """Change a capacity from now on.

        Parameters
        ----------
        resource : int
            Index.
        capacity : float
            Amount per tick.
        """
        self._capacity[resource] = capacity
        self._touched.add(resource)

    def pop_ended(self, now: int) -> list[Activity]:
        """Take the activities that end at this tick out of service, by order.

        Parameters
        ----------
        now : int
            Tick.

        Returns
        -------
        list of Activity
            Those that end.
        """
        ended = []
        while self._ends and self._ends[0][0] <= now:
            end, _, activity = heapq.heappop(self._ends)
            if activity.end == end:
                activity.end = kernel.NEVER
                ended.append(activity)
                self._remove(activity)
        ended.sort(key=lambda activity: activity.order)
        return ended

    def _remove(self, activity: Activity) -> None:
        for resource, coefficient in activity.usage:
            del self._users[resource][activity.slot]
            self._touched.add(resource)
            self.carried[resource] += activity.amount * coefficient

    def next_end(self) -> int | None:
        """Return the tick at which the next activity ends.

        Returns
        -------
        int or None
            None where nothing moves.
        """
        while self._ends and self._ends[0][2].end != self._ends[0][0]:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def stalled(self) -> list[Activity]:
        """Return the activities in service that do not move.

        Returns
        -------
        list of Activity
            By slot.
        """
        found = {slot: activity for users in self._users for slot, activity in users.items() if activity.rate == 0.0}
        return [found[slot] for slot in sorted(found)]

    def empty_resource(self, activity: Activity) -> int:
        """Return the first resource of an activity that has no capacity.

        Parameters
        ----------
        activity : Activity
            One that does not move.

        Returns
        -------
        int
            Index.
        """
        return next(resource for resource, _ in activity.usage if self._capacity[resource] == 0.0)

    def resolve(self, now: int) -> None:
        """Re-solve each component that was touched since the last time.

        Parameters
        ----------
        now : int
            Tick.
        """
        seen: set[int] = set()
        for resource in sorted(self._touched):
            if resource not in seen:
                self._resolve_component(self._component(resource, seen), now)
        self._touched.clear()

    def _component(self, resource: int, seen: set[int]) -> list[Activity]:
        """Return the activities that share capacity with those on a resource, by slot."""
        members: dict[int, Activity] = {}
        front = [resource]
        seen.add(resource)
        while front:
            for slot, activity in self._users[front.pop()].items():
                if slot not in members:
                    members[slot] = activity
                    for other, _ in activity.usage:
                        if other not in seen:
                            seen.add(other)
                            front.append(other)
        return [members[slot] for slot in sorted(members)]

    def _resolve_component(self, members: list[Activity], now: int) -> None:
        if not members:
            return
        local = {r: i for i, r in enumerate(sorted({r for activity in members for r, _ in activity.usage}))}
        first, used, coefficient = [0], [], []
        for activity in members:
            for resource, use in activity.usage:
                used.append(local[resource])
                coefficient.append(use)
            first.append(len(used))
        remaining = np.array([activity.remaining for activity in members])
        since = np.array([activity.since for activity in members])
        rate = np.array([activity.rate for activity in members])
        end = np.array([activity.end for activity in members])
        capacity = np.array([self._capacity[resource] for resource in local])
        kernel.resolve(
            now, np.array(first), np.array(used), np.array(coefficient), capacity, remaining, since, rate, end
        )
        state = zip(members, remaining.tolist(), since.tolist(), rate.tolist(), end.tolist(), strict=True)
        for activity, left, start, speed, finish in state:
            activity.remaining, activity.since, activity.rate = left, start, speed
            if finish != activity.end:
                activity.end = finish
                if finish != kernel.NEVER:
                    heapq.heappush(self._ends, (finish, activity.slot, activity))
