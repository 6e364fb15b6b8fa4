"""The topology of a scenario as switches and links."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hetsim.network.fabric import Edge, Fabric, Port
from hetsim.network.topologies import TOPOLOGIES
from hetsim.network.wan_ring import wan_links
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.specs import host_names
from hetsim.scenario.topology import (
    AnyTopology,
    DragonflyTopology,
    FatTreeTopology,
    GraphTopology,
    LeafSpineTopology,
    Site,
    TwoLevelTopology,
    UplinkTopology,
    WanRingTopology,
)


def fabric(topology: AnyTopology, ports: Sequence[Port], hosts: Sequence[HostSection]) -> Fabric:
    """Return what joins hosts.

    Parameters
    ----------
    topology : section
        As written, and checked.
    ports : sequence of Port
        One for each host.
    hosts : sequence of HostSection
        The hosts as written: a site may name a template.

    Returns
    -------
    Fabric
        Switches and links, without the scenario's exceptions.
    """
    return TOPOLOGIES[topology.kind](ports, **_parameters(topology, hosts))


def _parameters(topology: AnyTopology, hosts: Sequence[HostSection]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(topology, UplinkTopology):
        found["uplink_latency_s"] = _latency_s(topology.uplink_latency, topology)
    match topology:
        case TwoLevelTopology():
            found |= {"hosts_per_rack": topology.hosts_per_rack, "uplink_bytes_per_s": topology.uplink}
        case LeafSpineTopology():
            found |= {"hosts_per_leaf": topology.hosts_per_leaf, "spines": topology.spines}
            found["uplink_bytes_per_s"] = topology.uplink
            found["oversubscription"] = float(topology.oversubscription or 1.0)
        case FatTreeTopology():
            found |= {"k": topology.k, "uplink_bytes_per_s": topology.uplink}
        case DragonflyTopology():
            found |= _of_dragonfly(topology)
        case WanRingTopology():
            found |= _of_wan_ring(topology, hosts)
        case GraphTopology():
            topology.note("file")  # its links are here already
            found |= {"switches": topology.switches, "edges": list(_edges(topology))}
    return found


def _latency_s(own: float | None, topology: "UplinkTopology | DragonflyTopology") -> float:
    return own if own is not None else topology.latency or 0.0


def _of_dragonfly(topology: DragonflyTopology) -> dict[str, Any]:
    return {
        "groups": topology.groups,
        "routers_per_group": topology.routers_per_group,
        "hosts_per_router": topology.hosts_per_router,
        "local_bytes_per_s": topology.local_rate,
        "local_latency_s": _latency_s(topology.local_latency, topology),
        "global_bytes_per_s": topology.global_rate,
        "global_latency_s": _latency_s(topology.global_latency, topology),
    }


def _of_wan_ring(topology: WanRingTopology, hosts: Sequence[HostSection]) -> dict[str, Any]:
    sites = sites_of(topology, hosts)
    n_links = wan_links(len(sites))
    rate, latency = topology.wan, topology.wan_latency
    return {
        "sites": sites,
        "wan_bytes_per_s": rate if isinstance(rate, tuple) else (rate,) * n_links,
        "wan_latency_s": latency if isinstance(latency, tuple) else (latency,) * n_links,
    }


def _edges(topology: GraphTopology) -> Iterator[Edge]:
    for link in topology.links:
        a, b = link.between
        yield Edge(a=a, b=b, bytes_per_s=link.rate, latency_s=link.latency, metric=link.metric or 1)


def sites_of(topology: WanRingTopology, hosts: Sequence[HostSection]) -> dict[str, list[str]]:
    """Return the hosts of each site.

    Parameters
    ----------
    topology : WanRingTopology
        As written; a site that takes more hosts than are left gets fewer.
    hosts : sequence of HostSection
        Hosts and templates, either of which a site may name.

    Returns
    -------
    dict of str to list of str
        By site, in order.
    """
    names = [name for host in hosts for name in host_names(host)]
    if isinstance(topology.sites, int):
        n = topology.sites
        return {f"site-{i}": names[i * len(names) // n : (i + 1) * len(names) // n] for i in range(n)}
    templates = {host.name: host_names(host) for host in hosts}
    named = {site.name: list(named_hosts(site, templates)) for site in topology.sites}
    taken = {name for group in named.values() for name in group}
    left = iter([name for name in names if name not in taken])
    return {
        site.name: list(itertools.islice(left, site.hosts)) if isinstance(site.hosts, int) else named[site.name]
        for site in topology.sites
    }


def named_hosts(site: Site, templates: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the hosts that a site names.

    Parameters
    ----------
    site : Site
        As written.
    templates : mapping of str to sequence of str
        The hosts of each section of hosts.

    Yields
    ------
    str
        Names of hosts, or what stands for one; nothing where the site says how many.
    """
    if isinstance(site.hosts, tuple):
        for name in site.hosts:
            yield from templates.get(name, (name,))
