"""All-reduce by recursive halving and doubling."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def halving_doubling(view: AggregationView, *, sync: Literal["bsp"] = "bsp") -> Group:
    """Combine gradients by recursive halving and doubling, in 2 lg n rounds, as MPI libraries and Gloo do.

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
    ranks = tuple(Rank(index) for index in range(len(view.ranks)))
    return Group(members=ranks, architecture="halving-doubling", sync=sync)
