"""All-reduce on two levels: inside of hosts, then between them."""

from typing import Literal

from hetsim.aggregation.hosts import groups_by_host
from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group


def hierarchical(
    view: AggregationView,
    *,
    sync: Literal["bsp"] = "bsp",
    inner: Literal["ring", "tree", "halving-doubling"] = "ring",
    outer: Literal["ring", "tree", "halving-doubling"] = "ring",
) -> Group:
    """Combine gradients inside of each host first, then between hosts, as Horovod's hierarchical all-reduce does.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp"}
        Bulk-synchronous: every step waits for all workers.
    inner, outer : {"ring", "tree", "halving-doubling"}
        Inside of hosts, and between them. Where hosts have equally many ranks, and the inner one can leave each of
        them its part of the sum (a ring can, halving and doubling where they are a power of two), parts are exchanged
        side by side; else each host's first rank exchanges for it (horovod/common/ops/nccl_operations.cc).

    Returns
    -------
    Group
        A group of groups; flat where no host, or only one, holds several ranks.
    """
    return Group(members=groups_by_host(view, inner), architecture=outer, sync=sync)
