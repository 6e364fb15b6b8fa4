"""Max-min fair rates of a connected component of resources: progressive filling, from one full resource to the next."""

import math

import numpy as np

from hetsim.kernels.ends import set_end
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.pointers import advanced
from hetsim.kernels.state import (
    AFTER,
    BEFORE,
    CAPACITY,
    END,
    END_OF_TIME,
    FEW,
    FIRST_NODE,
    FIRST_USE,
    FREE_NODE,
    FREE_SLOT,
    FULL_AT,
    HEAD,
    IDENT,
    IS_PLAIN,
    IS_TOUCHED,
    KIND,
    LAST_USE,
    LEFT,
    LOAD,
    MET,
    N_FREE,
    N_FREE_NODES,
    N_NEW,
    N_RESOURCES,
    N_TOUCHED,
    N_USERS,
    NEVER,
    NEXT,
    NEXT_FREE,
    NONE,
    QUOTIENT,
    RATE,
    REMAINING,
    SEEN,
    SINCE,
    SLOT,
    STAMP,
    Tables,
)


@inlined
def touch(tables: Tables, resource: int) -> None:
    """Let a resource's component be solved again by the next `resolve`.

    Parameters
    ----------
    tables : Tables
        Changed.
    resource : int
        Index.
    """
    if tables.resource[8 * resource + IS_TOUCHED] == 0:
        tables.resource[8 * resource + IS_TOUCHED] = 1
        tables.touched[tables.counts[N_TOUCHED]] = resource
        tables.counts[N_TOUCHED] += 1


@inlined
def take_slot(tables: Tables, ident: int, kind: int, amount: float, now: int) -> None:
    """Put an activity in a free slot; `enter_lists` lets it count."""
    slot = tables.counts[FREE_SLOT]
    row, floats = advanced(tables.slot, 8 * slot), advanced(tables.slot_floats, 4 * slot)
    tables.counts[FREE_SLOT] = row[NEXT_FREE]
    tables.counts[N_FREE_NODES] -= tables.first[kind + 1] - tables.first[kind]
    row[KIND], row[IDENT], row[SINCE], row[END] = kind, ident, now, NEVER
    tables.span[2 * slot + FIRST_USE], tables.span[2 * slot + LAST_USE] = tables.first[kind], tables.first[kind + 1]
    floats[REMAINING], floats[RATE] = amount, 0.0
    tables.fresh[slot] = math.inf
    i = tables.counts[N_NEW]
    tables.counts[N_NEW] += 1
    while i > 0 and tables.slot[8 * tables.new[i - 1] + IDENT] > ident:
        tables.new[i] = tables.new[i - 1]
        i -= 1
    tables.new[i] = slot


@part
def enter_lists(tables: Tables) -> None:
    """Enter what is new into the lists of its resources."""
    node = tables.counts[FREE_NODE]
    for i in range(tables.counts[N_NEW]):
        slot = tables.new[i]
        tables.slot[8 * slot + FIRST_NODE] = node
        for j in range(tables.span[2 * slot + FIRST_USE], tables.span[2 * slot + LAST_USE]):
            _link(tables, tables.used[j], node, slot, j)
            node = tables.node[4 * node + NEXT]
    tables.counts[FREE_NODE] = node
    tables.counts[N_NEW] = 0


@inlined
def _link(tables: Tables, resource: int, node: int, slot: int, j: int) -> None:
    """Put a node first in the list of its resource; `use` is for those whose coefficients are not all one."""
    row, entry = advanced(tables.resource, 8 * resource), advanced(tables.node, 4 * node)
    old = row[HEAD]
    entry[SLOT], entry[BEFORE], entry[AFTER] = slot, NONE, old
    if old != NONE:
        tables.node[4 * old + BEFORE] = node
    row[HEAD] = node
    row[N_USERS] += 1
    if row[IS_PLAIN] == 0:
        tables.use[node] = tables.coefficient[j]
    touch(tables, resource)


@part
def leave_slot(tables: Tables, slot: int) -> None:
    """Free a slot; its activity has moved all of its amount."""
    row = advanced(tables.slot, 8 * slot)
    kind, node = row[KIND], row[FIRST_NODE]
    for j in range(tables.first[kind], tables.first[kind + 1]):
        resource = tables.used[j]
        before, after = tables.node[4 * node + BEFORE], tables.node[4 * node + AFTER]
        if before == NONE:
            tables.resource[8 * resource + HEAD] = after
        else:
            tables.node[4 * before + AFTER] = after
        if after != NONE:
            tables.node[4 * after + BEFORE] = before
        tables.resource[8 * resource + N_USERS] -= 1
        touch(tables, resource)
        following = tables.node[4 * node + NEXT]
        tables.node[4 * node + NEXT] = tables.counts[FREE_NODE]
        tables.counts[FREE_NODE] = node
        tables.counts[N_FREE_NODES] += 1
        node = following
    row[KIND], row[END], row[NEXT_FREE] = NONE, NEVER, tables.counts[FREE_SLOT]
    tables.counts[FREE_SLOT] = slot


@inlined
def end_after(since: int, remaining: float, rate: float) -> int:
    """Return the tick at which what remains has moved, if the rate is positive and stays."""
    span = np.ceil(max(remaining, 0.0) / rate)
    return int(since + np.int64(span)) if span < np.float64(END_OF_TIME - since) else END_OF_TIME


@inlined
def is_of_many(tables: Tables, resource: int, stamp_before: int) -> bool:
    """Return whether a resource, or another one that its first user uses, was seen to be in a component of many.

    What is found so is marked as `solve` does.
    """
    row = advanced(tables.resource, 8 * resource)
    is_marked = row[SEEN] < -stamp_before
    if not is_marked and row[HEAD] != NONE:
        span = advanced(tables.span, 2 * tables.node[4 * row[HEAD] + SLOT])
        j, last = span[FIRST_USE], span[LAST_USE]
        while j < last and tables.resource[8 * tables.used[j] + SEEN] >= -stamp_before:
            j += 1
        is_marked = j < last
    if is_marked:
        row[SEEN] = -tables.counts[STAMP]
    return bool(is_marked)


@part
def _gather(tables: Tables, resource: int, stamp_before: int) -> tuple[int, int]:
    """List the component of a resource: return how many resources and members it has.

    More members than `FEW` stand for a component that is left to `solve_many`.
    """
    stamp = tables.counts[STAMP]
    n_resources, n_members, front = 1, 0, 0
    tables.component[0] = resource
    tables.resource[8 * resource + SEEN] = stamp
    while front < n_resources:
        node = tables.resource[8 * tables.component[front] + HEAD]
        front += 1
        while node != NONE:
            slot = tables.node[4 * node + SLOT]
            if tables.slot[8 * slot + MET] != stamp:
                tables.slot[8 * slot + MET] = stamp
                tables.members[n_members] = slot
                n_members += 1
                if n_members > FEW or tables.fresh[slot] < math.inf:
                    return n_resources, FEW + 1
                kind = tables.slot[8 * slot + KIND]
                for j in range(tables.first[kind], tables.first[kind + 1]):
                    other = tables.used[j]
                    if tables.resource[8 * other + SEEN] < -stamp_before:
                        return n_resources, FEW + 1
                    if tables.resource[8 * other + SEEN] != stamp:
                        tables.resource[8 * other + SEEN] = stamp
                        tables.component[n_resources] = other
                        n_resources += 1
            node = tables.node[4 * node + AFTER]
    return n_resources, n_members


@inlined
def _load(tables: Tables, resource: int) -> float:
    """Return the coefficients of those users of a resource whose rate is not found yet, added up."""
    if tables.resource[8 * resource + IS_PLAIN] == 1:
        return np.float64(tables.resource[8 * resource + N_FREE])
    load = 0.0
    node = tables.resource[8 * resource + HEAD]
    while node != NONE:
        slot = tables.node[4 * node + SLOT]
        if tables.fresh[slot] < 0.0:
            load += tables.use[node]
        node = tables.node[4 * node + AFTER]
    return load


@inlined
def _next_level(tables: Tables, n_resources: int) -> tuple[float, int]:
    """Find the rate at which the next resources of the component fill; list them, and return how many there are."""
    level, n_full = math.inf, 0
    for i in range(n_resources):
        resource = tables.component[i]
        if tables.resource[8 * resource + N_FREE] == 0:
            continue
        floats = advanced(tables.resource_floats, 8 * resource)
        if floats[LOAD] < 0.0:
            floats[LOAD] = _load(tables, resource)
            floats[QUOTIENT] = floats[LEFT] / floats[LOAD]
        if floats[QUOTIENT] < level:
            level, n_full = floats[QUOTIENT], 0
        if floats[QUOTIENT] == level:
            k = n_full
            while k > 0 and tables.full[k - 1] > resource:
                tables.full[k] = tables.full[k - 1]
                k -= 1
            tables.full[k] = resource
            n_full += 1
    return level, n_full


@inlined
def _freeze(tables: Tables, resource: int, level: float) -> int:
    """Give the users of a full resource their rate, and return how many had none yet."""
    n_frozen = 0
    node = tables.resource[8 * resource + HEAD]
    while node != NONE:
        slot = tables.node[4 * node + SLOT]
        node = tables.node[4 * node + AFTER]
        if tables.fresh[slot] >= 0.0:
            continue
        tables.fresh[slot] = level
        n_frozen += 1
        kind = tables.slot[8 * slot + KIND]
        for j in range(tables.first[kind], tables.first[kind + 1]):
            other = tables.used[j]
            floats = advanced(tables.resource_floats, 8 * other)
            floats[LEFT] = max(floats[LEFT] - tables.coefficient[j] * level, 0.0)
            floats[LOAD] = -1.0
            tables.resource[8 * other + N_FREE] -= 1
    return n_frozen


@inlined
def _fill_rates(tables: Tables, n_members: int, n_resources: int) -> None:
    """Find the max-min fair rates of the members of the component."""
    for i in range(n_members):
        tables.fresh[tables.members[i]] = -1.0
    for i in range(n_resources):
        resource = tables.component[i]
        floats = advanced(tables.resource_floats, 8 * resource)
        floats[LEFT], floats[LOAD], floats[FULL_AT] = floats[CAPACITY], -1.0, 0.0
        tables.resource[8 * resource + N_FREE] = tables.resource[8 * resource + N_USERS]
    n_free = n_members
    while n_free > 0:
        level, n_full = _next_level(tables, n_resources)
        for i in range(n_full):
            n_free -= _freeze(tables, tables.full[i], level)


@inlined
def bring_forward(tables: Tables, slot: int, rate: float, now: int) -> None:
    """Change an activity's rate."""
    row, floats = advanced(tables.slot, 8 * slot), advanced(tables.slot_floats, 4 * slot)
    elapsed = np.float64(now - row[SINCE])
    floats[REMAINING] = max(floats[REMAINING] - floats[RATE] * elapsed, 0.0)
    row[SINCE] = now
    floats[RATE] = rate
    row[END] = end_after(now, floats[REMAINING], rate) if rate > 0.0 else NEVER


@inlined
def _hub(tables: Tables, resource: int) -> int:
    """Return the resource that fills first among those that the first user of a resource uses."""
    kind = tables.slot[8 * tables.node[4 * tables.resource[8 * resource + HEAD] + SLOT] + KIND]
    hub = resource
    level = tables.resource_floats[8 * hub + CAPACITY] / tables.resource[8 * hub + N_USERS]
    for j in range(tables.first[kind], tables.first[kind + 1]):
        other = tables.used[j]
        share = tables.resource_floats[8 * other + CAPACITY] / tables.resource[8 * other + N_USERS]
        if share < level:
            hub, level = other, share
    return int(hub)


@inlined
def _is_star(tables: Tables, hub: int, level: float) -> bool:
    """Return whether all users of a hub share nothing else, and only the hub holds them back."""
    node = tables.resource[8 * hub + HEAD]
    while node != NONE:
        kind = tables.slot[8 * tables.node[4 * node + SLOT] + KIND]
        for j in range(tables.first[kind], tables.first[kind + 1]):
            other = tables.used[j]
            if tables.coefficient[j] != 1.0:
                return False
            if other != hub and (
                tables.resource[8 * other + N_USERS] != 1 or tables.resource_floats[8 * other + CAPACITY] < level
            ):
                return False
        node = tables.node[4 * node + AFTER]
    return True


@part
def solve_star(tables: Tables, resource: int, now: int) -> bool:
    """Solve the component of a resource if one hub alone decides it: everyone gets an equal share of the hub.

    The same rates, to the last bit, as `_fill_rates` finds; a server's link with transfers to many workers is the case.
    """
    stamp = tables.counts[STAMP]
    if tables.resource[8 * resource + HEAD] == NONE:
        tables.resource[8 * resource + SEEN] = stamp
        return True
    hub = _hub(tables, resource)
    level = tables.resource_floats[8 * hub + CAPACITY] / tables.resource[8 * hub + N_USERS]
    if not _is_star(tables, hub, level):
        return False
    first = END_OF_TIME
    node = tables.resource[8 * hub + HEAD]
    while node != NONE:
        slot = tables.node[4 * node + SLOT]
        kind = tables.slot[8 * slot + KIND]
        for j in range(tables.first[kind], tables.first[kind + 1]):
            tables.resource[8 * tables.used[j] + SEEN] = stamp
            tables.resource_floats[8 * tables.used[j] + FULL_AT] = 0.0
        if level != tables.slot_floats[4 * slot + RATE]:
            bring_forward(tables, slot, level, now)
        tables.fresh[slot] = math.inf
        first = _earlier(first, tables.slot[8 * slot + END])
        node = tables.node[4 * node + AFTER]
    node = tables.resource[8 * hub + HEAD]
    while node != NONE:
        _enter(tables, tables.node[4 * node + SLOT], first)
        node = tables.node[4 * node + AFTER]
    return True


@inlined
def _earlier(first: int, end: int) -> int:
    return first if end == NEVER else min(first, end)


@inlined
def _enter(tables: Tables, slot: int, first: int) -> None:
    """Enter a slot's end if it is the first of its component: when that ends, the others are solved again anyway."""
    end = tables.slot[8 * slot + END]
    entity = tables.counts[N_RESOURCES] + slot
    if end == first or tables.heap_at[entity] != NONE:
        set_end(tables, entity, end if end == first else NEVER)


@part
def solve(tables: Tables, resource: int, stamp_before: int, now: int) -> bool:
    """Solve the component of a resource if it has few members, and none that `solve_many` solved.

    If not, what was seen of it is marked by a stamp below zero.
    """
    n_resources, n_members = _gather(tables, resource, stamp_before)
    if n_members > FEW:
        for i in range(n_resources):
            tables.resource[8 * tables.component[i] + SEEN] = -tables.counts[STAMP]
        return False
    _fill_rates(tables, n_members, n_resources)
    first = END_OF_TIME
    for i in range(n_members):
        slot = tables.members[i]
        fresh = tables.fresh[slot]
        if fresh != tables.slot_floats[4 * slot + RATE]:
            bring_forward(tables, slot, fresh, now)
        tables.fresh[slot] = math.inf
        first = _earlier(first, tables.slot[8 * slot + END])
    for i in range(n_members):
        _enter(tables, tables.members[i], first)
    return True
