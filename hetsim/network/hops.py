"""One direction of a link: its rate and latency, as its impairments and background traffic leave them."""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.model.cluster import Link, share_at
from hetsim.model.impairment import Impairment, Impairments

UNIMPAIRED: Final = Impairment()


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of one link, or both of a link whose directions share its rate.

    Parameters
    ----------
    name : str
        ``a>b``; ``a<>b`` of a half-duplex link, in both directions.
    link : Link
        The link.
    """

    name: str
    link: Link


def at(impairments: Impairments, time_s: float) -> Impairment:
    """Return the impairment in force.

    Parameters
    ----------
    impairments : Impairments
        In order of time.
    time_s : float
        When.

    Returns
    -------
    Impairment
        The last one that has begun; `UNIMPAIRED` where there is none.
    """
    n_begun = bisect_right(impairments, time_s, key=lambda impairment: impairment.at_s)
    return impairments[n_begun - 1] if n_begun else UNIMPAIRED


def rate_bytes_per_s(hop: Hop, time_s: float) -> float:
    """Return the rate that impairments and background traffic leave on a hop.

    Parameters
    ----------
    hop : Hop
        One direction of a link, or both together where they share its rate: then the slower one counts for both.
    time_s : float
        When.

    Returns
    -------
    float
        Payload, in bytes per second.
    """
    link = hop.link
    limits = [at(side, time_s).bytes_per_s for side in _leaving(hop)]
    return min(link.bytes_per_s, *limits) * (1.0 - share_at(link.background, time_s))


def rate_changes(hop: Hop) -> list[tuple[float, float]]:
    """Return the rate of a hop as a function of time.

    Parameters
    ----------
    hop : Hop
        As for `rate_bytes_per_s`.

    Returns
    -------
    list of (float, float)
        Seconds, and bytes per second from then on; the first at 0 s.
    """
    times = {at_s for at_s, _ in hop.link.background}
    times |= {impairment.at_s for side in _leaving(hop) for impairment in side}
    rates = [(time_s, rate_bytes_per_s(hop, time_s)) for time_s in sorted(times | {0.0})]
    return rates[:1] + [later for before, later in itertools.pairwise(rates) if later[1] != before[1]]


def _leaving(hop: Hop) -> tuple[Impairments, ...]:
    """Return the impairments that bound the rate of a hop."""
    link = hop.link
    if link.duplex == "half":
        return (link.from_a, link.from_b)
    return (link.from_a if hop.name == f"{link.a}>{link.b}" else link.from_b,)


def sides(source: str, hops: Sequence[Hop]) -> tuple[tuple[Link, Impairments], ...]:
    """Return the links of a way, each with the impairments of the end at which it is entered.

    Parameters
    ----------
    source : str
        Node at which the way begins.
    hops : sequence of Hop
        Its links.

    Returns
    -------
    tuple of (Link, Impairments)
        One for each hop.
    """
    found, node = [], source
    for hop in hops:
        is_from_a = hop.link.a == node
        found.append((hop.link, hop.link.from_a if is_from_a else hop.link.from_b))
        node = hop.link.b if is_from_a else hop.link.a
    return tuple(found)


def latency_s(states: Sequence[tuple[Link, Impairment]]) -> float:
    """Return the latency of links one after the other, without what jitter adds.

    Parameters
    ----------
    states : sequence of (Link, Impairment)
        Each link, and what happens to what enters it.

    Returns
    -------
    float
        Seconds.
    """
    return math.fsum(link.latency_s + state.delay_s for link, state in states)
