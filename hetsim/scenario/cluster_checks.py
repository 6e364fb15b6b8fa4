"""Problems of a cluster that no field has by itself."""

from collections.abc import Iterable, Iterator
from typing import Final

from hetsim.lookup import unknown
from hetsim.network.topologies import TOPOLOGIES
from hetsim.scenario.fields import has
from hetsim.scenario.hardware import CpuDevice, HostSection, InlineLink
from hetsim.scenario.inside_checks import check_inside
from hetsim.scenario.parts import Parts, items, mapping
from hetsim.scenario.problems import Problem
from hetsim.scenario.specs import host_names, n_slots
from hetsim.scenario.topology import LinkException, PortTopology
from hetsim.scenario.topology_checks import check_pair, check_topology, shape, unknown_name
from hetsim.scenario.traffic import check_traffic
from hetsim.scenario.tree import Loc

_HOSTS: Loc = ("cluster", "hosts")
_TOPOLOGY: Loc = ("cluster", "topology")
_LINKS: Loc = ("cluster", "links")
_MOST_DEVICES: Final = 200_000
"""A slip of the pen, such as a count with too many zeros, shall not fill the memory."""


def check_cluster(parts: Parts) -> Iterator[Problem]:
    """Yield what is wrong between the fields of the cluster.

    Parameters
    ----------
    parts : Parts
        The valid sections.

    Yields
    ------
    Problem
        In no particular order.
    """
    yield from duplicate_names(items(mapping(parts.data, "cluster"), "hosts"), _HOSTS, "host")
    for index, host in enumerate(parts.hosts):
        if host is not None:
            yield from _check_host(parts, host, parts.doubtful[index], (*_HOSTS, index))
    hosts = parts.all_hosts
    if hosts is None:
        return
    n_devices = sum(n_slots(host) for host in hosts)
    if n_devices > _MOST_DEVICES:
        yield Problem(_HOSTS, f"{n_devices:,} devices in all; at most {_MOST_DEVICES:,}")
        return
    names = [name for host in hosts for name in host_names(host)]
    if parts.topology is not None:
        yield from check_topology(parts.topology, hosts)
    elif len(names) > 1 and not has(mapping(parts.data, "cluster"), "topology"):
        yield Problem(_TOPOLOGY, f"required to join {len(names)} hosts. Known: {', '.join(TOPOLOGIES)}")
    fabric = shape(parts.topology, hosts)
    yield from _check_names(hosts, fabric.switches)
    yield from check_traffic(parts.traffic, names, ("cluster", "traffic"))
    yield from _check_exceptions(parts, [(link.a, link.b) for link in fabric.links])


def duplicate_names(written: list[object], at: Loc, kind: str) -> Iterator[Problem]:
    """Yield a problem for each item whose name an earlier one has.

    Parameters
    ----------
    written : list
        Items as written.
    at : Loc
        Where the list is.
    kind : str
        What the items are.

    Yields
    ------
    Problem
        At the later name.
    """
    seen: set[str] = set()
    for index, item in enumerate(written):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str):
            if name in seen:
                yield Problem((*at, index, "name"), f"another {kind} is called {name!r}")
            seen.add(name)


def _check_host(parts: Parts, host: HostSection, doubtful: frozenset[str], at: Loc) -> Iterator[Problem]:
    cpus = [index for index, entry in enumerate(host.devices) if isinstance(entry, CpuDevice)]
    for index in cpus[1:]:
        yield Problem(
            (*at, "devices", index), "a second 'type: cpu': a host's CPU holds one worker, with all its cores"
        )
    if not doubtful & {"inside", "devices", "peer"}:
        yield from check_inside(host, at)
    topology = parts.topology
    if not isinstance(topology, PortTopology) or "nic" in doubtful:
        return
    if host.nic is None:
        yield Problem((*at, "nic"), f"required by the topology {topology.kind}")
    elif not isinstance(host.nic, str | InlineLink) and topology.latency is None:
        yield Problem((*_TOPOLOGY, "latency"), f"required, since the nic of host {host.name!r} is a bare rate")


def _check_names(hosts: list[HostSection], switches: Iterable[str]) -> Iterator[Problem]:
    """Yield hosts whose name, or that of one of their instances, belongs to something else."""
    taken: dict[str, str] = dict.fromkeys(switches, "a switch")
    for index, host in enumerate(hosts):
        names = host_names(host)
        clash = next((name for name in names if name in taken), None)
        is_repeated = any(host.name == other.name for other in hosts[:index])
        if clash is not None and not is_repeated:
            yield Problem((*_HOSTS, index, "name"), f"its host {clash!r} has the name of {taken[clash]}")
        taken |= dict.fromkeys(names, f"a host of {host.name!r}")


def _check_exceptions(parts: Parts, pairs: list[tuple[str, str]]) -> Iterator[Problem]:
    # A topology that is wrong leaves nothing to say about its links.
    if not pairs and has(mapping(parts.data, "cluster"), "topology"):
        return
    known = {frozenset(pair) for pair in pairs}
    seen: set[frozenset[str]] = set()
    for index, link in enumerate(parts.links):
        if link is None:
            continue
        at = (*_LINKS, index)
        said = (link.rate, link.latency, link.queue, link.duplex, link.netem, link.trace, link.schedule)
        if all(each is None for each in said):
            yield Problem(at, "states no exception: write a rate, a latency, a queue, a duplex, a netem or a schedule")
        yield from _check_ends(link, at)
        if frozenset(link.between) in known:
            yield from check_pair(link, (*at, "between"), seen)
        else:
            yield Problem((*at, "between"), _unknown_link(link.between, pairs))


def _check_ends(link: LinkException, at: Loc) -> Iterator[Problem]:
    """Yield qdiscs at what is no end of their link."""
    places = [(link.netem, (*at, "netem"))]
    places += [(step.netem, (*at, "schedule", index, "netem")) for index, step in enumerate(link.schedule or ())]
    for netem, place in places:
        for end in netem if isinstance(netem, dict) else ():
            if end not in link.between:
                yield Problem((*place, end), unknown("end of the link", end, link.between))


def _unknown_link(between: tuple[str, ...], pairs: list[tuple[str, str]]) -> str:
    choices = [f"{a} - {b}" for a, b in pairs]
    if not choices:
        return "there is no topology whose link this could be"
    return unknown_name("link between", " - ".join(between), choices)
