"""Predicted time of one synchronous step of a placement, from what the view reports."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from hetsim.contracts import HostView, PlacementView, SlotView

HostPair = Callable[[str, str], float]
"""Of the way from one host to another: its rate, or its latency."""


def predict_step_s(view: PlacementView, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
    """Return the predicted time of one synchronous step: compute, pushes as workers are ready, update, pulls.

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
    A bound, for choosing: no jitter, no overlap; links between switches count by what `path_bytes_per_s` reports for
    each pair of hosts, not by how many pairs share them.
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


def drained_s(ready_s: Sequence[float], n_bytes: float, rate: float) -> float:
    """Return when a link has carried as many bytes for each of several senders, from when each is ready.

    A link that is never idle while bytes wait ends its last busy period at the greatest of ``t + n(t) S / B`` over the
    times t, with n(t) senders ready at t or later, in whatever way it is shared.

    Parameters
    ----------
    ready_s : sequence of float
        When each sender begins.
    n_bytes : float
        Of each.
    rate : float
        Bytes per second.

    Returns
    -------
    float
        Seconds; zero without senders.
    """
    each_s = duration_s(n_bytes, rate)
    late_first = sorted(ready_s, reverse=True)
    return max((ready + (index + 1) * each_s for index, ready in enumerate(late_first)), default=0.0)


def shared_s(sent: Iterable[tuple[float, float]], rate: float) -> float:
    """Return when a link has carried bytes of different senders, from when each is ready: `drained_s` of unequal bytes.

    Parameters
    ----------
    sent : iterable of (float, float)
        When each sender begins, and its bytes.
    rate : float
        Bytes per second.

    Returns
    -------
    float
        Seconds; zero without senders.
    """
    n_bytes = end_s = 0.0
    for ready, more in sorted(sent, reverse=True):
        n_bytes += more
        end_s = max(end_s, ready + duration_s(n_bytes, rate))
    return end_s


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
        self._half_duplex = frozenset(host.name for host in view.hosts if host.is_half_duplex)
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
        return self._step_s(workers, servers, self._view.path_bytes_per_s, self._view.path_latency_s)

    def least_s(self, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
        """Return what `step_s` would be if only buses and the hosts' own ways into the network took time.

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
        return self._step_s(workers, servers, _unlimited, _at_once)

    def _step_s(
        self, workers: Sequence[SlotView], servers: Sequence[HostView], rate_of: HostPair, latency_of: HostPair
    ) -> float:
        if not servers:
            return self.compute_s(workers) + self._ring_s(workers, rate_of, latency_of)
        n_busy = self._n_busy(workers)
        ready_s = [worker_step_s(slot, n_busy[slot.card]) for slot in workers]
        pushed_s = self._exchanged_s(workers, ready_s, servers, rate_of, latency_of)
        pulled_s = self._exchanged_s(workers, [0.0] * len(workers), servers, rate_of, latency_of)
        return pushed_s + self._update_s(servers) + pulled_s

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
        n_busy = self._n_busy(workers)
        return max(worker_step_s(slot, n_busy[slot.card]) for slot in workers)

    def _n_busy(self, workers: Sequence[SlotView]) -> Counter[str]:
        return self._n_taken + Counter(slot.card for slot in workers)

    def effort_s(self, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
        """Return the time that all devices, hosts and their ways into the network spend on one step, added up.

        Placements with one step time can differ in it: what no other resource waits for may still be a waste.

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
        n_workers = Counter(slot.host for slot in workers)
        remote = ((len(workers) - n_workers[name], name, n) for name, n in self._bytes_of_hosts(servers).items())
        transfers_s = sum(duration_s(n_remote * n_bytes, self._network[name]) for n_remote, name, n_bytes in remote)
        updates_s = sum(duration_s(seconds, host.cpu_available_frac) for host, seconds in self._work_s(servers).items())
        return sum(worker_step_s(slot, 1) for slot in workers) + 2.0 * transfers_s + updates_s

    def _exchanged_s(
        self,
        workers: Sequence[SlotView],
        ready_s: Sequence[float],
        servers: Sequence[HostView],
        rate_of: HostPair,
        latency_of: HostPair,
    ) -> float:
        """Return when all bytes between workers and servers have gone their way, after the longest latency.

        Each worker sends each server its shard once it is ready, or is answered; both ways at once where workers and
        servers are on the same hosts, which share the rate of a half-duplex link.
        """
        held = self._bytes_of_hosts(servers)
        total_bytes = sum(held.values())
        ready_on: defaultdict[str, list[float]] = defaultdict(list)
        ready_on_card: defaultdict[str, list[float]] = defaultdict(list)
        bus_of_card: dict[str, float] = {}
        for slot, ready in zip(workers, ready_s, strict=True):
            ready_on[slot.host].append(ready)
            ready_on_card[slot.card].append(ready)
            bus_of_card[slot.card] = min(slot.bus_bytes_per_s, bus_of_card.get(slot.card, math.inf))
        times = [max(ready_s)]
        times += [drained_s(ready, total_bytes, bus_of_card[card]) for card, ready in ready_on_card.items()]
        for name, n_bytes in held.items():
            remote = [ready for here, group in ready_on.items() if here != name for ready in group]
            times.append(drained_s(remote, n_bytes, self._network[name]))
        for name, group in ready_on.items():
            n_bytes = sum(n_bytes for there, n_bytes in held.items() if there != name)
            times.append(drained_s(group, n_bytes, self._network[name]))
            times.extend(drained_s(group, n_bytes, rate_of(name, there)) for there, n_bytes in held.items())
        if not held:
            return max(times)
        times += [self._both_ways_s(name, ready_on, held) for name in self._half_duplex & ready_on.keys() & held.keys()]
        bus_latency_s = max(slot.bus_latency_s for slot in workers)
        return max(times) + bus_latency_s + max(latency_of(here, there) for here in ready_on for there in held)

    def _both_ways_s(self, name: str, ready_on: Mapping[str, list[float]], held: Mapping[str, float]) -> float:
        """Return when the half-duplex link of a host of workers and servers has carried all that comes and goes."""
        away_bytes = sum(n_bytes for there, n_bytes in held.items() if there != name)
        sent = [(ready, away_bytes) for ready in ready_on[name]]
        sent += [(ready, held[name]) for here, group in ready_on.items() if here != name for ready in group]
        return shared_s(sent, self._network[name])

    def _bytes_of_hosts(self, servers: Sequence[HostView]) -> dict[str, float]:
        """Return what one worker exchanges with each host that holds parameters."""
        job = self._view.job
        held: defaultdict[str, float] = defaultdict(float)
        for host, share_frac in zip(servers, job.shard_frac, strict=True):
            if share_frac * job.gradient_bytes > 0.0:
                held[host.name] += share_frac * job.gradient_bytes
        return dict(held)

    def _update_s(self, servers: Sequence[HostView]) -> float:
        """Return the update of the slowest host; servers on one host share its CPU."""
        work_s = self._work_s(servers)
        return max((duration_s(seconds, host.cpu_available_frac) for host, seconds in work_s.items()), default=0.0)

    def _work_s(self, servers: Sequence[HostView]) -> dict[HostView, float]:
        """Return the work of an update on each host, were its CPU idle."""
        job = self._view.job
        work_s: defaultdict[HostView, float] = defaultdict(float)
        for host, share_frac in zip(servers, job.shard_frac, strict=True):
            if share_frac > 0.0:
                work_s[host] += job.server_update_s + share_frac * host.update_s
        return dict(work_s)

    def _ring_s(self, workers: Sequence[SlotView], rate_of: HostPair, latency_of: HostPair) -> float:
        """Return 2 (n - 1) (L + S / (n B)) for the slowest way of the ring, of latency L and rate B."""
        # Patarasuk & Yuan 2009, Bandwidth optimal all-reduce algorithms, doi:10.1016/j.jpdc.2008.09.002
        n = len(workers)
        if n == 1:
            return 0.0
        edges = list(itertools.pairwise([*workers, workers[0]]))
        n_leaving = Counter(a.host for a, b in edges if a.host != b.host)
        round_bytes = self._view.job.gradient_bytes / n
        return (2.0 * (n - 1)) * max(
            a.bus_latency_s
            + latency_of(a.host, b.host)
            + b.bus_latency_s
            + duration_s(round_bytes, self._edge_bytes_per_s(a, b, n_leaving, rate_of))
            for a, b in edges
        )

    def _edge_bytes_per_s(self, a: SlotView, b: SlotView, n_leaving: Counter[str], rate_of: HostPair) -> float:
        rate = min(a.bus_bytes_per_s, b.bus_bytes_per_s)
        if a.host == b.host:
            return rate
        # a ring enters each host as often as it leaves it
        n_streams = {end.host: n_leaving[end.host] * (1 + (end.host in self._half_duplex)) for end in (a, b)}
        ways = (self._network[host] / n for host, n in n_streams.items())
        return min(rate, rate_of(a.host, b.host), *ways)


def _unlimited(here: str, there: str) -> float:
    return math.inf


def _at_once(here: str, there: str) -> float:
    return 0.0
