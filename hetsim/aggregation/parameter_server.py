"""Synchronous parameter servers."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def parameter_server(
    view: AggregationView,
    *,
    sync: Literal["bsp"] = "bsp",
    sharding: Literal["round-robin", "even"] = "round-robin",
) -> Group:
    """Send gradients to parameter servers, which answer with new parameters once all workers have sent.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp"}
        Bulk-synchronous: every step waits for all workers.
    sharding : {"round-robin", "even"}
        Whole variables over servers in creation order, as TensorFlow's device setter places them
        (``tensorflow/python/training/device_setter.py``), or equal shares of the bytes.

    Returns
    -------
    Group
        All ranks in one group, over all servers of the job.
    """
    return Group(
        members=tuple(Rank(index) for index in range(len(view.ranks))),
        architecture="parameter-server",
        sync=sync,
        servers=view.servers,
        sharding=sharding,
    )
