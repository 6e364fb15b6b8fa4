"""What a transport makes of a way: how much it can have in flight, and what it pays before bytes move.

Sources of the formulas: Mathis, Semke, Mahdavi and Ott 1997 (doi:10.1145/263932.264023); Padhye, Firoiu, Towsley and
Kurose 1998 (doi:10.1145/285243.285291, equation 30); Cardwell, Savage and Anderson 2000
(doi:10.1109/INFCOM.2000.832483); RFC 6298 and RFC 6928; Ha, Rhee and Xu 2008 (doi:10.1145/1400097.1400105) and Ha and
Rhee 2011 (doi:10.1016/j.comnet.2011.01.014) for CUBIC and HyStart, with which Linux leaves slow start.
"""

import math
from collections.abc import Iterator
from typing import Final, Literal

from hetsim.model.transport import Transport
from hetsim.network.conditions import Conditions
from hetsim.units import format_si

Role = Literal["lone", "first", "next", "hop"]
"""Of a message: by itself; in the first round of a pass; behind another one of its pass; up or down a tree."""

INITIAL_SEGMENTS: Final = 10
"""Initial window (RFC 6928)."""

LEAST_RTO_S: Final = 0.2
"""Linux (TCP_RTO_MIN); the standard's second (RFC 6298) is not what it does."""

CUBIC_SEGMENTS_PER_S3: Final = 0.4
RENO_SEGMENTS_PER_RTT: Final = 3 * (1 - 0.7) / (1 + 0.7)
"""Growth of a window of CUBIC since it left slow start: the greater of C t^3 and that of its Reno-friendly region."""

_N_HALVINGS: Final = 60
_NEAR: Final = 1.05
"""What is this near to a range counts as inside."""


def rate_cap_bytes_per_s(transport: Transport, conditions: Conditions, role: Role) -> float:
    """Return the rate that windows and losses allow, all connections together.

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.
    role : Role
        Of the message.

    Returns
    -------
    float
        Bytes per second; infinite where nothing bounds it.
    """
    rtt_s = conditions.rtt_s
    per_stream = min(transport.stream_bytes_per_s, loss_cap_bytes_per_s(transport, conditions))
    caps = [transport.n_streams * per_stream]
    if rtt_s > 0.0:
        caps.append(transport.n_streams * transport.window_bytes / rtt_s)
        if role != "lone":
            caps.append(transport.pass_window_bytes / rtt_s)
    return min(caps)


def loss_cap_bytes_per_s(transport: Transport, conditions: Conditions) -> float:
    """Return the rate that losses allow one connection.

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.

    Returns
    -------
    float
        Bytes per second; infinite where nothing is lost, zero where all is.
    """
    p, rtt_s, segment_bytes = conditions.loss_frac, conditions.rtt_s, transport.segment_bytes
    if p <= 0.0 or transport.loss == "none":
        return math.inf
    if p >= 1.0:
        return 0.0
    if transport.loss == "mathis":
        return segment_bytes / rtt_s * math.sqrt(1.5 / p) if rtt_s else math.inf
    if transport.loss == "pftk":
        timeouts_s = (LEAST_RTO_S + rtt_s) * min(1.0, 3.0 * math.sqrt(3.0 * p / 4.0)) * p * (1.0 + 32.0 * p * p)
        return segment_bytes / (rtt_s * math.sqrt(4.0 * p / 3.0) + timeouts_s)
    rate = conditions.bytes_per_s
    in_flight = max(1.0, rate * rtt_s / segment_bytes) if math.isfinite(rate) else 1.0
    return rate * (1.0 - p) / (1.0 - p + p * in_flight)


def latency_s(transport: Transport, conditions: Conditions, n_bytes: float, role: Role) -> float:
    """Return what a message pays before its bytes move.

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.
    n_bytes : float
        Of the message.
    role : Role
        Of the message.

    Returns
    -------
    float
        Seconds.
    """
    way_s, rtt_s = conditions.latency_s, conditions.rtt_s
    if transport.latency == "cold":
        return transport.message_s + way_s + rtt_s + slow_start_s(transport, conditions, n_bytes)
    if role == "lone":
        return transport.message_s + way_s + transport.message_rtts * rtt_s
    if transport.latency == "pipelined" and role != "hop":
        return transport.message_s + (transport.pass_rtts * rtt_s if role == "first" else 0.0)
    return transport.message_s + way_s + n_bytes / transport.step_bytes * rtt_s


def slow_start_s(transport: Transport, conditions: Conditions, n_bytes: float) -> float:
    """Return how much longer a message takes in slow start than at the rate that it reaches.

    The window doubles each round trip, from `INITIAL_SEGMENTS` on, until it fills the way or all is sent (Cardwell,
    Savage and Anderson 2000, without losses and delayed acknowledgements).

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.
    n_bytes : float
        Of the message.

    Returns
    -------
    float
        Seconds.
    """
    rate = min(conditions.bytes_per_s, rate_cap_bytes_per_s(transport, conditions, "lone"))
    first_bytes = transport.n_streams * INITIAL_SEGMENTS * transport.segment_bytes
    rtt_s = conditions.rtt_s
    if not 0.0 < rate * rtt_s < math.inf or rate * rtt_s <= first_bytes or n_bytes <= first_bytes:
        return 0.0
    n_rounds = min(math.log2(rate * rtt_s / first_bytes), math.log2(n_bytes / first_bytes + 1.0) - 1.0)
    n_rounds = max(math.ceil(n_rounds), 0)
    return max(n_rounds * rtt_s - first_bytes * (2.0**n_rounds - 1.0) / rate, 0.0)


def restarted_bytes_per_s(transport: Transport, conditions: Conditions, n_bytes: float, idle_s: float) -> float:
    """Return the mean rate of a message on connections that were idle.

    After an idle time of a retransmission timeout Linux begins with slow start again, and HyStart ends that when the
    acknowledgements of a window take half of the least round trip: at half of what fills the way. From there the window
    grows by the rule of CUBIC.

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.
    n_bytes : float
        Of the message.
    idle_s : float
        Since the last message of the connection.

    Returns
    -------
    float
        Bytes per second; infinite where the window is no bound.
    """
    rate, rtt_s = conditions.bytes_per_s, conditions.rtt_s
    full_bytes = rate * conditions.steady_rtt_s
    least_bytes = transport.n_streams * INITIAL_SEGMENTS * transport.segment_bytes
    window_bytes = max(full_bytes / 2.0, least_bytes)
    is_idle = idle_s >= LEAST_RTO_S + rtt_s
    if not (transport.restarts and is_idle and window_bytes < rate * rtt_s < math.inf):
        return math.inf
    segment_bytes = transport.n_streams * transport.segment_bytes
    low_s, high_s = 0.0, n_bytes / (window_bytes / rtt_s)
    for _ in range(_N_HALVINGS):
        middle_s = (low_s + high_s) / 2.0
        if _sent_bytes(window_bytes, segment_bytes, rtt_s, middle_s) < n_bytes:
            low_s = middle_s
        else:
            high_s = middle_s
    return n_bytes / high_s if high_s else math.inf


def _sent_bytes(window_bytes: float, segment_bytes: float, rtt_s: float, time_s: float) -> float:
    """Return what a growing window has sent, the way being never full."""
    cubic = CUBIC_SEGMENTS_PER_S3 * time_s**4 / 4.0
    reno = RENO_SEGMENTS_PER_RTT / rtt_s * time_s**2 / 2.0
    return (window_bytes * time_s + segment_bytes * max(cubic, reno)) / rtt_s


def outside(transport: Transport, conditions: Conditions, n_bytes: float) -> Iterator[tuple[str, str]]:
    """Yield what of a message lies outside of where its transport was measured.

    Parameters
    ----------
    transport : Transport
        Which.
    conditions : Conditions
        Of the way.
    n_bytes : float
        Of the message, or of the collective that it is part of.

    Yields
    ------
    what : str
        Of its conditions.
    complaint : str
        With the value and the range.
    """
    domain = transport.domain
    checks = (
        ("round trip", conditions.rtt_s, domain.rtt_s, "s"),
        ("rate", conditions.bytes_per_s, domain.bytes_per_s, "B/s"),
        ("size", n_bytes, domain.message_bytes, "B"),
    )
    for what, value, (least, most), unit in checks:
        is_inside = least / _NEAR <= value <= most * _NEAR
        if not is_inside and 0.0 < value < math.inf:
            bounds = f"from {format_si(least, unit)} to {format_si(most, unit)}"
            yield what, f"{what} {format_si(value, unit)}, measured {bounds}"
    if conditions.loss_frac > 0.0 and transport.loss == "none":
        yield "loss", f"loss {conditions.loss_frac:.3%}, which counts for nothing"
    elif conditions.loss_frac > domain.loss_frac[1]:
        most = domain.loss_frac[1]
        bound = f"measured up to {most:.3%}" if most else f"never measured: the response is that of {transport.loss}"
        yield "loss", f"loss {conditions.loss_frac:.3%}, {bound}"
    if conditions.disorder_frac > 0.0:
        yield "disorder", f"{conditions.disorder_frac:.1%} of packets out of order or twice, which counts for nothing"
