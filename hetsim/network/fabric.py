"""What topologies are made of: the ports of hosts, the links of a graph, and what joins them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hetsim.model.cluster import IDLE, Link, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A host's way into the network.

    Parameters
    ----------
    host : str
        Name of the host.
    bytes_per_s : float
        Payload rate of each direction of its network card; a graph states the rate of each link instead.
    latency_s : float
        One way, of the link between host and switch.
    background : Schedule
        Share of the rate that others take.
    source : str
        Where rate and latency come from.
    """

    host: str
    bytes_per_s: float = 0.0
    latency_s: float = 0.0
    background: Schedule = IDLE
    source: str = "scenario"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link of an explicit graph.

    Parameters
    ----------
    a, b : str
        Hosts or switches.
    bytes_per_s : float
        Payload rate of each direction.
    latency_s : float
        One way.
    metric : int
        What the link adds to the length of a route.
    """

    a: str
    b: str
    bytes_per_s: float
    latency_s: float
    metric: int = 1


@dataclass(frozen=True, slots=True)
class Fabric:
    """Switches and network links of a cluster.

    Parameters
    ----------
    switches : tuple of str
        Nodes that only forward.
    links : tuple of Link
        Between hosts and switches.
    """

    switches: tuple[str, ...]
    links: tuple[Link, ...]


def join(port: Port, switch: str) -> Link:
    """Return the link between a host and its switch.

    Parameters
    ----------
    port : Port
        Of the host.
    switch : str
        Name.

    Returns
    -------
    Link
        With the rate of the port.
    """
    return Link(
        a=port.host,
        b=switch,
        bytes_per_s=port.bytes_per_s,
        latency_s=port.latency_s,
        background=port.background,
        source=port.source,
    )


def fill(ports: Sequence[Port], switches: Sequence[str], n_ports: int) -> tuple[Link, ...]:
    """Return the links between hosts and the switches that are filled with them in order.

    Parameters
    ----------
    ports : sequence of Port
        One for each host.
    switches : sequence of str
        Enough for all.
    n_ports : int
        Hosts on each switch; the last one may have fewer.

    Returns
    -------
    tuple of Link
        In the order of the ports.
    """
    return tuple(join(port, switches[index // n_ports]) for index, port in enumerate(ports))
