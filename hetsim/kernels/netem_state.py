"""What the netem kernel is given: settings by number, and tables that it fills."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]

DELAY, JITTER, LIMIT, GAP, RATE, OVERHEAD, CELL, CELL_OVERHEAD, ECN = range(9)
LOSS_MODEL, A1, A2, A3, A4, A5 = range(9, 15)
HAS_SLOT, SLOT_MIN, SLOT_MAX, SLOT_CENTRE, SLOT_JITTER, SLOT_PACKETS, SLOT_BYTES = range(15, 22)
CHANCE = 22
"""From here on the probabilities of loss, duplication, corruption and reordering, numbered as below."""
RHO = 26
"""From here on the correlations of these four, and of the delay."""
IS_RANDOM = 31
"""Whether any option needs the first words of a packet."""
N_PARAMETERS = 32

LOSS, DUPLICATE, CORRUPT, REORDER, SPREAD = range(5)
N_CORRELATED = 5

RANDOM, FOUR_STATES, GILBERT_ELLIOTT = range(3)

COUNTER, LOSS_STATE, SLOT_NEXT, PACKETS_LEFT, BYTES_LEFT, N_SLOTS = range(6)
N_TAKEN, FIRST, LAST, N_SORTED, MAX_DUE, N_SENT = range(6, 12)
N_STATES = 12

IS_CORRUPT, IS_MARKED = 1, 2

NEVER = 2**62
ANY = 2**31 - 1
"""Packets or bytes of a slot without a bound (INT_MAX)."""


class Settings(NamedTuple):
    """What does not change.

    Parameters
    ----------
    parameters : IntArray, shape (N_PARAMETERS,)
        Times in nanoseconds, sizes in bytes, probabilities of 32 bits.
    delay_table, slot_table : IntArray, shape (n_entries,)
        In units of 1/8192 of the jitter; empty for uniform numbers.
    key, stream : uint64
        Of the draws.
    """

    parameters: IntArray
    delay_table: IntArray
    slot_table: IntArray
    key: np.uint64
    stream: np.uint64


class Queue(NamedTuple):
    """What does; a pass is a packet that was taken in, or its duplicate.

    Parameters
    ----------
    number : IntArray, shape (n,)
        Of each packet, by which its words are drawn.
    state : IntArray, shape (N_STATES,)
        Counters, and the state of loss and slots.
    last : WordArray, shape (5,)
        Correlated numbers of the last time.
    owner : IntArray, shape (2 n,)
        Packet of each pass; filled.
    due, sent, rank : IntArray, shape (2 n,)
        Nanosecond from which it may leave, at which it left, and as which one; filled.
    flags : ByteArray, shape (2 n,)
        Whether it is corrupt and marked; filled.
    in_line : IntArray, shape (2 n,)
        Passes that were due after all before them.
    heap : IntArray, shape (2 n,)
        The others, a heap by due time.
    """

    number: IntArray
    state: IntArray
    last: WordArray
    owner: IntArray
    due: IntArray
    sent: IntArray
    rank: IntArray
    flags: ByteArray
    in_line: IntArray
    heap: IntArray
