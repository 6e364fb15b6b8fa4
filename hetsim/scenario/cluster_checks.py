"""Problems of a cluster that no field has by itself."""

from collections.abc import Iterable, Iterator
from typing import Final

from hetsim.lookup import did_you_mean, unknown
from hetsim.network.topologies import CORE, SWITCH, TOPOLOGIES, rack_names
from hetsim.scenario.fields import has
from hetsim.scenario.hardware import CpuDevice, HostSection, InlineLink
from hetsim.scenario.parts import Parts, items, mapping
from hetsim.scenario.problems import Problem
from hetsim.scenario.schema import GraphLink, GraphTopology, LinkException, StarTopology, TwoLevelTopology
from hetsim.scenario.specs import host_names, n_slots
from hetsim.scenario.tree import Loc

_HOSTS: Loc = ("cluster", "hosts")
_TOPOLOGY: Loc = ("cluster", "topology")
_LINKS: Loc = ("cluster", "links")
_MOST_SHOWN: Final = 12
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
        yield from _check_topology(parts.topology, hosts, names)
    elif len(names) > 1 and not has(mapping(parts.data, "cluster"), "topology"):
        yield Problem(_TOPOLOGY, f"required to join {len(names)} hosts. Known: {', '.join(TOPOLOGIES)}")
    yield from _check_names(hosts, _switches(parts.topology, len(names)))
    yield from _check_exceptions(parts, names)


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
    topology = parts.topology
    if not isinstance(topology, StarTopology | TwoLevelTopology) or "nic" in doubtful:
        return
    if host.nic is None:
        yield Problem((*at, "nic"), f"required by the topology {topology.kind}")
    elif not isinstance(host.nic, str | InlineLink) and topology.latency is None:
        yield Problem((*_TOPOLOGY, "latency"), f"required, since the nic of host {host.name!r} is a bare rate")


def _switches(topology: StarTopology | TwoLevelTopology | GraphTopology | None, n_hosts: int) -> tuple[str, ...]:
    if isinstance(topology, GraphTopology):
        return topology.switches
    if isinstance(topology, TwoLevelTopology):
        return (*rack_names(n_hosts, topology.hosts_per_rack), CORE)
    return () if topology is None else (SWITCH,)


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


def _check_topology(
    topology: StarTopology | TwoLevelTopology | GraphTopology, hosts: list[HostSection], names: list[str]
) -> Iterator[Problem]:
    if isinstance(topology, TwoLevelTopology) and topology.latency is None and topology.uplink_latency is None:
        yield Problem((*_TOPOLOGY, "uplink_latency"), "required, since latency is left out")
    if isinstance(topology, GraphTopology):
        yield from _check_graph(topology, hosts, names)


def _check_graph(topology: GraphTopology, hosts: list[HostSection], names: list[str]) -> Iterator[Problem]:
    nodes = dict.fromkeys((*names, *topology.switches))
    joined = {node: node for node in nodes}
    seen: set[frozenset[str]] = set()
    for index, link in enumerate(topology.links):
        at = (*_TOPOLOGY, "links", index, "between")
        strangers = [(end, side) for side, end in enumerate(link.between) if end not in nodes]
        yield from (Problem((*at, side), _unknown("host or switch", end, nodes)) for end, side in strangers)
        if strangers:
            continue
        yield from _check_pair(link, at, seen)
        first, second = (_root(joined, end) for end in link.between)
        joined[first] = second
    yield from _check_joined(hosts, joined)
    for index, switch in enumerate(topology.switches):
        if switch in topology.switches[:index]:
            yield Problem((*_TOPOLOGY, "switches", index), f"another switch is called {switch!r}")


def _check_joined(hosts: list[HostSection], joined: dict[str, str]) -> Iterator[Problem]:
    first = host_names(hosts[0])[0]
    for index, host in enumerate(hosts):
        apart = [name for name in host_names(host) if _root(joined, name) != _root(joined, first)]
        if apart:
            more = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
            yield Problem((*_HOSTS, index), f"no chain of links joins {apart[0]!r}{more} to {first!r}")


def _root(joined: dict[str, str], node: str) -> str:
    while joined[node] != node:
        node = joined[node]
    return node


def _check_pair(link: GraphLink | LinkException, at: Loc, seen: set[frozenset[str]]) -> Iterator[Problem]:
    a, b = link.between
    pair = frozenset((a, b))
    if a == b:
        yield Problem(at, f"joins {a!r} to itself")
    elif pair in seen:
        yield Problem(at, f"a second entry for the link between {a!r} and {b!r}")
    seen.add(pair)


def _check_exceptions(parts: Parts, names: list[str]) -> Iterator[Problem]:
    if parts.topology is None and has(mapping(parts.data, "cluster"), "topology"):
        return
    pairs = _network_pairs(parts.topology, names)
    known = {frozenset(pair) for pair in pairs}
    seen: set[frozenset[str]] = set()
    for index, link in enumerate(parts.links):
        if link is None:
            continue
        at = (*_LINKS, index)
        if link.rate is None and link.latency is None and link.queue is None:
            yield Problem(at, "states no exception: write a rate, a latency or a queue")
        if frozenset(link.between) in known:
            yield from _check_pair(link, (*at, "between"), seen)
        else:
            yield Problem((*at, "between"), _unknown_link(link.between, pairs))


def _network_pairs(
    topology: StarTopology | TwoLevelTopology | GraphTopology | None, names: list[str]
) -> list[tuple[str, str]]:
    if isinstance(topology, StarTopology):
        return [(name, SWITCH) for name in names]
    if isinstance(topology, TwoLevelTopology):
        racks = rack_names(len(names), topology.hosts_per_rack)
        down = [(name, racks[index // topology.hosts_per_rack]) for index, name in enumerate(names)]
        return down + [(rack, CORE) for rack in racks]
    return [] if topology is None else [(link.between[0], link.between[1]) for link in topology.links]


def _unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for an unknown name; a large cluster has too many to list."""
    listed = list(choices)
    if len(listed) <= _MOST_SHOWN:
        return unknown(kind, name, listed)
    hint = did_you_mean(name, listed) or "."
    return f"no {kind} {name!r}{hint} Known: {', '.join(listed[:_MOST_SHOWN])} and {len(listed) - _MOST_SHOWN} more"


def _unknown_link(between: tuple[str, ...], pairs: list[tuple[str, str]]) -> str:
    choices = [f"{a} - {b}" for a, b in pairs]
    if not choices:
        return "there is no topology whose link this could be"
    return _unknown("link between", " - ".join(between), choices)
