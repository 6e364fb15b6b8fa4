"""The ranks of each host as a group."""

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Architecture, Group, Rank


def ranks_by_host(view: AggregationView) -> dict[str, tuple[Rank, ...]]:
    """Return the ranks of each host.

    Parameters
    ----------
    view : AggregationView
        What may be seen.

    Returns
    -------
    dict of str to tuple of Rank
        Hosts in the order of their first rank.
    """
    found: dict[str, tuple[Rank, ...]] = {}
    for index, rank in enumerate(view.ranks):
        found[rank.host] = (*found.get(rank.host, ()), Rank(index))
    return found


def groups_by_host(view: AggregationView, architecture: Architecture) -> tuple[Group | Rank, ...]:
    """Return the ranks of each host as members of an outer group.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    architecture : Architecture
        Inside of hosts.

    Returns
    -------
    tuple of Group or Rank
        A rank that is alone on its host stands for itself.
    """
    return tuple(
        ranks[0] if len(ranks) == 1 else Group(members=ranks, architecture=architecture)
        for ranks in ranks_by_host(view).values()
    )
