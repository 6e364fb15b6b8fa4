"""Ring all-reduce."""

from typing import Literal

from hetsim.aggregation.hosts import ranks_by_host
from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def ring(
    view: AggregationView,
    *,
    sync: Literal["bsp", "local"] = "bsp",
    period: int = 1,
    local_after: int = 0,
    order: Literal["rank", "host"] = "rank",
    messages: Literal["auto", "rounds", "composite"] = "auto",
) -> Group:
    """Combine gradients by ring all-reduce among the workers, without servers.

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
    order : {"rank", "host"}
        Around the ring by rank, or with the ranks of each host side by side, hosts in the order of their first rank:
        then each host sends to one other host only.
    messages : {"auto", "rounds", "composite"}
        Simulate every message of every round, or all of them as one flow over all links, which is much faster; by
        itself it is one flow for more than 64 ranks.

    Returns
    -------
    Group
        All ranks in one group, in ring order.
    """
    if order == "host":
        members = tuple(rank for ranks in ranks_by_host(view).values() for rank in ranks)
    else:
        members = tuple(Rank(index) for index in range(len(view.ranks)))
    return Group(
        members=members,
        architecture="ring",
        sync=sync,
        period=period,
        local_after=local_after,
        messages=messages,
    )
