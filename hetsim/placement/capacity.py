"""Whether memory holds what a placement puts there."""

from collections import Counter
from collections.abc import Sequence

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.units import format_gib


def shortage(view: PlacementView, workers: Sequence[SlotView], servers: Sequence[HostView]) -> str:
    """Return where memory is too small and by how much.

    Parameters
    ----------
    view : PlacementView
        Carries the job's requirements.
    workers : sequence of SlotView
        Device of each rank.
    servers : sequence of HostView
        Host of each parameter server; they hold equal shares.

    Returns
    -------
    str
        The first shortage, such as ``needs 14.2 GiB on k80-0/gpu0, which has 11.2 GiB: 3.0 GiB short``; empty if all
        fits.
    """
    worker_bytes = view.job.worker_bytes
    for slot in workers:
        if worker_bytes > slot.free_bytes:
            return _short(worker_bytes, slot.device, slot.free_bytes)
    for host, n_servers in Counter(servers).items():
        n_here = sum(slot.uses_host_memory and slot.host == host.name for slot in workers)
        needed_bytes = n_servers * view.job.server_bytes / len(servers) + n_here * worker_bytes
        if needed_bytes > host.free_bytes:
            return _short(needed_bytes, host.name, host.free_bytes)
    return ""


def _short(needed_bytes: float, name: str, free_bytes: float) -> str:
    return (
        f"needs {format_gib(needed_bytes)} on {name}, which has {format_gib(free_bytes)}: "
        f"{format_gib(needed_bytes - free_bytes)} short"
    )
