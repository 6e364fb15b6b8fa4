"""Leaf and spine switches, each leaf joined to each spine."""

from collections.abc import Sequence

from hetsim.model.cluster import Link
from hetsim.network.fabric import Fabric, Port, fill


def leaf_spine(
    ports: Sequence[Port],
    *,
    hosts_per_leaf: int,
    spines: int,
    uplink_latency_s: float,
    uplink_bytes_per_s: float | None = None,
    oversubscription: float = 1.0,
) -> Fabric:
    """Fill leaf switches in the order of the hosts, and join each of them to each spine switch.

    Parameters
    ----------
    ports : sequence of Port
        One for each host.
    hosts_per_leaf : int
        Ports of a leaf switch; the last leaf may hold fewer hosts.
    spines : int
        Number of spine switches, and so of routes between two leaves.
    uplink_latency_s : float
        One way.
    uplink_bytes_per_s : float, optional
        Payload rate of each direction between a leaf and a spine.
    oversubscription : float
        Where no rate is given: rate of a leaf's ports, of which empty ones count as the mean of the others, over that
        of its uplinks.

    Returns
    -------
    Fabric
        Switches ``leaf-0``, ``leaf-1``, ... and ``spine-0``, ``spine-1``, ...

    Examples
    --------
    >>> ports = [Port(host=f"h{i}", bytes_per_s=1e9) for i in range(16)]
    >>> fabric = leaf_spine(ports, hosts_per_leaf=8, spines=2, uplink_latency_s=0.0, oversubscription=4.0)
    >>> fabric.switches, fabric.links[-1].bytes_per_s
    (('leaf-0', 'leaf-1', 'spine-0', 'spine-1'), 1000000000.0)
    """
    leaves = tuple(f"leaf-{index}" for index in range(-(-len(ports) // hosts_per_leaf)))
    tops = tuple(f"spine-{index}" for index in range(spines))
    up: list[Link] = []
    for index, leaf in enumerate(leaves):
        rate = uplink_bytes_per_s
        if rate is None:
            rates = [port.bytes_per_s for port in ports[index * hosts_per_leaf : (index + 1) * hosts_per_leaf]]
            rate = hosts_per_leaf * (sum(rates) / len(rates)) / (spines * oversubscription)
        up += [Link(a=leaf, b=top, bytes_per_s=rate, latency_s=uplink_latency_s) for top in tops]
    return Fabric((*leaves, *tops), (*fill(ports, leaves, hosts_per_leaf), *up))
