"""Problems of a topology that no field has by itself."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hetsim.lookup import did_you_mean, unknown
from hetsim.network.fabric import Fabric, Port
from hetsim.network.fat_tree import most_hosts
from hetsim.network.wan_ring import wan_links
from hetsim.scenario.fabrics import fabric, named_hosts, sites_of
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.problems import Problem
from hetsim.scenario.specs import host_names
from hetsim.scenario.topology import (
    AnyTopology,
    DragonflyTopology,
    FatTreeTopology,
    GraphLink,
    GraphTopology,
    LeafSpineTopology,
    LinkException,
    UplinkTopology,
    WanRingTopology,
)
from hetsim.scenario.tree import Loc

TOPOLOGY: Final[Loc] = ("cluster", "topology")
_HOSTS: Final[Loc] = ("cluster", "hosts")
_MOST_SHOWN: Final = 12
_MOST_LINKS: Final = 500_000
"""A slip of the pen shall not fill the memory."""


def check_topology(topology: AnyTopology, hosts: Sequence[HostSection]) -> Iterator[Problem]:
    """Yield what is wrong between the fields of a topology, and with what it says of hosts.

    Parameters
    ----------
    topology : section
        Valid by itself.
    hosts : sequence of HostSection
        One at least.

    Yields
    ------
    Problem
        In no particular order.
    """
    if isinstance(topology, UplinkTopology) and topology.latency is None and topology.uplink_latency is None:
        yield Problem((*TOPOLOGY, "uplink_latency"), "required, since latency is left out")
    if isinstance(topology, LeafSpineTopology):
        yield from _check_uplink(topology)
    elif isinstance(topology, DragonflyTopology) and topology.latency is None:
        for field in ("local_latency", "global_latency"):
            if getattr(topology, field) is None:
                yield Problem((*TOPOLOGY, field), "required, since latency is left out")
    elif isinstance(topology, WanRingTopology):
        yield from _check_wan(topology)
        yield from _check_sites(topology, hosts)
    elif isinstance(topology, GraphTopology):
        yield from _check_graph(topology, hosts)
    yield from _check_size(topology, sum(host.count or 1 for host in hosts))


def shape(topology: AnyTopology | None, hosts: Sequence[HostSection]) -> Fabric:
    """Return the switches and links of a topology, whatever their rates; none where it has no room for all hosts.

    Parameters
    ----------
    topology : section or None
        Valid by itself.
    hosts : sequence of HostSection
        One at least.

    Returns
    -------
    Fabric
        With the right names.
    """
    names = [name for host in hosts for name in host_names(host)]
    if topology is None or any(_check_size(topology, len(names))):
        return Fabric((), ())
    if isinstance(topology, WanRingTopology) and (any(_check_sites(topology, hosts)) or any(_check_wan(topology))):
        return Fabric((), ())
    return fabric(topology, [Port(host=name, bytes_per_s=1.0) for name in names], hosts)


def _check_uplink(topology: LeafSpineTopology) -> Iterator[Problem]:
    if topology.uplink is None and topology.oversubscription is None:
        yield Problem((*TOPOLOGY, "uplink"), "required, unless there is an oversubscription")
    elif topology.uplink is not None and topology.oversubscription is not None:
        yield Problem((*TOPOLOGY, "oversubscription"), "says again what uplink says: leave one of the two out")


def _check_size(topology: AnyTopology, n_hosts: int) -> Iterator[Problem]:
    n_links = 0
    if isinstance(topology, FatTreeTopology) and n_hosts > most_hosts(topology.k):
        yield Problem((*TOPOLOGY, "k"), f"{topology.k} has room for {most_hosts(topology.k):,} hosts, not {n_hosts:,}")
    elif isinstance(topology, LeafSpineTopology):
        n_links = -(-n_hosts // topology.hosts_per_leaf) * topology.spines
    elif isinstance(topology, DragonflyTopology):
        n_routers = topology.groups * topology.routers_per_group
        n_links = n_routers * (topology.routers_per_group - 1) // 2 + topology.groups * (topology.groups - 1) // 2
        if n_hosts > n_routers * topology.hosts_per_router:
            room = f"{n_routers * topology.hosts_per_router:,} hosts, not {n_hosts:,}"
            yield Problem(TOPOLOGY, f"{n_routers:,} routers have room for {room}")
    if n_links > _MOST_LINKS:
        yield Problem(TOPOLOGY, f"{n_links:,} links between switches; at most {_MOST_LINKS:,}")


def _check_wan(topology: WanRingTopology) -> Iterator[Problem]:
    n_sites = topology.sites if isinstance(topology.sites, int) else len(topology.sites)
    n_links = wan_links(n_sites)
    for field, values in (("wan", topology.wan), ("wan_latency", topology.wan_latency)):
        if isinstance(values, tuple) and len(values) != n_links:
            count = f"{n_links} link{'' if n_links == 1 else 's'}"
            yield Problem((*TOPOLOGY, field), f"{len(values)} values for the {count} between {n_sites} sites")


def _check_sites(topology: WanRingTopology, hosts: Sequence[HostSection]) -> Iterator[Problem]:
    if isinstance(topology.sites, int):
        return
    templates = {host.name: host_names(host) for host in hosts}
    names = {name for group in templates.values() for name in group}
    at = (*TOPOLOGY, "sites")
    found = sites_of(topology, hosts)
    site_of: dict[str, str] = {}
    for index, site in enumerate(topology.sites):
        if any(site.name == other.name for other in topology.sites[:index]):
            yield Problem((*at, index, "name"), f"another site is called {site.name!r}")
        elif isinstance(site.hosts, int) and len(found[site.name]) < site.hosts:
            yield Problem((*at, index, "hosts"), f"{site.hosts} hosts, but only {len(found[site.name])} are left")
        for position, name in enumerate(named_hosts(site, templates)):
            where = (*at, index, "hosts", min(position, len(site.hosts) - 1 if isinstance(site.hosts, tuple) else 0))
            if name not in names:
                yield Problem(where, unknown_name("host", name, templates))
            elif name in site_of:
                yield Problem(where, f"{name!r} is at {site_of[name]!r} already")
            site_of.setdefault(name, site.name)
    placed = {name for group in found.values() for name in group}
    apart = [name for group in templates.values() for name in group if name not in placed]
    if apart:
        more = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
        yield Problem(at, f"no site has {apart[0]!r}{more}")


def _check_graph(topology: GraphTopology, hosts: Sequence[HostSection]) -> Iterator[Problem]:
    nodes = dict.fromkeys((*(name for host in hosts for name in host_names(host)), *topology.switches))
    joined = {node: node for node in nodes}
    seen: set[frozenset[str]] = set()
    for index, link in enumerate(topology.links):
        at = (*TOPOLOGY, "links", index, "between")
        strangers = [(end, side) for side, end in enumerate(link.between) if end not in nodes]
        yield from (Problem((*at, side), unknown_name("host or switch", end, nodes)) for end, side in strangers)
        if strangers:
            continue
        yield from check_pair(link, at, seen)
        first, second = (_root(joined, end) for end in link.between)
        joined[first] = second
    yield from _check_joined(hosts, joined)
    known: set[str] = set()
    for index, switch in enumerate(topology.switches):
        if switch in known:
            yield Problem((*TOPOLOGY, "switches", index), f"another switch is called {switch!r}")
        known.add(switch)


def _check_joined(hosts: Sequence[HostSection], joined: dict[str, str]) -> Iterator[Problem]:
    first = host_names(hosts[0])[0]
    for index, host in enumerate(hosts):
        apart = [name for name in host_names(host) if _root(joined, name) != _root(joined, first)]
        if apart:
            more = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
            yield Problem((*_HOSTS, index), f"no chain of links joins {apart[0]!r}{more} to {first!r}")


def _root(joined: dict[str, str], node: str) -> str:
    while joined[node] != node:
        joined[node] = joined[joined[node]]
        node = joined[node]
    return node


def check_pair(link: GraphLink | LinkException, at: Loc, seen: set[frozenset[str]]) -> Iterator[Problem]:
    """Yield what is wrong with the ends of a link.

    Parameters
    ----------
    link : GraphLink or LinkException
        The link.
    at : Loc
        Where its ends are.
    seen : set of frozenset of str
        Those of the links before; gets these too.

    Yields
    ------
    Problem
        One at most.
    """
    a, b = link.between
    pair = frozenset((a, b))
    if a == b:
        yield Problem(at, f"joins {a!r} to itself")
    elif pair in seen:
        yield Problem(at, f"a second entry for the link between {a!r} and {b!r}")
    seen.add(pair)


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for an unknown name; a large cluster has too many to list.

    Parameters
    ----------
    kind : str
        What should have been named.
    name : str
        As written.
    choices : iterable of str
        The names there are.

    Returns
    -------
    str
        With a did-you-mean and up to a dozen names.
    """
    listed = list(choices)
    if len(listed) <= _MOST_SHOWN:
        return unknown(kind, name, listed)
    hint = did_you_mean(name, listed) or "."
    return f"no {kind} {name!r}{hint} Known: {', '.join(listed[:_MOST_SHOWN])} and {len(listed) - _MOST_SHOWN} more"
