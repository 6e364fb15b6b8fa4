"""Parameter servers that wait for all gradients, for some of them, or for none."""

from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def parameter_server(
    view: AggregationView,
    *,
    sync: Literal["bsp", "async", "ssp", "local"] = "bsp",
    staleness: int = 0,
    period: int = 1,
    local_after: int = 0,
    quorum: int = 0,
    late: Literal["drop", "apply"] = "drop",
    steps: Literal["each", "shared"] = "each",
    sharding: Literal["round-robin", "even"] = "round-robin",
) -> Group:
    """Send gradients to parameter servers, and go on with the parameters that they answer with.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp", "async", "ssp", "local"}
        Servers answer once all workers have sent (bsp), at once (async), or at once unless the worker is too far ahead
        (ssp: stale synchronous parallel, Ho et al., NIPS 2013). Or workers send parameters, after a number of local
        steps, and wait for each other (local).
    staleness : int
        Of ssp: nobody begins a step while another worker is more than so many behind; 0 is as synchronous as bsp.
    period : int
        Of local: steps between two exchanges.
    local_after : int
        Of local: so many first steps exchange gradients (post-local SGD: Lin et al. 2020, arXiv 1808.07217).
    quorum : int
        Of bsp: gradients that are enough for an update, so that the other workers are backups
        (``replicas_to_aggregate`` of ``SyncReplicasOptimizer``; Chen et al. 2016, arXiv 1604.00981). More than there
        are workers: some make several gradients of each update. Zero: one of each worker.
    late : {"drop", "apply"}
        With a quorum: what becomes of a gradient that comes after its update.
    steps : {"each", "shared"}
        Of async: every worker makes the same number of steps, or whoever is free takes the next one of all, as closures
        are taken from the queue of TensorFlow's ``ClusterCoordinator``.
    sharding : {"round-robin", "even"}
        Whole variables over servers in creation order, as TensorFlow's device setter places them
        (``tensorflow/python/training/device_setter.py``), or equal shares of the bytes.

    Returns
    -------
    Group
        All ranks in one group, over all servers of the job.
    """
    return Group(
        members=tuple(Rank(index) for index in range(len(view.ranks))),
        architecture="parameter-server",
        sync=sync,
        staleness=staleness,
        period=period,
        local_after=local_after,
        quorum=quorum,
        late=late,
        steps=steps,
        servers=view.servers,
        sharding=sharding,
    )
