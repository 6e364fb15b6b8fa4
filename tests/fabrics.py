"""One network of every kind of topology, and clusters made of them, shared by tests."""

from typing import Any

from clusters import CPU

from hetsim.model.cluster import Cluster, Host
from hetsim.network.fabric import Edge, Fabric, Port
from hetsim.network.topologies import TOPOLOGIES

RATE = 1.25e9
UP: dict[str, Any] = {"uplink_latency_s": 2e-6}
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "star": (5, {}),
    "two-level": (7, {"hosts_per_rack": 3, "uplink_bytes_per_s": 4 * RATE, **UP}),
    "leaf-spine": (10, {"hosts_per_leaf": 4, "spines": 3, "oversubscription": 2.0, **UP}),
    "fat-tree": (16, {"k": 4, **UP}),
    "dragonfly": (
        18,
        {
            "groups": 4,
            "routers_per_group": 3,
            "hosts_per_router": 2,
            "local_bytes_per_s": 5 * RATE,
            "local_latency_s": 1e-6,
            "global_bytes_per_s": 2 * RATE,
            "global_latency_s": 2e-6,
        },
    ),
    "wan-ring": (
        7,
        {
            "sites": {"north": ["h0", "h1"], "east": ["h2", "h3", "h4"], "south": ["h5"], "west": ["h6"]},
            "wan_bytes_per_s": [RATE / 4, RATE / 2, RATE / 8, RATE / 4],
            "wan_latency_s": [0.01, 0.02, 0.03, 0.02],
        },
    ),
    "graph": (
        3,
        {
            "switches": ["s", "t"],
            "edges": [
                Edge(a="h0", b="s", bytes_per_s=RATE, latency_s=1e-6),
                Edge(a="s", b="h1", bytes_per_s=2 * RATE, latency_s=1e-6),
                Edge(a="h1", b="t", bytes_per_s=RATE, latency_s=1e-6, metric=5),
                Edge(a="t", b="h2", bytes_per_s=RATE, latency_s=1e-6),
                Edge(a="t", b="s", bytes_per_s=RATE, latency_s=1e-3),
            ],
        },
    ),
}
"""By kind: how many hosts, and the parameters."""


def ports(n: int) -> list[Port]:
    """Equal network cards."""
    return [Port(host=f"h{index}", bytes_per_s=RATE, latency_s=1e-6) for index in range(n)]


def case(kind: str) -> Fabric:
    """The network of a kind."""
    n_hosts, parameters = CASES[kind]
    return TOPOLOGIES[kind](ports(n_hosts), **parameters)


def cluster_of(fabric: Fabric, n_hosts: int, *, ecmp_seed: int = 0) -> Cluster:
    """Hosts without devices on a network."""
    hosts = tuple(Host(name=f"h{i}", devices=(), cpu=CPU, n_cores=16, memory_bytes=1e9) for i in range(n_hosts))
    return Cluster(hosts=hosts, switches=fabric.switches, links=fabric.links, ecmp_seed=ecmp_seed)
