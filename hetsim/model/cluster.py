"""Where training runs: devices, hosts, links, background load."""

from dataclasses import dataclass, field
from typing import Literal

from hetsim.model.impairment import Impairments
from hetsim.model.traffic import Traffic

Schedule = tuple[tuple[float, float], ...]
"""Piecewise-constant function of time: pairs of (seconds, share from then on), the first at 0 s."""

IDLE: Schedule = ((0.0, 0.0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """A kind of device.

    Parameters
    ----------
    name : str
        Such as ``V100``.
    kind : {"gpu", "cpu"}
        A CPU works with all cores of its host.
    flop_per_s : float
        Peak fp32 rate, FLOP per second.
    memory_bytes : float
        Device memory; for a CPU zero, since it uses the host's memory.
    memory_bytes_per_s : float
        Peak memory bandwidth.
    dies_per_card : int
        Devices that share one slot and one power budget (2 on a K80, else 1).
    card_capacity : float
        Devices' worth of work that one card's power sustains when all its dies are busy.
    n_cores : int
        Physical cores of a CPU; zero for a GPU.
    source : str
        Where the figures come from.
    """

    name: str
    kind: Literal["gpu", "cpu"]
    flop_per_s: float
    memory_bytes: float
    memory_bytes_per_s: float
    dies_per_card: int = 1
    card_capacity: float = 1.0
    n_cores: int = 0
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpec:
    """A kind of link.

    Parameters
    ----------
    name : str
        Such as ``PCIe3-x16``.
    kind : {"bus", "peer", "socket", "network"}
        Device to host, device to device, CPU socket to CPU socket, host to network.
    bytes_per_s : float
        Payload rate of each direction, headers taken off.
    latency_s : float
        One way, one message.
    source : str
        Where the figures come from.
    """

    name: str
    kind: Literal["bus", "peer", "socket", "network"]
    bytes_per_s: float
    latency_s: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device that can hold a worker.

    Parameters
    ----------
    name : str
        Unique in the cluster, such as ``k80-0/gpu1``.
    host : str
        Name of its host.
    card : str
        Name of its card, such as ``k80-0/card0``.
    spec : DeviceSpec
        Its kind.
    """

    name: str
    host: str
    card: str
    spec: DeviceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Shares of a host that others take.

    Parameters
    ----------
    gpu, cpu, nic : Schedule
        Shares between 0 and 1 as functions of time.
    memory_frac : float
        Share of the host's memory in use.
    """

    gpu: Schedule = IDLE
    cpu: Schedule = IDLE
    nic: Schedule = IDLE
    memory_frac: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine.

    Parameters
    ----------
    name : str
        Such as ``v100-0``.
    devices : tuple of Device
        That can hold workers, in order.
    cpu : DeviceSpec
        Which does the parameter server's arithmetic.
    n_cores : int
        Cores of the host.
    memory_bytes : float
        Host memory.
    background : Background
        What others take.
    """

    name: str
    devices: tuple[Device, ...]
    cpu: DeviceSpec
    n_cores: int
    memory_bytes: float
    background: Background = field(default_factory=Background)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link between two nodes of the cluster graph.

    Parameters
    ----------
    a, b : str
        Nodes: a device, a card, a host or a switch.
    bytes_per_s : float
        Payload rate, of each direction or of both together.
    latency_s : float
        One way.
    background : Schedule
        Share of the rate that others take.
    source : str
        Where rate and latency come from.
    queue_bytes : float
        Payload of each stream that waits in front of the link, in send buffers and queueing disciplines, while its
        sender already does something else. Zero where a sender waits for the arrival of its last byte.
    duplex : {"full", "half"}
        Whether each direction has the whole rate, or both share it.
    metric : int
        What the link adds to the length of a route, as in OSPF.
    from_a, from_b : Impairments
        Of what leaves either end: those of its queueing discipline, outages, and what was recorded there.
    """

    a: str
    b: str
    bytes_per_s: float
    latency_s: float
    background: Schedule = IDLE
    source: str = "scenario"
    queue_bytes: float = 0.0
    duplex: Literal["full", "half"] = "full"
    metric: int = 1
    from_a: Impairments = ()
    from_b: Impairments = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """All machines and the graph of links between them.

    Parameters
    ----------
    hosts : tuple of Host
        In the order of the scenario, which is the order of TensorFlow's cluster spec.
    switches : tuple of str
        Nodes that only forward.
    links : tuple of Link
        Bus, peer, socket and network links.
    ecmp_seed : int
        Key of the choice among routes of equal cost: of the switches' hash, so apart from that of the random draws.
    traffic : tuple of Traffic
        Transfers of others.
    """

    hosts: tuple[Host, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]
    ecmp_seed: int = 0
    traffic: tuple[Traffic, ...] = ()

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices, in the order of the hosts."""
        return tuple(device for host in self.hosts for device in host.devices)

    @property
    def network_links(self) -> tuple[Link, ...]:
        """Links between hosts and switches; what is inside a host is named ``host/...``, and nothing else is."""
        return tuple(link for link in self.links if "/" not in link.a and "/" not in link.b)

    def host(self, name: str) -> Host:
        """Return the host of that name.

        Parameters
        ----------
        name : str
            Name of a host of this cluster.

        Returns
        -------
        Host
            The host.
        """
        return next(host for host in self.hosts if host.name == name)


def share_at(schedule: Schedule, time_s: float) -> float:
    """Return the value of a piecewise-constant schedule.

    Parameters
    ----------
    schedule : Schedule
        Pairs of (seconds, share).
    time_s : float
        When.

    Returns
    -------
    float
        The share in force.

    Examples
    --------
    >>> share_at(((0.0, 0.1), (300.0, 0.8)), 299.0)
    0.1
    """
    return [share for at_s, share in schedule if at_s <= time_s][-1]
