"""The sections of a scenario that are valid by themselves, so that the rest can be checked while others are wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from hetsim.lookup import did_you_mean
from hetsim.scenario.fields import Section
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.schema import JobSection
from hetsim.scenario.topology import AnyTopology, LinkException, Topology
from hetsim.scenario.traffic import TrafficSection

T = TypeVar("T")
S = TypeVar("S", bound=Section)

_TOPOLOGY: Final[TypeAdapter[Any]] = TypeAdapter(Topology)


_HOST_STAND_INS: Final[Mapping[str, object]] = {
    "cpu": {"name": "unknown", "peak": "1 TFLOP/s", "memory_rate": "1 GB/s", "cores": 1},
    "memory": "1 PiB",
}
_JOB_STAND_INS: Final[Mapping[str, object]] = {"name": "unknown"}
"""For fields that must be there, where they are wrong; no check shall find fault with these."""

_TOGETHER: Final = (
    {"model", "pixels", "dataset", "batch"},
    {"aggregation", "servers"},
)
"""Fields of a job that are judged together: one that is wrong leaves nothing to say about the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What of a scenario can be checked against each other; None stands for what cannot be.

    Parameters
    ----------
    data : dict
        As written.
    hosts : list of HostSection or None
        One for each item that is written. Fields that are wrong by themselves are left out, or stood in for.
    doubtful : list of frozenset of str
        Of each host, the fields about which nothing can be said, since they are wrong.
    topology : section or None
        How the hosts are joined.
    links : list of LinkException or None
        Exceptions.
    traffic : list of TrafficSection or None
        Transfers of others.
    jobs : list of JobSection or None
        One for each item that is written. Fields that are wrong by themselves are left out.
    """

    data: dict[str, Any]
    hosts: list[HostSection | None]
    doubtful: list[frozenset[str]]
    topology: AnyTopology | None
    links: list[LinkException | None]
    traffic: list[TrafficSection | None]
    jobs: list[JobSection | None]

    @property
    def all_hosts(self) -> list[HostSection] | None:
        """The hosts, if all of their names are known and there is one."""
        valid = [host for host in self.hosts if host is not None]
        return valid if valid and len(valid) == len(self.hosts) else None

    @property
    def has_all_devices(self) -> bool:
        """Whether the devices of all hosts can be counted."""
        return self.all_hosts is not None and not any("devices" in fields for fields in self.doubtful)


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
    hosts = [(item, _wrong_fields(HostSection, item)) for item in items(cluster, "hosts")]
    jobs = [(item, _wrong_fields(JobSection, item)) for item in items(data, "jobs")]
    return Parts(
        data=data,
        hosts=[
            None if wrong & {"name", "count"} else _without(HostSection, item, wrong, _HOST_STAND_INS)
            for item, wrong in hosts
        ],
        doubtful=[wrong for _, wrong in hosts],
        topology=_valid(_TOPOLOGY.validate_python, cluster.get("topology")),
        links=[_valid(LinkException.model_validate, item) for item in items(cluster, "links")],
        traffic=[_valid(TrafficSection.model_validate, item) for item in items(cluster, "traffic")],
        jobs=[_without(JobSection, item, _with_others(wrong), _JOB_STAND_INS) for item, wrong in jobs],
    )


def _wrong_fields(section: type[Section], item: object) -> frozenset[str]:
    """Return the fields that are wrong by themselves, with those that a misspelt key may have meant."""
    try:
        section.model_validate(item)
    except ValidationError as error:
        wrong = {str(step) for details in error.errors() for step in details["loc"][:1]}
        misspelt = wrong - section.model_fields.keys()
        return frozenset(
            {*wrong, *(name for name in section.model_fields for key in misspelt if did_you_mean(key, [name]))}
        )
    return frozenset()


def _with_others(wrong: frozenset[str]) -> frozenset[str]:
    return wrong.union(*(fields for fields in _TOGETHER if fields & wrong))


def _without(section: type[S], item: object, wrong: frozenset[str], stand_ins: Mapping[str, object]) -> S | None:
    """Return a section without what is wrong; None where it cannot be made so."""
    if not isinstance(item, dict):
        return None
    kept = {key: value for key, value in item.items() if key not in wrong}
    return _valid(section.model_validate, kept | {key: stand_ins[key] for key in stand_ins.keys() & wrong})


def _valid(make: Callable[[object], T], value: object) -> T | None:
    try:
        return make(value)
    except ValidationError:
        return None
