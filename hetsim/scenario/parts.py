"""The sections of a scenario that are valid by themselves, so that the rest can be checked while others are wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from hetsim.scenario.hardware import HostSection
from hetsim.scenario.schema import GraphTopology, JobSection, LinkException, StarTopology, Topology, TwoLevelTopology

T = TypeVar("T")

_TOPOLOGY: Final[TypeAdapter[Any]] = TypeAdapter(Topology)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What of a scenario can be checked against each other; None stands for what is wrong by itself.

    Parameters
    ----------
    data : dict
        As written.
    hosts : list of HostSection or None
        One for each item that is written.
    topology : section or None
        How the hosts are joined.
    links : list of LinkException or None
        Exceptions.
    jobs : list of JobSection or None
        One for each item that is written.
    """

    data: dict[str, Any]
    hosts: list[HostSection | None]
    topology: StarTopology | TwoLevelTopology | GraphTopology | None
    links: list[LinkException | None]
    jobs: list[JobSection | None]

    @property
    def all_hosts(self) -> list[HostSection] | None:
        """The hosts, if every one is valid and there is one."""
        valid = [host for host in self.hosts if host is not None]
        return valid if valid and len(valid) == len(self.hosts) else None


def mapping(data: object, key: str) -> dict[str, Any]:
    """Return the mapping under a key, empty if there is none.

    Parameters
    ----------
    data : object
        Perhaps a mapping.
    key : str
        The key.

    Returns
    -------
    dict
        The mapping.
    """
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def items(data: object, key: str) -> list[Any]:
    """Return the list under a key, empty if there is none.

    Parameters
    ----------
    data : object
        Perhaps a mapping.
    key : str
        The key.

    Returns
    -------
    list
        The list.
    """
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def parts_of(data: dict[str, Any]) -> Parts:
    """Validate the sections of a scenario one by one.

    Parameters
    ----------
    data : dict
        As written.

    Returns
    -------
    Parts
        The valid ones.
    """
    cluster = mapping(data, "cluster")
    return Parts(
        data=data,
        hosts=[_valid(HostSection.model_validate, item) for item in items(cluster, "hosts")],
        topology=_valid(_TOPOLOGY.validate_python, cluster.get("topology")),
        links=[_valid(LinkException.model_validate, item) for item in items(cluster, "links")],
        jobs=[_valid(JobSection.model_validate, item) for item in items(data, "jobs")],
    )


def _valid(make: Callable[[object], T], value: object) -> T | None:
    try:
        return make(value)
    except ValidationError:
        return None
