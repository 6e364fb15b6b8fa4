"""Shortest routes between the nodes of a graph, and the choice among those of equal cost."""

import hashlib
import heapq
from collections.abc import Collection, Mapping
from typing import Final

MOST_REMEMBERED: Final = 4_000_000
"""Distances kept at a time, of all targets together: a few hundred megabytes."""


def route_key(seed: int, source: str, target: str) -> int:
    """Return the hash by which one of several routes is chosen.

    Parameters
    ----------
    seed : int
        Key of the hash.
    source, target : str
        Names of the ends, in the direction of the transfer.

    Returns
    -------
    int
        Of 128 bits; the same in every process, and whatever was asked before.

    Examples
    --------
    >>> route_key(0, "a", "b") == route_key(0, "a", "b") != route_key(0, "b", "a")
    True
    """
    text = "\0".join((str(seed), source, target))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


class ShortestRoutes:
    """All shortest routes of a graph, found once for each target.

    Parameters
    ----------
    weights : mapping of str to mapping of str to int
        Positive weight of the link to each neighbour of each node.
    ends : collection of str
        Nodes that forward nothing: routes begin and end there, and never lead through.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, int]], ends: Collection[str] = ()) -> None:
        self._weights = weights
        self._ends = ends
        self._towards: dict[str, tuple[dict[str, list[str]], dict[str, int]]] = {}

    def n_routes(self, source: str, target: str) -> int:
        """Return how many shortest routes there are.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        int
            Zero where none joins them.
        """
        return self._search(target)[1].get(source, 0)

    def route(self, source: str, target: str, key: int) -> list[str]:
        """Return one of the shortest routes.

        Parameters
        ----------
        source, target : str
            Nodes.
        key : int
            Which: any number; each route has the same share of the numbers.

        Returns
        -------
        list of str
            Nodes from source to target; empty where no route joins them.
        """
        following, n_routes = self._search(target)
        if source not in n_routes:
            return []
        left = key % n_routes[source]
        nodes = [source]
        while nodes[-1] != target:
            for node in following[nodes[-1]]:
                if left < n_routes[node]:
                    nodes.append(node)
                    break
                left -= n_routes[node]
        return nodes

    def _search(self, target: str) -> tuple[dict[str, list[str]], dict[str, int]]:
        """Return what may follow each node on its way to a target, and the number of ways; by Dijkstra's algorithm."""
        if target in self._towards:
            return self._towards[target]
        distances = {target: 0}
        following: dict[str, list[str]] = {target: []}
        n_routes: dict[str, int] = {target: 1}
        heap = [(0, target)]
        while heap:
            distance, node = heapq.heappop(heap)
            if distance > distances[node]:
                continue
            if node != target:
                # Weights are positive, so what follows was counted before.
                n_routes[node] = sum(n_routes[after] for after in following[node])
                if node in self._ends:
                    continue
            for before, weight in self._weights[node].items():
                length = distance + weight
                known = distances.get(before)
                if known is None or length < known:
                    distances[before] = length
                    following[before] = [node]
                    heapq.heappush(heap, (length, before))
                elif length == known:
                    following[before].append(node)
        if len(self._towards) * len(self._weights) > MOST_REMEMBERED:
            self._towards.clear()
        self._towards[target] = following, n_routes
        return following, n_routes
