"""Random transfers between the hosts of a fat-tree, as usages and capacities of the solver and as the peer's input.

Three layers of switches with k ports each (Al-Fares, Loukissas and Vahdat 2008, doi:10.1145/1402946.1402967): k pods of
k/2 edge and k/2 aggregation switches, k/2 hosts at each edge switch, k^2/4 core switches; all links are equal. The way
up is chosen by a hash of the two hosts, as ECMP does.
"""

from dataclasses import dataclass

import numpy as np

from hetsim.kernels.state import Usage

LINK_BYTES_PER_S = 1.25e9
TICKS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Traffic:
    """Transfers in a network: the links of each, rates of links, and how much each transfer moves."""

    routes: list[list[int]]
    bytes_per_s: list[float]
    n_bytes: list[int]

    def usages(self) -> list[Usage]:
        """Links of each transfer with coefficients of one."""
        return [[(link, 1.0) for link in route] for route in self.routes]

    def capacities(self) -> list[float]:
        """Bytes per tick of a picosecond."""
        return [rate / TICKS_PER_S for rate in self.bytes_per_s]


def route(k: int, source: int, target: int) -> list[int]:
    """Return the directed links from a host to another one: up, then down.

    Links are numbered by layer (host, edge, aggregation), then up before down, then by the lower switch and its port.
    """
    half, n = k // 2, k**3 // 4
    edge_of, pod_of = source // half, source // half**2
    target_edge, target_pod = target // half, target // half**2
    chosen = (source * 0x9E3779B1 ^ target * 0x85EBCA77) % 2**32
    port, core = chosen % half, chosen // half % half
    up, down = [source], [n + target]
    if edge_of != target_edge:
        up.append(2 * n + edge_of * half + port)
        down.insert(0, 3 * n + target_edge * half + port)
    if pod_of != target_pod:
        up.append(4 * n + (pod_of * half + port) * half + core)
        down.insert(0, 5 * n + (target_pod * half + port) * half + core)
    return up + down


def random_traffic(
    k: int, n_transfers: int, *, seed: int, least_bytes: int = 1_000_000, most_bytes: int = 100_000_000
) -> Traffic:
    """Return transfers between random different hosts, with sizes from a uniform distribution."""
    random = np.random.default_rng(seed)
    n = k**3 // 4
    source = random.integers(0, n, n_transfers)
    target = (source + random.integers(1, n, n_transfers)) % n
    routes = [route(k, *ends) for ends in zip(source.tolist(), target.tolist(), strict=True)]
    n_bytes = random.integers(least_bytes, most_bytes, n_transfers).tolist()
    return Traffic(routes, [LINK_BYTES_PER_S] * (6 * n), n_bytes)
