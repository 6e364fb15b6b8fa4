"""All-reduce along two binary trees."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def tree(view: AggregationView, *, sync: Literal["bsp"] = "bsp") -> Group:
    """Combine gradients by all-reduce along two binary trees that each carry half of the bytes, as NCCL does.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp"}
        Bulk-synchronous: every step waits for all workers.

    Returns
    -------
    Group
        All ranks in one group.
    """
    return Group(members=tuple(Rank(index) for index in range(len(view.ranks))), architecture="tree", sync=sync)
