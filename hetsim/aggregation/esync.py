"""A state server that lets fast workers make further steps while they would wait."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def esync(
    view: AggregationView, *, margin_s: float = 0.5, sharding: Literal["round-robin", "even"] = "round-robin"
) -> Group:
    """Let a state server tell each worker after a step whether there is time for another one, as ESync does.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    margin_s : float
        Seconds: a worker whose next step would end less than this before that of the slowest one waits for the exchange
        instead. The default is that of the code (github.com/lizonghang/ESync).
    sharding : {"round-robin", "even"}
        Whole variables over servers in creation order, or equal shares of the bytes.

    Returns
    -------
    Group
        All ranks in one group, over all servers of the job.
    """
    return Group(
        members=tuple(Rank(index) for index in range(len(view.ranks))),
        architecture="parameter-server",
        sync="state-server",
        margin_s=margin_s,
        servers=view.servers,
        sharding=sharding,
    )
