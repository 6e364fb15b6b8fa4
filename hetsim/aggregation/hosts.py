"""The ranks of each host, or so many in a row, as a group."""

from collections.abc import Sequence
from itertools import pairwise

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


def groups_by_host(view: AggregationView, architecture: Architecture, *, period: int = 1) -> tuple[Group | Rank, ...]:
    """Return the ranks of each host as members of an outer group.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    architecture : Architecture
        Inside of hosts.
    period : int
        Steps between two exchanges inside.

    Returns
    -------
    tuple of Group or Rank
        A rank that is alone on its host stands for itself, unless it makes several steps.
    """
    return tuple(_member(ranks, architecture, period) for ranks in ranks_by_host(view).values())


def groups_in_order(
    view: AggregationView, n_groups: int, architecture: Architecture, *, period: int = 1
) -> tuple[Group | Rank, ...]:
    """Return the ranks in so many groups of equal size, as members of an outer group.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    n_groups : int
        How many.
    architecture : Architecture
        Inside of groups.
    period : int
        Steps between two exchanges inside.

    Returns
    -------
    tuple of Group or Rank
        Ranks in their order; the first groups have one more where sizes cannot be equal.

    Raises
    ------
    ValueError
        If there are fewer ranks than groups.
    """
    cut = parts(range(len(view.ranks)), n_groups)
    return tuple(_member(tuple(map(Rank, part)), architecture, period) for part in cut)


def parts(ranks: Sequence[int], n_groups: int) -> list[Sequence[int]]:
    """Cut ranks into so many parts, whose sizes differ by one at most.

    Parameters
    ----------
    ranks : sequence of int
        In the order that is kept.
    n_groups : int
        How many.

    Returns
    -------
    list of sequence of int
        The larger ones first.

    Raises
    ------
    ValueError
        If there are fewer ranks than groups.

    Examples
    --------
    >>> parts([4, 3, 2, 1, 0], 2)
    [[4, 3, 2], [1, 0]]
    """
    if not 1 <= n_groups <= len(ranks):
        raise ValueError(f"groups is {n_groups}, but {len(ranks)} ranks can be in 1 to {len(ranks)} groups")
    size, n_larger = divmod(len(ranks), n_groups)
    first = [number * size + min(number, n_larger) for number in range(n_groups + 1)]
    return [ranks[a:b] for a, b in pairwise(first)]


def _member(ranks: tuple[Rank, ...], architecture: Architecture, period: int) -> Group | Rank:
    if period > 1:
        return Group(members=ranks, architecture=architecture, sync="local", period=period)
    return ranks[0] if len(ranks) == 1 else Group(members=ranks, architecture=architecture)
