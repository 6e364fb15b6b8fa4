"""Placement that knows availability, capability and the job's requirements."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, islice

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.errors import PlacementError
from hetsim.model.placement import Placement
from hetsim.placement.capacity import shortage
from hetsim.placement.choose import Servers, first_workers, fitting_slots
from hetsim.placement.default_tensorflow import default_tensorflow
from hetsim.placement.predict import Predictor, worker_step_s
from hetsim.placement.search import Candidate, candidates, in_order

POLICY = "infrastructure-aware"

Key = tuple[float, float, tuple[int, ...], tuple[int, ...]]
"""Predicted time; then positions of devices and hosts in the cluster spec, which break ties."""

MAX_SWAPS = 400
"""Predictions spent on exchanging single workers and servers, for jobs of up to `MAX_SWAP_WORKERS`."""

MAX_SWAP_WORKERS = 16


def infrastructure_aware(view: PlacementView, *, servers: Servers = "colocated") -> Placement:
    """Filter by memory and reach, then take the least predicted step time: knows load, capability and the job's needs.

    A reconstruction from the abstract of "Infrastructure-Aware TensorFlow for Heterogeneous Datacenters", whose full
    text was not available: awareness of availability and capability of resources, and use of the workload's
    requirements. How candidates are scored is this project's own (see `predict_step_s`).

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    servers : {"colocated", "separate"}
        Whether parameter servers may share hosts with workers of the job.

    Returns
    -------
    Placement
        Workers in the order of the cluster spec; never predicted slower than default TensorFlow's placement.
    """
    slots = [slot for slot in fitting_slots(view) if slot.available_frac > 0.0]
    first_workers(POLICY, view, slots)
    chooser = _Chooser(view)
    best = chooser.best(_proposals(view, slots, servers))
    if best is None and servers == "colocated":
        # where a host's memory holds a worker or a server, but not both
        best = chooser.best(candidates(view, slots, is_separate=True))
    if best is None:
        raise PlacementError(POLICY, view.job.job, _why_none(view, slots, servers))
    if view.job.n_workers <= MAX_SWAP_WORKERS:
        best = chooser.improve(best, slots, is_separate=servers == "separate")
    return Placement(tuple(slot.device for slot in best[0]), tuple(host.name for host in best[1]))


def _proposals(view: PlacementView, slots: list[SlotView], servers: Servers) -> Iterator[Candidate]:
    default = _default(view, servers)
    if default is not None:
        yield default
    yield from candidates(view, slots, is_separate=servers == "separate")


def _default(view: PlacementView, servers: Servers) -> Candidate | None:
    try:
        placement = default_tensorflow(view, servers=servers)
    except PlacementError:
        return None
    by_device = {slot.device: slot for slot in view.slots}
    by_host = {host.name: host for host in view.hosts}
    return tuple(by_device[name] for name in placement.workers), tuple(by_host[name] for name in placement.servers)


def _why_none(view: PlacementView, slots: list[SlotView], servers: Servers) -> str:
    rule = " apart from its workers" if servers == "separate" and view.job.n_servers else ""
    return (
        f"found no choice of {view.job.n_workers} of {len(slots)} usable devices and {view.job.n_servers} of "
        f"{len(view.hosts)} hosts{rule} with the memory and the network that the job needs"
    )


class _Chooser:
    """Compares placements of one view: least predicted time, then least effort, then the order of the cluster spec."""

    def __init__(self, view: PlacementView) -> None:
        self._view = view
        self._predictor = Predictor(view)
        self._slot_index = {slot.device: index for index, slot in enumerate(view.slots)}
        self._host_index = {host.name: index for index, host in enumerate(view.hosts)}

    def best(self, proposals: Iterable[Candidate]) -> Candidate | None:
        """Return the best placement that is possible, if there is one."""
        best: Candidate | None = None
        best_key: Key = (math.inf, math.inf, (), ())
        # the cheap bound first: once it is no better than the best so far, no later one can be
        for bound, candidate in sorted(((self._bound(each), each) for each in proposals), key=lambda pair: pair[0]):
            if bound >= best_key:
                break
            key = (self._predictor.step_s(*candidate), *bound[1:])
            if key < best_key:
                best, best_key = candidate, key
        return best

    def _bound(self, candidate: Candidate) -> Key:
        workers, servers = candidate
        least_s = math.inf if shortage(self._view, workers, servers) else self._predictor.least_s(workers, servers)
        return (
            least_s,
            self._predictor.effort_s(workers, servers),
            tuple(self._slot_index[slot.device] for slot in workers),
            tuple(self._host_index[host.name] for host in servers),
        )

    def improve(self, best: Candidate, slots: list[SlotView], *, is_separate: bool) -> Candidate:
        """Exchange one worker or server at a time for as long as that shortens the step."""
        n_left = MAX_SWAPS
        while n_left > 0:
            swaps = list(islice(_swaps(best, slots, self._view.hosts, is_separate=is_separate), n_left))
            n_left -= len(swaps)
            better = self.best([best, *(self._sorted(swap) for swap in swaps)])
            if better is None or better == best:
                return best
            best = better
        return best

    def _sorted(self, candidate: Candidate) -> Candidate:
        workers, servers = candidate
        return (
            tuple(sorted(workers, key=lambda slot: self._slot_index[slot.device])),
            in_order(self._view, servers),
        )


def _swaps(
    best: Candidate, slots: list[SlotView], hosts: tuple[HostView, ...], *, is_separate: bool
) -> Iterator[Candidate]:
    workers, servers = best
    worker_hosts = {slot.host for slot in workers} if is_separate else set()
    server_hosts = {host.name for host in servers} if is_separate else set()
    for position in range(len(servers)):
        for host in hosts:
            if host != servers[position] and host.name not in worker_hosts:
                yield workers, (*servers[:position], host, *servers[position + 1 :])
    for one, other in combinations(range(len(servers)), 2):
        exchanged = list(servers)
        exchanged[one], exchanged[other] = servers[other], servers[one]
        yield workers, tuple(exchanged)
    used = {slot.device for slot in workers}
    others = [slot for slot in slots if slot.device not in used and slot.host not in server_hosts]
    for slot in sorted(others, key=lambda slot: worker_step_s(slot, 1)):
        for position in range(len(workers)):
            yield (*workers[:position], slot, *workers[position + 1 :]), servers
