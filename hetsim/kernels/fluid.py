"""Fluid activities on shared resources: max-min fair rates, and which activity ends next.

An activity (a transfer, or work on a device) uses each of its resources at ``coefficient * rate``. Rates are max-min
fair: they rise together until a resource is full, which freezes its activities (progressive filling; Bertsekas and
Gallager, "Data Networks", 2nd edition 1992, section 6.5.2). Only the connected component of resources that changed is
solved again, its members in the order of their idents, so that rates do not depend on which slots are free.

What remains of an activity is brought forward only when its rate changes, to ``remaining - rate * elapsed``; its end is
``since + ceil(remaining / rate)``.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NEVER = -1
"""End of an activity whose rate is zero."""

_NONE = -1
_N_HEAP, _N_TOUCHED, _STAMP, _WIDTH = 0, 1, 2, 3


class State(NamedTuple):
    """Resources and activities as arrays, for one simulation; made by `new_state`, changed by the functions below.

    Parameters
    ----------
    first : IntArray, shape (n_kinds + 1,)
        Kind k of activity uses ``used[first[k]:first[k + 1]]``.
    used : IntArray
        Resources.
    coefficient : FloatArray
        Use of the resource for each unit of rate.
    capacity, carried : FloatArray, shape (n_resources,)
        Amount per tick, and amount moved by activities that have ended.
    head : IntArray, shape (n_resources,)
        First node of the list of a resource's users. Node ``slot * width + j`` is the j-th use of that slot's activity.
    kind, ident : IntArray, shape (n_slots,)
        Of the activity in a slot: what it uses (-1 in a free slot), and a number of its own that orders members.
    amount, remaining, rate : FloatArray, shape (n_slots,)
        In all, left at tick `since`, and per tick.
    since, end : IntArray, shape (n_slots,)
        Tick of `remaining`, and tick of the end or `NEVER`.
    before, after : IntArray, shape (n_slots * width,)
        Neighbours of a node in its list.
    heap_end, heap_slot : IntArray
        Ends as a binary heap; an entry whose end is no longer that of its slot is void.
    touched, is_touched : IntArray, shape (n_resources,)
        Resources to be solved again.
    counts : IntArray, shape (4,)
        Entries in the heap, touched resources, last stamp, width.
    left, load : FloatArray, shape (n_resources,)
        Scratch.
    seen, component : IntArray, shape (n_resources,)
        Scratch.
    met, members : IntArray, shape (n_slots,)
        Scratch.
    """

    first: IntArray
    used: IntArray
    coefficient: FloatArray
    capacity: FloatArray
    carried: FloatArray
    head: IntArray
    kind: IntArray
    ident: IntArray
    amount: FloatArray
    remaining: FloatArray
    rate: FloatArray
    since: IntArray
    end: IntArray
    before: IntArray
    after: IntArray
    heap_end: IntArray
    heap_slot: IntArray
    touched: IntArray
    is_touched: IntArray
    counts: IntArray
    left: FloatArray
    load: FloatArray
    seen: IntArray
    component: IntArray
    met: IntArray
    members: IntArray


def new_state(usages: Sequence[Sequence[tuple[int, float]]], capacity: Sequence[float], n_slots: int) -> State:
    """Return a state without activities.

    Parameters
    ----------
    usages : sequence of sequence of (int, float), shape (n_kinds,)
        Resources of each kind of activity, each with its positive coefficient; no resource twice, one at least.
    capacity : sequence of float, shape (n_resources,)
        Not negative.
    n_slots : int
        Activities in service at most.

    Returns
    -------
    State
        Empty.
    """
    n_resources, width = len(capacity), max((len(usage) for usage in usages), default=1)

    def integers(size: int, value: int = 0) -> IntArray:
        return np.full(size, value, dtype=np.int64)

    counts = integers(4)
    counts[_WIDTH] = width
    return State(
        first=np.cumsum([0, *(len(usage) for usage in usages)], dtype=np.int64),
        used=np.array([resource for usage in usages for resource, _ in usage], dtype=np.int64),
        coefficient=np.array([use for usage in usages for _, use in usage], dtype=np.float64),
        capacity=np.array(capacity, dtype=np.float64),
        carried=np.zeros(n_resources),
        head=integers(n_resources, _NONE),
        kind=integers(n_slots, _NONE),
        ident=integers(n_slots),
        amount=np.zeros(n_slots),
        remaining=np.zeros(n_slots),
        rate=np.zeros(n_slots),
        since=integers(n_slots),
        end=integers(n_slots, NEVER),
        before=integers(n_slots * width, _NONE),
        after=integers(n_slots * width, _NONE),
        heap_end=integers(4 * n_slots + 16),
        heap_slot=integers(4 * n_slots + 16),
        touched=integers(n_resources),
        is_touched=integers(n_resources),
        counts=counts,
        left=np.zeros(n_resources),
        load=np.zeros(n_resources),
        seen=integers(n_resources),
        component=integers(n_resources),
        met=integers(n_slots),
        members=integers(n_slots),
    )


def with_more_slots(state: State) -> State:
    """Return the same state with twice as many slots.

    Parameters
    ----------
    state : State
        Not to be used any more.

    Returns
    -------
    State
        A copy.
    """
    n_slots, width = state.kind.size, int(state.counts[_WIDTH])
    fill = {"kind": _NONE, "end": NEVER, "before": _NONE, "after": _NONE}
    sizes = dict.fromkeys(
        ("kind", "ident", "amount", "remaining", "rate", "since", "end", "met", "members"), 2 * n_slots
    )
    sizes |= {"before": 2 * n_slots * width, "after": 2 * n_slots * width}
    sizes |= {"heap_end": 8 * n_slots + 16, "heap_slot": 8 * n_slots + 16}
    grown = {}
    for name, size in sizes.items():
        old = getattr(state, name)
        grown[name] = np.full(size, fill.get(name, 0), dtype=old.dtype)
        grown[name][: old.size] = old
    return state._replace(**grown)


@jit
def touch(state: State, resource: int) -> None:
    """Let a resource's component be solved again by the next `resolve`.

    Parameters
    ----------
    state : State
        Changed.
    resource : int
        Index.
    """
    if not state.is_touched[resource]:
        state.is_touched[resource] = 1
        state.touched[state.counts[_N_TOUCHED]] = resource
        state.counts[_N_TOUCHED] += 1


@jit
def set_capacity(state: State, resource: int, capacity: float) -> None:
    """Change a capacity from now on.

    Parameters
    ----------
    state : State
        Changed.
    resource : int
        Index.
    capacity : float
        Amount per tick.
    """
    state.capacity[resource] = capacity
    touch(state, resource)


@jit
def start(state: State, slot: int, ident: int, kind: int, amount: float, now: int) -> None:
    """Put an activity in a free slot; it moves from the next `resolve` on.

    Parameters
    ----------
    state : State
        Changed.
    slot, ident, kind : int
        Where, which activity, and what it uses.
    amount : float
        Positive.
    now : int
        Tick.
    """
    state.kind[slot] = kind
    state.ident[slot] = ident
    state.amount[slot] = amount
    state.remaining[slot] = amount
    state.rate[slot] = 0.0
    state.since[slot] = now
    state.end[slot] = NEVER
    node = slot * state.counts[_WIDTH]
    for j in range(state.first[kind], state.first[kind + 1]):
        resource = state.used[j]
        old = state.head[resource]
        state.before[node] = _NONE
        state.after[node] = old
        if old != _NONE:
            state.before[old] = node
        state.head[resource] = node
        touch(state, resource)
        node += 1


@jit
def _remove(state: State, slot: int) -> None:
    """Free a slot; its activity has moved all of its amount."""
    kind = state.kind[slot]
    node = slot * state.counts[_WIDTH]
    for j in range(state.first[kind], state.first[kind + 1]):
        resource = state.used[j]
        before, after = state.before[node], state.after[node]
        if before == _NONE:
            state.head[resource] = after
        else:
            state.after[before] = after
        if after != _NONE:
            state.before[after] = before
        state.carried[resource] += state.coefficient[j] * state.amount[slot]
        touch(state, resource)
        node += 1
    state.kind[slot] = _NONE
    state.end[slot] = NEVER


@jit
def _sift_up(state: State, i: int) -> None:
    end, slot = state.heap_end[i], state.heap_slot[i]
    while i > 0:
        parent = (i - 1) // 2
        if state.heap_end[parent] <= end:
            break
        state.heap_end[i], state.heap_slot[i] = state.heap_end[parent], state.heap_slot[parent]
        i = parent
    state.heap_end[i], state.heap_slot[i] = end, slot


@jit
def _pop_heap(state: State) -> None:
    """Drop the first entry of the heap."""
    state.counts[_N_HEAP] -= 1
    n = state.counts[_N_HEAP]
    end, slot = state.heap_end[n], state.heap_slot[n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and state.heap_end[child + 1] < state.heap_end[child]:
            child += 1
        if state.heap_end[child] >= end:
            break
        state.heap_end[i], state.heap_slot[i] = state.heap_end[child], state.heap_slot[child]
        i = child
    state.heap_end[i], state.heap_slot[i] = end, slot


@jit
def _push_end(state: State, slot: int) -> None:
    """Enter a slot's end; a heap full of void entries is made anew from the slots."""
    if state.counts[_N_HEAP] == state.heap_end.size:
        state.counts[_N_HEAP] = 0
        for other in range(state.end.size):
            if state.end[other] != NEVER and other != slot:
                _append_end(state, other)
    _append_end(state, slot)


@jit
def _append_end(state: State, slot: int) -> None:
    n = state.counts[_N_HEAP]
    state.heap_end[n], state.heap_slot[n] = state.end[slot], slot
    state.counts[_N_HEAP] += 1
    _sift_up(state, n)


@jit
def next_end(state: State) -> int:
    """Return the tick at which the next activity ends.

    Parameters
    ----------
    state : State
        Void entries are dropped.

    Returns
    -------
    int
        Tick, or `NEVER`.
    """
    while state.counts[_N_HEAP] > 0:
        if state.end[state.heap_slot[0]] == state.heap_end[0]:
            return int(state.heap_end[0])
        _pop_heap(state)
    return NEVER


@jit
def pop_end(state: State, now: int) -> int:
    """Take one activity that ends at this tick or before out of service.

    Parameters
    ----------
    state : State
        Changed.
    now : int
        Tick.

    Returns
    -------
    int
        Its slot, or -1 if there is none.
    """
    end = next_end(state)
    if end == NEVER or end > now:
        return _NONE
    slot = state.heap_slot[0]
    _pop_heap(state)
    _remove(state, slot)
    return int(slot)


@jit
def _gather(state: State, resource: int) -> tuple[int, int]:
    """List the component of a resource: return how many resources and members it has."""
    stamp = state.counts[_STAMP]
    width = state.counts[_WIDTH]
    n_resources, n_members, front = 1, 0, 0
    state.component[0] = resource
    state.seen[resource] = stamp
    while front < n_resources:
        node = state.head[state.component[front]]
        front += 1
        while node != _NONE:
            slot = node // width
            if state.met[slot] != stamp:
                state.met[slot] = stamp
                state.members[n_members] = slot
                n_members += 1
                kind = state.kind[slot]
                for j in range(state.first[kind], state.first[kind + 1]):
                    other = state.used[j]
                    if state.seen[other] != stamp:
                        state.seen[other] = stamp
                        state.component[n_resources] = other
                        n_resources += 1
            node = state.after[node]
    _sort_by_ident(state, n_members)
    return n_resources, n_members


@jit
def _sort_by_ident(state: State, n_members: int) -> None:
    """Sort the members of the component: few by insertion, many by numpy."""
    if n_members > 48:
        members = state.members[:n_members]
        members[:] = members[np.argsort(state.ident[members])]
        return
    for i in range(1, n_members):
        slot = state.members[i]
        j = i - 1
        while j >= 0 and state.ident[state.members[j]] > state.ident[slot]:
            state.members[j + 1] = state.members[j]
            j -= 1
        state.members[j + 1] = slot


@jit
def _fair_level(state: State, n_resources: int) -> float:
    """Return the rate at which the first resource of the component fills."""
    level = math.inf
    for i in range(n_resources):
        resource = state.component[i]
        if state.load[resource] > 0.0:
            level = min(level, state.left[resource] / state.load[resource])
    return level


@jit
def _is_full(state: State, slot: int, level: float) -> bool:
    """Return whether one of an activity's resources is full at this level."""
    kind = state.kind[slot]
    for j in range(state.first[kind], state.first[kind + 1]):
        if state.left[state.used[j]] / state.load[state.used[j]] <= level:
            return True
    return False


@jit
def _take_stock(state: State, fresh: FloatArray, n_resources: int) -> int:
    """Take frozen members off what is left, add free ones to the load, and return how many are free."""
    for i in range(n_resources):
        resource = state.component[i]
        state.left[resource] = state.capacity[resource]
        state.load[resource] = 0.0
    n_free = 0
    for i in range(fresh.size):
        kind = state.kind[state.members[i]]
        free = fresh[i] < 0.0
        n_free += free
        for j in range(state.first[kind], state.first[kind + 1]):
            resource = state.used[j]
            if free:
                state.load[resource] += state.coefficient[j]
            else:
                state.left[resource] = max(state.left[resource] - state.coefficient[j] * fresh[i], 0.0)
    return n_free


@jit
def _fill_rates(state: State, fresh: FloatArray, n_resources: int) -> None:
    """Fill `fresh` with the max-min fair rates of the members of the component."""
    fresh[:] = -1.0
    while _take_stock(state, fresh, n_resources) > 0:
        level = _fair_level(state, n_resources)
        # Stock is taken only after all have been asked, so that a tie freezes together at one level.
        for i in range(fresh.size):
            if fresh[i] < 0.0 and _is_full(state, state.members[i], level):
                fresh[i] = level


@jit
def _bring_forward(state: State, slot: int, rate: float, now: int) -> None:
    """Change an activity's rate."""
    elapsed = np.float64(now - state.since[slot])
    state.remaining[slot] = max(state.remaining[slot] - state.rate[slot] * elapsed, 0.0)
    state.since[slot] = now
    state.rate[slot] = rate
    if rate > 0.0:
        state.end[slot] = now + np.int64(math.ceil(state.remaining[slot] / rate))
        _push_end(state, slot)
    else:
        state.end[slot] = NEVER


@jit
def resolve(state: State, now: int) -> int:
    """Solve each component that was touched since the last time, and return the tick of the next end.

    Parameters
    ----------
    state : State
        Changed.
    now : int
        Tick.

    Returns
    -------
    int
        Tick, or `NEVER`.
    """
    stamp_before = state.counts[_STAMP]
    for t in range(state.counts[_N_TOUCHED]):
        resource = state.touched[t]
        state.is_touched[resource] = 0
        if state.seen[resource] > stamp_before:
            continue
        state.counts[_STAMP] += 1
        n_resources, n_members = _gather(state, resource)
        fresh = np.empty(n_members)
        _fill_rates(state, fresh, n_resources)
        for i in range(n_members):
            slot = state.members[i]
            if fresh[i] != state.rate[slot]:
                _bring_forward(state, slot, fresh[i], now)
    state.counts[_N_TOUCHED] = 0
    return next_end(state)
