"""Networks as graph files: GraphML, and node-link JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hetsim.errors import HetsimError
from hetsim.model.cluster import Cluster, Link

if TYPE_CHECKING:
    import networkx as nx

MAX_FILE_BYTES: Final = 64 * 2**20
"""A larger file is no network that this simulator was made for."""


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What a graph file says.

    Parameters
    ----------
    attributes : mapping of str to object
        Of the graph.
    nodes : mapping of str to mapping
        Attributes of each node.
    edges : tuple of (str, str, mapping)
        Two nodes, and attributes.
    """

    attributes: Mapping[str, Any]
    nodes: Mapping[str, Mapping[str, Any]]
    edges: tuple[tuple[str, str, Mapping[str, Any]], ...]


def read_graph(path: Path) -> GraphFile:
    """Read a graph file.

    Parameters
    ----------
    path : Path
        Node-link JSON where it ends in ``.json``, else GraphML.

    Returns
    -------
    GraphFile
        Of a directed graph, two directions that say the same are one edge.

    Raises
    ------
    OSError
        If it cannot be read.
    HetsimError
        If it is no such file.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise HetsimError(f"larger than {MAX_FILE_BYTES // 2**20} MiB")
    raw = path.read_bytes()
    graph = _from_json(raw) if path.suffix.lower() == ".json" else _from_graphml(raw)
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    seen: set[tuple[str, str, str]] = set()
    for a, b, attributes in graph.edges(data=True):
        text = json.dumps(attributes, sort_keys=True, default=str)
        if not (graph.is_directed() and (str(b), str(a), text) in seen):
            edges.append((str(a), str(b), attributes))
        seen.add((str(a), str(b), text))
    nodes = {str(node): attributes for node, attributes in graph.nodes(data=True)}
    return GraphFile(graph.graph, nodes, tuple(edges))


def _from_graphml(raw: bytes) -> "nx.Graph[Any]":
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    try:
        return nx.parse_graphml(raw.decode("utf-8-sig"))
    except (ParseError, nx.NetworkXError, KeyError, ValueError, TypeError, AttributeError, StopIteration) as error:
        raise HetsimError(f"not GraphML: {_reason(error)}") from None


def _from_json(raw: bytes) -> "nx.Graph[Any]":
    import networkx as nx

    try:
        content = json.loads(raw)
        # NetworkX wrote "links" up to version 3.3, and "edges" since.
        key = "links" if "links" in content else "edges"
        graph: nx.Graph[Any] = nx.node_link_graph(content, edges=key)
        n_edges = len(content[key])
    except (nx.NetworkXError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise HetsimError(f"not node-link JSON: {_reason(error)}") from None
    if n_edges != graph.number_of_edges():
        raise HetsimError(f"{n_edges} edges join only {graph.number_of_edges()} pairs of nodes")
    return graph


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing" if error.args else "a key is missing"
    return str(error) or type(error).__name__


def graph_of(cluster: Cluster) -> "nx.Graph[str]":
    """Return the network of a cluster, without what is inside its hosts.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    networkx.Graph
        Nodes with their ``kind``, host or switch; edges with ``rate_bytes_per_s`` and ``latency_s``, and with
        ``queue_bytes``, ``duplex`` and ``metric`` where they are not the usual ones.
    """
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph(ecmp_seed=cluster.ecmp_seed)
    graph.add_nodes_from((host.name for host in cluster.hosts), kind="host")
    graph.add_nodes_from((switch for switch in cluster.switches if "/" not in switch), kind="switch")
    graph.add_edges_from((link.a, link.b, _attributes(link)) for link in cluster.network_links)
    return graph


def _attributes(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = {"rate_bytes_per_s": link.bytes_per_s, "latency_s": link.latency_s}
    if link.queue_bytes:
        found["queue_bytes"] = link.queue_bytes
    if link.duplex != "full":
        found["duplex"] = link.duplex
    if link.metric != 1:
        found["metric"] = link.metric
    return found


def to_graphml(cluster: Cluster) -> str:
    """Return the network of a cluster as GraphML.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    str
        That ``kind: graph, file: ...`` reads as the same network.
    """
    import networkx as nx

    return "\n".join(nx.generate_graphml(graph_of(cluster))) + "\n"


def to_json(cluster: Cluster) -> str:
    """Return the network of a cluster as node-link JSON.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    str
        That ``kind: graph, file: ...`` reads as the same network.
    """
    import networkx as nx

    content = nx.node_link_data(graph_of(cluster), edges="edges")
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
