"""What is written about the impairments of a link: queueing disciplines, and how it changes with time."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Discriminator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic_core import CoreSchema, core_schema

from hetsim.errors import QdiscError
from hetsim.model.cluster import Link
from hetsim.model.impairment import Impairment
from hetsim.network.impairments import impairment_of
from hetsim.network.qdisc import parse as parse_qdisc
from hetsim.scenario.fields import Items, Rate, Section, Time, wrong

NETEM: Final = (
    "What tc does to what leaves the end that is written first, such as 'delay 10ms 2ms rate 1gbit' or 'tbf rate "
    "100mbit burst 16kb latency 50ms'; or a mapping from either end to such a text."
)
_EXAMPLES: Final = ["delay 10ms 2ms distribution normal rate 1gbit", "tbf rate 100mbit burst 16kb latency 50ms"]


class _Qdisc:
    """Marks a text that tc would take as a netem or tbf qdisc."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Parse it, and keep the text."""
        return core_schema.no_info_after_validator_function(_checked, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text."""
        return {"type": "string", "description": "Options of tc for netem or tbf.", "examples": _EXAMPLES}


def _checked(text: str) -> str:
    try:
        parse_qdisc(text)
    except QdiscError as error:
        places = [f"column {column}: {message}" if column else message for column, message in error.problems]
        raise wrong(f"{text!r} is no qdisc: {'; '.join(places)}") from None
    return text


Qdisc = Annotated[str, _Qdisc()]


def _ends_tag(value: object) -> str:
    return "~ends" if isinstance(value, dict) else "~text"


Qdiscs = Annotated[
    Annotated[Qdisc, Tag("~text")] | Annotated[dict[str, Qdisc], Field(min_length=1), Tag("~ends")],
    Discriminator(_ends_tag),
]


def noted(section: Section, netem: str | dict[str, str] | None) -> str | dict[str, str] | None:
    """Record that the qdiscs of either end were read.

    Parameters
    ----------
    section : Section
        That has them as ``netem``.
    netem : str or dict or None
        What is written.

    Returns
    -------
    str or dict or None
        The same.
    """
    for end in netem if isinstance(netem, dict) else ():
        section.note(f"netem.{end}")
    return netem


class LinkStep(Section):
    """What a link is like from a time on; what is left out stays as it was."""

    at: Time
    netem: Qdiscs | None = Field(default=None, description=NETEM)
    rate: Rate | None = Field(default=None, description="Payload rate of each direction.")
    latency: Time | None = Field(default=None, description="One way, without that of a qdisc.")
    down: bool | None = Field(default=None, description="Whether nothing passes.")

    @property
    def qdiscs(self) -> str | dict[str, str] | None:
        """What is written as ``netem``; recorded as read."""
        return noted(self, self.netem)


class LinkTrace(Section):
    """Recordings of a link, replayed from its start; the last value stays."""

    ping: str | None = Field(default=None, description="File of what ping -D printed: latency is half a round trip.")
    iperf3: str | None = Field(default=None, description="File of what iperf3 --json printed: the payload rate.")


def _in_order(steps: tuple[LinkStep, ...]) -> tuple[LinkStep, ...]:
    for before, after in itertools.pairwise(steps):
        if after.at <= before.at:
            raise wrong(f"the times of a schedule must increase: {after.at:g} s comes after {before.at:g} s")
    return steps


LinkSchedule = Annotated[Items[LinkStep], Field(min_length=1), AfterValidator(_in_order)]


def impaired(
    link: Link, ends: tuple[str, ...], netem: str | dict[str, str] | None, schedule: tuple[LinkStep, ...]
) -> Link:
    """Return a link with its impairments.

    Parameters
    ----------
    link : Link
        Without any.
    ends : tuple of str
        Of the link, as written.
    netem : str or dict or None
        From the start on.
    schedule : tuple of LinkStep
        Later; the first may be at 0 s.

    Returns
    -------
    Link
        The same, if nothing is written.
    """
    first = _State(0.0, netem, None, None, is_down=False)
    steps = [_State(step.at, step.qdiscs, step.rate, step.latency, is_down=step.down) for step in schedule]
    states = list(itertools.accumulate([first, *steps], _after))
    states = [state for state, later in zip(states, [*states[1:], None], strict=True) if later is None or later.at_s]
    if states == [_State(0.0, None, None, None, is_down=False)]:
        return link
    from_a, from_b = (
        tuple(_impairment(link, state, _text_at(state, ends, end)) for state in states) for end in (link.a, link.b)
    )
    return replace(link, from_a=from_a, from_b=from_b)


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a link from a time on."""

    at_s: float
    netem: str | dict[str, str] | None
    bytes_per_s: float | None
    latency_s: float | None
    is_down: bool | None


def _after(before: _State, step: _State) -> _State:
    """Return a step with what it leaves out."""
    return _State(
        step.at_s,
        before.netem if step.netem is None else step.netem,
        before.bytes_per_s if step.bytes_per_s is None else step.bytes_per_s,
        before.latency_s if step.latency_s is None else step.latency_s,
        before.is_down if step.is_down is None else step.is_down,
    )


def _text_at(step: _State, ends: tuple[str, ...], end: str) -> str | None:
    if isinstance(step.netem, dict):
        return step.netem.get(end)
    return step.netem if end == ends[0] else None


@lru_cache(maxsize=256)
def _impairment_of(text: str) -> Impairment:
    return impairment_of(parse_qdisc(text))


def _impairment(link: Link, state: _State, text: str | None) -> Impairment:
    qdisc = Impairment() if text is None else _impairment_of(text)
    rate = min(qdisc.bytes_per_s, math.inf if state.bytes_per_s is None else state.bytes_per_s)
    more_s = 0.0 if state.latency_s is None else state.latency_s - link.latency_s
    return replace(qdisc, at_s=state.at_s, delay_s=qdisc.delay_s + more_s, bytes_per_s=0.0 if state.is_down else rate)
