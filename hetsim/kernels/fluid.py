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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit_without_allocation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NEVER = -1
"""End of an activity whose rate is zero."""

END_OF_TIME = 2**63 - 1
"""Tick that no activity reaches: the end of one that would outlast the clock."""

_NONE = -1

KIND, IDENT, SINCE, END, MET, MEMBERS = 0, 1, 2, 3, 4, 5
"""Rows by slot: usage of the activity (-1 in a free slot), a number of its own that orders members, tick of
`REMAINING`, tick of the end; the last two are scratch."""

HEAD, TOUCHED, IS_TOUCHED, SEEN, COMPONENT = 6, 7, 8, 9, 10
"""Rows by resource: first node of the list of its users; the list of resources to be solved again and whether one is
in it; the last two are scratch. A node is one use of a resource by one activity."""

BEFORE, AFTER, HEAP_END, HEAP_SLOT = 11, 12, 13, 14
"""Rows by node: neighbours in the list of its resource. Rows of a binary heap of ends; an entry whose end is no longer
that of its slot is void."""

NODE_SLOT, NODE_NEXT, FIRST_NODE = 18, 19, 20
"""Rows by node: whose use it is, and the next node of the same activity, or the next free one. Row by slot: the first
node of its activity."""

N_USERS = 21
"""Row by resource: how many activities use it."""

FIRST, USED, COUNTS = 15, 16, 17
"""Kind k of activity uses ``USED[FIRST[k]:FIRST[k + 1]]``; numbers of which there is one each."""

AMOUNT, REMAINING, RATE = 0, 1, 2
"""Rows by slot: in all, left at tick `SINCE`, per tick."""

CAPACITY, CARRIED, LEFT, LOAD = 3, 4, 5, 6
"""Rows by resource: amount per tick, amount moved by activities that have ended; the last two are scratch."""

COEFFICIENT, FRESH, QUOTIENT = 7, 8, 9
"""Row beside `USED`: use of the resource for each unit of rate. Row by member: its new rate. Row by
resource: the rate at which it fills."""

_N_INT_ROWS, _N_FLOAT_ROWS = 22, 10
_N_HEAP, _N_TOUCHED, _STAMP, _N_NODES, _N_SLOTS, _N_RESOURCES, _FREE_NODE, _N_FREE_NODES = 0, 1, 2, 3, 4, 5, 6, 7
_USES_PER_SLOT = 8


class State(NamedTuple):
    """Resources and activities of one simulation; made by `new_state`, changed by the functions below.

    Two tables and not an array for each row: numba counts references to every array of every call.

    Parameters
    ----------
    ints : IntArray, shape (22, size)
        Rows named above.
    floats : FloatArray, shape (10, size)
        Rows named above.
    """

    ints: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]

    def row(self, row: int, *, is_float: bool = False) -> npt.NDArray[Any]:
        """Return one row by resource or by slot, without the unused end of the table.

        Parameters
        ----------
        row : int
            Name of the row.
        is_float : bool
            Which table.

        Returns
        -------
        ndarray
            A view.
        """
        by_slot = row <= RATE if is_float else row <= MEMBERS
        n = int(self.ints[COUNTS, _N_SLOTS if by_slot else _N_RESOURCES])
        return self.floats[row, :n] if is_float else self.ints[row, :n]


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
    n_nodes = n_slots * min(width, _USES_PER_SLOT) + 2 * width
    flat = [entry for usage in usages for entry in usage]
    size = max(n_nodes, 4 * n_slots + 16, n_resources, len(usages) + 1, len(flat))
    state = _empty(size)
    ints, floats = state
    ints[FIRST, : len(usages) + 1] = np.cumsum([0, *(len(usage) for usage in usages)])
    ints[USED, : len(flat)] = [resource for resource, _ in flat]
    floats[COEFFICIENT, : len(flat)] = [use for _, use in flat]
    floats[CAPACITY, :n_resources] = capacity
    ints[COUNTS, _N_SLOTS], ints[COUNTS, _N_RESOURCES] = n_slots, n_resources
    ints[COUNTS, _FREE_NODE] = _NONE
    _free_nodes(state, n_nodes)
    return state


def _empty(size: int) -> State:
    ints, floats = np.zeros((_N_INT_ROWS, size), dtype=np.int64), np.zeros((_N_FLOAT_ROWS, size))
    for row in (KIND, END, HEAD, BEFORE, AFTER):
        ints[row] = _NONE
    return State(ints, floats)


def _free_nodes(state: State, n_nodes: int) -> None:
    """Add nodes to the free ones, up to a number of nodes in all."""
    first = int(state.ints[COUNTS, _N_NODES])
    state.ints[NODE_NEXT, first:n_nodes] = [*range(first + 1, n_nodes), state.ints[COUNTS, _FREE_NODE]]
    state.ints[COUNTS, _FREE_NODE] = first
    state.ints[COUNTS, _N_FREE_NODES] += n_nodes - first
    state.ints[COUNTS, _N_NODES] = n_nodes


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
    size = state.ints.shape[1]
    more = _empty(2 * size)
    more.ints[:, :size], more.floats[:, :size] = state.ints, state.floats
    more.ints[COUNTS, _N_SLOTS] *= 2
    _free_nodes(more, 2 * int(state.ints[COUNTS, _N_NODES]))
    return more


@jit_without_allocation
def has_room(state: State, kind: int) -> bool:
    """Return whether there are nodes for one more activity.

    Parameters
    ----------
    state : State
        Not changed.
    kind : int
        What the activity uses.

    Returns
    -------
    bool
        If not, the state needs more slots.
    """
    n_uses = state.ints[FIRST, kind + 1] - state.ints[FIRST, kind]
    return bool(state.ints[COUNTS, _N_FREE_NODES] >= n_uses)


@jit_without_allocation
def touch(state: State, resource: int) -> None:
    """Let a resource's component be solved again by the next `resolve`.

    Parameters
    ----------
    state : State
        Changed.
    resource : int
        Index.
    """
    if not state.ints[IS_TOUCHED, resource]:
        state.ints[IS_TOUCHED, resource] = 1
        state.ints[TOUCHED, state.ints[COUNTS, _N_TOUCHED]] = resource
        state.ints[COUNTS, _N_TOUCHED] += 1


@jit_without_allocation
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
    state.floats[CAPACITY, resource] = capacity
    touch(state, resource)


@jit_without_allocation
def start(state: State, slot: int, ident: int, kind: int, amount: float, now: int) -> None:
    """Put an activity in a free slot, where `has_room` says so; it moves from the next `resolve` on.

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
    state.ints[KIND, slot] = kind
    state.ints[IDENT, slot] = ident
    state.floats[AMOUNT, slot] = amount
    state.floats[REMAINING, slot] = amount
    state.floats[RATE, slot] = 0.0
    state.ints[SINCE, slot] = now
    state.ints[END, slot] = NEVER
    last = _NONE
    for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
        resource = state.ints[USED, j]
        node = state.ints[COUNTS, _FREE_NODE]
        state.ints[COUNTS, _FREE_NODE] = state.ints[NODE_NEXT, node]
        state.ints[COUNTS, _N_FREE_NODES] -= 1
        state.ints[NODE_SLOT, node] = slot
        if last == _NONE:
            state.ints[FIRST_NODE, slot] = node
        else:
            state.ints[NODE_NEXT, last] = node
        last = node
        _link(state, resource, node)
        state.ints[N_USERS, resource] += 1
        touch(state, resource)


@jit_without_allocation
def _link(state: State, resource: int, node: int) -> None:
    """Put a node first in the list of its resource."""
    old = state.ints[HEAD, resource]
    state.ints[BEFORE, node] = _NONE
    state.ints[AFTER, node] = old
    if old != _NONE:
        state.ints[BEFORE, old] = node
    state.ints[HEAD, resource] = node


@jit_without_allocation
def _remove(state: State, slot: int) -> None:
    """Free a slot; its activity has moved all of its amount."""
    kind = state.ints[KIND, slot]
    node = state.ints[FIRST_NODE, slot]
    for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
        resource = state.ints[USED, j]
        before, after = state.ints[BEFORE, node], state.ints[AFTER, node]
        if before == _NONE:
            state.ints[HEAD, resource] = after
        else:
            state.ints[AFTER, before] = after
        if after != _NONE:
            state.ints[BEFORE, after] = before
        state.ints[N_USERS, resource] -= 1
        state.floats[CARRIED, resource] += state.floats[COEFFICIENT, j] * state.floats[AMOUNT, slot]
        touch(state, resource)
        following = state.ints[NODE_NEXT, node]
        state.ints[NODE_NEXT, node] = state.ints[COUNTS, _FREE_NODE]
        state.ints[COUNTS, _FREE_NODE] = node
        state.ints[COUNTS, _N_FREE_NODES] += 1
        node = following
    state.ints[KIND, slot] = _NONE
    state.ints[END, slot] = NEVER


@jit_without_allocation
def _sift_up(state: State, i: int) -> None:
    end, slot = state.ints[HEAP_END, i], state.ints[HEAP_SLOT, i]
    while i > 0:
        parent = (i - 1) // 2
        if state.ints[HEAP_END, parent] <= end:
            break
        state.ints[HEAP_END, i], state.ints[HEAP_SLOT, i] = state.ints[HEAP_END, parent], state.ints[HEAP_SLOT, parent]
        i = parent
    state.ints[HEAP_END, i], state.ints[HEAP_SLOT, i] = end, slot


@jit_without_allocation
def _pop_heap(state: State) -> None:
    """Drop the first entry of the heap."""
    state.ints[COUNTS, _N_HEAP] -= 1
    n = state.ints[COUNTS, _N_HEAP]
    end, slot = state.ints[HEAP_END, n], state.ints[HEAP_SLOT, n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and state.ints[HEAP_END, child + 1] < state.ints[HEAP_END, child]:
            child += 1
        if state.ints[HEAP_END, child] >= end:
            break
        state.ints[HEAP_END, i], state.ints[HEAP_SLOT, i] = state.ints[HEAP_END, child], state.ints[HEAP_SLOT, child]
        i = child
    state.ints[HEAP_END, i], state.ints[HEAP_SLOT, i] = end, slot


@jit_without_allocation
def _push_end(state: State, slot: int) -> None:
    """Enter a slot's end; a heap full of void entries is made anew from the slots."""
    if state.ints[COUNTS, _N_HEAP] == 4 * state.ints[COUNTS, _N_SLOTS] + 16:
        state.ints[COUNTS, _N_HEAP] = 0
        for other in range(state.ints[COUNTS, _N_SLOTS]):
            if state.ints[END, other] != NEVER and other != slot:
                _append_end(state, other)
    _append_end(state, slot)


@jit_without_allocation
def _append_end(state: State, slot: int) -> None:
    n = state.ints[COUNTS, _N_HEAP]
    state.ints[HEAP_END, n], state.ints[HEAP_SLOT, n] = state.ints[END, slot], slot
    state.ints[COUNTS, _N_HEAP] += 1
    _sift_up(state, n)


@jit_without_allocation
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
    while state.ints[COUNTS, _N_HEAP] > 0:
        if state.ints[END, state.ints[HEAP_SLOT, 0]] == state.ints[HEAP_END, 0]:
            return int(state.ints[HEAP_END, 0])
        _pop_heap(state)
    return NEVER


@jit_without_allocation
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
    slot = state.ints[HEAP_SLOT, 0]
    _pop_heap(state)
    _remove(state, slot)
    return int(slot)


@jit_without_allocation
def _gather(state: State, resource: int) -> tuple[int, int]:
    """List the component of a resource: return how many resources and members it has."""
    stamp = state.ints[COUNTS, _STAMP]
    n_resources, n_members, front = 1, 0, 0
    state.ints[COMPONENT, 0] = resource
    state.ints[SEEN, resource] = stamp
    while front < n_resources:
        node = state.ints[HEAD, state.ints[COMPONENT, front]]
        front += 1
        while node != _NONE:
            slot = state.ints[NODE_SLOT, node]
            if state.ints[MET, slot] != stamp:
                state.ints[MET, slot] = stamp
                state.ints[MEMBERS, n_members] = slot
                n_members += 1
                kind = state.ints[KIND, slot]
                for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
                    other = state.ints[USED, j]
                    if state.ints[SEEN, other] != stamp:
                        state.ints[SEEN, other] = stamp
                        state.ints[COMPONENT, n_resources] = other
                        n_resources += 1
            node = state.ints[AFTER, node]
    _sort_by_ident(state, n_members)
    return n_resources, n_members


@jit_without_allocation
def _sort_by_ident(state: State, n_members: int) -> None:
    """Sort the members of the component in place: Shell's method, Ciura's gaps (doi:10.1007/3-540-44669-9_12)."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, n_members):
            slot = state.ints[MEMBERS, i]
            j = i - gap
            while j >= 0 and state.ints[IDENT, state.ints[MEMBERS, j]] > state.ints[IDENT, slot]:
                state.ints[MEMBERS, j + gap] = state.ints[MEMBERS, j]
                j -= gap
            state.ints[MEMBERS, j + gap] = slot


@jit_without_allocation
def _fair_level(state: State, n_resources: int) -> float:
    """Return the rate at which the first resource of the component fills."""
    level = math.inf
    for i in range(n_resources):
        resource = state.ints[COMPONENT, i]
        if state.floats[LOAD, resource] > 0.0:
            state.floats[QUOTIENT, resource] = state.floats[LEFT, resource] / state.floats[LOAD, resource]
            level = min(level, state.floats[QUOTIENT, resource])
    return level


@jit_without_allocation
def _is_full(state: State, slot: int, level: float) -> bool:
    """Return whether one of an activity's resources is full at this level."""
    kind = state.ints[KIND, slot]
    for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
        if state.floats[QUOTIENT, state.ints[USED, j]] <= level:
            return True
    return False


@jit_without_allocation
def _take_stock(state: State, n_members: int, n_resources: int) -> None:
    """Take frozen members off what is left, and add free ones to the load."""
    for i in range(n_resources):
        resource = state.ints[COMPONENT, i]
        state.floats[LEFT, resource] = state.floats[CAPACITY, resource]
        state.floats[LOAD, resource] = 0.0
    for i in range(n_members):
        kind = state.ints[KIND, state.ints[MEMBERS, i]]
        free = state.floats[FRESH, i] < 0.0
        for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
            resource = state.ints[USED, j]
            if free:
                state.floats[LOAD, resource] += state.floats[COEFFICIENT, j]
            else:
                left = state.floats[LEFT, resource] - state.floats[COEFFICIENT, j] * state.floats[FRESH, i]
                state.floats[LEFT, resource] = max(left, 0.0)


@jit_without_allocation
def _fill_rates(state: State, n_members: int, n_resources: int) -> None:
    """Find the max-min fair rates of the members of the component."""
    for i in range(n_members):
        state.floats[FRESH, i] = -1.0
    n_free = n_members
    while n_free > 0:
        _take_stock(state, n_members, n_resources)
        level = _fair_level(state, n_resources)
        # Stock is taken only after all have been asked, so that a tie freezes together at one level.
        for i in range(n_members):
            if state.floats[FRESH, i] < 0.0 and _is_full(state, state.ints[MEMBERS, i], level):
                state.floats[FRESH, i] = level
                n_free -= 1


@jit_without_allocation
def _bring_forward(state: State, slot: int, rate: float, now: int) -> None:
    """Change an activity's rate."""
    elapsed = np.float64(now - state.ints[SINCE, slot])
    state.floats[REMAINING, slot] = max(state.floats[REMAINING, slot] - state.floats[RATE, slot] * elapsed, 0.0)
    state.ints[SINCE, slot] = now
    state.floats[RATE, slot] = rate
    if rate > 0.0:
        span = math.ceil(state.floats[REMAINING, slot] / rate)
        state.ints[END, slot] = now + np.int64(span) if span < np.float64(END_OF_TIME - now) else END_OF_TIME
    else:
        state.ints[END, slot] = NEVER


@jit_without_allocation
def _hub(state: State, resource: int) -> int:
    """Return the resource that fills first among those that the first user of a resource uses."""
    kind = state.ints[KIND, state.ints[NODE_SLOT, state.ints[HEAD, resource]]]
    hub = resource
    level = state.floats[CAPACITY, hub] / state.ints[N_USERS, hub]
    for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
        other = state.ints[USED, j]
        share = state.floats[CAPACITY, other] / state.ints[N_USERS, other]
        if share < level:
            hub, level = other, share
    return int(hub)


@jit_without_allocation
def _is_star(state: State, hub: int, level: float) -> bool:
    """Return whether all users of a hub share nothing else, and only the hub holds them back."""
    node = state.ints[HEAD, hub]
    while node != _NONE:
        kind = state.ints[KIND, state.ints[NODE_SLOT, node]]
        for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
            other = state.ints[USED, j]
            if state.floats[COEFFICIENT, j] != 1.0:
                return False
            if other != hub and (state.ints[N_USERS, other] != 1 or state.floats[CAPACITY, other] < level):
                return False
        node = state.ints[AFTER, node]
    return True


@jit_without_allocation
def _solve_star(state: State, resource: int, now: int) -> bool:
    """Solve the component of a resource if one hub alone decides it: everyone gets an equal share of the hub.

    The same rates, to the last bit, as `_fill_rates` finds; a server's link with transfers to many workers is the case.
    """
    stamp = state.ints[COUNTS, _STAMP]
    if state.ints[HEAD, resource] == _NONE:
        state.ints[SEEN, resource] = stamp
        return True
    hub = _hub(state, resource)
    level = state.floats[CAPACITY, hub] / state.ints[N_USERS, hub]
    if not _is_star(state, hub, level):
        return False
    first = END_OF_TIME
    node = state.ints[HEAD, hub]
    while node != _NONE:
        slot = state.ints[NODE_SLOT, node]
        kind = state.ints[KIND, slot]
        for j in range(state.ints[FIRST, kind], state.ints[FIRST, kind + 1]):
            state.ints[SEEN, state.ints[USED, j]] = stamp
        if level != state.floats[RATE, slot]:
            _bring_forward(state, slot, level, now)
        first = _earlier(first, state.ints[END, slot])
        node = state.ints[AFTER, node]
    node = state.ints[HEAD, hub]
    while node != _NONE:
        _push_if(state, state.ints[NODE_SLOT, node], first)
        node = state.ints[AFTER, node]
    return True


@jit_without_allocation
def _earlier(first: int, end: int) -> int:
    return first if end == NEVER else min(first, end)


@jit_without_allocation
def _push_if(state: State, slot: int, first: int) -> None:
    """Enter a slot's end if it is the first of its component: when that ends, the others are solved again anyway."""
    if state.ints[END, slot] == first:
        _push_end(state, slot)


@jit_without_allocation
def _solve(state: State, resource: int, now: int) -> None:
    """Solve the component of a resource."""
    n_resources, n_members = _gather(state, resource)
    _fill_rates(state, n_members, n_resources)
    first = END_OF_TIME
    for i in range(n_members):
        slot = state.ints[MEMBERS, i]
        if state.floats[FRESH, i] != state.floats[RATE, slot]:
            _bring_forward(state, slot, state.floats[FRESH, i], now)
        first = _earlier(first, state.ints[END, slot])
    for i in range(n_members):
        _push_if(state, state.ints[MEMBERS, i], first)


@jit_without_allocation
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
    stamp_before = state.ints[COUNTS, _STAMP]
    for t in range(state.ints[COUNTS, _N_TOUCHED]):
        resource = state.ints[TOUCHED, t]
        state.ints[IS_TOUCHED, resource] = 0
        if state.ints[SEEN, resource] > stamp_before:
            continue
        state.ints[COUNTS, _STAMP] += 1
        if not _solve_star(state, resource, now):
            _solve(state, resource, now)
    state.ints[COUNTS, _N_TOUCHED] = 0
    return next_end(state)
