"""The fat tree of equal switches of k ports."""

from collections.abc import Sequence

from hetsim.model.cluster import Link
from hetsim.network.fabric import Fabric, Port, fill


def most_hosts(k: int) -> int:
    """Return how many hosts a fat tree can hold.

    Parameters
    ----------
    k : int
        Ports of each switch.

    Returns
    -------
    int
        ``k**3 / 4``.

    Examples
    --------
    >>> most_hosts(16)
    1024
    """
    return k**3 // 4


def fat_tree(
    ports: Sequence[Port], *, k: int, uplink_latency_s: float, uplink_bytes_per_s: float | None = None
) -> Fabric:
    """Fill the edge switches of a fat tree of k-port switches with the hosts, pod by pod.

    Parameters
    ----------
    ports : sequence of Port
        One for each host, at most ``k**3 / 4``.
    k : int
        Ports of each switch, even.
    uplink_latency_s : float
        One way, of the links between switches.
    uplink_bytes_per_s : float, optional
        Payload rate of each direction between two switches; that of the fastest port if left out.

    Returns
    -------
    Fabric
        Of each pod ``pod-0-edge-0`` ... and ``pod-0-agg-0`` ..., k / 2 each, and ``core-0`` ..., k**2 / 4 in all. Of
        the core, switch ``core-(i k / 2 + j)`` is joined to aggregation switch i of each pod.

    References
    ----------
    Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008,
    doi:10.1145/1402958.1402967, section 3.
    """
    half = k // 2
    rate = max(port.bytes_per_s for port in ports) if uplink_bytes_per_s is None else uplink_bytes_per_s
    cores = tuple(f"core-{index}" for index in range(half * half))
    edges: list[str] = []
    switches: list[str] = []
    pairs: list[tuple[str, str]] = []
    for pod in range(k):
        low = [f"pod-{pod}-edge-{index}" for index in range(half)]
        high = [f"pod-{pod}-agg-{index}" for index in range(half)]
        pairs += [(edge, agg) for edge in low for agg in high]
        pairs += [(agg, cores[i * half + j]) for i, agg in enumerate(high) for j in range(half)]
        edges += low
        switches += low + high
    up = tuple(Link(a=a, b=b, bytes_per_s=rate, latency_s=uplink_latency_s) for a, b in pairs)
    return Fabric((*switches, *cores), (*fill(ports, edges, half), *up))
