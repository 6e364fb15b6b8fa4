"""The shared objects of a plan, named once each as the lowering first uses them."""

from collections.abc import Sequence

from hetsim.model.cluster import Cluster, Device, Schedule
from hetsim.model.plan import CapacityChange, Resource, ResourceKind
from hetsim.network.conditions import Way
from hetsim.network.hops import Hop, rate_changes
from hetsim.network.routes import Routes
from hetsim.units import TICKS_PER_S, to_ticks

Usage = tuple[tuple[int, float], ...]
"""Resources, each with its use for one unit of progress."""


class Objects:
    """Resources, counters and capacity changes of a plan under construction.

    Parameters
    ----------
    cluster : Cluster
        Where jobs run.
    routes : Routes
        Its routes.
    """

    def __init__(self, cluster: Cluster, routes: Routes) -> None:
        self.resources: list[Resource] = []
        self.changes: list[CapacityChange] = []
        self.counters: list[str] = []
        self._routes = routes
        self._hosts = {host.name: host for host in cluster.hosts}
        self._devices = {device.name: device for device in cluster.devices}
        self.warnings: dict[str, str] = {}
        self._index: dict[str, int] = {}
        self._ways: dict[tuple[str, str], Way] = {}
        self._streams: dict[tuple[str, tuple[tuple[int, float], ...]], int] = {}

    def counter(self, name: str) -> int:
        """Return the index of a new counter.

        Parameters
        ----------
        name : str
            For messages, unique.

        Returns
        -------
        int
            Index.
        """
        self.counters.append(name)
        return len(self.counters) - 1

    def device(self, name: str) -> tuple[int, ...]:
        """Return what work on a device uses: the device, and its card where its dies share power.

        Parameters
        ----------
        name : str
            Of the device.

        Returns
        -------
        tuple of int
            Indices of resources, the device first.
        """
        device = self._devices[name]
        if device.spec.kind == "cpu":
            return (self.cpu(device.host),)
        load = self._hosts[device.host].background.gpu
        own = self._loaded(name, "device", 1.0, load)
        if self._n_siblings(device) <= device.spec.card_capacity:
            return (own,)
        return (own, self._loaded(device.card, "shared-device", device.spec.card_capacity, load))

    def cpu(self, host: str) -> int:
        """Return the resource that is a host's CPU.

        Parameters
        ----------
        host : str
            Name.

        Returns
        -------
        int
            Index.
        """
        return self._loaded(f"{host}/cpu", "shared-device", 1.0, self._hosts[host].background.cpu)

    def way(self, source: str, target: str) -> Way:
        """Return the way from one node to another.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        Way
            And the way back.
        """
        key = (source, target)
        if key not in self._ways:
            there, back = self._routes.path(source, target), self._routes.path(target, source)
            self._ways[key] = Way(source, target, there, back)
        return self._ways[key]

    def links(self, source: str, target: str) -> Usage:
        """Return the links from one node to another.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        tuple of (int, float)
            Links, each used once.
        """
        return tuple((self._link(hop), 1.0) for hop in self._routes.path(source, target))

    def stream(self, name: str, rates: tuple[tuple[int, float], ...]) -> int:
        """Return the resource that bounds what one stream can carry.

        Parameters
        ----------
        name : str
            Of the stream.
        rates : tuple of (int, float)
            Ticks, and bytes per second from then on; the first from tick 0 on.

        Returns
        -------
        int
            Index; one stream may be bounded in several ways.
        """
        key = (name, rates)
        if key not in self._streams:
            n_before = sum(other == name for other, _ in self._streams)
            unique = f"{name} ({n_before + 1})" if n_before else name
            capacities = [(tick, rate / TICKS_PER_S) for tick, rate in rates]
            self._streams[key] = self._add(unique, "stream", capacities)
        return self._streams[key]

    def timer(self, name: str) -> int:
        """Return a resource that measures time for one program alone.

        Parameters
        ----------
        name : str
            Of the program.

        Returns
        -------
        int
            Index.
        """
        return self._add(f"{name}, timer", "shared-device", [(0, 1.0)])

    def warn(self, kind: str, warning: str) -> None:
        """Note something that a user should know, once for each kind.

        Parameters
        ----------
        kind : str
            What is complained about.
        warning : str
            For people.
        """
        self.warnings.setdefault(kind, warning)

    def queue_bytes(self, source: str, target: str) -> float:
        """Return how much of a message waits on its way while its sender goes on.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        float
            Payload, in bytes.
        """
        return self._routes.queue_bytes(source, target)

    def _link(self, hop: Hop) -> int:
        if hop.name not in self._index:
            self._add(hop.name, "link", [(to_ticks(at_s), rate / TICKS_PER_S) for at_s, rate in rate_changes(hop)])
        return self._index[hop.name]

    def _n_siblings(self, device: Device) -> int:
        return sum(other.card == device.card for other in self._hosts[device.host].devices)

    def _loaded(self, name: str, kind: ResourceKind, capacity: float, load: Schedule) -> int:
        """Return the index of a resource of which others take a share."""
        return self._add(name, kind, [(to_ticks(at_s), capacity * (1.0 - share)) for at_s, share in load])

    def _add(self, name: str, kind: ResourceKind, capacities: Sequence[tuple[int, float]]) -> int:
        """Return the index of a resource, with a table of its capacities."""
        if name in self._index:
            return self._index[name]
        index = self._index[name] = len(self.resources)
        self.resources.append(Resource(name=name, kind=kind, capacity=capacities[0][1]))
        self.changes += [CapacityChange(tick=tick, resource=index, capacity=left) for tick, left in capacities[1:]]
        return index
