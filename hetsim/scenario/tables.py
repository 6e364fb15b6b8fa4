"""The names that a scenario may write, by what they name."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from hetsim.catalog.meshes import meshes
from hetsim.catalog.tables import datasets, devices, links
from hetsim.catalog.transports import transports
from hetsim.lookup import unknown
from hetsim.workload.table import MODELS

Kind = Literal[
    "device",
    "CPU",
    "bus",
    "peer link",
    "socket link",
    "NVLink mesh",
    "network link",
    "model",
    "data set",
    "transport",
    "metric",
]


def _devices(kind: str) -> tuple[str, ...]:
    return tuple(name for name, spec in devices().items() if spec.kind == kind)


def _links(kind: str) -> tuple[str, ...]:
    return tuple(name for name, spec in links().items() if spec.kind == kind)


def _metrics() -> tuple[str, ...]:
    from hetsim.metrics.table import METRICS

    return tuple(METRICS)


_NAMES: Final[Mapping[Kind, Callable[[], tuple[str, ...]]]] = {
    "device": lambda: (*_devices("gpu"), "cpu"),
    "CPU": lambda: _devices("cpu"),
    "bus": lambda: _links("bus"),
    "peer link": lambda: _links("peer"),
    "socket link": lambda: _links("socket"),
    "NVLink mesh": lambda: tuple(meshes()),
    "network link": lambda: _links("network"),
    "model": lambda: tuple(MODELS),
    "data set": lambda: tuple(datasets()),
    "transport": lambda: tuple(transports()),
    "metric": _metrics,
}


def names(kind: Kind) -> tuple[str, ...]:
    """Return the names of a kind, in the order of their table.

    Parameters
    ----------
    kind : Kind
        What is named.

    Returns
    -------
    tuple of str
        The names.
    """
    return _NAMES[kind]()


def complaint(kind: Kind, name: str) -> str:
    """Return what is wrong with a name.

    Parameters
    ----------
    kind : Kind
        What it should name.
    name : str
        As written.

    Returns
    -------
    str
        Empty where the name is known.
    """
    known = names(kind)
    if name in known:
        return ""
    if kind == "device" and name in names("CPU"):
        return f"{name!r} is a CPU: name it under the host's cpu, and write 'type: cpu' here to place a worker on it"
    return unknown(kind, name, known)
