"""Parameter servers on worker hosts and on further hosts, with the shares of BytePS."""

from typing import Literal

from hetsim.aggregation.hosts import groups_by_host, ranks_by_host
from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group

PARTITION_BYTES = 4_096_000
"""Default of BytePS (BYTEPS_PARTITION_BYTES, docs/env.md)."""


def byteps(view: AggregationView, *, sync: Literal["bsp"] = "bsp", partition_bytes: int = PARTITION_BYTES) -> Group:
    """Share the summation between worker hosts and further server hosts so that all their links are equally busy.

    Parameters
    ----------
    view : AggregationView
        What may be seen. Servers on hosts without workers are the further ones.
    sync : {"bsp"}
        Bulk-synchronous: every step waits for all workers.
    partition_bytes : int
        Gradients go, and their sums return, in pieces of at most this size.

    Returns
    -------
    Group
        A ring inside of each host with several ranks, and servers across. With n worker hosts and k < n further ones
        each of the latter sums ``2 (n - 1) / (n^2 + k n - 2 k)`` of the bytes and each of the former
        ``(n - k) / (n^2 + k n - 2 k)``; with more of them they sum all. On equal links B the exchange takes
        ``2 n (n - 1) / (n^2 + k n - 2 k) S / B`` (Jiang et al., "A unified architecture for accelerating distributed
        DNN training in heterogeneous GPU/CPU clusters", OSDI 2020).

    Raises
    ------
    ValueError
        If partitions have no bytes.
    """
    if partition_bytes < 1:
        raise ValueError(f"partition_bytes is {partition_bytes}, but a partition has a byte at least")
    workers = tuple(ranks_by_host(view))
    further = tuple(dict.fromkeys(server for server in view.servers if server not in workers))
    on_worker, on_further = shares(len(workers), len(further))
    return Group(
        members=groups_by_host(view, "ring"),
        architecture="parameter-server",
        sync=sync,
        servers=(*workers, *further),
        sharding=(*(on_worker,) * len(workers), *(on_further,) * len(further)),
        partition_bytes=partition_bytes,
    )


def shares(n: int, k: int) -> tuple[float, float]:
    """Return the share of the bytes of each server.

    Parameters
    ----------
    n, k : int
        Worker hosts, and further ones.

    Returns
    -------
    on_worker, on_further : float
        Of one server each; zero where there is none.

    Examples
    --------
    >>> shares(4, 0), shares(4, 4), shares(2, 1)
    ((0.25, 0.0), (0.0, 0.25), (0.25, 0.5))
    """
    if k >= n:
        return 0.0, 1.0 / k
    whole = n * n + k * n - 2 * k
    return (n - k) / whole, 2 * (n - 1) / whole if k else 0.0
