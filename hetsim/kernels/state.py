"""Where activities and the resources that they share are kept: two flat arrays, and views of them by name."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import inlined
from hetsim.kernels.pointers import pointer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
IndexArray = npt.NDArray[np.int32]
Usage = Sequence[tuple[int, float]]

NEVER = -1
"""End of an activity whose rate is zero."""

END_OF_TIME = 2**63 - 1
"""Tick that no activity reaches: the end of one that would outlast the clock."""

NONE = -1

# Columns of `Tables.slot`; a slot holds an activity that is in no pool.
KIND, IDENT, SINCE, END, MET, FIRST_NODE, NEXT_FREE = 0, 1, 2, 3, 4, 5, 6
# Columns of `Tables.span`: what the activity in a slot uses is in `used`, from the first to before the last.
FIRST_USE, LAST_USE = 0, 1
# Columns of `Tables.slot_floats`.
REMAINING, RATE = 0, 1
# Columns of `Tables.resource`: room for members of a pool (0: it is none) and where they begin; the first node of the
# list of users, or how many of the pool's places before its first member are empty; users; whether it is to be solved
# again; when it was seen last by a solution; the tick of `SERVED`, or users whose rate is not found yet; whether all
# coefficients are one.
ROOM, START, HEAD, N_USERS, IS_TOUCHED, SEEN, SERVED_SINCE, IS_PLAIN = 0, 1, 2, 3, 4, 5, 6, 7
N_FREE = SERVED_SINCE
# Columns of `Tables.users`: those of a resource are in `user`, from the first to before the last.
FIRST_USER, LAST_USER = 0, 1
# Columns of `Tables.resource_floats`: amount per tick; of a pool, the rate of each member and how much each was served;
# of another one, scratch, and the level at which it filled if `fabric` solved it last (infinity: it did not; else 0).
CAPACITY, SHARE, SERVED, LEFT, LOAD, QUOTIENT, FULL_AT = 0, 1, 2, 3, 4, 5, 6
MOST_KEPT = SHARE
# Columns of `Tables.node`, one use of a resource by one activity: whose; neighbours in the list of the resource; the
# next node of the same activity, or the next free one.
SLOT, BEFORE, AFTER, NEXT = 0, 1, 2, 3
# Columns of `Tables.heap`: tick of an end; resource that is a pool, or number of resources + slot.
TICK, ENTITY = 0, 1
# Places in `Tables.counts`: sizes, then what changes.
N_SLOTS, N_RESOURCES, N_KINDS, N_USES, N_NODES, N_PLACES = 0, 1, 2, 3, 4, 5
N_HEAP, N_TOUCHED, STAMP, FREE_SLOT, FREE_NODE, N_FREE_NODES, FIRST_PLACE, N_NEW, IS_ALL_PLAIN = (
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
)
N_COUNTS = 16

FEW = 32
"""Members of a component that is solved at once and by a scan for each level; beyond, `fabric` solves it."""

_POOL_ROOM = 4
_NODES_PER_SLOT = 8


_MOST_TRIED = 4


class State(NamedTuple):
    """Resources and activities of one simulation; made by `new_state`.

    Parameters
    ----------
    ints : IntArray, shape (n_ints,)
        All whole numbers: a call from Python costs 0.4 us for each array.
    floats : FloatArray, shape (n_floats,)
        All others.
    """

    ints: IntArray
    floats: FloatArray


class Tables(NamedTuple):
    """Views of a `State`, made by `opened` inside compiled code; columns are named above.

    Of each slot, `fresh` is the rate as far as the solution that is sought has it (else -1), and after it the rate if
    it may stay the next time (`fabric`), or infinity. Of each node, `use` is its coefficient. Scratch of `fabric`:
    users of resources with coefficients, and of each resource what is left and its load in `filling`. The indices of
    a large solution have 32 bits, so that more of them are in the processor's caches.
    """

    counts: IntArray
    slot: IntArray
    resource: IntArray
    node: IndexArray
    heap: IntArray
    heap_at: IntArray
    touched: IntArray
    component: IndexArray
    near: IndexArray
    chain: IndexArray
    full: IntArray
    members: IntArray
    new: IntArray
    user: IndexArray
    users: IndexArray
    span: IndexArray
    first: IntArray
    used: IndexArray
    place: IntArray
    resource_floats: FloatArray
    slot_floats: FloatArray
    coefficient: FloatArray
    tag: FloatArray
    use: FloatArray
    user_use: FloatArray
    fresh: FloatArray
    level: FloatArray
    near_level: FloatArray
    filling: FloatArray


def binding_usages(usages: Sequence[Usage], capacity: Sequence[float], changing: Collection[int]) -> list[Usage]:
    """Return usages without the resources that can never be full before another one is.

    Resource r is left out if each kind of activity that uses r also uses h, with ``C_h / c_h <= C_r / c_r`` for its
    coefficients c and the capacities C: the part of r in use is then at most that of h, whatever the rates are, so that
    the constraint of r follows from that of h, and the fair rates are the same without it. Only the few that fill first
    are tried as h.

    Parameters
    ----------
    usages : sequence of Usage, shape (n_kinds,)
        Resources of each kind of activity, each with its coefficient.
    capacity : sequence of float, shape (n_resources,)
        Amount per tick.
    changing : collection of int
        Resources whose capacity changes: they are neither left out nor a reason to leave others out.

    Returns
    -------
    list of Usage, shape (n_kinds,)
        Each with one resource at least.
    """
    kinds_of: list[list[int]] = [[] for _ in capacity]
    kept = [dict(usage) for usage in usages]
    for kind, usage in enumerate(usages):
        for resource, _ in usage:
            kinds_of[resource].append(kind)
    fullest = [
        sorted(usage, key=lambda entry: (capacity[entry[0]] / entry[1], -entry[0]))[:_MOST_TRIED] for usage in usages
    ]

    def dominates(other: int, resource: int) -> bool:
        return other not in changing and all(
            other in kept[kind] and capacity[other] / kept[kind][other] <= capacity[resource] / kept[kind][resource]
            for kind in kinds_of[resource]
        )

    for resource, kinds in enumerate(kinds_of):
        if not kinds or resource in changing:
            continue
        if any(dominates(other, resource) for other, _ in fullest[kinds[0]] if other != resource):
            for kind in kinds:
                del kept[kind][resource]
    return [tuple(usage.items()) for usage in kept]


def new_state(
    usages: Sequence[Usage], capacity: Sequence[float], n_slots: int, *, changing: Collection[int] = ()
) -> State:
    """Return a state without activities.

    Parameters
    ----------
    usages : sequence of Usage, shape (n_kinds,)
        Resources of each kind of activity, each with its positive coefficient; no resource twice, one at least.
    capacity : sequence of float, shape (n_resources,)
        Not negative.
    n_slots : int
        Activities in service at most, one at least.
    changing : collection of int
        The resources that `set_capacity` may be called for.

    Returns
    -------
    State
        Empty.
    """
    binding = binding_usages(usages, capacity, changing)
    flat = [entry for usage in binding for entry in usage]
    width = max((len(usage) for usage in binding), default=1)
    counts = np.zeros(N_COUNTS, dtype=np.int64)
    counts[N_SLOTS], counts[N_RESOURCES], counts[N_KINDS], counts[N_USES] = (
        n_slots,
        len(capacity),
        len(usages),
        len(flat),
    )
    counts[N_NODES] = n_slots * min(width, _NODES_PER_SLOT) + 2 * width
    counts[N_PLACES] = _POOL_ROOM * len(capacity) + 4 * n_slots
    state = State(np.zeros(_n_ints(counts), dtype=np.int64), np.zeros(_n_floats(counts)))
    state.ints[:N_COUNTS] = counts
    tables = opened_in_python(state)
    tables.first[:] = np.cumsum([0, *(len(usage) for usage in binding)])
    tables.used[: len(flat)] = [resource for resource, _ in flat]
    tables.coefficient[:] = [use for _, use in flat]
    tables.resource_floats[CAPACITY::8] = capacity
    tables.heap_at[:] = NONE
    tables.counts[FREE_SLOT] = tables.counts[FREE_NODE] = NONE
    _free(tables, 0, 0)
    pools, plain = _pools(binding, len(capacity))
    tables.resource[IS_PLAIN::8] = plain
    tables.counts[IS_ALL_PLAIN] = plain.all()
    tables.resource[HEAD::8] = np.where(pools, 0, NONE)
    tables.resource[ROOM::8] = np.where(pools, _POOL_ROOM, 0)
    tables.resource[START::8] = np.arange(len(capacity)) * _POOL_ROOM
    tables.counts[FIRST_PLACE] = _POOL_ROOM * len(capacity)
    return state


def _pools(usages: Sequence[Usage], n_resources: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which resources serve only activities that use nothing else, and which serve at coefficients of one."""
    is_alone, is_plain = np.ones(n_resources, dtype=np.bool_), np.ones(n_resources, dtype=np.bool_)
    for usage in usages:
        for resource, use in usage:
            is_alone[resource] &= len(usage) == 1
            is_plain[resource] &= use == 1.0
    return is_alone & is_plain, is_plain


def _free(tables: Tables, n_slots: int, n_nodes: int) -> None:
    """Add the slots and nodes from these numbers on to the free ones."""
    counts = tables.counts
    tables.slot[8 * n_slots + KIND :: 8] = NONE
    tables.slot[8 * n_slots + END :: 8] = NEVER
    tables.slot[8 * n_slots + NEXT_FREE :: 8] = [*range(n_slots + 1, counts[N_SLOTS]), counts[FREE_SLOT]]
    tables.node[4 * n_nodes + NEXT :: 4] = [*range(n_nodes + 1, counts[N_NODES]), counts[FREE_NODE]]
    counts[FREE_SLOT], counts[FREE_NODE] = n_slots, n_nodes
    counts[N_FREE_NODES] += counts[N_NODES] - n_nodes


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
    counts = state.ints[:N_COUNTS].copy()
    n_slots, n_nodes = int(counts[N_SLOTS]), int(counts[N_NODES])
    for size in (N_SLOTS, N_NODES, N_PLACES):
        counts[size] *= 2
    more = State(np.zeros(_n_ints(counts), dtype=np.int64), np.zeros(_n_floats(counts)))
    more.ints[:N_COUNTS] = counts
    new = opened_in_python(more)
    new.heap_at[:] = NONE
    small: tuple[npt.NDArray[Any], ...] = opened_in_python(state)
    large: tuple[npt.NDArray[Any], ...] = new
    for before, after in zip(small[1:], large[1:], strict=True):
        after[: len(before)] = before
    _free(new, n_slots, n_nodes)
    return more


def rates(state: State) -> dict[int, float]:
    """Return the rate of each activity in service.

    Parameters
    ----------
    state : State
        Solved.

    Returns
    -------
    dict of int to float
        By ident.
    """
    tables = opened_in_python(state)
    found = {}
    for slot in np.flatnonzero(tables.slot[KIND::8] != NONE).tolist():
        found[int(tables.slot[8 * slot + IDENT])] = float(tables.slot_floats[4 * slot + RATE])
    for resource in np.flatnonzero(tables.resource[ROOM::8]).tolist():
        row = tables.resource[8 * resource : 8 * resource + 8]
        first = row[START] + row[HEAD]
        for ident in tables.place[first : first + row[N_USERS]].tolist():
            found[ident] = float(tables.resource_floats[8 * resource + SHARE])
    return found


def _n_ints(counts: IntArray) -> int:
    n_slots, n_resources, n_nodes = counts[N_SLOTS], counts[N_RESOURCES], counts[N_NODES]
    rows = 8 * (n_slots + n_resources) + 3 * (n_slots + n_resources)
    lists = 2 * n_resources + 2 * n_slots + counts[N_KINDS] + 1 + counts[N_PLACES]
    indices = (
        2 * n_nodes + 2 * n_resources + 1 + n_slots + 2 * _words(n_resources) + _words(n_nodes) + _words(counts[N_USES])
    )
    return int(N_COUNTS + rows + lists + indices)


def _n_floats(counts: IntArray) -> int:
    lists = counts[N_USES] + counts[N_PLACES] + 2 * counts[N_NODES]
    return int(12 * counts[N_RESOURCES] + 5 * counts[N_SLOTS] + lists)


@inlined
def _words(n: int) -> int:
    """Return how many words of 64 bits hold so many indices of 32."""
    return (n + 1) >> 1


@inlined
def opened(state: State) -> Tables:
    """Return the tables of a state.

    Parameters
    ----------
    state : State
        From `new_state`.

    Returns
    -------
    Tables
        Views.
    """
    ints, halves, floats = state.ints, state.ints.view(np.int32), state.floats
    n_slots, n_resources, n_kinds = ints[N_SLOTS], ints[N_RESOURCES], ints[N_KINDS]
    n_uses, n_nodes, n_places = ints[N_USES], ints[N_NODES], ints[N_PLACES]
    slot = N_COUNTS
    resource = slot + 8 * n_slots
    node = resource + 8 * n_resources
    heap = node + 2 * n_nodes
    heap_at = heap + 2 * (n_slots + n_resources)
    touched = heap_at + n_slots + n_resources
    component = touched + n_resources
    near = component + _words(n_resources)
    chain = near + _words(n_resources)
    full = chain + n_resources + 1
    members = full + n_resources
    new = members + n_slots
    user = new + n_slots
    users = user + _words(n_nodes)
    span = users + n_resources
    first = span + n_slots
    used = first + n_kinds + 1
    place = used + _words(n_uses)
    slot_floats = 8 * n_resources
    coefficient = slot_floats + 4 * n_slots
    tag = coefficient + n_uses
    use = tag + n_places
    user_use = use + n_nodes
    fresh = user_use + n_nodes
    level = fresh + n_slots
    near_level = level + n_resources
    filling = near_level + n_resources
    return Tables(
        pointer(ints[:N_COUNTS]),
        pointer(ints[slot:resource]),
        pointer(ints[resource:node]),
        pointer(halves[2 * node : 2 * heap]),
        pointer(ints[heap:heap_at]),
        pointer(ints[heap_at:touched]),
        pointer(ints[touched:component]),
        pointer(halves[2 * component : 2 * near]),
        pointer(halves[2 * near : 2 * chain]),
        pointer(halves[2 * chain : 2 * full]),
        pointer(ints[full:members]),
        pointer(ints[members:new]),
        pointer(ints[new:user]),
        pointer(halves[2 * user : 2 * users]),
        pointer(halves[2 * users : 2 * span]),
        pointer(halves[2 * span : 2 * first]),
        pointer(ints[first:used]),
        pointer(halves[2 * used : 2 * place]),
        pointer(ints[place : place + n_places]),
        pointer(floats[:slot_floats]),
        pointer(floats[slot_floats:coefficient]),
        pointer(floats[coefficient:tag]),
        pointer(floats[tag:use]),
        pointer(floats[use:user_use]),
        pointer(floats[user_use:fresh]),
        pointer(floats[fresh:level]),
        pointer(floats[level:near_level]),
        pointer(floats[near_level:filling]),
        pointer(floats[filling : filling + 2 * n_resources]),
    )


def opened_in_python(state: State) -> Tables:
    """Return the tables of a state to Python, as arrays."""
    tables: Tables = getattr(opened, "py_func", opened)(state)
    return tables
