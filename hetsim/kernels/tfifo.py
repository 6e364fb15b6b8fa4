"""The queue inside netem, sorted by due time: a line of passes that came in order, and a heap of all others."""

from hetsim.kernels.jit import inlined
from hetsim.kernels.netem_state import FIRST, LAST, MAX_DUE, N_SORTED, Queue


@inlined
def _is_before(queue: Queue, a: int, b: int) -> bool:
    return bool(queue.due[a] < queue.due[b] or (queue.due[a] == queue.due[b] and a < b))


@inlined
def _push(queue: Queue, k: int) -> None:
    heap = queue.heap
    at = queue.state[N_SORTED]
    queue.state[N_SORTED] += 1
    while at > 0 and _is_before(queue, k, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = k


@inlined
def pop(queue: Queue) -> None:
    """Take the pass that is due first out of the heap.

    Parameters
    ----------
    queue : Queue
        With one in its heap; changed.
    """
    heap = queue.heap
    queue.state[N_SORTED] -= 1
    n = queue.state[N_SORTED]
    k, at = heap[n], 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _is_before(queue, heap[child + 1], heap[child]):
            child += 1
        if not _is_before(queue, heap[child], k):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = k


@inlined
def put(queue: Queue, k: int) -> None:
    """Sort a pass into the queue: behind the line if it is due last, else into the heap (tfifo_enqueue).

    Parameters
    ----------
    queue : Queue
        Changed.
    k : int
        The pass, with its due time.
    """
    state = queue.state
    if state[FIRST] == state[LAST] or queue.due[k] >= queue.due[queue.in_line[state[LAST] - 1]]:
        queue.in_line[state[LAST]] = k
        state[LAST] += 1
    else:
        _push(queue, k)
    state[MAX_DUE] = max(state[MAX_DUE], queue.due[k])
