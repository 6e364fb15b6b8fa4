"""Routes between the nodes of a cluster, computed once for each pair that is asked for."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping

from hetsim.errors import HetsimError
from hetsim.model.cluster import Cluster, Link
from hetsim.network.ecmp import ShortestRoutes, route_key
from hetsim.network.hops import Hop, at, latency_s, rate_bytes_per_s, sides
from hetsim.units import to_ticks

Weights = dict[str, dict[str, int]]
"""Of the link to each neighbour of each node."""


class Routes:
    """Shortest routes of a cluster: least sum of metrics, then least latency, then highest rate.

    Metrics are 1 unless a topology says otherwise, so that most routes are those of the fewest links. Where several are
    equal in all of this, each pair of nodes has one of them by a hash of their names and the cluster's `ecmp_seed`, as
    switches choose by a hash of addresses and ports; the way back may be another one. Devices forward nothing.

    What hangs on one host alone, such as its devices, is searched apart, and trees are climbed; only what is left,
    where ways can differ, is searched.

    Parameters
    ----------
    cluster : Cluster
        Its nodes are devices, cards, hosts and switches.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._seed = cluster.ecmp_seed
        self._links = {pair: link for link in cluster.links for pair in ((link.a, link.b), (link.b, link.a))}
        nodes = [*(host.name for host in cluster.hosts), *cluster.switches]
        nodes += [device.name for device in cluster.devices]
        weights: Weights = {node: {} for node in nodes}
        for (a, b), link in self._links.items():
            weights.setdefault(a, {})[b] = _weight(link)
        self._home = _homes(weights, {host.name for host in cluster.hosts})
        self._ends = frozenset(device.name for device in cluster.devices)
        self._weights: dict[str, Weights] = {}
        for node, neighbours in weights.items():
            home = self._home.get(node, "")
            self._weights.setdefault(home, {})[node] = neighbours
        for host in {*self._home.values()}:
            self._cut_out(host)
        self._areas: dict[str, _Area] = {}
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
            self._paths[key] = self.find(source, target)
        return self._paths[key]

    def find(self, source: str, target: str) -> tuple[Hop, ...]:
        """Return what `path` does, without remembering it: for those who ask for each of very many pairs once.

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
        key = route_key(self._seed, source, target)
        nodes = [source]
        for home, goal in self._legs(source, target):
            leg = self._area(home).route(nodes[-1], goal, key)
            if not leg:
                raise HetsimError(f"no route from {source} to {target}: no chain of links joins them")
            nodes += leg[1:]
        return tuple(_hop(a, b, self._links[a, b]) for a, b in itertools.pairwise(nodes))

    def _legs(self, source: str, target: str) -> Iterator[tuple[str, str]]:
        """Yield the areas that a route leads through, and where it leaves each."""
        leaving, entering = self._home.get(source, source), self._home.get(target, target)
        if leaving == entering:
            if source != target:
                yield leaving, target
            return
        if source != leaving:
            yield leaving, leaving
        yield "", entering
        if target != entering:
            yield entering, target

    def _area(self, home: str) -> "_Area":
        if home not in self._areas:
            self._areas[home] = _Area(self._weights.get(home, {}), self._ends)
        return self._areas[home]

    def _cut_out(self, host: str) -> None:
        """Give a host to both of the areas that it joins: what hangs on it, and the network."""
        inside, network = self._weights[host], self._weights[""]
        neighbours = network[host]
        network[host] = {node: weight for node, weight in neighbours.items() if node not in inside}
        inside[host] = {node: weight for node, weight in neighbours.items() if node in inside}

    def latency_s(self, source: str, target: str) -> float:
        """Return the one-way latency of a route at the start.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        float
            Seconds.
        """
        return latency_s([(link, at(side, 0.0)) for link, side in sides(source, self.path(source, target))])

    def free_bytes_per_s(self, source: str, target: str, time_s: float = 0.0) -> float:
        """Return the rate that impairments and background traffic leave on the slowest link of a route.

        Parameters
        ----------
        source, target : str
            Nodes.
        time_s : float
            When.

        Returns
        -------
        float
            Bytes per second, for transfers in this direction alone; infinite from a node to itself, zero where no route
            joins them.
        """
        try:
            hops = self.path(source, target)
        except HetsimError:
            return 0.0
        return bottleneck_bytes_per_s(hops, time_s)

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
        free = [(rate_bytes_per_s(hop, 0.0), hop.link.queue_bytes) for hop in self.path(source, target)]
        return min(free, default=(0.0, 0.0))[1]


def bottleneck_bytes_per_s(hops: Collection[Hop], time_s: float = 0.0) -> float:
    """Return the rate that impairments and background traffic leave on the slowest of some links.

    Parameters
    ----------
    hops : collection of Hop
        A route.
    time_s : float
        When.

    Returns
    -------
    float
        Bytes per second; infinite without links.
    """
    return min((rate_bytes_per_s(hop, time_s) for hop in hops), default=math.inf)


def _hop(a: str, b: str, link: Link) -> Hop:
    return Hop(f"{link.a}<>{link.b}" if link.duplex == "half" else f"{a}>{b}", link)


def _weight(link: Link) -> int:
    """Return a whole number whose sums order ways by metric, then latency, then the inverse of the rate."""
    slowness = int(1e18 / max(link.bytes_per_s, 1.0))
    return link.metric * 10**40 + 10**20 * to_ticks(min(link.latency_s, 1e5)) + slowness


def _homes(weights: Mapping[str, Mapping[str, int]], hosts: Collection[str]) -> dict[str, str]:
    """Return the host of each node that is joined to no other host: every way to it leads through that one."""
    homes: dict[str, str] = {}
    seen = set(hosts)
    for first in weights:
        if first in seen:
            continue
        seen.add(first)
        part, touched, i = [first], set[str](), 0
        while i < len(part):
            for node in weights[part[i]]:
                if node in hosts:
                    touched.add(node)
                elif node not in seen:
                    seen.add(node)
                    part.append(node)
            i += 1
        if len(touched) == 1:
            homes |= dict.fromkeys(part, touched.pop())
    return homes


class _Area:
    """Routes inside a graph, whose trees are climbed and whose rest is searched."""

    def __init__(self, weights: Mapping[str, Mapping[str, int]], ends: Collection[str]) -> None:
        core = {node: dict(neighbours) for node, neighbours in weights.items()}
        self._parents = _cut_trees(core)
        self._core = ShortestRoutes(core, ends)

    def route(self, source: str, target: str, key: int) -> list[str]:
        """Return the nodes of a route; none where there is none."""
        up, down = self._ancestors(source), self._ancestors(target)
        if up[-1] == down[-1]:
            while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
                up.pop()
                down.pop()
            return up + down[-2::-1]
        between = self._core.route(up[-1], down[-1], key)
        return up[:-1] + between + down[-2::-1] if between else []

    def _ancestors(self, node: str) -> list[str]:
        """Return a node and those above it, up to what its tree hangs on."""
        nodes = [node]
        while nodes[-1] in self._parents:
            nodes.append(self._parents[nodes[-1]])
        return nodes


def _cut_trees(core: Weights) -> dict[str, str]:
    """Take the nodes with one link out of a graph, again and again, and return what each hung on."""
    parents: dict[str, str] = {}
    leaves = [node for node, neighbours in core.items() if len(neighbours) == 1]
    while leaves:
        node = leaves.pop()
        if len(core[node]) != 1:
            continue
        (parent,) = core.pop(node)
        parents[node] = parent
        del core[parent][node]
        if len(core[parent]) == 1:
            leaves.append(parent)
    return parents
