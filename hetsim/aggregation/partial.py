"""All-reduce among a few workers at a time."""

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def partial(view: AggregationView, *, group_size: int = 2) -> Group:
    """Combine parameters by ring all-reduce in small groups of workers, others in each step, as Prague does.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    group_size : int
        Workers that average together. A slow one delays those that it meets, not all (Luo et al. 2020,
        doi:10.1145/3373376.3378499); who meets whom is drawn beforehand.

    Returns
    -------
    Group
        All ranks in one group; a rank that is alone has nobody to meet.
    """
    ranks = tuple(Rank(index) for index in range(len(view.ranks)))
    if len(ranks) == 1:
        return Group(members=ranks, architecture="ring")
    return Group(members=ranks, architecture="ring", sync="partial", group_size=group_size)
