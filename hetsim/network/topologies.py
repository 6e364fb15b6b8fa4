"""The links between hosts: the small topologies, and the table of all of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hetsim.model.cluster import IDLE, Link, Schedule
from hetsim.network.dragonfly import dragonfly
from hetsim.network.fabric import Edge, Fabric, Port, fill, join
from hetsim.network.fat_tree import fat_tree
from hetsim.network.leaf_spine import leaf_spine
from hetsim.network.wan_ring import wan_ring

SWITCH: Final = "switch"
CORE: Final = "core"


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
    return Fabric((SWITCH,), tuple(join(port, SWITCH) for port in ports))


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
    down = fill(ports, racks, hosts_per_rack)
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
            metric=edge.metric,
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


TOPOLOGIES: Final[Mapping[str, Callable[..., Fabric]]] = {
    "star": star,
    "two-level": two_level,
    "leaf-spine": leaf_spine,
    "fat-tree": fat_tree,
    "dragonfly": dragonfly,
    "wan-ring": wan_ring,
    "graph": graph,
}
"""By the name that a scenario writes as ``kind``."""
