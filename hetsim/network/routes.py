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

    Parameters
    ----------
    cluster : Cluster
        Its nodes are devices, cards, hosts and switches.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._graph: nx.Graph[str] = nx.Graph()
        self._graph.add_nodes_from(device.name for device in cluster.devices)
        self._graph.add_nodes_from(host.name for host in cluster.hosts)
        self._graph.add_nodes_from(cluster.switches)
        for link in cluster.links:
            self._graph.add_edge(link.a, link.b, link=link, weight=_weight(link))
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
            self._paths[key] = self._find(source, target)
        return self._paths[key]

    def _find(self, source: str, target: str) -> tuple[Hop, ...]:
        try:
            nodes = nx.shortest_path(self._graph, source, target, weight="weight")
        except nx.NetworkXNoPath:
            raise HetsimError(f"no route from {source} to {target}: no chain of links joins them") from None
        return tuple(Hop(f"{a}>{b}", self._graph.edges[a, b]["link"]) for a, b in itertools.pairwise(nodes))

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


def _weight(link: Link) -> int:
    """Return a whole number whose sums order ways by links, then latency, then the inverse of the rate."""
    slowness = int(1e18 / max(link.bytes_per_s, 1.0))
    return 10**40 + 10**20 * to_ticks(min(link.latency_s, 1e5)) + slowness
