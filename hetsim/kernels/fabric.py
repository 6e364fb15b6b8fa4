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

Where all that is connected has just started, as when a job's transfers begin at once, nothing is sought.
"""

import math
from typing import Final

from hetsim.kernels.ends import enter_end, set_end
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.levels import opened_bucket, popped_full, queued
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
    IS_ALL_PLAIN,
    IS_PLAIN,
    LAST_USE,
    LAST_USER,
    MOST_KEPT,
    N_RESOURCES,
    N_USERS,
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
    is_plain = tables.resource[8 * resource + IS_PLAIN]
    for _ in range(_N_ROUNDS):
        left, load, least = floats[CAPACITY], 0.0, level * _LOWER
        node = tables.resource[8 * resource + HEAD]
        while node != NONE:
            rate = tables.fresh[tables.node[4 * node + SLOT]]
            use = tables.use[node] if is_plain == 0 else 1.0
            if rate < least:
                left -= use * rate
            else:
                load += use
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
        tables.users[2 * resource + FIRST_USER], load = n_users, 0.0
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
            tables.users[2 * resource + LAST_USER] = n_users
            tables.level[front] = _ready(tables, resource, tables.resource_floats[8 * resource + CAPACITY], load, 0.0)
        front += 1
    return n_resources, n_members, n_users


@inlined
def _release_new(tables: Tables, n_touched: int, n_new: int) -> int:
    """List those that are new, if the resources have no other users; the resources are listed and prepared as well.

    Who is connected is known from what was touched, and how many users a resource has from its count. What each of
    them uses lies in a row, while the lists of users are all over the memory.

    Returns how many members there are, or zero if others use the resources too.
    """
    tables.counts[STAMP] += 1
    stamp, n_users, n_members = tables.counts[STAMP], 0, 0
    for i in range(n_touched):
        row, users = advanced(tables.resource, 8 * tables.touched[i]), advanced(tables.users, 2 * tables.touched[i])
        row[SEEN] = stamp
        users[FIRST_USER] = users[LAST_USER] = n_users
        n_users += row[N_USERS]
    for i in range(n_new - 1, -1, -1):  # the last is the first in the list of each resource
        slot = tables.new[i]
        first, last = tables.span[2 * slot + FIRST_USE], tables.span[2 * slot + LAST_USE]
        if tables.resource[8 * tables.used[first] + SEEN] == stamp:
            tables.members[n_members] = slot
            n_members += 1
            n_users -= last - first
            _list_user(tables, slot, first, last)
    if n_users > 0:
        return 0
    for i in range(n_members):
        tables.fresh[tables.members[i]] = -1.0
    for i in range(n_touched):
        resource = tables.touched[i]
        tables.component[i] = resource
        load = _load_of_listed(tables, resource)
        tables.level[i] = _ready(tables, resource, tables.resource_floats[8 * resource + CAPACITY], load, 0.0)
    return n_members


@inlined
def _list_user(tables: Tables, slot: int, first: int, last: int) -> None:
    """Add a member to the lists of users of what it uses."""
    is_all_plain = tables.counts[IS_ALL_PLAIN] == 1
    for j in range(first, last):
        users = advanced(tables.users, 2 * tables.used[j])
        place = users[LAST_USER]
        tables.user[place] = slot
        if not is_all_plain:
            tables.user_use[place] = tables.coefficient[j]
        users[LAST_USER] = place + 1


@inlined
def _load_of_listed(tables: Tables, resource: int) -> float:
    """Return the coefficients of all users of a resource, which are listed, added up."""
    row, users = advanced(tables.resource, 8 * resource), advanced(tables.users, 2 * resource)
    if row[IS_PLAIN] == 1:
        return float(row[N_USERS])
    load = 0.0
    for i in range(users[FIRST_USER], users[LAST_USER]):
        load += tables.user_use[i]
    return load


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
        tables.users[2 * resource + FIRST_USER] = n_users
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
        tables.users[2 * resource + LAST_USER] = n_users
        tables.level[i] = _ready(tables, resource, max(left, 0.0), load, most)


@inlined
def _list_used(tables: Tables, slot: int, stamp: int, n_resources: int) -> int:
    """List what a member uses and nobody before it."""
    for j in range(tables.span[2 * slot + FIRST_USE], tables.span[2 * slot + LAST_USE]):
        other = tables.used[j]
        if tables.resource[8 * other + SEEN] != stamp:
            tables.resource[8 * other + SEEN] = stamp
            tables.component[n_resources] = other
            n_resources += 1
    return n_resources


@inlined
def _freeze(tables: Tables, resource: int, level: float) -> int:
    """Give the users of a full resource their rate, and return how many had none yet.

    These are put first in its list, without a branch that nobody could foretell.
    """
    users = advanced(tables.users, 2 * resource)
    n_frozen, user = 0, advanced(tables.user, users[FIRST_USER])
    for i in range(users[LAST_USER] - users[FIRST_USER]):
        slot = user[i]
        user[n_frozen] = slot
        n_frozen += tables.fresh[slot] < 0.0
    if tables.counts[IS_ALL_PLAIN] == 1:
        for i in range(n_frozen):
            tables.fresh[user[i]] = level
            for j in range(tables.span[2 * user[i] + FIRST_USE], tables.span[2 * user[i] + LAST_USE]):
                filling = advanced(tables.filling, 2 * tables.used[j])
                filling[0] = max(filling[0] - level, 0.0)
                filling[1] -= 1.0
        return n_frozen
    for i in range(n_frozen):
        tables.fresh[user[i]] = level
        for j in range(tables.span[2 * user[i] + FIRST_USE], tables.span[2 * user[i] + LAST_USE]):
            filling, use = advanced(tables.filling, 2 * tables.used[j]), tables.coefficient[j]
            filling[0] = max(filling[0] - use * level, 0.0)
            filling[1] -= use
    return n_frozen


@part
def _fill(tables: Tables, n_resources: int, n_members: int) -> bool:
    """Find the rates of those that were released; return whether others have to be released too."""
    queue, bucket, n = queued(tables, n_resources), -1, 0
    n_free, releases_more = n_members, False
    while n_free > 0:
        while n == 0:
            bucket += 1
            n = opened_bucket(tables, bucket, queue)
        level, n_full, n = popped_full(tables, n, bucket, queue)
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
def _sought(tables: Tables, n_touched: int) -> tuple[int, int]:
    """Find who has to be released, and their rates; return how many resources and members they are."""
    for i in range(n_touched):
        _lower_full_at(tables, tables.touched[i])
    n_resources, n_members, n_users = _release(tables, n_touched, False)
    _prepare(tables, n_resources, n_users)
    n_sought = 1
    while _fill(tables, n_resources, n_members):
        _take_back(tables, n_members)
        n_resources, n_members, n_users = _release(tables, n_touched, n_sought >= _MOST_SOUGHT)
        _prepare(tables, n_resources, n_users)
        n_sought += 1
    return n_resources, n_members


@part
def solve_many(tables: Tables, n_touched: int, n_new: int, now: int) -> None:
    """Solve the components of resources, apart from the rates that stay.

    Each end is in the heap of ends: what keeps its rate is not looked at when another one has ended.

    Parameters
    ----------
    tables : Tables
        Changed; the first of `touched` are the resources.
    n_touched : int
        How many they are.
    n_new : int
        The first so many of `new` have started since the last time.
    now : int
        Tick.
    """
    n_resources, n_members = n_touched, _release_new(tables, n_touched, n_new) if n_new > 0 else 0
    if n_members > 0:
        _fill(tables, n_resources, n_members)
    else:
        n_resources, n_members = _sought(tables, n_touched)
    for i in range(n_resources):
        floats = advanced(tables.resource_floats, 8 * tables.component[i])
        floats[FULL_AT] = floats[QUOTIENT]
    for i in range(n_members):
        slot = tables.members[i]
        rate, entity = tables.fresh[slot], tables.counts[N_RESOURCES] + slot
        has_changed = rate != tables.slot_floats[4 * slot + RATE]
        if has_changed:
            bring_forward(tables, slot, rate, now)
        if tables.heap_at[entity] == NONE:
            enter_end(tables, entity, tables.slot[8 * slot + END])
        elif has_changed:
            set_end(tables, entity, tables.slot[8 * slot + END])
