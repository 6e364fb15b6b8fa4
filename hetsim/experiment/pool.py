"""A pool of worker processes that hear no interrupt and do not outlive the process that started them."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait


@contextmanager
def workers(n: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool that is gone at the end, whatever ends it.

    Parameters
    ----------
    n : int
        Processes.

    Yields
    ------
    ProcessPoolExecutor
        To be given all of its work inside `no_interrupt`, since it starts processes as work comes in.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n, mp_context=context, initializer=_end_with_parent, initargs=(ours,))
    try:
        yield pool
    except BaseException:
        # Work under way is of no use any more.
        theirs.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        theirs.close()
        ours.close()


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Hold interrupts back inside, and from processes started inside for good.

    An interrupt at a terminal goes to every process; the one that started the others ends them, and each would print a
    traceback of its own otherwise, from its first moment on.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its start lets interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(stop: "Connection[None, None]") -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a worker watches its parent"
    ends = (parent.sentinel, stop)
    threading.Thread(target=lambda: os._exit(1) if wait(ends) else None, daemon=True).start()
