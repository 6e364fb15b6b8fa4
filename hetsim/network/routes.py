"""Routes between the nodes of a cluster, computed once for each pair that is asked for."""

import itertools
import math
from dataclasses import dataclass

import networkx as nx

from hetsim.errors import HetsimError
from hetsim.model.cluster import Cluster, Link, share_at
from hetsim.units import to_ticks


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of one link.

    Parameters
    ----------
    name : str
        ``a>b``.
    link : Link
        The link.
    """

    name: str
    link: Link


class Routes:
    """Shortest routes of a cluster: fewest links, then least latency, then highest rate.

    Most nodes hang on trees: devices on hosts, hosts on switches. Those trees are climbed; only what is left, where
    ways can differ, is searched.

    Parameters
    ----------
    cluster : Cluster
        Its nodes are devices, cards, hosts and switches.
    """

    def __init__(self, cluster: Cluster) -> None:
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(device.name for device in cluster.devices)
        graph.add_nodes_from(host.name for host in cluster.hosts)
        graph.add_nodes_from(cluster.switches)
        for link in cluster.links:
            graph.add_edge(link.a, link.b, link=link, weight=_weight(link))
        joined = {tuple(sorted((link.a, link.b))): link for link in cluster.links}
        self._links = {(a, b): link for link in joined.values() for a, b in ((link.a, link.b), (link.b, link.a))}
        self._parents = _cut_trees(graph)
        self._core = graph
        self._paths: dict[tuple[str, str], tuple[Hop, ...]] = {}

    def path(self, source: str, target: str) -> tuple[Hop, ...]:
        """Return the directed links from one node to another.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        tuple of Hop
            Empty from a node to itself.

        Raises
        ------
        HetsimError
            If no route joins them.
        """
        key = (source, target)
        if key not in self._paths:
            nodes = self._find(source, target)
            hops = tuple(Hop(f"{a}>{b}", self._links[a, b]) for a, b in itertools.pairwise(nodes))
            self._paths[key] = hops
        return self._paths[key]

    def _find(self, source: str, target: str) -> list[str]:
        """Return the nodes of a route."""
        up, down = self._ancestors(source), self._ancestors(target)
        if up[-1] == down[-1]:
            while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
                up.pop()
                down.pop()
            return up + down[-2::-1]
        try:
            between = nx.shortest_path(self._core, up[-1], down[-1], weight="weight")
        except nx.NetworkXNoPath:
            raise HetsimError(f"no route from {source} to {target}: no chain of links joins them") from None
        return up[:-1] + list(between) + down[-2::-1]

    def _ancestors(self, node: str) -> list[str]:
        """Return a node and those above it, up to what its tree hangs on."""
        nodes = [node]
        while nodes[-1] in self._parents:
            nodes.append(self._parents[nodes[-1]])
        return nodes

    def latency_s(self, source: str, target: str) -> float:
        """Return the one-way latency of a route.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        float
            Seconds.
        """
        return math.fsum(hop.link.latency_s for hop in self.path(source, target))

    def free_bytes_per_s(self, source: str, target: str, time_s: float = 0.0) -> float:
        """Return the rate that background traffic leaves on the slowest link of a route.

        Parameters
        ----------
        source, target : str
            Nodes.
        time_s : float
            When.

        Returns
        -------
        float
            Bytes per second; infinite from a node to itself, zero where no route joins them.
        """
        try:
            hops = self.path(source, target)
        except HetsimError:
            return 0.0
        return min(
            (hop.link.bytes_per_s * (1.0 - share_at(hop.link.background, time_s)) for hop in hops), default=math.inf
        )

    def queue_bytes(self, source: str, target: str) -> float:
        """Return how much of a message a sender need not wait for: what waits in front of the slowest link of a route.

        Bytes pile up there and nowhere else, as faster links pass on what they get.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        float
            Payload, in bytes; the least where several links are the slowest, by what background traffic leaves of them
            at the start. Zero from a node to itself.
        """
        free = [
            (hop.link.bytes_per_s * (1.0 - share_at(hop.link.background, 0.0)), hop.link.queue_bytes)
            for hop in self.path(source, target)
        ]
        return min(free, default=(0.0, 0.0))[1]


def _weight(link: Link) -> int:
    """Return a whole number whose sums order ways by links, then latency, then the inverse of the rate."""
    slowness = int(1e18 / max(link.bytes_per_s, 1.0))
    return 10**40 + 10**20 * to_ticks(min(link.latency_s, 1e5)) + slowness


def _cut_trees(graph: "nx.Graph[str]") -> dict[str, str]:
    """Take the nodes with one link out of a graph, again and again, and return what each hung on."""
    parents: dict[str, str] = {}
    leaves = [node for node in graph if graph.degree(node) == 1]
    while leaves:
        node = leaves.pop()
        if graph.degree(node) != 1:
            continue
        (parent,) = graph[node]
        parents[node] = parent
        graph.remove_node(node)
        if graph.degree(parent) == 1:
            leaves.append(parent)
    return parents
