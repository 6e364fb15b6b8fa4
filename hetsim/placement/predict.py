"""Predicted time of one synchronous step of a placement, from what the view reports."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

from hetsim.contracts import HostView, PlacementView, SlotView

PathRate = Callable[[str, str], float]


def predict_step_s(view: PlacementView, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
    """Return the predicted time of one synchronous step: slowest worker, then the exchange, then the update.

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    workers : sequence of SlotView, shape (n_workers,)
        Device of each rank.
    servers : sequence of HostView, shape (n_servers,)
        Host of each parameter server; none for a ring.

    Returns
    -------
    float
        Seconds; infinite where a worker gets no time or bytes find no way.

    Notes
    -----
    A bound, for choosing: no latency, no jitter, no overlap; servers hold equal shares; links between switches count
    by what `path_bytes_per_s` reports for each pair of hosts, not by how many pairs share them.
    """
    return Predictor(view).step_s(workers, servers)


def worker_step_s(slot: SlotView, n_busy: int) -> float:
    """Return the time of one step on a device that others use too.

    Parameters
    ----------
    slot : SlotView
        The device.
    n_busy : int
        Devices at work on its card, itself included: they share what the card sustains.

    Returns
    -------
    float
        Seconds; infinite if nothing is left for the job.
    """
    return duration_s(slot.compute_s, slot.available_frac * min(1.0, slot.card_capacity / n_busy))


def duration_s(amount: float, rate: float) -> float:
    """Return how long an amount of bytes or work takes at a rate.

    Parameters
    ----------
    amount : float
        Bytes, or seconds of work.
    rate : float
        Bytes per second, or share of the worker.

    Returns
    -------
    float
        Seconds; zero for nothing to do, infinite where there is no way.
    """
    if amount <= 0.0:
        return 0.0
    return amount / rate if rate > 0.0 else math.inf


class Predictor:
    """Predicts many placements of one view.

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    """

    def __init__(self, view: PlacementView) -> None:
        self._view = view
        self._network = {host.name: host.network_bytes_per_s for host in view.hosts}
        self._n_taken = Counter(slot.card for slot in view.slots if slot.taken)

    def step_s(self, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
        """Return the predicted time of one step, as `predict_step_s` does.

        Parameters
        ----------
        workers : sequence of SlotView, shape (n_workers,)
            Device of each rank.
        servers : sequence of HostView, shape (n_servers,)
            Host of each parameter server.

        Returns
        -------
        float
            Seconds.
        """
        return self._step_s(workers, servers, self._view.path_bytes_per_s)

    def least_s(self, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
        """Return what `step_s` would be if only the hosts' own ways into the network were slow.

        Parameters
        ----------
        workers : sequence of SlotView, shape (n_workers,)
            Device of each rank.
        servers : sequence of HostView, shape (n_servers,)
            Host of each parameter server.

        Returns
        -------
        float
            Seconds, at most those of `step_s`; much cheaper, since no route is looked for.
        """
        return self._step_s(workers, servers, _unlimited)

    def _step_s(self, workers: Sequence[SlotView], servers: Sequence[HostView], rate_of: PathRate) -> float:
        compute_s = self.compute_s(workers)
        if not servers:
            return compute_s + self._ring_s(workers, rate_of)
        # pushes go one way and answers the other, one after the other
        return compute_s + 2.0 * self._one_way_s(workers, servers, rate_of) + _update_s(servers)

    def compute_s(self, workers: Sequence[SlotView]) -> float:
        """Return the step time of the slowest worker.

        Parameters
        ----------
        workers : sequence of SlotView
            Devices at work together.

        Returns
        -------
        float
            Seconds.
        """
        n_busy = self._n_taken + Counter(slot.card for slot in workers)
        return max(worker_step_s(slot, n_busy[slot.card]) for slot in workers)

    def _one_way_s(self, workers: Sequence[SlotView], servers: Sequence[HostView], rate_of: PathRate) -> float:
        """Return the busiest way of n * S / k bytes into each of k servers; links are full duplex."""
        gradient_bytes = self._view.job.gradient_bytes
        share_bytes = gradient_bytes / len(servers)
        n_servers = Counter(host.name for host in servers)
        n_workers = Counter(slot.host for slot in workers)
        times = [self._bus_s(workers)]
        for name, n_here in n_servers.items():
            times.append(duration_s((len(workers) - n_workers[name]) * n_here * share_bytes, self._network[name]))
        for name, n_here in n_workers.items():
            n_remote = len(servers) - n_servers[name]
            times.append(duration_s(n_here * n_remote * share_bytes, self._network[name]))
        times.extend(
            duration_s(n_here * n_there * share_bytes, rate_of(here, there))
            for here, n_here in n_workers.items()
            for there, n_there in n_servers.items()
        )
        return max(times)

    def _bus_s(self, workers: Sequence[SlotView]) -> float:
        n_on_card = Counter(slot.card for slot in workers)
        gradient_bytes = self._view.job.gradient_bytes
        return max(duration_s(n_on_card[slot.card] * gradient_bytes, slot.bus_bytes_per_s) for slot in workers)

    def _ring_s(self, workers: Sequence[SlotView], rate_of: PathRate) -> float:
        """Return 2 (n - 1) / n * S / B for the slowest link B of the ring."""
        # Patarasuk & Yuan 2009, Bandwidth optimal all-reduce algorithms, doi:10.1016/j.jpdc.2008.09.002
        n = len(workers)
        if n == 1:
            return 0.0
        edges = list(itertools.pairwise([*workers, workers[0]]))
        n_leaving = Counter(a.host for a, b in edges if a.host != b.host)
        rate = min(self._edge_bytes_per_s(a, b, n_leaving, rate_of) for a, b in edges)
        return duration_s(2.0 * (n - 1) / n * self._view.job.gradient_bytes, rate)

    def _edge_bytes_per_s(self, a: SlotView, b: SlotView, n_leaving: Counter[str], rate_of: PathRate) -> float:
        rate = min(a.bus_bytes_per_s, b.bus_bytes_per_s)
        if a.host == b.host:
            return rate
        # a ring enters each host as often as it leaves it
        ways = (self._network[end.host] / n_leaving[end.host] for end in (a, b))
        return min(rate, rate_of(a.host, b.host), *ways)


def _unlimited(here: str, there: str) -> float:
    return math.inf


def _update_s(servers: Sequence[HostView]) -> float:
    n_servers = Counter(servers)
    return max(
        duration_s(host.update_s * n_here / len(servers), host.cpu_available_frac) for host, n_here in n_servers.items()
    )
