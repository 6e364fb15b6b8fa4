"""Fluid activities on shared resources: max-min fair rates, and which activity ends next.

An activity (a transfer, or work on a device) uses each of its resources at ``coefficient * rate``. Rates are max-min
fair: they rise together until a resource is full, which freezes its activities (progressive filling; Bertsekas and
Gallager, "Data Networks", 2nd edition 1992, section 6.5.2). Only the connected component of resources that changed is
solved again, and of one with many activities only those that may change (`fabric`). Activities enter the lists of their
resources in the order of tick and ident, and the resources that fill at one level are taken in ascending order, so that
no rate depends on who started first within a tick, or on free slots.

A weight w is no number of its own here: an activity of weight w, coefficients c and amount a is given as coefficients
``w * c`` and amount ``a / w``, and moves at ``x = rate / w``. These x being max-min fair is what weighted fairness
means, and its end is the same, ``(a / w) / x``.

What remains of an activity is brought forward only when its rate changes, to ``remaining - rate * elapsed``; its end is
``since + ceil(remaining / rate)``.

Two things are known before the first activity starts. A resource that can never be full before another one that all
its activities use as well is left out (`binding_usages`). A resource whose activities then use nothing else is a
*pool*: they all move at one rate, so one number says how much each has been served, and an activity that starts when
that number is v ends when it is ``v + amount`` (virtual time; Parekh and Gallager 1993, doi:10.1109/90.234856, for
equal weights). A change in a pool takes the same time however many activities it has.
"""

import numpy as np

from hetsim.kernels.ends import set_end, sift_down, take_out
from hetsim.kernels.fabric import solve_many
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.maxmin import end_after, enter_lists, is_of_many, leave_slot, solve, solve_star, take_slot, touch
from hetsim.kernels.pointers import advanced
from hetsim.kernels.state import (
    CAPACITY,
    ENTITY,
    FIRST_PLACE,
    FREE_SLOT,
    HEAD,
    IDENT,
    IS_TOUCHED,
    N_FREE_NODES,
    N_HEAP,
    N_NEW,
    N_PLACES,
    N_RESOURCES,
    N_TOUCHED,
    N_USERS,
    NEVER,
    NONE,
    ROOM,
    SEEN,
    SERVED,
    SERVED_SINCE,
    SHARE,
    STAMP,
    START,
    TICK,
    Tables,
)


@inlined
def has_room(tables: Tables, kind: int) -> bool:
    """Return whether there is room for one more activity; in a pool, room is made.

    Parameters
    ----------
    tables : Tables
        Changed.
    kind : int
        What the activity uses.

    Returns
    -------
    bool
        If not, the state needs more slots.
    """
    resource = tables.used[tables.first[kind]]
    room = tables.resource[8 * resource + ROOM]
    if room > 0:
        if tables.resource[8 * resource + HEAD] + tables.resource[8 * resource + N_USERS] < room:
            return True
        return bool(_make_room(tables, resource))
    n_uses = tables.first[kind + 1] - tables.first[kind]
    return bool(tables.counts[FREE_SLOT] != NONE and tables.counts[N_FREE_NODES] >= n_uses)


@part
def _make_room(tables: Tables, resource: int) -> bool:
    """Move the members of a full pool to its beginning, or if they fill it all to a place twice as large."""
    row = advanced(tables.resource, 8 * resource)
    start, first, n = row[START], row[START] + row[HEAD], row[N_USERS]
    if 2 * n > row[ROOM]:
        if tables.counts[FIRST_PLACE] + 2 * row[ROOM] > tables.counts[N_PLACES]:
            return bool(n < row[ROOM]) and _shifted(tables, resource, first, start)
        start = tables.counts[FIRST_PLACE]
        row[ROOM] *= 2
        tables.counts[FIRST_PLACE] += row[ROOM]
    return _shifted(tables, resource, first, start)


@part
def _shifted(tables: Tables, resource: int, first: int, start: int) -> bool:
    """Move the members of a pool; the new place begins before the old one or does not overlap."""
    for i in range(tables.resource[8 * resource + N_USERS]):
        tables.place[start + i] = tables.place[first + i]
        tables.tag[start + i] = tables.tag[first + i]
    tables.resource[8 * resource + START], tables.resource[8 * resource + HEAD] = start, 0
    return True


@inlined
def set_capacity(tables: Tables, resource: int, capacity: float) -> None:
    """Change a capacity from now on.

    Parameters
    ----------
    tables : Tables
        Changed.
    resource : int
        Index, one of those that were said to change.
    capacity : float
        Amount per tick.
    """
    tables.resource_floats[8 * resource + CAPACITY] = capacity
    touch(tables, resource)


@inlined
def start(tables: Tables, ident: int, kind: int, amount: float, now: int) -> None:
    """Put an activity in service, where `has_room` says so; it moves from the next `resolve` on.

    Parameters
    ----------
    tables : Tables
        Changed.
    ident, kind : int
        Which activity, and what it uses; no two in service have one ident.
    amount : float
        Positive.
    now : int
        Tick.
    """
    resource = tables.used[tables.first[kind]]
    if tables.resource[8 * resource + ROOM] > 0:
        _join_pool(tables, resource, ident, amount, now)
    else:
        take_slot(tables, ident, kind, amount, now)


@inlined
def _join_pool(tables: Tables, resource: int, ident: int, amount: float, now: int) -> None:
    row, floats = advanced(tables.resource, 8 * resource), advanced(tables.resource_floats, 8 * resource)
    n = row[N_USERS]
    if n == 0:
        row[SERVED_SINCE], row[HEAD] = now, 0
        floats[SHARE], floats[SERVED] = 0.0, 0.0
    tag = floats[SERVED] + floats[SHARE] * np.float64(now - row[SERVED_SINCE]) + amount
    head = row[START] + row[HEAD]
    i = head + n
    while i > head and tables.tag[i - 1] > tag:
        tables.tag[i], tables.place[i] = tables.tag[i - 1], tables.place[i - 1]
        i -= 1
    tables.tag[i], tables.place[i] = tag, ident
    row[N_USERS] = n + 1
    touch(tables, resource)


@inlined
def next_end(tables: Tables) -> int:
    """Return the tick at which the next activity ends.

    Parameters
    ----------
    tables : Tables
        Not changed.

    Returns
    -------
    int
        Tick, or `NEVER`.
    """
    return int(tables.heap[TICK]) if tables.counts[N_HEAP] > 0 else NEVER


@inlined
def pop_end(tables: Tables, now: int) -> int:
    """Take one activity that ends at this tick or before out of service.

    Parameters
    ----------
    tables : Tables
        Changed.
    now : int
        Tick.

    Returns
    -------
    int
        Its ident, or -1 if there is none.
    """
    if tables.counts[N_HEAP] == 0 or tables.heap[TICK] > now:
        return NONE
    entity = tables.heap[ENTITY]
    n_resources = tables.counts[N_RESOURCES]
    if entity < n_resources:
        return int(_pop_from_pool(tables, entity, now))
    slot = entity - n_resources
    take_out(tables, 0)
    leave_slot(tables, slot)
    return int(tables.slot[8 * slot + IDENT])


@inlined
def _pop_from_pool(tables: Tables, resource: int, now: int) -> int:
    row, floats = advanced(tables.resource, 8 * resource), advanced(tables.resource_floats, 8 * resource)
    first = row[START] + row[HEAD]
    row[HEAD] += 1
    row[N_USERS] -= 1
    touch(tables, resource)
    if row[N_USERS] == 0:
        take_out(tables, 0)
    else:
        tick = end_after(row[SERVED_SINCE], tables.tag[first + 1] - floats[SERVED], floats[SHARE])
        if tick > now:
            sift_down(tables, 0, tick, resource)
    return int(tables.place[first])


@inlined
def _resolve_pool(tables: Tables, resource: int, now: int) -> None:
    """Give each member of a pool an equal share."""
    row, floats = advanced(tables.resource, 8 * resource), advanced(tables.resource_floats, 8 * resource)
    if row[N_USERS] == 0:
        return  # its last member took its entry in the heap along
    floats[SERVED] += floats[SHARE] * np.float64(now - row[SERVED_SINCE])
    row[SERVED_SINCE] = now
    rate = floats[CAPACITY] / np.float64(row[N_USERS])
    floats[SHARE] = rate
    if rate > 0.0:
        set_end(tables, resource, end_after(now, tables.tag[row[START] + row[HEAD]] - floats[SERVED], rate))
    else:
        set_end(tables, resource, NEVER)


@inlined
def resolve(tables: Tables, now: int) -> int:
    """Solve each component that was touched since the last time, and return the tick of the next end.

    Parameters
    ----------
    tables : Tables
        Changed.
    now : int
        Tick.

    Returns
    -------
    int
        Tick, or `NEVER`.
    """
    n_new = tables.counts[N_NEW]
    if n_new > 0:
        enter_lists(tables)
    stamp_before = tables.counts[STAMP]
    n_many = 0
    for t in range(tables.counts[N_TOUCHED]):
        resource = tables.touched[t]
        tables.resource[8 * resource + IS_TOUCHED] = 0
        if tables.resource[8 * resource + ROOM] > 0:
            _resolve_pool(tables, resource, now)
        elif tables.resource[8 * resource + SEEN] <= stamp_before:
            tables.counts[STAMP] += 1
            if (n_many > 0 and is_of_many(tables, resource, stamp_before)) or not (
                solve_star(tables, resource, now) or solve(tables, resource, stamp_before, now)
            ):
                tables.touched[n_many] = resource
                n_many += 1
    if n_many > 0:
        solve_many(tables, n_many, n_new, now)
    tables.counts[N_TOUCHED] = 0
    return next_end(tables)
