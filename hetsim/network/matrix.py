"""Bottleneck rate and latency of the routes between hosts: of every pair, or of groups of hosts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.errors import HetsimError
from hetsim.model.cluster import Cluster
from hetsim.network.hops import at, latency_s, sides
from hetsim.network.routes import Routes, bottleneck_bytes_per_s

_NOWHERE: Final = (0.0, math.inf, 0)


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """A route in figures.

    Parameters
    ----------
    source, target : str
        Hosts.
    bytes_per_s : float
        What background traffic leaves of the slowest link at the start; zero where no route joins the hosts.
    latency_s : float
        One way; infinite without a route.
    n_links : int
        Of the route.
    """

    source: str
    target: str
    bytes_per_s: float
    latency_s: float
    n_links: int


@dataclass(frozen=True, slots=True)
class Range:
    """The least and greatest figures of some routes.

    Parameters
    ----------
    low_bytes_per_s, high_bytes_per_s : float
        Bottleneck rates.
    low_latency_s, high_latency_s : float
        Latencies, one way.
    """

    low_bytes_per_s: float
    high_bytes_per_s: float
    low_latency_s: float
    high_latency_s: float


def route_figures(routes: Routes, source: str, target: str) -> RouteFigures:
    """Return the figures of one route.

    Parameters
    ----------
    routes : Routes
        Of the cluster.
    source, target : str
        Two hosts.

    Returns
    -------
    RouteFigures
        Of the route that transfers between the hosts themselves take; those of their devices may take another one of
        the same cost.
    """
    try:
        hops = routes.find(source, target)
    except HetsimError:
        return RouteFigures(source, target, *_NOWHERE)
    way_s = latency_s([(link, at(side, 0.0)) for link, side in sides(source, hops)])
    return RouteFigures(source, target, bottleneck_bytes_per_s(hops), way_s, len(hops))


def all_routes(cluster: Cluster) -> Iterator[RouteFigures]:
    """Yield the figures of the route from each host to each other one.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Yields
    ------
    RouteFigures
        In the order of the hosts.
    """
    routes = Routes(cluster)
    names = [host.name for host in cluster.hosts]
    yield from (route_figures(routes, a, b) for a in names for b in names if a != b)


def grouped_routes(cluster: Cluster, groups: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], Range]:
    """Return the least and greatest figures of the routes between groups of hosts.

    Hosts of a group that are joined to the same switch by equal links are alike, and one pair stands for all of theirs.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    groups : mapping of str to sequence of str
        Hosts by the name of their group.

    Returns
    -------
    dict of (str, str) to Range
        By source and target group; without groups of one host to themselves.
    """
    routes = Routes(cluster)
    joints = _joints(cluster)
    classes = {name: list(_alike(hosts, joints)) for name, hosts in groups.items()}
    found: dict[tuple[str, str], Range] = {}
    for source, ours in classes.items():
        for target, theirs in classes.items():
            pairs = [pair for a in ours for b in theirs if (pair := _pair(a, b)) is not None]
            figures = [route_figures(routes, a, b) for a, b in pairs]
            if figures:
                rates = [each.bytes_per_s for each in figures]
                latencies = [each.latency_s for each in figures]
                found[source, target] = Range(min(rates), max(rates), min(latencies), max(latencies))
    return found


def _joints(cluster: Cluster) -> dict[str, tuple[object, ...]]:
    """Return what joins each host to the network, without its own name."""
    joints: dict[str, list[object]] = {host.name: [] for host in cluster.hosts}
    for link in cluster.network_links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if end in joints:
                figures = (link.bytes_per_s, link.latency_s, link.background, link.metric)
                leaving, coming = (link.from_a, link.from_b) if end == link.a else (link.from_b, link.from_a)
                joints[end].append((other, *figures, leaving, coming))
    return {host: tuple(joined) for host, joined in joints.items()}


def _alike(hosts: Sequence[str], joints: Mapping[str, tuple[object, ...]]) -> Iterator[list[str]]:
    """Yield hosts that are joined alike; of these two are enough."""
    by_joint: dict[tuple[object, ...], list[str]] = {}
    for host in hosts:
        # A host with links to several nodes forwards itself, so it is like no other.
        key = joints[host] if len(joints[host]) == 1 else (host,)
        by_joint.setdefault(key, []).append(host)
    yield from by_joint.values()


def _pair(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, str] | None:
    """Return a host of each of two classes; two hosts of one class, if it has two."""
    if ours[0] != theirs[0]:
        return ours[0], theirs[0]
    return (ours[0], ours[1]) if len(ours) > 1 else None
