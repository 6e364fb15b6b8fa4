"""Whether memory holds what a placement puts there."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.model.placement import Placement
from hetsim.units import format_iec


def shortage(view: PlacementView, workers: Sequence[SlotView], servers: Sequence[HostView]) -> str:
    """Return where memory is too small and by how much.

    Parameters
    ----------
    view : PlacementView
        Carries the job's requirements.
    workers : sequence of SlotView
        Device of each rank.
    servers : sequence of HostView, shape (n_servers,)
        Host of each parameter server.

    Returns
    -------
    str
        The first shortage, such as ``needs 14.2 GiB on k80-0/gpu0, which has 11.2 GiB free: 3.0 GiB short``; empty if
        all fits.
    """
    worker_bytes = view.job.worker_bytes
    for slot in workers:
        if worker_bytes > slot.free_bytes:
            return _short(worker_bytes, slot.device, slot.free_bytes)
    free_bytes = {host.name: host.free_bytes for host in servers}
    needed = _host_bytes(view, workers, servers)
    for name, n_bytes in free_bytes.items():
        if needed[name] > n_bytes:
            return _short(needed[name], name, n_bytes)
    return ""


def host_bytes(view: PlacementView, placement: Placement) -> Mapping[str, float]:
    """Return the memory that a placed job takes of hosts: that of its servers, and of its workers on CPUs.

    Parameters
    ----------
    view : PlacementView
        Carries the job's requirements.
    placement : Placement
        Of that job, as `place` returns it.

    Returns
    -------
    mapping of str to float
        Bytes by host; hosts of which it takes none may be missing.
    """
    slots = {slot.device: slot for slot in view.slots}
    hosts = {host.name: host for host in view.hosts}
    return _host_bytes(
        view, [slots[device] for device in placement.workers], [hosts[name] for name in placement.servers]
    )


def _host_bytes(
    view: PlacementView, workers: Sequence[SlotView], servers: Sequence[HostView]
) -> defaultdict[str, float]:
    needed: defaultdict[str, float] = defaultdict(float)
    for host, share_frac in zip(servers, view.job.shard_frac, strict=True):
        needed[host.name] += view.job.server_bytes * share_frac
    for name, n_workers in Counter(slot.host for slot in workers if slot.uses_host_memory).items():
        needed[name] += n_workers * view.job.worker_bytes
    return needed


def _short(needed_bytes: float, name: str, free_bytes: float) -> str:
    return (
        f"needs {format_iec(needed_bytes)} on {name}, which has {format_iec(free_bytes)} free: "
        f"{format_iec(math.ceil(needed_bytes - free_bytes))} short"
    )
