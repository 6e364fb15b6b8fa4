"""Where the nodes of a network go in a drawing."""

import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hetsim.model.cluster import Cluster

_HOST_RADIUS: Final = 1.35


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing of a network.

    Parameters
    ----------
    is_layered : bool
        Whether hosts are at the bottom and switches in layers above, or switches on a circle and hosts around it.
    positions : mapping of str to (float, float)
        Of each host and switch.
    """

    is_layered: bool
    positions: Mapping[str, tuple[float, float]]


def layout(cluster: Cluster) -> Layout:
    """Place hosts and switches: in layers where each link leads from one layer to the next, else on circles.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    Layout
        Layers are one apart and of width one; the circle of the switches has radius one.
    """
    hosts = [host.name for host in cluster.hosts]
    nodes = [*hosts, *(switch for switch in cluster.switches if "/" not in switch)]
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for link in cluster.network_links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    by_distance = _levels(hosts, neighbours)
    for levels in (_of_tiers(by_distance), by_distance):
        if all(abs(levels[a] - levels[b]) == 1 for a, others in neighbours.items() for b in others):
            return Layout(is_layered=True, positions=_in_layers(hosts, levels, neighbours))
    return Layout(is_layered=False, positions=_on_circles(nodes, set(hosts), neighbours))


def _levels(hosts: list[str], neighbours: Mapping[str, list[str]]) -> dict[str, int]:
    """Return how many links each node is away from the nearest host."""
    levels = dict.fromkeys(hosts, 0)
    waiting = deque(hosts)
    while waiting:
        node = waiting.popleft()
        for other in neighbours[node]:
            if other not in levels:
                levels[other] = levels[node] + 1
                waiting.append(other)
    return {node: levels.get(node, 1) for node in neighbours}


def _of_tiers(levels: Mapping[str, int]) -> dict[str, int]:
    """Return levels where nodes whose names differ in numbers alone share the lowest, as full and empty leaves do."""
    lowest: dict[str, int] = {}
    for node, level in levels.items():
        tier = _tier(node, level)
        lowest[tier] = min(level, lowest.get(tier, level))
    return {node: lowest[_tier(node, level)] for node, level in levels.items()}


def _tier(node: str, level: int) -> str:
    return re.sub(r"\d+", "#", node) if level else ""


def _in_layers(
    hosts: list[str], levels: Mapping[str, int], neighbours: Mapping[str, list[str]]
) -> dict[str, tuple[float, float]]:
    positions = {host: ((index + 0.5) / len(hosts), 0.0) for index, host in enumerate(hosts)}
    rank = {node: index for index, node in enumerate(neighbours)}
    for level in range(1, max(levels.values(), default=0) + 1):
        layer = [node for node in neighbours if levels[node] == level]
        below = {node: [positions[o][0] for o in neighbours[node] if levels[o] == level - 1] for node in layer}
        if all(below.values()):
            # Rounded, since sums of the same places in another order differ in the last digit.
            centres = {node: round(math.fsum(places) / len(places), 9) for node, places in below.items()}
            layer.sort(key=lambda node: (centres[node], rank[node]))
        positions |= {node: ((index + 0.5) / len(layer), float(level)) for index, node in enumerate(layer)}
    return positions


def _on_circles(
    nodes: list[str], hosts: set[str], neighbours: Mapping[str, list[str]]
) -> dict[str, tuple[float, float]]:
    inner = [node for node in nodes if node not in hosts] or nodes
    angles = {node: math.tau * index / len(inner) for index, node in enumerate(inner)}
    positions = {node: _at(angle, 1.0) for node, angle in angles.items()}
    around: dict[str, list[str]] = {}
    for node in nodes:
        if node not in positions:
            anchors = [other for other in neighbours[node] if other in angles]
            around.setdefault(anchors[0] if anchors else inner[0], []).append(node)
    width = math.tau / len(inner)
    for anchor, group in around.items():
        for index, node in enumerate(group):
            positions[node] = _at(angles[anchor] + width * ((index + 0.5) / len(group) - 0.5), _HOST_RADIUS)
    return positions


def _at(angle: float, radius: float) -> tuple[float, float]:
    """Return a place on a circle, clockwise from the top."""
    return radius * math.sin(angle), radius * math.cos(angle)
