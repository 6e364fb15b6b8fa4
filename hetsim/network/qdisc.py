"""Pass packets through a netem or a tbf that the text of a `tc` command describes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from hetsim.errors import HetsimError
from hetsim.kernels import jit, netem, tbf
from hetsim.kernels import netem_state as kernel
from hetsim.kernels.draws import stream_key
from hetsim.network import distributions, tc
from hetsim.network.netem import MOST_JITTER_NS, Chance, GilbertElliott, Netem, Slot, StateLoss, tick_ns, units
from hetsim.network.netem_text import parse_netem
from hetsim.network.tbf import Tbf, parse_tbf

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
ByteArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]

_STREAM: Final = stream_key("netem")
_NS: Final = 10**9
_MOST_NS: Final = 2**61
_MOST_BYTES: Final = 2**32 - 1
_MOST_S: Final = 2**62 / 1e9
_EVENTS_A_PACKET: Final = 2
"""In plain Python a packet takes 0.05 to 0.25 ms, as much as two events of a simulation or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """What became of packets: a row for each arrival, and one for each packet of which nothing arrived.

    Rows are in the order of the packets, a duplicate behind the first arrival of its packet.

    Parameters
    ----------
    packet : IntArray, shape (n_rows,)
        Index of the packet that was sent.
    receive_ns : IntArray, shape (n_rows,)
        When it left the qdisc, in nanoseconds on the clock of the sender; -1 if it never did.
    arrival : IntArray, shape (n_rows,)
        As which one it left, from zero; -1 if it never did.
    is_copy, is_lost, is_corrupt, is_marked : BoolArray, shape (n_rows,)
        Whether it is the second arrival of its packet, the loss of it, has a wrong bit, and was marked in place of a
        loss.
    """

    packet: IntArray
    receive_ns: IntArray
    arrival: IntArray
    is_copy: BoolArray
    is_lost: BoolArray
    is_corrupt: BoolArray
    is_marked: BoolArray

    @property
    def receive_s(self) -> FloatArray:
        """When each row left the qdisc, in seconds; not a number where it never did."""
        return np.where(self.is_lost, np.nan, self.receive_ns / _NS)


def parse(text: str, folder: Path | None = None) -> Netem | Tbf:
    """Return the qdisc that a text describes.

    Parameters
    ----------
    text : str
        Options of netem, or a `tc` command from its beginning or from the name of the qdisc on.
    folder : Path, optional
        Where paths of distribution tables start; the current one if left out.

    Returns
    -------
    Netem or Tbf
        In SI units.

    Raises
    ------
    QdiscError
        With every problem of the text.

    Examples
    --------
    >>> parse("delay 5ms").delay_s, parse("tbf rate 1mbit burst 10kb limit 20kb").burst_bytes
    (0.005, 10240)
    """
    return parse_tbf(text) if tc.kind_of(text) == "tbf" else parse_netem(text, folder)


def send(
    qdisc: Netem | Tbf | str,
    t_send_s: npt.ArrayLike,
    size_bytes: npt.ArrayLike,
    *,
    seed: int = 0,
    replication: int = 0,
    stream: int = _STREAM,
    can_be_marked: npt.ArrayLike = False,
) -> Packets:
    """Pass packets through a qdisc.

    Parameters
    ----------
    qdisc : Netem, Tbf or str
        The qdisc, or its text.
    t_send_s : array_like of float, shape (n,)
        When each packet comes to the qdisc, in seconds, in any order; rounded to nanoseconds.
    size_bytes : array_like of int, shape (n,) or ()
        Bytes on the wire, which is what rates count: payload and all headers, for Ethernet its own too.
    seed, replication : int
        Of the scenario and of the run; without effect where the text of the qdisc has a seed.
    stream : int
        From `hetsim.kernels.draws.stream_key`, for each interface another.
    can_be_marked : array_like of bool, shape (n,) or ()
        Whether a packet can carry congestion marks, for ``ecn``.

    Returns
    -------
    Packets
        One row for each arrival and each loss. The draws of a packet depend on its index and the keys alone.

    Raises
    ------
    QdiscError
        If the text is wrong.
    HetsimError
        If a packet may leave after more than 146 years.
    ValueError
        If a time is not finite or not within 73 years of zero, or a size is not between 0 and 2^32 - 1.

    Examples
    --------
    >>> sent = send("delay 10ms rate 1mbit", [0.0, 0.0], 1250)
    >>> sent.receive_s.tolist()
    [0.02, 0.03]
    """
    times_s = np.atleast_1d(np.asarray(t_send_s, dtype=np.float64))
    if times_s.ndim != 1 or not np.all(np.abs(times_s) < _MOST_NS / _NS):
        raise ValueError(f"send times must be a row of numbers within {_MOST_NS / _NS:.3g} s of zero")
    send_ns = np.rint(times_s * _NS).astype(np.int64)
    return pass_through(qdisc, send_ns, size_bytes, seed, replication, stream=stream, can_be_marked=can_be_marked)


def pass_through(
    qdisc: Netem | Tbf | str,
    send_ns: IntArray,
    size_bytes: npt.ArrayLike,
    seed: int = 0,
    replication: int = 0,
    *,
    stream: int = _STREAM,
    can_be_marked: npt.ArrayLike = False,
) -> Packets:
    """Pass packets through a qdisc, as `send`, with times in whole nanoseconds.

    Parameters
    ----------
    qdisc : Netem, Tbf or str
        The qdisc, or its text.
    send_ns : IntArray, shape (n,)
        When each packet comes to the qdisc, in nanoseconds, in any order.
    size_bytes, seed, replication, stream, can_be_marked
        As for `send`.

    Returns
    -------
    Packets
        As of `send`.

    Raises
    ------
    QdiscError, ValueError
        As from `send`.
    """
    qdisc = parse(qdisc) if isinstance(qdisc, str) else qdisc
    sizes = np.broadcast_to(np.asarray(size_bytes, dtype=np.int64), send_ns.shape)
    if not np.all((sizes >= 0) & (sizes <= _MOST_BYTES)):
        raise ValueError(f"sizes must be between 0 and {_MOST_BYTES} bytes")
    if _last_s(qdisc, send_ns, sizes) > _MOST_S:
        raise HetsimError("the last packet may leave after more than 146 years")
    order = np.argsort(send_ns, kind="stable")
    jit.compile_if_many(_EVENTS_A_PACKET * send_ns.size)
    marks = np.broadcast_to(np.asarray(can_be_marked, dtype=np.uint8), send_ns.shape)
    if isinstance(qdisc, Tbf):
        return _through_tbf(qdisc, send_ns, sizes, order)
    return _through_netem(qdisc, send_ns, sizes, order, marks=marks, keys=(seed, replication, stream))


def _last_s(qdisc: Netem | Tbf, send_ns: IntArray, sizes: IntArray) -> float:
    """Return when the last packet has left at the latest, in seconds; times are kept in 64 bits of nanoseconds."""
    n, n_bytes = send_ns.size, float(sizes.sum())
    last_s = float(np.abs(send_ns).max(initial=0)) / _NS
    if isinstance(qdisc, Tbf):
        return last_s + (2.0 * n_bytes + n * (qdisc.overhead_bytes + qdisc.mpu_bytes)) / qdisc.rate_bytes_per_s
    if qdisc.rate_bytes_per_s:
        cell_bytes, more_bytes = qdisc.cell_bytes, max(qdisc.packet_overhead_bytes, 0)
        cells = 1.0 + qdisc.cell_overhead_bytes / cell_bytes if cell_bytes else 1.0
        # A duplicate comes through once more.
        last_s += 2.0 * (n_bytes + n * (more_bytes + cell_bytes)) * max(cells, 1.0) / qdisc.rate_bytes_per_s
    slot_s = 0.0 if qdisc.slot is None else max(qdisc.slot.max_delay_s, qdisc.slot.delay_s + 8.0 * qdisc.slot.jitter_s)
    return last_s + 2.0 * n * slot_s + qdisc.delay_s + 8.0 * qdisc.jitter_s


def _through_tbf(qdisc: Tbf, send_ns: IntArray, sizes: IntArray, order: IntArray) -> Packets:
    parameters = np.zeros(tbf.N_PARAMETERS, dtype=np.int64)
    parameters[tbf.RATE], parameters[tbf.PEAK] = qdisc.rate_bytes_per_s, qdisc.peak_rate_bytes_per_s
    parameters[tbf.BURST], parameters[tbf.MTU] = qdisc.burst_bytes, qdisc.mtu_bytes
    parameters[tbf.LIMIT], parameters[tbf.LARGEST] = qdisc.limit_bytes, qdisc.largest_packet_bytes
    parameters[tbf.OVERHEAD], parameters[tbf.MPU] = qdisc.overhead_bytes, qdisc.mpu_bytes
    parameters[tbf.IS_ATM] = qdisc.is_atm
    sent_ns = np.empty(send_ns.size, dtype=np.int64)
    tbf.send(parameters, send_ns[order], sizes[order], sent_ns)
    passed = np.flatnonzero(sent_ns >= 0)
    flags = np.zeros(passed.size, dtype=np.uint8)
    return _rows(send_ns.size, order[passed], sent_ns[passed], np.arange(passed.size), flags)


def _through_netem(
    qdisc: Netem, send_ns: IntArray, sizes: IntArray, order: IntArray, *, marks: ByteArray, keys: tuple[int, int, int]
) -> Packets:
    seed, replication, stream = keys
    key = stream_key(seed, replication) if qdisc.seed is None else stream_key("qdisc", qdisc.seed)
    n = send_ns.size
    settings = kernel.Settings(
        parameters=_parameters(qdisc),
        delay_table=np.array(qdisc.table or distributions.table_of(qdisc.distribution), dtype=np.int64),
        slot_table=_slot_table(qdisc.slot),
        key=np.uint64(key),
        stream=np.uint64(stream),
    )
    queue = kernel.Queue(
        state=np.zeros(kernel.N_STATES, dtype=np.int64),
        last=np.zeros(kernel.N_CORRELATED, dtype=np.uint64),
        **{name: np.zeros(2 * n, dtype=np.int64) for name in ("owner", "due", "sent", "rank", "in_line", "heap")},
        flags=np.zeros(2 * n, dtype=np.uint8),
        number=order,
    )
    n_taken = netem.send(settings, queue, send_ns[order], sizes[order], marks[order])
    owner = order[queue.owner[:n_taken]]
    return _rows(n, owner, queue.sent[:n_taken], queue.rank[:n_taken], queue.flags[:n_taken])


def _rows(n: int, owner: IntArray, sent_ns: IntArray, rank: IntArray, flags: ByteArray) -> Packets:
    """Sort arrivals by packet and rank, and add the losses."""
    missing = np.flatnonzero(np.bincount(owner, minlength=n) == 0)
    nothing = np.full(missing.size, -1)
    packet = np.concatenate((owner, missing))
    arrival = np.concatenate((rank, nothing))
    # Both parts are sorted already unless the send times were not, which this sort makes use of.
    order = np.argsort(packet, kind="stable")
    second = 1 + np.flatnonzero(packet[order[1:]] == packet[order[:-1]])
    late = second[arrival[order[second]] < arrival[order[second - 1]]]
    order[late], order[late - 1] = order[late - 1], order[late]
    packet, arrival = packet[order], arrival[order]
    all_flags = np.concatenate((flags, np.zeros(missing.size, dtype=np.uint8)))[order]
    return Packets(
        packet=packet,
        receive_ns=np.concatenate((sent_ns, nothing))[order],
        arrival=arrival,
        is_copy=np.concatenate(([False], packet[1:] == packet[:-1])) if packet.size else np.zeros(0, dtype=np.bool_),
        is_lost=arrival < 0,
        is_corrupt=(all_flags & kernel.IS_CORRUPT) != 0,
        is_marked=(all_flags & kernel.IS_MARKED) != 0,
    )


def _parameters(qdisc: Netem) -> IntArray:
    """Return the settings of a netem in the units of the kernel."""
    p = np.zeros(kernel.N_PARAMETERS, dtype=np.int64)
    p[kernel.DELAY] = tick_ns(qdisc.delay_s)
    p[kernel.JITTER] = min(tick_ns(qdisc.jitter_s), MOST_JITTER_NS)
    p[kernel.LIMIT], p[kernel.GAP], p[kernel.ECN] = qdisc.limit_packets, qdisc.gap_packets, qdisc.ecn
    p[kernel.RATE], p[kernel.OVERHEAD] = qdisc.rate_bytes_per_s, qdisc.packet_overhead_bytes
    p[kernel.CELL], p[kernel.CELL_OVERHEAD] = qdisc.cell_bytes, qdisc.cell_overhead_bytes
    _set_loss(p, qdisc.loss)
    chances = {kernel.DUPLICATE: qdisc.duplicate, kernel.CORRUPT: qdisc.corrupt, kernel.REORDER: qdisc.reorder}
    for which, chance in chances.items():
        p[kernel.CHANCE + which] = units(chance.probability_frac)
        p[kernel.RHO + which] = units(chance.correlation_frac)
    p[kernel.RHO + kernel.SPREAD] = units(qdisc.delay_correlation_frac)
    p[kernel.IS_RANDOM] = qdisc.loss != Chance() or qdisc.reorder != Chance() or p[kernel.JITTER] != 0
    if qdisc.slot is not None:
        _set_slot(p, qdisc.slot)
    return p


def _set_loss(p: IntArray, loss: Chance | StateLoss | GilbertElliott) -> None:
    if isinstance(loss, Chance):
        p[kernel.LOSS_MODEL] = kernel.RANDOM
        p[kernel.CHANCE + kernel.LOSS] = units(loss.probability_frac)
        p[kernel.RHO + kernel.LOSS] = units(loss.correlation_frac)
    elif isinstance(loss, StateLoss):
        p[kernel.LOSS_MODEL] = kernel.FOUR_STATES
        p[kernel.A1 : kernel.A5 + 1] = [units(x) for x in (loss.p13, loss.p31, loss.p32, loss.p14, loss.p23)]
    else:
        p[kernel.LOSS_MODEL] = kernel.GILBERT_ELLIOTT
        p[kernel.A1], p[kernel.A2] = units(loss.p), units(loss.r)
        p[kernel.A3], p[kernel.A4] = units(1.0) - units(loss.bad_frac), units(loss.good_frac)


def _set_slot(p: IntArray, slot: Slot) -> None:
    p[kernel.SLOT_MIN], p[kernel.SLOT_MAX] = round(slot.min_delay_s * _NS), round(slot.max_delay_s * _NS)
    p[kernel.SLOT_CENTRE] = round(slot.delay_s * _NS)
    p[kernel.SLOT_JITTER] = min(round(slot.jitter_s * _NS), MOST_JITTER_NS)
    p[kernel.SLOT_PACKETS], p[kernel.SLOT_BYTES] = slot.n_packets or kernel.ANY, slot.n_bytes or kernel.ANY
    p[kernel.HAS_SLOT] = bool(p[kernel.SLOT_MIN] or p[kernel.SLOT_MAX] or p[kernel.SLOT_JITTER])


def _slot_table(slot: Slot | None) -> IntArray:
    """Return the table of slots; without a name a uniform time between two bounds is drawn."""
    if slot is None or not slot.distribution:
        return np.zeros(0, dtype=np.int64)
    return np.array(slot.table or distributions.table_of(slot.distribution), dtype=np.int64)
