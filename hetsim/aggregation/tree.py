"""All-reduce along two binary trees."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def tree(
    view: AggregationView, *, sync: Literal["bsp", "local"] = "bsp", period: int = 1, local_after: int = 0
) -> Group:
    """Combine gradients by all-reduce along two binary trees that each carry half of the bytes, as NCCL does.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp", "local"}
        Gradients of every step, for which each waits for all workers; or parameters, after a number of local steps.
    period : int
        Of sync local: steps between two exchanges, each of which moves as many bytes as one of gradients does
        (local SGD: Stich 2019, arXiv 1805.09767).
    local_after : int
        Of sync local: so many first steps exchange gradients (post-local SGD: Lin et al. 2020, arXiv 1808.07217).

    Returns
    -------
    Group
        All ranks in one group.
    """
    ranks = tuple(Rank(index) for index in range(len(view.ranks)))
    return Group(members=ranks, architecture="tree", sync=sync, period=period, local_after=local_after)
