"""What several placement policies do alike: which devices are free, and where servers may go."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.errors import PlacementError

Servers = Literal["colocated", "separate"]
"""Whether a parameter server may share its host with workers of the job."""


def free_slots(view: PlacementView) -> tuple[SlotView, ...]:
    """Return the devices that no other job holds.

    Parameters
    ----------
    view : PlacementView
        What the policy sees.

    Returns
    -------
    tuple of SlotView
        In the order of the cluster spec.
    """
    return tuple(slot for slot in view.slots if not slot.taken)


def fitting_slots(view: PlacementView) -> tuple[SlotView, ...]:
    """Return the free devices whose memory holds a worker.

    Parameters
    ----------
    view : PlacementView
        What the policy sees.

    Returns
    -------
    tuple of SlotView
        In the order of the cluster spec.
    """
    return tuple(slot for slot in free_slots(view) if slot.free_bytes >= view.job.worker_bytes)


def first_workers(policy: str, view: PlacementView, slots: Sequence[SlotView]) -> tuple[SlotView, ...]:
    """Return as many of the devices as the job has workers.

    Parameters
    ----------
    policy : str
        Name, for the message.
    view : PlacementView
        What the policy sees.
    slots : sequence of SlotView
        In order of preference.

    Returns
    -------
    tuple of SlotView, shape (n_workers,)
        The first ones.

    Raises
    ------
    PlacementError
        If there are too few.
    """
    if len(slots) < view.job.n_workers:
        raise PlacementError(policy, view.job.job, f"needs {view.job.n_workers} devices, {_census(view, len(slots))}")
    return tuple(slots[: view.job.n_workers])


def _census(view: PlacementView, n_usable: int) -> str:
    n_free, n_fitting = len(free_slots(view)), len(fitting_slots(view))
    text = f"and of {len(view.slots)} devices {n_free} are free"
    if n_fitting < n_free:
        text += f", {n_fitting} with enough memory"
    if n_usable < n_fitting:
        text += f", {n_usable} of those usable"
    return text


def server_hosts(
    policy: str, view: PlacementView, workers: Iterable[SlotView], servers: Servers, hosts: Sequence[HostView]
) -> tuple[str, ...]:
    """Return the first hosts that may hold the job's parameter servers, given its workers.

    Parameters
    ----------
    policy : str
        Name, for the message.
    view : PlacementView
        What the policy sees.
    workers : iterable of SlotView
        Where the workers are.
    servers : {"colocated", "separate"}
        Whether servers may share hosts with workers.
    hosts : sequence of HostView
        In order of preference.

    Returns
    -------
    tuple of str, shape (n_servers,)
        Names of hosts.

    Raises
    ------
    PlacementError
        If there are too few.
    """
    held = {slot.host for slot in workers} if servers == "separate" else set()
    names = [host.name for host in hosts if host.name not in held]
    if len(names) < view.job.n_servers:
        without = " that hold none of its workers" if servers == "separate" else ""
        raise PlacementError(
            policy,
            view.job.job,
            f"needs {view.job.n_servers} hosts{without} for its parameter servers, and of {len(hosts)} there are "
            f"{len(names)}",
        )
    return tuple(names[: view.job.n_servers])


def reserve_hosts(view: PlacementView, slots: Sequence[SlotView], hosts: Iterable[HostView]) -> frozenset[str]:
    """Return hosts set apart for parameter servers, such that enough devices stay outside of them.

    Parameters
    ----------
    view : PlacementView
        What the policy sees.
    slots : sequence of SlotView
        Devices that could hold a worker.
    hosts : iterable of HostView
        In order of preference.

    Returns
    -------
    frozenset of str
        At most as many hosts as the job has servers.
    """
    reserved: set[str] = set()
    n_left, n_slots = len(slots), Counter(slot.host for slot in slots)
    for host in hosts:
        if len(reserved) < view.job.n_servers and n_left - n_slots[host.name] >= view.job.n_workers:
            reserved.add(host.name)
            n_left -= n_slots[host.name]
    return frozenset(reserved)
