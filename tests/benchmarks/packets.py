"""Packets through netem against the same in plain Python with a heap, as one would write it."""

import heapq
import random

import numpy as np
from measure import Figure, interleaved, timed

from hetsim.kernels.jit import compile_all
from hetsim.network.netem_text import parse_netem
from hetsim.network.qdisc import pass_through

SPEC = "delay 10ms 2ms loss 1% duplicate 1%"
N_PACKETS = 200_000
GAP_NS = 20_000


def packets_against_heap() -> Figure:
    """Jitter, loss and duplication, where hundreds of packets are on their way at any time."""
    compile_all()
    netem, send_ns = parse_netem(SPEC), np.arange(N_PACKETS) * GAP_NS
    ours_n, peer_n = (~pass_through(netem, send_ns, 1000).is_lost).sum(), len(_by_heap(send_ns.tolist()))
    if abs(ours_n - peer_n) > 5 * (2 * 0.02 * N_PACKETS) ** 0.5:
        raise AssertionError(f"{ours_n} packets arrived, and {peer_n} with the peer")
    ours_s, peer_s = interleaved(
        lambda: timed(lambda: pass_through(netem, send_ns, 1000)),
        lambda: timed(lambda: _by_heap(send_ns.tolist())),
        n_repetitions=9,
    )
    note = f"{N_PACKETS / ours_s / 1e6:.3g} million packets/s on one core, with a heap {N_PACKETS / peer_s / 1e6:.3g}"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{N_PACKETS} packets", note=note)


def _by_heap(send_ns: list[int]) -> list[tuple[int, int]]:
    """Arrival time and number of each packet, in the order of arrival; at most 1000 on their way."""
    rng = random.Random(0)
    waiting: list[tuple[int, int]] = []
    arrived: list[tuple[int, int]] = []
    for number, now in enumerate(send_ns):
        while waiting and waiting[0][0] <= now:
            arrived.append(heapq.heappop(waiting))
        n_copies = 1 + (rng.random() < 0.01) - (rng.random() < 0.01)
        for _ in range(n_copies):
            if len(waiting) < 1000:
                heapq.heappush(waiting, (now + 10_000_000 + rng.randrange(-2_000_000, 2_000_000), number))
    while waiting:
        arrived.append(heapq.heappop(waiting))
    return arrived
