"""What a queueing discipline means to fluid transfers: a latency, a rate and a loss."""

import math
from typing import Final

from hetsim.model.impairment import Impairment
from hetsim.network.netem import Netem
from hetsim.network.tbf import Tbf

FRAME_BYTES: Final = 1514
"""A full Ethernet frame as the kernel counts it: header 14, IP 20, TCP with time stamps 32, payload 1448."""

PAYLOAD_BYTES: Final = 1448


def impairment_of(qdisc: Netem | Tbf, at_s: float = 0.0) -> Impairment:
    """Return what a qdisc does to TCP transfers in full frames.

    Rates are of frames, so the payload has 1448 of 1514 bytes of them, or less with a packet overhead or cells. Limits
    are not reached: with segmentation offload, as Linux has it, netem counts packets of up to 64 KiB. Jitter is kept
    apart where a rate keeps packets in order; without one, or with reordering, packets overtake each other. What is
    duplicated, overtakes, or is held for a slot counts as disorder, to which transports have no stated response;
    corrupt packets are lost, as TCP's checksum finds them.

    Parameters
    ----------
    qdisc : Netem or Tbf
        At the root of an interface.
    at_s : float
        From when on.

    Returns
    -------
    Impairment
        Of what leaves the interface.
    """
    if isinstance(qdisc, Tbf):
        return Impairment(at_s=at_s, bytes_per_s=qdisc.rate_bytes_per_s * PAYLOAD_BYTES / FRAME_BYTES)
    delay_s = qdisc.mean_delay_s
    rates = [math.inf]
    if qdisc.rate_bytes_per_s:
        occupied_bytes = _occupied_bytes(qdisc)
        rates.append(qdisc.rate_bytes_per_s * PAYLOAD_BYTES / occupied_bytes if occupied_bytes else math.inf)
    # Of a uniform delay the jitter is half the width, of a table of tc's the standard deviation.
    spread = qdisc.jitter_s / math.sqrt(3.0) if qdisc.distribution == "uniform" else qdisc.jitter_s
    is_ordered = bool(qdisc.rate_bytes_per_s) or not qdisc.jitter_s
    disorder_frac = qdisc.duplicate_frac + qdisc.reorder_frac
    return Impairment(
        at_s=at_s,
        delay_s=delay_s,
        jitter_s=spread if is_ordered else 0.0,
        loss_frac=1.0 - (1.0 - qdisc.loss_frac) * (1.0 - qdisc.corrupt.frac),
        bytes_per_s=min(rates),
        disorder_frac=min(disorder_frac if is_ordered and qdisc.slot is None else 1.0, 1.0),
    )


def _occupied_bytes(qdisc: Netem) -> float:
    """Return what a full frame occupies at the rate of a netem qdisc."""
    # An overhead may be negative, and a packet takes no time then.
    n_bytes = max(FRAME_BYTES + qdisc.packet_overhead_bytes, 0)
    if not qdisc.cell_bytes:
        return n_bytes
    return math.ceil(n_bytes / qdisc.cell_bytes) * (qdisc.cell_bytes + qdisc.cell_overhead_bytes)
