"""The token bucket filter, packet by packet, in integer nanoseconds as Linux 6.1 has it (net/sched/sch_tbf.c)."""

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit_without_allocation, part

IntArray = npt.NDArray[np.int64]

RATE, PEAK, BURST, MTU, LIMIT, LARGEST, OVERHEAD, MPU, IS_ATM = range(9)
N_PARAMETERS = 9

_NS = 10**9


@part
def _cost_ns(parameters: IntArray, size: int, rate: int) -> int:
    """Return the time in which the tokens of a packet come (psched_l2t_ns)."""
    n_bytes = max(size + parameters[OVERHEAD], parameters[MPU])
    if parameters[IS_ATM]:
        n_bytes = (n_bytes + 47) // 48 * 53
    return int(n_bytes // rate * _NS + n_bytes % rate * _NS // rate)


@jit_without_allocation
def send(parameters: IntArray, send_ns: IntArray, sizes: IntArray, sent_ns: IntArray) -> None:
    """Pass packets through a token bucket, in their order; both buckets are full at first.

    Parameters
    ----------
    parameters : IntArray, shape (N_PARAMETERS,)
        Bytes, and bytes per second.
    send_ns : IntArray, shape (n,)
        When they come in, in nanoseconds, ascending.
    sizes : IntArray, shape (n,)
        Bytes on the wire.
    sent_ns : IntArray, shape (n,)
        When they leave; -1 for those that are dropped; filled.
    """
    rate, peak = parameters[RATE], parameters[PEAK]
    full = _cost_ns(parameters, parameters[BURST], rate)
    peak_full = _cost_ns(parameters, parameters[MTU], peak) if peak else 0
    tokens, peak_tokens = full, peak_full
    checked = send_ns[0] if send_ns.size > 0 else 0
    oldest = backlog = 0
    free = checked
    for packet in range(send_ns.size):
        now, size = send_ns[packet], sizes[packet]
        while oldest < packet and sent_ns[oldest] <= now:
            backlog -= sizes[oldest] if sent_ns[oldest] >= 0 else 0
            oldest += 1
        if size > parameters[LARGEST] or backlog + size > parameters[LIMIT]:
            sent_ns[packet] = -1
            continue
        backlog += size
        leaves, cost = max(now, free), _cost_ns(parameters, size, rate)
        peak_cost = _cost_ns(parameters, size, peak) if peak else 0
        while True:
            earned = min(leaves - checked, full)
            left = min(earned + tokens, full) - cost
            peak_left = min(earned + peak_tokens, peak_full) - peak_cost if peak else 0
            if left >= 0 and peak_left >= 0:
                break
            leaves += max(-left, -peak_left)
        tokens, peak_tokens, checked, free = left, peak_left, leaves, leaves
        sent_ns[packet] = leaves
