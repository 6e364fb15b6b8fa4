"""Ask a job's placement policy, and check its answer."""

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.errors import PlacementError, PolicyError
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
    workers = _workers(view, placement, names)
    servers = _servers(view, placement, names)
    problem = shortage(view, workers, servers) or _unreachable(view, workers, servers)
    if problem:
        raise PlacementError(*names, problem)
    return Placement(tuple(placement.workers), tuple(placement.servers))


def _workers(view: PlacementView, placement: Placement, names: tuple[str, str]) -> tuple[SlotView, ...]:
    slots = {slot.device: slot for slot in view.slots}
    if len(placement.workers) != view.job.n_workers:
        raise PolicyError(*names, f"chose {len(placement.workers)} devices for {view.job.n_workers} workers")
    used: set[str] = set()
    for device in placement.workers:
        if device not in slots:
            raise PolicyError(*names, f"the cluster has no device {device!r}{did_you_mean(str(device), slots)}")
        if device in used:
            raise PolicyError(*names, f"put two workers on {device}")
        if slots[device].taken:
            raise PolicyError(*names, f"another job already holds {device}")
        used.add(device)
    return tuple(slots[device] for device in placement.workers)


def _servers(view: PlacementView, placement: Placement, names: tuple[str, str]) -> tuple[HostView, ...]:
    hosts = {host.name: host for host in view.hosts}
    if len(placement.servers) != view.job.n_servers:
        raise PolicyError(*names, f"chose {len(placement.servers)} hosts for {view.job.n_servers} parameter servers")
    for name in placement.servers:
        if name not in hosts:
            raise PolicyError(*names, f"the cluster has no host {name!r}{did_you_mean(str(name), hosts)}")
    return tuple(hosts[name] for name in placement.servers)


def _unreachable(view: PlacementView, workers: tuple[SlotView, ...], servers: tuple[HostView, ...]) -> str:
    """Return which hosts must exchange bytes and cannot; without servers, ranks exchange with the next one."""
    here = [slot.host for slot in workers]
    pairs = [(a, host.name) for a in here for host in servers] or list(zip(here, [*here[1:], here[0]], strict=True))
    for a, b in dict.fromkeys(pairs):
        if view.path_bytes_per_s(a, b) <= 0.0:
            return f"nothing gets through from {a} to {b}: no route, or others take all of a link"
    return ""
