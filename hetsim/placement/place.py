"""Ask a job's placement policy, and check its answer."""

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.errors import PlacementError, PolicyError, clipped
from hetsim.lookup import ask, did_you_mean, find_plugin
from hetsim.model.job import Job
from hetsim.model.placement import Placement
from hetsim.placement.capacity import shortage
from hetsim.placement.table import POLICIES


def place(job: Job, view: PlacementView) -> Placement:
    """Return where a job runs, as its placement policy decides.

    Parameters
    ----------
    job : Job
        Names the policy and its parameters.
    view : PlacementView
        What the policy may see.

    Returns
    -------
    Placement
        Checked: right counts, known devices and hosts, no device used twice or taken, memory and network that suffice.

    Raises
    ------
    UnknownNameError
        If there is no such policy.
    PolicyError
        If the policy fails or breaks a rule.
    PlacementError
        If the job cannot run there.
    """
    policy = job.placement.policy
    function = find_plugin(POLICIES, policy, "placement policy", "hetsim.placement")
    names = (policy, job.name)
    placement = ask(function, view, job.placement.parameters, names=names, kind=Placement)
    workers = _workers(view, _texts(placement.workers, "workers", names), names)
    servers = _servers(view, _texts(placement.servers, "servers", names), names)
    problem = shortage(view, workers, servers) or _unreachable(view, workers, servers)
    if problem:
        raise PlacementError(*names, problem)
    return Placement(tuple(slot.device for slot in workers), tuple(host.name for host in servers))


def _texts(answer: object, field: str, names: tuple[str, str]) -> tuple[str, ...]:
    """Return the names in an answer of foreign code, which may hold anything."""
    if not isinstance(answer, list | tuple):
        raise PolicyError(*names, f"{field} must be a tuple of names, not a {type(answer).__name__}")
    for position, name in enumerate(answer):
        if not isinstance(name, str):
            raise PolicyError(*names, f"{field}[{position}] must be a name, not a {type(name).__name__}")
    return tuple(answer)


def _workers(view: PlacementView, devices: tuple[str, ...], names: tuple[str, str]) -> tuple[SlotView, ...]:
    slots = {slot.device: slot for slot in view.slots}
    if len(devices) != view.job.n_workers:
        raise PolicyError(*names, f"chose {len(devices)} devices for {view.job.n_workers} workers")
    used: set[str] = set()
    for device in devices:
        if device not in slots:
            raise PolicyError(*names, f"the cluster has no device {clipped(repr(device))}{did_you_mean(device, slots)}")
        if device in used:
            raise PolicyError(*names, f"put two workers on {device}")
        if slots[device].taken:
            raise PolicyError(*names, f"another job already holds {device}")
        used.add(device)
    return tuple(slots[device] for device in devices)


def _servers(view: PlacementView, chosen: tuple[str, ...], names: tuple[str, str]) -> tuple[HostView, ...]:
    hosts = {host.name: host for host in view.hosts}
    if len(chosen) != view.job.n_servers:
        raise PolicyError(*names, f"chose {len(chosen)} hosts for {view.job.n_servers} parameter servers")
    for name in chosen:
        if name not in hosts:
            raise PolicyError(*names, f"the cluster has no host {clipped(repr(name))}{did_you_mean(name, hosts)}")
    return tuple(hosts[name] for name in chosen)


def _unreachable(view: PlacementView, workers: tuple[SlotView, ...], servers: tuple[HostView, ...]) -> str:
    """Return which hosts must exchange bytes and cannot; without servers, ranks exchange with the next one."""
    here = [slot.host for slot in workers]
    pairs = [(a, host.name) for a in here for host in servers] or list(zip(here, [*here[1:], here[0]], strict=True))
    for a, b in dict.fromkeys(pairs):
        if view.path_bytes_per_s(a, b) <= 0.0:
            return f"nothing gets through from {a} to {b}: no route, or others take all of a link"
    return ""
