"""What is written about the traffic of others."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from hetsim.model.traffic import Traffic
from hetsim.scenario.fields import Bytes, Count, Quantity, Section, Time
from hetsim.scenario.problems import Problem
from hetsim.scenario.topology_checks import unknown_name
from hetsim.scenario.tree import Loc


class TrafficSection(Section):
    """Transfers of others from one host to another, which share links with those of the jobs."""

    source: str = Field(description="Host.")
    target: str = Field(description="Host.")
    size: Bytes = Field(description="Payload of each transfer.")
    every: Annotated[float, Quantity("time", positive=True)] = Field(
        description="From the start of one to that of the next; one that takes longer is followed at once."
    )
    cv: Annotated[float, Field(ge=0, le=10)] | None = Field(
        default=None, description="Coefficient of variation of these times, lognormal; a fixed schedule if left out."
    )
    start: Time | None = Field(default=None, description="Of the first one.")
    count: Count | None = Field(default=None, description="How many; as long as the jobs take if left out.")
    streams: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None, description="Connections of each: its weight where it competes; 1 if left out."
    )


def check_traffic(sections: Sequence[TrafficSection | None], hosts: Sequence[str], at: Loc) -> Iterator[Problem]:
    """Yield what is wrong with the ends of traffic.

    Parameters
    ----------
    sections : sequence of TrafficSection or None
        One for each item that is written; None for those that are wrong by themselves.
    hosts : sequence of str
        Names.
    at : Loc
        Where the list is.

    Yields
    ------
    Problem
        An unknown host, or traffic from a host to itself.
    """
    for index, section in enumerate(sections):
        if section is None:
            continue
        ends = (("source", section.source), ("target", section.target))
        strangers = [(key, end) for key, end in ends if end not in hosts]
        yield from (Problem((*at, index, key), unknown_name("host", end, hosts)) for key, end in strangers)
        if not strangers and section.source == section.target:
            yield Problem((*at, index, "target"), f"{section.target!r} sends to itself")


def traffic_of(section: TrafficSection) -> Traffic:
    """Return the traffic of a section.

    Parameters
    ----------
    section : TrafficSection
        Free of problems.

    Returns
    -------
    Traffic
        In SI units.
    """
    return Traffic(
        source=section.source,
        target=section.target,
        n_bytes=section.size,
        every_s=section.every,
        cv=section.cv or 0.0,
        start_s=section.start or 0.0,
        n_transfers=section.count or 0,
        n_streams=section.streams or 1,
    )
