"""What a way through the network is like at a time: rate, latency and loss of its links together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.kernels.normal import normal_quantile
from hetsim.network.hops import Hop, at, latency_s, rate_bytes_per_s, rate_changes, sides

PACKET_BYTES: Final = 1448
"""Payload of a full TCP segment with time stamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """A way and the way back, at one time.

    Parameters
    ----------
    latency_s : float
        One way.
    rtt_s : float
        There and back, without waiting in queues.
    steady_rtt_s : float
        The same without jitter: the least that a sender sees.
    bytes_per_s : float
        Payload rate of the slowest link, as far as others leave it free; infinite within one node.
    loss_frac : float
        Share of packets that does not arrive, one way.
    disorder_frac : float
        Greatest share of packets that a link of the way delivers out of order or twice.
    """

    latency_s: float
    rtt_s: float
    steady_rtt_s: float
    bytes_per_s: float
    loss_frac: float = 0.0
    disorder_frac: float = 0.0


class Way:
    """A way from one node to another, and the way back.

    Parameters
    ----------
    source : str
        Where it begins.
    target : str
        Where it ends.
    there, back : sequence of Hop
        Its links in either direction.
    """

    def __init__(self, source: str, target: str, there: Sequence[Hop], back: Sequence[Hop]) -> None:
        self._there = sides(source, there)
        self._back = sides(target, back)
        self._hops = tuple(there)

    @property
    def is_networked(self) -> bool:
        """Whether it leaves a host: names of what is inside a host have a slash."""
        return any("/" not in f"{hop.link.a}{hop.link.b}" for hop in self._hops)

    def times_s(self) -> tuple[float, ...]:
        """Return the times from which on something is different, the first of them 0 s.

        Returns
        -------
        tuple of float
            Seconds, ascending.
        """
        times = {impairment.at_s for _, side in (*self._there, *self._back) for impairment in side}
        times |= {time_s for hop in self._hops for time_s, _ in rate_changes(hop)}
        return tuple(sorted(times | {0.0}))

    def at(self, time_s: float) -> Conditions:
        """Return what it is like at a time.

        Parameters
        ----------
        time_s : float
            When.

        Returns
        -------
        Conditions
            Of the links together: latencies add up, and a packet arrives if no link loses it.
        """
        there = [(link, at(side, time_s)) for link, side in self._there]
        back = [(link, at(side, time_s)) for link, side in self._back]
        bytes_per_s = min((rate_bytes_per_s(hop, time_s) for hop in self._hops), default=math.inf)
        there_s = latency_s(there)
        steady_rtt_s = there_s + latency_s(back)
        late_s = math.fsum(lateness_s(side.jitter_s, bytes_per_s / 2.0) for _, side in there)
        late_back_s = math.fsum(lateness_s(side.jitter_s, bytes_per_s / 4.0) for _, side in back)
        return Conditions(
            latency_s=there_s + late_s,
            rtt_s=steady_rtt_s + late_s + late_back_s,
            steady_rtt_s=steady_rtt_s,
            bytes_per_s=bytes_per_s,
            loss_frac=1.0 - math.prod(1.0 - side.loss_frac for _, side in there) if there else 0.0,
            disorder_frac=max((side.disorder_frac for _, side in there), default=0.0),
        )


def lateness_s(jitter_s: float, bytes_per_s: float) -> float:
    """Return how late packets are that stay in order, on average.

    A packet leaves with the latest of those before it that set out within the spread of the delays: of n of them, the
    greatest of n normal numbers (Blom 1958: the quantile of ``(n - 3/8) / (n + 1/4)``). A flow is taken to have half of
    the rate of its way, and its acknowledgements to be half as many as its packets (RFC 1122, section 4.2.3.2).

    Parameters
    ----------
    jitter_s : float
        Standard deviation of the delays.
    bytes_per_s : float
        Payload, as packets of `PACKET_BYTES`.

    Returns
    -------
    float
        Seconds beyond the mean delay; zero where packets are further apart than the jitter.
    """
    n = jitter_s * bytes_per_s / PACKET_BYTES if math.isfinite(bytes_per_s) else 0.0
    if n <= 1.0:
        return 0.0
    return jitter_s * float(normal_quantile((n - 0.375) / (n + 0.25)))
