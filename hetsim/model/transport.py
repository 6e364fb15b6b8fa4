"""How messages cross a network: what a transport makes of rates, latencies and losses."""

import math
from dataclasses import dataclass
from typing import Final, Literal

LatencyKind = Literal["stepwise", "pipelined", "cold"]
LossResponse = Literal["none", "mathis", "pftk", "go-back-n"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Where the figures of a transport were measured; beyond that they are an extrapolation.

    Parameters
    ----------
    rtt_s, bytes_per_s, message_bytes, loss_frac : tuple of (float, float)
        Least and greatest round trip, rate of the slowest link, bytes of a message or a collective, and loss.
    """

    rtt_s: tuple[float, float] = (0.0, math.inf)
    bytes_per_s: tuple[float, float] = (0.0, math.inf)
    message_bytes: tuple[float, float] = (0.0, math.inf)
    loss_frac: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """A transport.

    A collective is a sequence of passes (an all-reduce: reduce-scatter, then gather), a pass one of messages that
    depend on each other; every other message is by itself.

    Parameters
    ----------
    name : str
        Such as ``nccl``.
    efficiency_frac : float
        Payload over what crosses a link at its payload rate: what else the transport sends.
    latency : {"stepwise", "pipelined", "cold"}
        Every message of a pass pays the latency of its way; a pass pays `pass_rtts` round trips as a whole, since its
        messages follow each other in pieces; every message opens a connection and starts slowly.
    message_rtts : float
        Round trips that a message by itself pays beside its way.
    pass_rtts : float
        Round trips that a pipelined pass pays.
    step_bytes : float
        A stepwise pass moves in steps of so many bytes, each of which waits for a round trip.
    message_s : float
        Seconds of work for each message, before its first byte moves.
    n_streams : int
        Connections that share a message.
    stream_bytes_per_s : float
        Rate of each connection, at most.
    window_bytes : float
        In flight on each connection, at most.
    pass_window_bytes : float
        In flight between two members of a pass, at most.
    restarts : bool
        Whether a connection that was idle begins again with the window of slow start.
    loss : {"none", "mathis", "pftk", "go-back-n"}
        How losses bound the rate of each connection.
    segment_bytes : float
        Payload of a packet.
    domain : Domain
        Where it was measured.
    source : str
        Where the figures come from.
    """

    name: str
    efficiency_frac: float = 1.0
    latency: LatencyKind = "stepwise"
    message_rtts: float = 0.0
    pass_rtts: float = 0.0
    step_bytes: float = math.inf
    message_s: float = 0.0
    n_streams: int = 1
    stream_bytes_per_s: float = math.inf
    window_bytes: float = math.inf
    pass_window_bytes: float = math.inf
    restarts: bool = False
    loss: LossResponse = "none"
    segment_bytes: float = 1448.0
    domain: Domain = Domain()
    source: str = "scenario"


IDEAL: Final = Transport(name="ideal", source="fluid sharing: every message pays the latency of its way, and no more")
"""All of the payload rate, no windows; what is lost is of no consequence."""
