"""Groups of workers of similar speed, each with parameter servers of its own."""

from typing import Literal

from hetsim.aggregation.hosts import parts
from hetsim.contracts import AggregationView, RankView
from hetsim.model.aggregation import Group, Rank


def grouped_ssp(
    view: AggregationView,
    *,
    groups: int = 0,
    staleness: int = 3,
    period: int = 4,
    sharding: Literal["round-robin", "even"] = "round-robin",
) -> Group:
    """Run SSP inside of groups of equally fast workers, whose servers tell each other of their updates now and then.

    Grouping stale synchronous parallel, as github.com/guizhiyi/GSSP describes it, whose bound and period are the
    defaults.

    Parameters
    ----------
    view : AggregationView
        What may be seen. Server i of the job holds parameters of group ``i mod groups``.
    groups : int
        How many, of equal size, from the fastest workers to the slowest: by the time of a step on what others leave of
        the device. Zero: one for each server, as far as there are workers.
    staleness : int
        Steps by which workers of a group may be apart.
    period : int
        Pushes that the servers of a group apply between two sends of the sum to the others.
    sharding : {"round-robin", "even"}
        Of the servers of a group: whole variables in creation order, or equal shares of the bytes.

    Returns
    -------
    Group
        Groups of parameter servers that gossip asynchronously.

    Raises
    ------
    ValueError
        If there are fewer servers than groups, or fewer workers.
    """
    n_groups = groups or max(1, min(len(view.servers), len(view.ranks)))
    if len(view.servers) < n_groups:
        raise ValueError(f"groups is {n_groups}, but servers is {len(view.servers)}, and each group needs one")
    by_speed = sorted(range(len(view.ranks)), key=lambda rank: _step_s(view.ranks[rank]))
    return Group(
        members=tuple(
            Group(
                members=tuple(Rank(index) for index in sorted(part)),
                architecture="parameter-server",
                sync="ssp",
                staleness=staleness,
                servers=view.servers[number::n_groups],
                sharding=sharding,
            )
            for number, part in enumerate(parts(by_speed, n_groups))
        ),
        architecture="gossip",
        sync="async",
        period=period,
    )


def _step_s(rank: RankView) -> float:
    """Return the time of a step; infinite where others leave nothing of the device."""
    return rank.compute_s / rank.available_frac if rank.available_frac > 0.0 else float("inf")
