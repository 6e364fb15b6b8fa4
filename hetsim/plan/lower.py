"""Lower placed jobs to one plan: the only place where it is written what a scheme means."""

from collections.abc import Sequence

from hetsim.model.aggregation import Group, Rank, ranks_of, simplified
from hetsim.model.cluster import Cluster
from hetsim.model.plan import Plan
from hetsim.network.routes import Routes
from hetsim.plan.levels import Form, Levels
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob
from hetsim.plan.script import Script
from hetsim.plan.sending import Sender, weights
from hetsim.plan.traffic import traffic_programs
from hetsim.units import format_si
from hetsim.workload.shards import shard_bytes


def lower(
    cluster: Cluster, routes: Routes, placed_jobs: Sequence[PlacedJob], *, seed: int = 0, replication: int = 0
) -> Plan:
    """Return the plan of jobs that start together.

    Parameters
    ----------
    cluster : Cluster
        Where they run.
    routes : Routes
        Its routes.
    placed_jobs : sequence of PlacedJob
        Jobs on disjoint devices.
    seed, replication : int
        Key of the draws that are made here: the weights of connections.

    Returns
    -------
    Plan
        For an executor.
    """
    objects = Objects(cluster, routes)
    programs, choices = [], []
    n_streams = [placed.job.transport.n_streams for placed in placed_jobs]
    least_streams = min([*n_streams, *(traffic.n_streams for traffic in cluster.traffic)], default=1)
    for index, placed in enumerate(placed_jobs):
        job = placed.job
        weight_of = weights(job, job.transport.n_streams / least_streams, seed, replication)
        script = Script(objects, placed, Sender(objects, job, weight_of))
        tree = simplified(placed.tree)
        form: Form = "led"
        is_one_flow = False
        if isinstance(tree, Group):
            levels = Levels(script, cluster, tree, is_alone=len(placed_jobs) == 1, seed=seed)
            form = levels.form_of(tree)
            levels.write()
            is_one_flow = levels.is_one_flow(tree)
        programs += script.programs(index)
        choices.append(f"{placed.job.name}: {_describe(placed, tree, form, is_one_flow=is_one_flow)}")
    programs += traffic_programs(objects, cluster.traffic, least_streams)
    return Plan(
        jobs=tuple(placed.job.name for placed in placed_jobs),
        resources=tuple(objects.resources),
        counters=tuple(objects.counters),
        programs=tuple(programs),
        changes=tuple(sorted(objects.changes, key=lambda change: (change.tick, change.resource))),
        choices=tuple(choices),
        warnings=tuple(objects.warnings.values()),
    )


_FORM_NAMES: dict[Form, str] = {
    "scattered": "parts side by side",
    "led": "sums with the leader of each",
    "whole": "sums with one holder of each",
}


def _describe(placed: PlacedJob, node: Group | Rank, form: Form, *, is_one_flow: bool) -> str:
    """Return what was decided for a job, in words."""
    if isinstance(node, Rank):
        return "one rank, nothing to exchange"
    if all(isinstance(member, Rank) for member in node.members):
        return _describe_flat(placed, node, is_one_flow=is_one_flow)
    members = dict.fromkeys(_name(member) for member in node.members)
    root = _describe_flat(placed, node, is_one_flow=is_one_flow)
    text = f"{root}, over {len(node.members)} members: {'; '.join(members)}"
    return text if node.servers else f"{text}; {_FORM_NAMES[form]}"


def _describe_flat(placed: PlacedJob, group: Group, *, is_one_flow: bool) -> str:
    if group.servers:
        return _describe_servers(placed, group)
    how = "as one flow" if is_one_flow else "message by message"
    kind = "double binary tree" if group.architecture == "tree" else group.architecture
    return f"{kind} all-reduce of {len(list(ranks_of(group)))} ranks, {how}"


def _describe_servers(placed: PlacedJob, group: Group) -> str:
    shares = shard_bytes(placed.job.variables, len(group.servers), group.sharding)
    held = ", ".join(
        f"{format_si(n_bytes, 'B')} on {host}" for host, n_bytes in zip(group.servers, shares, strict=True)
    )
    sharding = "given" if isinstance(group.sharding, tuple) else group.sharding
    partitions = f", in partitions of {format_si(group.partition_bytes, 'B')}" if group.partition_bytes else ""
    return f"synchronous parameter server, {sharding} shares{partitions}: {held}"


def _name(node: Group | Rank) -> str:
    if isinstance(node, Rank):
        return "a rank"
    kinds = dict.fromkeys(member.architecture for member in node.members if isinstance(member, Group))
    inside = f" of {', '.join(kinds)}" if kinds else ""
    return f"{node.architecture}{inside} with {len(list(ranks_of(node)))} ranks"
