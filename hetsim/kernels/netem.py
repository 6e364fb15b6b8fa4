"""The netem queueing discipline, packet by packet, in integer nanoseconds as Linux 6.1 has it (net/sched/sch_netem.c).

A packet is duplicated or not, lost or not, corrupted or not, dropped where the queue is full, and put into a queue that
is sorted by the time at which packets are due. Every random word is a function of the packet's number, so one option
does not change the draws of another; only the kernel's correlated numbers carry something on from packet to packet.
"""

import numpy as np
import numpy.typing as npt

from hetsim.kernels.draws import philox
from hetsim.kernels.jit import inlined, jit_without_allocation, part
from hetsim.kernels.netem_state import (
    A1,
    A2,
    A3,
    A4,
    A5,
    BYTES_LEFT,
    CELL,
    CELL_OVERHEAD,
    CHANCE,
    CORRUPT,
    COUNTER,
    DELAY,
    DUPLICATE,
    ECN,
    FIRST,
    FOUR_STATES,
    GAP,
    GILBERT_ELLIOTT,
    HAS_SLOT,
    IS_CORRUPT,
    IS_MARKED,
    IS_RANDOM,
    JITTER,
    LAST,
    LIMIT,
    LOSS,
    LOSS_MODEL,
    LOSS_STATE,
    MAX_DUE,
    N_SENT,
    N_SLOTS,
    N_SORTED,
    N_TAKEN,
    NEVER,
    OVERHEAD,
    PACKETS_LEFT,
    RATE,
    REORDER,
    RHO,
    SLOT_BYTES,
    SLOT_CENTRE,
    SLOT_JITTER,
    SLOT_MAX,
    SLOT_MIN,
    SLOT_NEXT,
    SLOT_PACKETS,
    SPREAD,
    Queue,
    Settings,
)
from hetsim.kernels.tfifo import pop, put

IntArray = npt.NDArray[np.int64]
ByteArray = npt.NDArray[np.uint8]

_MASK = 2**32 - 1
_SCALE = 8192
_NS = 10**9
_TO_SLOTS, _TO_FIRST = np.uint64(2**63), np.uint64(2**62)
_ONE, _TWO, _32, _TWO_32 = np.uint64(1), np.uint64(2), np.uint64(32), np.uint64(2**32)


@part
def _words(key: np.uint64, counter: np.uint64, stream: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return four random words; called and not inlined, which halves the time that compiling takes."""
    return philox(key, counter, stream)


@inlined
def _correlated(settings: Settings, queue: Queue, which: int, word: np.uint64) -> np.int64:
    """Return the next number of an autoregressive process of order one, in integers (get_crandom)."""
    rho = settings.parameters[RHO + which]
    if rho == 0:
        return np.int64(word)
    weight = np.uint64(rho) + _ONE
    queue.last[which] = (word * (_TWO_32 - weight) + queue.last[which] * weight) >> _32
    return np.int64(queue.last[which])


@inlined
def _happens(settings: Settings, queue: Queue, which: int, word: np.uint64) -> bool:
    chance = settings.parameters[CHANCE + which]
    return bool(chance != 0 and chance >= _correlated(settings, queue, which, word))


@part
def spread(centre: int, scale: int, number: np.int64, table: IntArray) -> int:
    """Return a time with a distribution (tabledist).

    Parameters
    ----------
    centre, scale : int
        Nanoseconds; the scale below 2^31.
    number : int64
        Random, of 32 bits.
    table : IntArray, shape (n_entries,)
        Empty for a uniform distribution.

    Returns
    -------
    int
        Nanoseconds; may be negative.
    """
    if scale == 0:
        return centre
    if table.size == 0:
        return int(number % (2 * scale) + centre - scale)
    entry = table[number % table.size]
    fine = (scale % _SCALE) * entry
    # Rounded to the nearest, and halves away from zero.
    rounded = (fine + _SCALE // 2) // _SCALE if fine >= 0 else -((_SCALE // 2 - fine) // _SCALE)
    return int(rounded + (scale // _SCALE) * entry + centre)


@inlined
def _four_states(parameters: IntArray, state: IntArray, number: np.int64) -> bool:
    """Go one step in the chain of states 1 to 4, and return whether the packet is lost (loss_4state)."""
    now = state[LOSS_STATE]
    if now == 1:
        both = (parameters[A1] + parameters[A4]) & _MASK
        if number < parameters[A4]:
            state[LOSS_STATE] = 4
        elif parameters[A4] < number < both:
            state[LOSS_STATE] = 3
    elif now == 2:
        if number < parameters[A5]:
            state[LOSS_STATE] = 3
    elif now == 3:
        both = (parameters[A2] + parameters[A3]) & _MASK
        if number < parameters[A3]:
            state[LOSS_STATE] = 2
        elif parameters[A3] < number < both:
            state[LOSS_STATE] = 1
        else:
            # At a border the kernel stays here as well, but lets the packet through.
            return bool(number > both)
    else:
        state[LOSS_STATE] = 1
    return bool(state[LOSS_STATE] >= 3)


@inlined
def _gilbert_elliott(parameters: IntArray, state: IntArray, first: np.int64, second: np.int64) -> bool:
    """Go one step between the good and the bad state, but lose as in the state before (loss_gilb_ell)."""
    if state[LOSS_STATE] == 1:
        if first < parameters[A1]:
            state[LOSS_STATE] = 2
        return bool(second < parameters[A4])
    if first < parameters[A2]:
        state[LOSS_STATE] = 1
    return bool(second > parameters[A3])


@inlined
def _is_lost(settings: Settings, queue: Queue, first: np.uint64, second: np.uint64) -> bool:
    model = settings.parameters[LOSS_MODEL]
    if model == FOUR_STATES:
        return _four_states(settings.parameters, queue.state, np.int64(first))
    if model == GILBERT_ELLIOTT:
        return _gilbert_elliott(settings.parameters, queue.state, np.int64(first), np.int64(second))
    return _happens(settings, queue, LOSS, first)


@inlined
def packet_ns(parameters: IntArray, size: int) -> int:
    """Return how long a packet occupies the link (packet_time_ns).

    Parameters
    ----------
    parameters : IntArray, shape (N_PARAMETERS,)
        With a rate.
    size : int
        Bytes.

    Returns
    -------
    int
        Nanoseconds, rounded down.
    """
    n_bytes = max(size + parameters[OVERHEAD], 0)
    if parameters[CELL] > 0:
        n_cells = (n_bytes + parameters[CELL] - 1) // parameters[CELL]
        n_bytes = max(n_cells * (parameters[CELL] + parameters[CELL_OVERHEAD]), 0)
    # In two parts, as the product with a second is more than 63 bits for a packet of 10 GB.
    return int(n_bytes // parameters[RATE] * _NS + n_bytes % parameters[RATE] * _NS // parameters[RATE])


@inlined
def _leave(queue: Queue, k: int, now: int) -> None:
    queue.sent[k] = now
    queue.rank[k] = queue.state[N_SENT]
    queue.state[N_SENT] += 1


@inlined
def _due(settings: Settings, queue: Queue, size: int, now: int, word: np.uint64, n_ahead: int) -> int:
    """Return when a packet is due: after its delay, and with a rate also after the packets before it.

    With a rate, the time that a packet waits for those before it counts as part of its delay.
    """
    parameters, state = settings.parameters, queue.state
    number = _correlated(settings, queue, SPREAD, word) if parameters[JITTER] else np.int64(0)
    delay = spread(parameters[DELAY], parameters[JITTER], number, settings.delay_table)
    if parameters[RATE] == 0:
        return now + delay
    start = now
    if n_ahead + state[LAST] - state[FIRST] + state[N_SORTED] > 0:
        last = state[MAX_DUE] if state[LAST] - state[FIRST] + state[N_SORTED] > 0 else now
        start = max(last, now) if n_ahead > 0 else last
        delay = max(delay - (start - now), 0)
    return start + delay + packet_ns(parameters, size)


@inlined
def _take(
    settings: Settings,
    queue: Queue,
    packet: int,
    size: int,
    now: int,
    flags: int,
    n_ahead: int,
    counter: np.uint64,
    delay_word: np.uint64,
    reorder_word: np.uint64,
) -> int:
    """Take a packet in unless the queue is full, and return how many went to the front of it (netem_enqueue)."""
    parameters, state = settings.parameters, queue.state
    if parameters[CHANCE + CORRUPT]:
        _, word, _, _ = _words(settings.key, counter + _ONE, settings.stream)
        if _happens(settings, queue, CORRUPT, word):
            flags |= IS_CORRUPT
    if n_ahead + state[LAST] - state[FIRST] + state[N_SORTED] >= parameters[LIMIT]:
        return 0
    k = state[N_TAKEN]
    state[N_TAKEN] += 1
    queue.owner[k], queue.flags[k] = packet, flags
    is_after_gap = parameters[GAP] > 0 and state[COUNTER] >= parameters[GAP] - 1
    if is_after_gap and parameters[CHANCE + REORDER] >= _correlated(settings, queue, REORDER, reorder_word):
        state[COUNTER] = 0
        queue.due[k] = now
        _leave(queue, k, now)
        return 1
    queue.due[k] = _due(settings, queue, size, now, delay_word, n_ahead)
    state[COUNTER] = (state[COUNTER] + 1) & _MASK
    put(queue, k)
    return 0


@inlined
def _arrive(settings: Settings, queue: Queue, packet: int, size: int, now: int, can_be_marked: bool) -> None:
    """Let a packet come in: it and its duplicate are lost or marked, each on its own."""
    parameters, counter = settings.parameters, np.uint64(4 * queue.number[packet])
    can_be_marked = can_be_marked and parameters[ECN] != 0
    is_double = False
    if parameters[CHANCE + DUPLICATE]:
        word, _, _, _ = _words(settings.key, counter + _ONE, settings.stream)
        is_double = _happens(settings, queue, DUPLICATE, word)
    first = second = delay = reorder = np.uint64(0)
    if parameters[IS_RANDOM]:
        first, second, delay, reorder = _words(settings.key, counter, settings.stream)
    is_lost, flags, n_ahead = _is_lost(settings, queue, first, second), 0, 0
    if is_lost and can_be_marked:
        flags |= IS_MARKED
    elif is_lost and not is_double:
        return
    elif is_lost:
        is_double = False
    if is_double:
        # The duplicate comes in first, and anew.
        to_copy = counter + _TWO
        first, second, its_delay, its_reorder = _words(settings.key, to_copy, settings.stream)
        is_lost = _is_lost(settings, queue, first, second)
        if not is_lost or can_be_marked:
            more = flags | IS_MARKED if is_lost else flags
            n_ahead = _take(settings, queue, packet, size, now, more, 0, to_copy, its_delay, its_reorder)
    _take(settings, queue, packet, size, now, flags, n_ahead, counter, delay, reorder)


@part
def _next_slot(settings: Settings, queue: Queue, now: int) -> None:
    """Draw the next slot (get_slot_next); the kernel's product has 64 bits, so spans above 2.1 s are wrapped."""
    parameters, state = settings.parameters, queue.state
    word, _, _, _ = _words(settings.key, _TO_SLOTS | np.uint64(state[N_SLOTS]), settings.stream)
    state[N_SLOTS] += 1
    if settings.slot_table.size == 0:
        span = parameters[SLOT_MAX] - parameters[SLOT_MIN]
        low = np.int64((word * np.uint64(span & _MASK)) >> _32)
        high = (np.int64(word) * (span >> 32) + low) & _MASK
        delay = parameters[SLOT_MIN] + (high - (_MASK + 1) if high > _MASK >> 1 else high)
    else:
        delay = spread(parameters[SLOT_CENTRE], parameters[SLOT_JITTER], np.int64(word), settings.slot_table)
    state[SLOT_NEXT] = now + delay
    state[PACKETS_LEFT], state[BYTES_LEFT] = parameters[SLOT_PACKETS], parameters[SLOT_BYTES]


@inlined
def _drain(settings: Settings, queue: Queue, sizes: IntArray, now: int) -> int:
    """Send all that may leave now, and return when to look again (netem_dequeue)."""
    state, has_slot = queue.state, settings.parameters[HAS_SLOT] != 0
    while True:
        is_in_line = state[FIRST] < state[LAST]
        if not is_in_line and state[N_SORTED] == 0:
            return NEVER
        k = queue.in_line[state[FIRST]] if is_in_line else queue.heap[0]
        if is_in_line and state[N_SORTED] > 0 and queue.due[queue.heap[0]] < queue.due[k]:
            k, is_in_line = queue.heap[0], False
        if has_slot and state[SLOT_NEXT] < queue.due[k]:
            _next_slot(settings, queue, now)
        if queue.due[k] > now or state[SLOT_NEXT] > now:
            return int(max(queue.due[k], state[SLOT_NEXT]))
        if is_in_line:
            state[FIRST] += 1
        else:
            pop(queue)
        _leave(queue, k, now)
        if has_slot:
            state[PACKETS_LEFT] -= 1
            state[BYTES_LEFT] -= sizes[queue.owner[k]]
            if state[PACKETS_LEFT] <= 0 or state[BYTES_LEFT] <= 0:
                _next_slot(settings, queue, now)


@jit_without_allocation
def send(settings: Settings, queue: Queue, send_ns: IntArray, sizes: IntArray, can_be_marked: ByteArray) -> int:
    """Pass packets through netem.

    Parameters
    ----------
    settings : Settings
        Of the qdisc.
    queue : Queue
        From `hetsim.network.qdisc`; filled.
    send_ns : IntArray, shape (n,)
        When they come in, in nanoseconds, ascending.
    sizes : IntArray, shape (n,)
        Bytes on the wire.
    can_be_marked : ByteArray, shape (n,)
        Whether congestion may be marked on them.

    Returns
    -------
    int
        How many passes there are.
    """
    for which in range(queue.last.size):
        queue.last[which] = _words(settings.key, _TO_FIRST | np.uint64(which), settings.stream)[0]
    queue.state[LOSS_STATE] = 1
    queue.state[SLOT_NEXT] = -NEVER
    wake = NEVER
    for packet in range(send_ns.size):
        now = send_ns[packet]
        while wake <= now:
            wake = _drain(settings, queue, sizes, wake)
        _arrive(settings, queue, packet, sizes[packet], now, can_be_marked[packet] != 0)
        wake = _drain(settings, queue, sizes, now)
    while wake < NEVER:
        wake = _drain(settings, queue, sizes, wake)
    return int(queue.state[N_TAKEN])
