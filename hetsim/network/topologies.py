"""The links between hosts: one function for each kind of topology, and the table of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.model.cluster import IDLE, Link, Schedule

SWITCH: Final = "switch"
CORE: Final = "core"


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
    """

    a: str
    b: str
    bytes_per_s: float
    latency_s: float


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


def _to_switch(port: Port, switch: str) -> Link:
    return Link(
        a=port.host,
        b=switch,
        bytes_per_s=port.bytes_per_s,
        latency_s=port.latency_s,
        background=port.background,
        source=port.source,
    )


def star(ports: Sequence[Port]) -> Fabric:
    """Join all hosts through one switch that never blocks.

    Parameters
    ----------
    ports : sequence of Port
        One for each host.

    Returns
    -------
    Fabric
        The switch is called ``switch``.

    Examples
    --------
    >>> star([Port(host="a", bytes_per_s=1.25e9)]).links[0].b
    'switch'
    """
    return Fabric((SWITCH,), tuple(_to_switch(port, SWITCH) for port in ports))


def two_level(
    ports: Sequence[Port], *, hosts_per_rack: int, uplink_bytes_per_s: float, uplink_latency_s: float
) -> Fabric:
    """Fill racks in the order of the hosts, and join their switches through one core switch.

    Parameters
    ----------
    ports : sequence of Port
        One for each host.
    hosts_per_rack : int
        The last rack may hold fewer.
    uplink_bytes_per_s : float
        Payload rate of each direction between a rack's switch and the core.
    uplink_latency_s : float
        One way.

    Returns
    -------
    Fabric
        Switches ``rack-0``, ``rack-1``, ... and ``core``.
    """
    racks = rack_names(len(ports), hosts_per_rack)
    down = tuple(_to_switch(port, racks[index // hosts_per_rack]) for index, port in enumerate(ports))
    up = tuple(Link(a=rack, b=CORE, bytes_per_s=uplink_bytes_per_s, latency_s=uplink_latency_s) for rack in racks)
    return Fabric((*racks, CORE), down + up)


def rack_names(n_hosts: int, hosts_per_rack: int) -> tuple[str, ...]:
    """Return the names of the rack switches of a two-level network.

    Parameters
    ----------
    n_hosts, hosts_per_rack : int
        Positive.

    Returns
    -------
    tuple of str
        ``rack-0``, ``rack-1``, ...
    """
    return tuple(f"rack-{index}" for index in range(-(-n_hosts // hosts_per_rack)))


def graph(ports: Sequence[Port], *, switches: Sequence[str], edges: Sequence[Edge]) -> Fabric:
    """Join hosts and switches by the links that are listed.

    Parameters
    ----------
    ports : sequence of Port
        One for each host; what others take of its network card they take of each of its links.
    switches : sequence of str
        Names.
    edges : sequence of Edge
        The links.

    Returns
    -------
    Fabric
        As listed.
    """
    busy = {port.host: port.background for port in ports}
    links = tuple(
        Link(
            a=edge.a,
            b=edge.b,
            bytes_per_s=edge.bytes_per_s,
            latency_s=edge.latency_s,
            background=busiest(busy.get(edge.a, IDLE), busy.get(edge.b, IDLE)),
        )
        for edge in edges
    )
    return Fabric(tuple(switches), links)


def busiest(first: Schedule, second: Schedule) -> Schedule:
    """Return the greater of two schedules at each time.

    Parameters
    ----------
    first, second : Schedule
        Shares as functions of time.

    Returns
    -------
    Schedule
        The pointwise maximum.

    Examples
    --------
    >>> busiest(((0.0, 0.5),), ((0.0, 0.1), (9.0, 0.8)))
    ((0.0, 0.5), (9.0, 0.8))
    """
    shares = [0.0, 0.0]
    result: list[tuple[float, float]] = []
    events = [(at_s, which, share) for which, side in enumerate((first, second)) for at_s, share in side]
    for at_s, which, share in sorted(events):
        shares[which] = share
        if result and result[-1][0] == at_s:
            result.pop()
        if not result or result[-1][1] != max(shares):
            result.append((at_s, max(shares)))
    return tuple(result)


TOPOLOGIES: Final[Mapping[str, Callable[..., Fabric]]] = {"star": star, "two-level": two_level, "graph": graph}
"""By the name that a scenario writes as ``kind``."""
