"""The dragonfly: groups of routers that are all joined to each other, and one link between each two groups."""

import itertools
from collections.abc import Sequence
from typing import Final

from hetsim.model.cluster import Link
from hetsim.network.fabric import Fabric, Port, fill

GLOBAL_METRIC: Final = 3
"""With 1 for a local link, the way over one global link (at most 1 + 3 + 1) is shorter than any over two (3 + 3)."""


def dragonfly(
    ports: Sequence[Port],
    *,
    groups: int,
    routers_per_group: int,
    hosts_per_router: int,
    local_bytes_per_s: float,
    local_latency_s: float,
    global_bytes_per_s: float,
    global_latency_s: float,
) -> Fabric:
    """Fill the routers of a dragonfly with the hosts, group by group.

    Routes are the minimal ones: inside the first group to the router with the link to the other group, over that link,
    and inside the other group; at most one global link.

    Parameters
    ----------
    ports : sequence of Port
        One for each host, at most ``groups * routers_per_group * hosts_per_router``.
    groups, routers_per_group, hosts_per_router : int
        Sizes: g, a and p of the paper.
    local_bytes_per_s, global_bytes_per_s : float
        Payload rate of each direction of a link inside a group, and between two groups.
    local_latency_s, global_latency_s : float
        One way.

    Returns
    -------
    Fabric
        Routers ``group-0-router-0``, ...; the global links of a group are spread evenly over its routers.

    References
    ----------
    Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008,
    doi:10.1109/ISCA.2008.19, sections 3 and 4.1.
    """
    routers = [[f"group-{group}-router-{index}" for index in range(routers_per_group)] for group in range(groups)]
    local = [
        Link(a=a, b=b, bytes_per_s=local_bytes_per_s, latency_s=local_latency_s)
        for group in routers
        for a, b in itertools.combinations(group, 2)
    ]
    between = [
        Link(
            a=routers[one][_gateway(one, other, groups, routers_per_group)],
            b=routers[other][_gateway(other, one, groups, routers_per_group)],
            bytes_per_s=global_bytes_per_s,
            latency_s=global_latency_s,
            metric=GLOBAL_METRIC,
        )
        for one, other in itertools.combinations(range(groups), 2)
    ]
    names = tuple(itertools.chain.from_iterable(routers))
    return Fabric(names, (*fill(ports, names, hosts_per_router), *local, *between))


def _gateway(group: int, other: int, n_groups: int, n_routers: int) -> int:
    """Return which router of a group has the link to another one."""
    # The others in the order of their distance upwards: (group + 1), (group + 2), ..., modulo the number of groups.
    return ((other - group) % n_groups - 1) * n_routers // (n_groups - 1)
