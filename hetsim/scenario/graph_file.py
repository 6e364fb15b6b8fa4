"""A topology that lies in a graph file beside the scenario: its links, as if the scenario had written them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hetsim.errors import HetsimError
from hetsim.lookup import did_you_mean
from hetsim.network.graph_files import GraphFile, read_graph
from hetsim.scenario.messages import MISSING
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, Place, child, find, from_python
from hetsim.scenario.tree import replace as replace_node

_TOPOLOGY: Final[Loc] = ("cluster", "topology")
_FILE: Final[Loc] = (*_TOPOLOGY, "file")
_LINKS: Final[Loc] = (*_TOPOLOGY, "links")
_SWITCHES: Final[Loc] = (*_TOPOLOGY, "switches")
_SI_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "rate": ("rate_bytes_per_s", "B/s"),
    "latency": ("latency_s", "s"),
    "queue": ("queue_bytes", "B"),
}
"""Of a quantity that has its unit in its value: the name of the same with its unit in the name, and that unit."""

_PLAIN: Final = ("duplex", "metric")
_KNOWN: Final = (*_SI_NAMES, *(name for name, _ in _SI_NAMES.values()), *_PLAIN)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOST_EDGES: Final = 500_000


@dataclass(frozen=True, slots=True)
class Expanded:
    """A scenario with its graph file read.

    Parameters
    ----------
    tree : Node
        With the switches and links of the file, if it has one.
    problems : list of Problem
        Of the file.
    edges : tuple of str
        What each link is called in messages; empty without a file.
    file : str
        As written; empty without one.
    """

    tree: Node
    problems: list[Problem]
    edges: tuple[str, ...] = ()
    file: str = ""

    def explained(self, problems: list[Problem]) -> list[Problem]:
        """Return problems, with file and edge in those of links that no scenario file shows.

        Parameters
        ----------
        problems : list of Problem
            Of the tree.

        Returns
        -------
        list of Problem
            The same without those that only follow from an unreadable file.
        """
        if not self.file:
            return problems
        mine = [each for each in problems if each.loc[:3] in (_LINKS, _SWITCHES)]
        # Without edges there was nothing to read; what an edge lacks has been said in the words of its file.
        follow_ups = [each for each in mine if not self.edges or each.message == MISSING]
        return [*self.problems, *(self._explained(each) for each in problems if each not in follow_ups)]

    def _explained(self, problem: Problem) -> Problem:
        loc = problem.loc
        if loc[:3] == _LINKS and len(loc) > 3 and isinstance(loc[3], int) and loc[3] < len(self.edges):
            message = f"edge {self.edges[loc[3]]}: {problem.message}"
            return replace(problem, message=message, place=Place(file=self.file))
        if loc[:3] == _SWITCHES:
            return replace(problem, place=Place(file=self.file))
        return problem


def expand(tree: Node) -> Expanded:
    """Read the graph file that a scenario names, relative to the scenario's own.

    Parameters
    ----------
    tree : Node
        What was written.

    Returns
    -------
    Expanded
        The tree as it is where no file is named.
    """
    topology, named = find(tree, _TOPOLOGY), find(tree, _FILE)
    kind = child(topology, "kind") if topology else None
    if named is None or kind is None or kind.value != "graph" or not isinstance(named.value, str):
        return Expanded(tree, [])
    text = named.value
    assert topology is not None, text
    written = [key for key in ("switches", "links") if child(topology, key) is not None]
    if written:
        message = f"says {' and '.join(written)} already: leave one of the two out"
        return Expanded(tree, [Problem(_FILE, message)], file=text)
    try:
        found = read_graph(Path(tree.place.file).parent / text)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Expanded(tree, [Problem(_FILE, f"{text} cannot be read: {reason[:1].lower()}{reason[1:]}")], file=text)
    except HetsimError as error:
        return Expanded(tree, [Problem(_FILE, f"{text}: {error}")], file=text)
    return _with_graph(tree, found, text)


def _with_graph(tree: Node, found: GraphFile, file: str) -> Expanded:
    hosts = set(_host_names(tree))
    problems = list(_check(found, hosts, file))
    links = [_link(a, b, attributes) for a, b, attributes in found.edges]
    content: dict[str, Any] = {"switches": [node for node in found.nodes if node not in hosts], "links": links}
    topology = find(tree, _TOPOLOGY)
    seed = found.attributes.get("ecmp_seed")
    if seed is not None and topology is not None and child(topology, "ecmp_seed") is None:
        content["ecmp_seed"] = seed
    place = Place(file=file)
    for key, value in content.items():
        tree = replace_node(tree, (*_TOPOLOGY, key), from_python(value, place))
    return Expanded(tree, problems, tuple(f"{a} - {b}" for a, b, _ in found.edges), file)


def _check(found: GraphFile, hosts: set[str], file: str) -> Iterator[Problem]:
    """Yield what the schema of links cannot see."""
    place = Place(file=file)
    if not found.edges or len(found.edges) > _MOST_EDGES:
        yield Problem(_FILE, f"{file}: {len(found.edges):,} edges; 1 to {_MOST_EDGES:,} are possible")
    for node, attributes in found.nodes.items():
        if attributes.get("kind") == "host" and node not in hosts:
            hint = did_you_mean(node, sorted(hosts))
            yield Problem(_FILE, f"node {node}: no host of the scenario is called so{hint}".rstrip("."), place)
    for index, (a, b, attributes) in enumerate(found.edges):
        for message in _wrong_attributes(attributes):
            yield Problem((*_LINKS, index), f"edge {a} - {b}: {message}", place)


def _wrong_attributes(attributes: Mapping[str, Any]) -> Iterator[str]:
    for name, (si_name, _) in _SI_NAMES.items():
        if name in attributes and si_name in attributes:
            yield f"has both {name} and {si_name}"
        elif name != "queue" and name not in attributes and si_name not in attributes:
            yield f"has neither {si_name}, a number, nor {name}, a text with a unit"
        elif si_name in attributes and not _is_number(attributes[si_name]):
            yield f"{si_name} must be a number, not {attributes[si_name]!r}"
    for name in attributes:
        hint = "" if name in _KNOWN else did_you_mean(name, _KNOWN)
        # Files of other programs have attributes of their own; only what looks like one of ours is a slip.
        if hint:
            yield f"unknown attribute {name!r}{hint}".rstrip(".")


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _link(a: str, b: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an edge as a scenario writes it."""
    link: dict[str, Any] = {"between": [a, b]}
    for name, (si_name, unit) in _SI_NAMES.items():
        if name in attributes:
            link[name] = attributes[name]
        elif si_name in attributes and _is_number(attributes[si_name]):
            link[name] = f"{float(attributes[si_name])!r} {unit}"
    return link | {name: attributes[name] for name in _PLAIN if name in attributes}


def _host_names(tree: Node) -> Iterator[str]:
    """Yield the names of hosts, as far as they are written well."""
    hosts = find(tree, ("cluster", "hosts"))
    for item in hosts.value if hosts and isinstance(hosts.value, tuple) else ():
        name, count = child(item, "name"), child(item, "count")
        if name is None or not isinstance(name.value, str):
            continue
        if count is None or count.value is None:
            yield name.value
        elif isinstance(count.value, int) and 0 < count.value <= 10_000:
            yield from (f"{name.value}-{index}" for index in range(count.value))
