"""The ends of activities as a binary heap in which each entry knows its place, so that an end can move."""

from hetsim.kernels.jit import inlined, part
from hetsim.kernels.state import (
    ENTITY,
    N_HEAP,
    NEVER,
    NONE,
    TICK,
    Tables,
)


@inlined
def _sift_up(tables: Tables, i: int, tick: int, entity: int) -> None:
    heap = tables.heap
    while i > 0:
        parent = (i - 1) >> 1
        if heap[2 * parent + TICK] <= tick:
            break
        heap[2 * i + TICK], heap[2 * i + ENTITY] = heap[2 * parent + TICK], heap[2 * parent + ENTITY]
        tables.heap_at[heap[2 * i + ENTITY]] = i
        i = parent
    heap[2 * i + TICK], heap[2 * i + ENTITY] = tick, entity
    tables.heap_at[entity] = i


@inlined
def sift_down(tables: Tables, i: int, tick: int, entity: int) -> None:
    """Let an end sink from a place that is free."""
    heap, n = tables.heap, tables.counts[N_HEAP]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and heap[2 * child + 2 + TICK] < heap[2 * child + TICK]:
            child += 1
        if heap[2 * child + TICK] >= tick:
            break
        heap[2 * i + TICK], heap[2 * i + ENTITY] = heap[2 * child + TICK], heap[2 * child + ENTITY]
        tables.heap_at[heap[2 * i + ENTITY]] = i
        i = child
    heap[2 * i + TICK], heap[2 * i + ENTITY] = tick, entity
    tables.heap_at[entity] = i


@part
def set_end(tables: Tables, entity: int, tick: int) -> None:
    """Enter or change an end in the heap, or take it out if it is never."""
    i = tables.heap_at[entity]
    if tick == NEVER:
        if i != NONE:
            take_out(tables, i)
    elif i == NONE:
        tables.counts[N_HEAP] += 1
        _sift_up(tables, tables.counts[N_HEAP] - 1, tick, entity)
    elif tick < tables.heap[2 * i + TICK]:
        _sift_up(tables, i, tick, entity)
    elif tick > tables.heap[2 * i + TICK]:
        sift_down(tables, i, tick, entity)


@inlined
def enter_end(tables: Tables, entity: int, tick: int) -> None:
    """Enter an end that is not in the heap, unless it is never."""
    if tick != NEVER:
        tables.counts[N_HEAP] += 1
        _sift_up(tables, tables.counts[N_HEAP] - 1, tick, entity)


@part
def take_out(tables: Tables, i: int) -> None:
    """Take the entry at a place out of the heap."""
    tables.heap_at[tables.heap[2 * i + ENTITY]] = NONE
    tables.counts[N_HEAP] -= 1
    n = tables.counts[N_HEAP]
    if i < n:
        tick, entity = tables.heap[2 * n + TICK], tables.heap[2 * n + ENTITY]
        if i > 0 and tables.heap[2 * ((i - 1) >> 1) + TICK] > tick:
            _sift_up(tables, i, tick, entity)
        else:
            sift_down(tables, i, tick, entity)
