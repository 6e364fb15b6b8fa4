"""Max-min fair rates where many activities are connected, as on the links of a fabric: only what may change is solved.

Rates are max-min fair if no resource is over capacity and each activity has a bottleneck: a resource that is full, and
of which no other activity has a greater rate (Bertsekas and Gallager, section 6.5.2). So an activity keeps its rate as
long as its bottleneck has the same users at the same rates. After a change, those are released whose bottleneck was
touched, then those whose bottleneck is used by one that was released, and so on. The released ones share by progressive
filling what the others leave. Where a resource then fills at a level that is less than a rate kept there, it is
nobody's bottleneck yet: those above that level are released too, and the solution is sought again. After a few such
rounds all are released. At the end each activity that was released has a bottleneck, the one at which it was stopped,
and each that was not has the one that it had.

An activity has its rate from the level at which its bottleneck filled. So each resource keeps that level, and its users
at that rate, and nobody slower, are those that it holds back.

Levels come from a heap of the resources by the level at which each would fill. As others are frozen that level only
rises, so that the heap is put in order only for the resource that seems to be first.
"""

import math
from typing import Final

from hetsim.kernels.ends import set_end
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.maxmin import bring_forward
from hetsim.kernels.pointers import advanced
from hetsim.kernels.state import (
    AFTER,
    CAPACITY,
    END,
    FIRST_USE,
    FIRST_USER,
    FULL_AT,
    HEAD,
    IS_PLAIN,
    LAST_USE,
    LAST_USER,
    MOST_KEPT,
    N_RESOURCES,
    NONE,
    QUOTIENT,
    RATE,
    SEEN,
    SLOT,
    STAMP,
    Tables,
)

_LOWER: Final = 1.0 - 1e-6
"""Rates are rounded: those this near to a level are released along with it, which is never wrong."""

_EQUAL: Final = 1.0 - 1e-14
"""A rate kept is above a level if it is so by more than rounding."""

_N_ROUNDS: Final = 4

_MOST_SOUGHT: Final = 6


@part
def _lower_full_at(tables: Tables, resource: int) -> None:
    """Let a resource that was touched release those that are faster than the level at which it would fill now.

    That level is found from below: each round takes for granted that the users slower than it keep their rates.
    """
    floats, level = advanced(tables.resource_floats, 8 * resource), 0.0
    if floats[FULL_AT] == 0.0:
        return
    for _ in range(_N_ROUNDS):
        left, load, least = floats[CAPACITY], 0.0, level * _LOWER
        node = tables.resource[8 * resource + HEAD]
        while node != NONE:
            rate = tables.fresh[tables.node[4 * node + SLOT]]
            if rate < least:
                left -= tables.use[node] * rate
            else:
                load += tables.use[node]
            node = tables.node[4 * node + AFTER]
        if load == 0.0:
            return
        if left <= level * load:
            break
        level = left / load
    floats[FULL_AT] = min(floats[FULL_AT], level)


@inlined
def _release(tables: Tables, n_touched: int, releases_all: bool) -> tuple[int, int, int]:
    """List those that are released, whose rate becomes -1, and their resources.

    A resource that releases all of its users is prepared at once, the level of each other one is -1.

    Returns how many resources, members and users of the resources that are prepared there are.
    """
    tables.counts[STAMP] += 1
    stamp = tables.counts[STAMP]
    n_resources, n_members, n_users, front = n_touched, 0, 0, 0
    for i in range(n_touched):
        tables.component[i] = tables.touched[i]
        tables.resource[8 * tables.touched[i] + SEEN] = stamp
    while front < n_resources:
        resource = tables.component[front]
        tables.level[front] = -1.0
        full_at = 0.0 if releases_all else tables.resource_floats[8 * resource + FULL_AT]
        least = max(full_at * _LOWER, 0.0)
        row = advanced(tables.resource, 8 * resource)
        node = row[HEAD] if full_at != math.inf else NONE
        row[FIRST_USER], load = n_users, 0.0
        while node != NONE:
            slot = tables.node[4 * node + SLOT]
            if least == 0.0:
                use = tables.use[node] if row[IS_PLAIN] == 0 else 1.0
                tables.user[n_users], tables.user_use[n_users] = slot, use
                n_users += 1
                load += use
            node = tables.node[4 * node + AFTER]
            if tables.fresh[slot] >= least:
                tables.fresh[slot] = -1.0
                tables.members[n_members] = slot
                n_members += 1
                n_resources = _list_used(tables, slot, stamp, n_resources)
        if least == 0.0:
            row[LAST_USER] = n_users
            tables.level[front] = _ready(tables, resource, tables.resource_floats[8 * resource + CAPACITY], load, 0.0)
        front += 1
    return n_resources, n_members, n_users


@inlined
def _ready(tables: Tables, resource: int, left: float, load: float, most: float) -> float:
    """Note what a resource has left for its load, and the greatest rate kept; return the level at which it fills."""
    floats = advanced(tables.resource_floats, 8 * resource)
    floats[QUOTIENT], floats[MOST_KEPT] = math.inf, most
    tables.filling[2 * resource], tables.filling[2 * resource + 1] = left, load
    return float(left / load) if load > 0.0 else math.inf


@inlined
def _prepare(tables: Tables, n_resources: int, n_prepared: int) -> None:
    """Let each resource have left what those do not use that keep their rates; list the others, who are its load."""
    n_users = n_prepared
    for i in range(n_resources):
        if tables.level[i] >= 0.0:
            continue
        resource = tables.component[i]
        row = advanced(tables.resource, 8 * resource)
        left, load, most, use = tables.resource_floats[8 * resource + CAPACITY], 0.0, 0.0, 1.0
        row[FIRST_USER] = n_users
        node = row[HEAD]
        while node != NONE:
            slot = tables.node[4 * node + SLOT]
            if row[IS_PLAIN] == 0:
                use = tables.use[node]
            node = tables.node[4 * node + AFTER]
            rate = tables.fresh[slot]
            if rate >= 0.0:
                left -= use * rate
                most = max(most, rate)
            else:
                tables.user[n_users], tables.user_use[n_users] = slot, use
                n_users += 1
                load += use
        row[LAST_USER] = n_users
        tables.level[i] = _ready(tables, resource, max(left, 0.0), load, most)


@inlined
def _list_used(tables: Tables, slot: int, stamp: int, n_resources: int) -> int:
    """List what a member uses and nobody before it."""
    for j in range(tables.slot[8 * slot + FIRST_USE], tables.slot[8 * slot + LAST_USE]):
        other = tables.used[j]
        if tables.resource[8 * other + SEEN] != stamp:
            tables.resource[8 * other + SEEN] = stamp
            tables.component[n_resources] = other
            n_resources += 1
    return n_resources


@inlined
def _sift(tables: Tables, i: int, n: int, level: float, resource: int) -> None:
    """Let a resource sink from a place that is free: ascending by level, then by index."""
    heap, levels = tables.component, tables.level
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and (
            levels[child + 1] < levels[child] or (levels[child + 1] == levels[child] and heap[child + 1] < heap[child])
        ):
            child += 1
        if level < levels[child] or (level == levels[child] and resource < heap[child]):
            break
        heap[i], levels[i] = heap[child], levels[child]
        i = child
    heap[i], levels[i] = resource, level


@inlined
def _load(tables: Tables, resource: int) -> float:
    """Return the coefficients of those users of a resource whose rate is not found yet, added up."""
    row = advanced(tables.resource, 8 * resource)
    if row[IS_PLAIN] == 1:
        return float(tables.filling[2 * resource + 1])
    load = 0.0
    for i in range(row[FIRST_USER], row[LAST_USER]):
        if tables.fresh[tables.user[i]] < 0.0:
            load += tables.user_use[i]
    return load


@part
def _pop_full(tables: Tables, n: int) -> tuple[float, int, int]:
    """Take the resources that fill next off the heap: the level, how many there are, and how many resources stay."""
    level, n_full = math.inf, 0
    while n > 0 and tables.level[0] <= level:
        resource = tables.component[0]
        load = _load(tables, resource)
        quotient = tables.filling[2 * resource] / load if load > 0.0 else math.inf
        if load > 0.0 and quotient > tables.level[0]:
            _sift(tables, 0, n, quotient, resource)
            continue
        if load > 0.0:
            level = min(level, quotient)
            tables.full[n_full] = resource
            n_full += 1
        n -= 1
        _sift(tables, 0, n, tables.level[n], tables.component[n])
        tables.component[n] = resource
    return level, n_full, n


@inlined
def _freeze(tables: Tables, resource: int, level: float) -> int:
    """Give the users of a full resource their rate, and return how many had none yet."""
    n_frozen = 0
    for i in range(tables.resource[8 * resource + FIRST_USER], tables.resource[8 * resource + LAST_USER]):
        slot = tables.user[i]
        if tables.fresh[slot] >= 0.0:
            continue
        tables.fresh[slot] = level
        n_frozen += 1
        for j in range(tables.slot[8 * slot + FIRST_USE], tables.slot[8 * slot + LAST_USE]):
            filling, use = advanced(tables.filling, 2 * tables.used[j]), tables.coefficient[j]
            filling[0] = max(filling[0] - use * level, 0.0)
            filling[1] -= use
    return n_frozen


@part
def _fill(tables: Tables, n_resources: int, n_members: int, n_prepared: int) -> bool:
    """Find the rates of those that were released; return whether others have to be released too."""
    _prepare(tables, n_resources, n_prepared)
    n = n_resources
    for i in range(n // 2 - 1, -1, -1):
        _sift(tables, i, n, tables.level[i], tables.component[i])
    n_free, releases_more = n_members, False
    while n_free > 0:
        level, n_full, n = _pop_full(tables, n)
        for i in range(n_full):
            resource = tables.full[i]
            floats = advanced(tables.resource_floats, 8 * resource)
            floats[QUOTIENT] = level
            if level < floats[MOST_KEPT] * _EQUAL:
                floats[FULL_AT] = min(floats[FULL_AT], level)
                releases_more = True
            n_free -= _freeze(tables, resource, level)
    return releases_more


@inlined
def _take_back(tables: Tables, n_members: int) -> None:
    """Give those that were released the rates back that they had, or infinity if their ends are not in the heap."""
    for i in range(n_members):
        slot = tables.members[i]
        is_in_heap = tables.heap_at[tables.counts[N_RESOURCES] + slot] != NONE
        tables.fresh[slot] = tables.slot_floats[4 * slot + RATE] if is_in_heap else math.inf


@part
def solve_many(tables: Tables, n_touched: int, now: int) -> None:
    """Solve the components of resources, apart from the rates that stay.

    Each end is in the heap of ends: what keeps its rate is not looked at when another one has ended.

    Parameters
    ----------
    tables : Tables
        Changed; the first of `touched` are the resources.
    n_touched : int
        How many they are.
    now : int
        Tick.
    """
    for i in range(n_touched):
        _lower_full_at(tables, tables.touched[i])
    n_resources, n_members, n_users = _release(tables, n_touched, False)
    n_sought = 1
    while _fill(tables, n_resources, n_members, n_users):
        _take_back(tables, n_members)
        n_resources, n_members, n_users = _release(tables, n_touched, n_sought >= _MOST_SOUGHT)
        n_sought += 1
    for i in range(n_resources):
        floats = advanced(tables.resource_floats, 8 * tables.component[i])
        floats[FULL_AT] = floats[QUOTIENT]
    for i in range(n_members):
        slot = tables.members[i]
        rate, entity = tables.fresh[slot], tables.counts[N_RESOURCES] + slot
        if rate != tables.slot_floats[4 * slot + RATE]:
            bring_forward(tables, slot, rate, now)
            set_end(tables, entity, tables.slot[8 * slot + END])
        elif tables.heap_at[entity] == NONE:
            set_end(tables, entity, tables.slot[8 * slot + END])
