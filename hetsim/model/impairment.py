"""What happens to what leaves an interface, as far as it concerns fluid transfers."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """State of one direction of a link from a time on, until the next one.

    Parameters
    ----------
    at_s : float
        From when on.
    delay_s : float
        Added to the latency of the link, one way.
    jitter_s : float
        Standard deviation of the delay of packets that stay in order, so that each waits for the latest before it.
    loss_frac : float
        Share of packets that is lost.
    bytes_per_s : float
        Payload rate, at most; zero while nothing passes.
    disorder_frac : float
        Share of packets that overtake others or come twice: transports are not known to stand it.
    """

    at_s: float = 0.0
    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss_frac: float = 0.0
    bytes_per_s: float = math.inf
    disorder_frac: float = 0.0


Impairments = tuple[Impairment, ...]
"""In order of time, the first from 0 s on; empty where nothing is impaired."""
