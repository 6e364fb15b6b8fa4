"""What aggregation policies see of a placed job."""

from collections.abc import Sequence

from hetsim.contracts import AggregationView, RankView
from hetsim.model.cluster import Cluster, Device, Host, share_at
from hetsim.model.job import Job
from hetsim.model.placement import Placement
from hetsim.model.workload import StepTime
from hetsim.network.routes import Routes


def build_view(
    cluster: Cluster, routes: Routes, job: Job, placement: Placement, step_times: Sequence[StepTime]
) -> AggregationView:
    """Return what an aggregation policy may see: the placed job in the state of the cluster at 0 s.

    Parameters
    ----------
    cluster : Cluster
        Where the job runs.
    routes : Routes
        Routes of that cluster.
    job : Job
        What runs.
    placement : Placement
        Device of each rank and host of each server.
    step_times : sequence of StepTime, shape (n_workers,)
        Time of one step of each rank on its device, were it idle.

    Returns
    -------
    AggregationView
        Ranks in their order.
    """
    places = {device.name: (host, device) for host in cluster.hosts for device in host.devices}
    return AggregationView(
        ranks=tuple(
            _rank(*places[name], time.total_s) for name, time in zip(placement.workers, step_times, strict=True)
        ),
        servers=placement.servers,
        gradient_bytes=float(job.gradient_bytes),
        path_bytes_per_s=routes.free_bytes_per_s,
    )


def _rank(host: Host, device: Device, compute_s: float) -> RankView:
    background = host.background.cpu if device.spec.kind == "cpu" else host.background.gpu
    return RankView(
        device=device.name,
        host=host.name,
        kind=device.spec.name,
        compute_s=compute_s,
        available_frac=1.0 - share_at(background, 0.0),
    )
