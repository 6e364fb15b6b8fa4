"""Averaging with neighbours."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def gossip(
    view: AggregationView,
    *,
    sync: Literal["bsp", "local", "async"] = "bsp",
    graph: Literal["complete", "ring", "line"] | tuple[tuple[int, int], ...] = "complete",
    period: int = 1,
    local_after: int = 0,
) -> Group:
    """Average parameters with neighbours only: D-PSGD, or with one of them at a time and without waiting: AD-PSGD.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp", "local", "async"}
        With all neighbours in every step, or once in a period, waiting for them (Lian et al. 2017, arXiv 1705.09056);
        or with a neighbour that is drawn for each step, while the next gradient is computed, and nobody waits
        (Lian et al. 2018, arXiv 1710.06952).
    graph : {"complete", "ring", "line"} or list of pairs of ranks
        Who is a neighbour.
    period : int
        Of local: steps between two exchanges.
    local_after : int
        Of local: so many first steps are followed by an exchange each.

    Returns
    -------
    Group
        All ranks in one group.
    """
    return Group(
        members=tuple(Rank(index) for index in range(len(view.ranks))),
        architecture="gossip",
        sync=sync,
        graph=graph,
        period=period,
        local_after=local_after,
    )
