"""Lower placed jobs to one plan: the only place where it is written what a scheme means."""

from collections.abc import Sequence

from hetsim.model.cluster import Cluster
from hetsim.model.plan import Plan
from hetsim.network.routes import Routes
from hetsim.plan.objects import Objects
from hetsim.plan.parameter_server import lower_parameter_server, server_bytes
from hetsim.plan.placed import PlacedJob
from hetsim.plan.ring import lower_ring
from hetsim.units import format_si


def lower(cluster: Cluster, routes: Routes, placed_jobs: Sequence[PlacedJob]) -> Plan:
    """Return the plan of jobs that start together.

    Parameters
    ----------
    cluster : Cluster
        Where they run.
    routes : Routes
        Its routes.
    placed_jobs : sequence of PlacedJob
        Jobs on disjoint devices.

    Returns
    -------
    Plan
        For an executor.
    """
    objects = Objects(cluster, routes)
    programs, choices = [], []
    for index, placed in enumerate(placed_jobs):
        if placed.tree.architecture == "ring":
            programs += lower_ring(objects, placed, index)
            choices.append(f"{placed.job.name}: ring all-reduce of {len(placed.order)} ranks, message by message")
        else:
            programs += lower_parameter_server(objects, cluster, placed, index)
            choices.append(_describe_servers(placed))
    return Plan(
        jobs=tuple(placed.job.name for placed in placed_jobs),
        resources=tuple(objects.resources),
        counters=tuple(objects.counters),
        programs=tuple(programs),
        changes=tuple(sorted(objects.changes, key=lambda change: (change.tick, change.resource))),
        choices=tuple(choices),
    )


def _describe_servers(placed: PlacedJob) -> str:
    shares = server_bytes(placed.job.variables, len(placed.tree.servers), placed.tree.sharding)
    held = ", ".join(
        f"{format_si(n_bytes, 'B')} on {host}" for host, n_bytes in zip(placed.tree.servers, shares, strict=True)
    )
    return f"{placed.job.name}: synchronous parameter server, {placed.tree.sharding} shares: {held}"
