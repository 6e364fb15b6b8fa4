"""Sites, each with one switch, on a ring of wide-area links."""

from collections.abc import Mapping, Sequence

from hetsim.model.cluster import Link
from hetsim.network.fabric import Fabric, Port, join


def wan_links(n_sites: int) -> int:
    """Return how many links a ring of sites has: one between two sites, else one from each site to the next.

    Parameters
    ----------
    n_sites : int
        Two or more.

    Returns
    -------
    int
        Links.
    """
    return 1 if n_sites == 2 else n_sites


def wan_ring(
    ports: Sequence[Port],
    *,
    sites: Mapping[str, Sequence[str]],
    wan_bytes_per_s: Sequence[float],
    wan_latency_s: Sequence[float],
) -> Fabric:
    """Join the hosts of each site through its switch, and each site to the next one by a WAN link.

    Parameters
    ----------
    ports : sequence of Port
        One for each host.
    sites : mapping of str to sequence of str
        Names of the sites' switches, and the hosts of each.
    wan_bytes_per_s : sequence of float, shape (n_links,)
        Payload rate of each direction from a site to the next, at last from the last one to the first.
    wan_latency_s : sequence of float, shape (n_links,)
        One way.

    Returns
    -------
    Fabric
        Switches with the names of the sites.
    """
    switch_of = {host: site for site, hosts in sites.items() for host in hosts}
    names = tuple(sites)
    between = tuple(
        Link(
            a=names[index],
            b=names[(index + 1) % len(names)],
            bytes_per_s=wan_bytes_per_s[index],
            latency_s=wan_latency_s[index],
        )
        for index in range(wan_links(len(names)))
    )
    return Fabric(names, (*(join(port, switch_of[port.host]) for port in ports), *between))
