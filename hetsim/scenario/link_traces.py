"""Recordings of links that lie beside a scenario: what they say, as if the scenario had written a schedule."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hetsim.errors import TraceError
from hetsim.network.link_traces import Samples, read_iperf3, read_ping
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, Place, child, find, from_python, replace

_LINKS: Final[Loc] = ("cluster", "links")

_READERS: Final[Mapping[str, tuple[Callable[[Path], Samples], Callable[[float], dict[str, str]]]]] = {
    "ping": (read_ping, lambda rtt_s: {"latency": f"{rtt_s / 2!r} s"}),
    "iperf3": (read_iperf3, lambda rate: {"rate": f"{rate!r} B/s", "down": "no"} if rate else {"down": "yes"}),
}
"""How each kind of recording is read, and what a value of it is in a schedule: half of a round trip is one way."""


def with_traces(tree: Node) -> tuple[Node, list[Problem]]:
    """Read the recordings of links, relative to the scenario's own file.

    Parameters
    ----------
    tree : Node
        What was written.

    Returns
    -------
    tree : Node
        With a schedule for each link that has recordings.
    problems : list of Problem
        What is wrong with these.
    """
    links = find(tree, _LINKS)
    problems: list[Problem] = []
    for index, link in enumerate(links.value if links and isinstance(links.value, tuple) else ()):
        trace = child(link, "trace")
        if trace is None or not isinstance(trace.value, dict):
            continue
        at: Loc = (*_LINKS, index, "trace")
        if child(link, "schedule") is not None:
            problems.append(Problem(at, "beside a schedule: leave one of the two out"))
            continue
        folder = Path(tree.place.file).parent
        read = list(_read(folder, trace, at, problems))
        if read:
            tree = replace(tree, (*_LINKS, index, "schedule"), from_python(_schedule(read), Place(file=str(folder))))
    return tree, problems


def _read(folder: Path, trace: Node, at: Loc, problems: list[Problem]) -> Iterator[dict[float, dict[str, str]]]:
    for kind, (read, written) in _READERS.items():
        named = child(trace, kind)
        if named is None or not isinstance(named.value, str):
            continue
        try:
            yield {time_s: written(value) for time_s, value in read(folder / named.value)}
        except TraceError as error:
            problems.append(Problem((*at, kind), str(error)))


def _schedule(read: list[dict[float, dict[str, str]]]) -> list[dict[str, Any]]:
    """Return steps at all times at which a recording has a value."""
    times = sorted({time_s for samples in read for time_s in samples})
    steps = []
    for time_s in times:
        step: dict[str, Any] = {"at": f"{time_s!r} s"}
        for samples in read:
            step |= samples.get(time_s, {})
        steps.append({key: value == "yes" if key == "down" else value for key, value in step.items()})
    return steps
