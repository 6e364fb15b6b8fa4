"""Ring all-reduce."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def ring(view: AggregationView, *, sync: Literal["bsp"] = "bsp", order: Literal["rank", "host"] = "rank") -> Group:
    """Combine gradients by ring all-reduce among the workers, without servers.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp"}
        Bulk-synchronous: every step waits for all workers.
    order : {"rank", "host"}
        Around the ring by rank, or with the ranks of each host side by side, hosts in the order of their first rank:
        then each host sends to one other host only.

    Returns
    -------
    Group
        All ranks in one group, in ring order.
    """
    ranks = range(len(view.ranks))
    if order == "host":
        first_rank = {view.ranks[index].host: index for index in reversed(ranks)}
        ranks_in_order = sorted(ranks, key=lambda index: first_rank[view.ranks[index].host])
    else:
        ranks_in_order = list(ranks)
    return Group(members=tuple(Rank(index) for index in ranks_in_order), architecture="ring", sync=sync)
