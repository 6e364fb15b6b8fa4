"""The shared objects of a plan, named once each as the lowering first uses them."""

from hetsim.model.cluster import Cluster, Device, Schedule
from hetsim.model.plan import CapacityChange, Resource, ResourceKind
from hetsim.network.routes import Hop, Routes
from hetsim.units import TICKS_PER_S, to_ticks


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
        self._index: dict[str, int] = {}

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
        own = self._add(name, "device", 1.0, load)
        if self._n_siblings(device) <= device.spec.card_capacity:
            return (own,)
        return (own, self._add(device.card, "shared-device", device.spec.card_capacity, load))

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
        return self._add(f"{host}/cpu", "shared-device", 1.0, self._hosts[host].background.cpu)

    def way(self, source: str, target: str) -> tuple[tuple[tuple[int, float], ...], int]:
        """Return the links from one node to another, and the latency of the way.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        usage : tuple of (int, float)
            Links, each used once.
        latency_ticks : int
            Sum of the links' latencies.
        """
        hops = self._routes.path(source, target)
        usage = tuple((self._link(hop), 1.0) for hop in hops)
        return usage, to_ticks(self._routes.latency_s(source, target))

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
        return self._add(hop.name, "link", hop.link.bytes_per_s / TICKS_PER_S, hop.link.background)

    def _n_siblings(self, device: Device) -> int:
        return sum(other.card == device.card for other in self._hosts[device.host].devices)

    def _add(self, name: str, kind: ResourceKind, capacity: float, load: Schedule) -> int:
        """Return the index of a resource; its background load becomes a table of capacities."""
        if name in self._index:
            return self._index[name]
        index = self._index[name] = len(self.resources)
        shares = [(to_ticks(at_s), capacity * (1.0 - share)) for at_s, share in load]
        self.resources.append(Resource(name=name, kind=kind, capacity=shares[0][1]))
        self.changes += [CapacityChange(tick=tick, resource=index, capacity=left) for tick, left in shares[1:]]
        return index
