"""What a netem qdisc does to packets, as data: parsed from the text of a `tc` command, for packets and for fluid flows.

Where the kernel surprises, the kernel is followed (Linux 6.1, net/sched/sch_netem.c; iproute2, tc/q_netem.c):

* Correlation of delay hardly shows: the correlated number is taken modulo the range of the jitter, or the table's size.
* A correlated number is a weighted sum of uniform ones and so rarely extreme: ``loss 5% 25%`` loses 0.19 %.
* Correlation of duplication alone is ignored: tc sends it only beside that of a delay, loss, reordering or corruption.
* A duplicate enters the qdisc anew: it can be lost, and is delayed on its own; a packet both duplicated and lost
  arrives once.
* Delays are whole microseconds, cut to 64 ns; jitter is cut at 2.147 s.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hetsim.network import distributions

MOST_DELAY_S: Final = 274.877906
"""Delays are counted in 64 ns by 32 bits."""

MOST_JITTER_NS: Final = 2**31 - 1

ONE: Final = 2**32 - 1
"""Probability one in the units of the kernel."""

_N_DOUBLINGS: Final = 60
"""After 2^60 packets a chain is where it stays, even if a transition has the least probability there is."""

_SLOW: Final = 0.99
_FAR: Final = 30.0
_LEAST_WEIGHT: Final = 1e-9
_N_WAVES, _LEAST_WAVE, _N_TERMS_A_TIME = 20_000, 1e-18, 8


@dataclass(frozen=True, slots=True)
class Chance:
    """Something that happens to a packet with a probability, and a correlation to the packet before.

    Parameters
    ----------
    probability_frac : float
        As written, from 0 to 1; see `frac` for how often it happens.
    correlation_frac : float
        Weight of the last number in the next, from 0 to 1.
    """

    probability_frac: float = 0.0
    correlation_frac: float = 0.0

    @property
    def frac(self) -> float:
        """How often it happens in the long run: less than its probability below 1/2 where there is a correlation."""
        if not self.probability_frac or not self.correlation_frac:
            return self.probability_frac
        return correlated_frac(self.probability_frac, self.correlation_frac)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLoss:
    """Loss by the chain of four states of Salsano, Ludovici and Ordine (``loss state``).

    State 1 delivers in a gap, 2 delivers in a burst, 3 loses in a burst, 4 is a single loss in a gap.

    Parameters
    ----------
    p13, p31, p32, p23, p14 : float
        Probabilities of the transitions, from 0 to 1.
    """

    p13: float
    p31: float
    p32: float = 0.0
    p23: float = 1.0
    p14: float = 0.0

    @property
    def frac(self) -> float:
        """Share of packets that is lost in the long run: those of states 3 and 4, from state 1 on.

        Of two transitions from a state, the second has the numbers up to the sum of both, which the kernel holds in 32
        bits: where the sum is more than 100 %, it is cut by that.
        """
        import numpy as np

        to_4, to_2 = units(self.p14), units(self.p32)
        to_3_or_4, to_1_or_2 = (units(self.p13) + to_4) & ONE, (units(self.p31) + to_2) & ONE
        to_3, to_1 = max(to_3_or_4 - to_4, 0), max(to_1_or_2 - to_2, 0)
        chain = np.zeros((4, 4))
        chain[0] = ONE + 1 - to_3 - to_4, 0, to_3, to_4
        chain[1] = 0, ONE + 1 - units(self.p23), units(self.p23), 0
        chain[2] = to_1, to_2, ONE + 1 - to_1 - to_2, 0
        chain[3] = ONE + 1, 0, 0, 0
        # Halfway to standing still, it forgets its period and keeps its shares.
        chain = chain / (ONE + 1) / 2.0 + np.eye(4) / 2.0
        for _ in range(_N_DOUBLINGS):
            chain = chain @ chain
            chain /= chain.sum(axis=1, keepdims=True)
        return float(chain[0, 2] + chain[0, 3])


@dataclass(frozen=True, slots=True, kw_only=True)
class GilbertElliott:
    """Loss by a chain of a good and a bad state (``loss gemodel``).

    Parameters
    ----------
    p, r : float
        Probability to become bad, and to become good again, from 0 to 1.
    bad_frac, good_frac : float
        Probability to be lost in the bad state (``1-h``) and in the good one (``1-k``).
    """

    p: float
    r: float
    bad_frac: float = 1.0
    good_frac: float = 0.0

    @property
    def frac(self) -> float:
        """Share of packets that is lost in the long run: the share of either state is p : r."""
        bad = self.p / (self.p + self.r) if self.p else 0.0
        return bad * self.bad_frac + (1.0 - bad) * self.good_frac


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Times between which packets wait, as on a medium that is granted in slots.

    Parameters
    ----------
    min_delay_s, max_delay_s : float
        The next slot comes after a uniform time between these.
    distribution : str
        Name of the table that the time comes from instead; empty for none.
    table : tuple of int
        Its entries, where it is from a file.
    delay_s, jitter_s : float
        Its centre and scale.
    n_packets, n_bytes : int
        What a slot takes before the next one is waited for; zero for any.
    """

    min_delay_s: float = 0.0
    max_delay_s: float = 0.0
    distribution: str = ""
    table: tuple[int, ...] = ()
    delay_s: float = 0.0
    jitter_s: float = 0.0
    n_packets: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Netem:
    """A netem qdisc at the root of an interface, on its way out.

    Parameters
    ----------
    delay_s, jitter_s : float
        Centre and scale of the delay of a packet, in seconds.
    delay_correlation_frac : float
        Weight of the last number in the next.
    distribution : str
        Of the delay: one of `hetsim.network.distributions.NAMES`, or the path of a table.
    table : tuple of int
        Entries of the table, where it is from a file.
    loss : Chance, StateLoss or GilbertElliott
        Which packets are dropped.
    duplicate, corrupt, reorder : Chance
        Which packets come twice, with a wrong bit, or at once and not after their delay.
    gap_packets : int
        Only from this many packets after the last one on may a packet be reordered; zero where none is.
    rate_bytes_per_s : float
        Zero for no limit.
    packet_overhead_bytes, cell_bytes, cell_overhead_bytes : int
        A packet occupies its size and the overhead, or the cells that these fill with their overhead.
    slot : Slot or None
        Times at which packets may leave.
    limit_packets : int
        More than these, waiting or delayed, are dropped.
    ecn : bool
        Packets that can be marked are marked and not lost.
    seed : int or None
        Of all draws, instead of the caller's.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    delay_correlation_frac: float = 0.0
    distribution: str = "uniform"
    table: tuple[int, ...] = ()
    loss: Chance | StateLoss | GilbertElliott = Chance()
    duplicate: Chance = Chance()
    corrupt: Chance = Chance()
    reorder: Chance = Chance()
    gap_packets: int = 0
    rate_bytes_per_s: float = 0.0
    packet_overhead_bytes: int = 0
    cell_bytes: int = 0
    cell_overhead_bytes: int = 0
    slot: Slot | None = None
    limit_packets: int = 1000
    ecn: bool = False
    seed: int | None = None

    @property
    def mean_delay_s(self) -> float:
        """Mean delay of a packet that finds the queue empty, without rate and slots, in seconds.

        A negative delay is none.
        """
        import numpy as np

        delay_ns, jitter_ns = tick_ns(self.delay_s), min(tick_ns(self.jitter_s), MOST_JITTER_NS)
        if not jitter_ns:
            mean_ns = float(delay_ns)
        elif entries := self.table or distributions.table_of(self.distribution):
            delays_ns = delay_ns + np.array(entries) * (jitter_ns / distributions.SCALE)
            mean_ns = float(np.maximum(delays_ns, 0.0).mean())
        else:
            low, high = max(delay_ns - jitter_ns, 0), delay_ns + jitter_ns
            mean_ns = (high - low) / (2.0 * jitter_ns) * (high + low) / 2.0
        return (1.0 - self.reorder_frac) * mean_ns / 1e9

    @property
    def loss_frac(self) -> float:
        """Share of packets of which nothing arrives in the long run, without full queues.

        With ``ecn``, of packets that cannot be marked; of the others, as many are marked.
        """
        return (1.0 - self.duplicate.frac) * self.loss.frac

    @property
    def duplicate_frac(self) -> float:
        """Share of packets that arrive twice, in the long run.

        Exact where losses have no memory: the duplicate is the next packet for it.
        """
        return self.duplicate.frac * (1.0 - self.loss.frac) ** 2

    @property
    def reorder_frac(self) -> float:
        """Share of packets that is sent at once, in the long run.

        A number is drawn for every packet after a gap alone: of ``1 + q (gap - 1)`` packets, q are reordered.
        """
        q = self.reorder.frac if self.gap_packets else 0.0
        return q / (1.0 + q * (self.gap_packets - 1)) if q else 0.0


def units(frac: float) -> int:
    """Return a probability in the units of the kernel.

    Parameters
    ----------
    frac : float
        From 0 to 1.

    Returns
    -------
    int
        Of 32 bits.
    """
    return round(frac * ONE)


def tick_ns(time_s: float) -> int:
    """Return what the kernel makes of a delay: whole microseconds, in units of 64 ns.

    Parameters
    ----------
    time_s : float
        Seconds, not negative.

    Returns
    -------
    int
        Nanoseconds.

    Examples
    --------
    >>> tick_ns(0.01), tick_ns(1e-6)
    (10000000, 960)
    """
    # A microsecond is 15.625 units.
    return round(time_s * 1e9) // 1000 * 15_625 // 1000 * 64


@lru_cache
def correlated_frac(probability_frac: float, correlation_frac: float) -> float:
    """Return how often a correlated number of the kernel is at most a probability, in the long run.

    It is ``s = (1 - r) u + r s`` with uniform u, so in the long run the sum of independent uniform numbers weighted by
    ``a_k = (1 - r) r^k``. Around its mean, 1/2, the sum has the characteristic function ``prod sinc(a_k t / 2)``, and
    as it spans less than a period of 2 pi, its distribution is the series of Gil-Pelaez (1951, doi:10.2307/2332598) at
    ``t = j + 1/2`` without an error of discretisation.

    Parameters
    ----------
    probability_frac : float
        From 0 to 1.
    correlation_frac : float
        The r above, from 0 to 1.

    Returns
    -------
    float
        Between 0 and 1, to about 1e-8, and to 2e-6 for a correlation above 0.99.

    Examples
    --------
    >>> round(correlated_frac(0.05, 0.25), 5)
    0.00194
    """
    import numpy as np

    r = correlation_frac
    if not 0.0 < r < 1.0 or not 0.0 < probability_frac < 1.0:
        return probability_frac  # where a number never changes, the first one decides for all
    if r > _SLOW:
        return _nearly_normal_frac(probability_frac, r)
    n_terms = max(1, math.ceil(math.log(_LEAST_WEIGHT) / math.log(r)))
    t = np.arange(_N_WAVES) + 0.5
    waves = np.ones(_N_WAVES)
    for k in range(n_terms):
        waves *= np.sinc((1.0 - r) * r**k * t / (2.0 * np.pi))
        if k % _N_TERMS_A_TIME == 0:
            n_left = int(np.flatnonzero(np.abs(waves) > _LEAST_WAVE)[-1]) + 1
            t, waves = t[:n_left], waves[:n_left]
    frac = 0.5 + float((waves * np.sin(t * (probability_frac - 0.5)) / t).sum()) / math.pi
    return min(max(frac, 0.0), 1.0)


def _nearly_normal_frac(probability_frac: float, r: float) -> float:
    """Return the same for a sum of very many numbers, by the first term of Edgeworth's series."""
    z = (probability_frac - 0.5) / math.sqrt((1.0 - r) / (1.0 + r) / 12.0)
    if abs(z) > _FAR:
        return 0.0 if z < 0.0 else 1.0
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    excess = -1.2 * (1.0 - r * r) / (1.0 + r * r)
    frac = 0.5 * math.erfc(-z / math.sqrt(2.0)) - density * excess / 24.0 * (z**3 - 3.0 * z)
    return min(max(frac, 0.0), 1.0)
