"""Ask a job's aggregation policy, and check the tree it returns."""

from typing import get_args

from hetsim.aggregation.table import POLICIES
from hetsim.contracts import AggregationView, Aggregator
from hetsim.errors import PolicyError
from hetsim.lookup import ask, find_plugin, unknown
from hetsim.model.aggregation import Architecture, Group, Rank, Sharding, Sync
from hetsim.model.job import Job


def aggregate(job: Job, view: AggregationView) -> Group:
    """Return how a job's workers combine their gradients, as its aggregation policy decides.

    Parameters
    ----------
    job : Job
        Names the policy and its parameters.
    view : AggregationView
        What the policy may see.

    Returns
    -------
    Group
        Checked: one flat group that holds each rank once; servers where parameters live on servers, and only there.

    Raises
    ------
    UnknownNameError
        If there is no such policy.
    PolicyError
        If the policy fails, or its tree cannot be run; the message names the node of the tree.
    """
    policy = job.aggregation.policy
    aggregator = find_plugin(POLICIES, policy, "aggregation policy", "hetsim.aggregation")
    names = (policy, job.name)
    if not isinstance(aggregator, Aggregator):
        raise PolicyError(*names, f"a {type(aggregator).__name__} is not an Aggregator")
    tree = ask(aggregator.function, view, job.aggregation.parameters, names=names, kind=Group)
    problem = _vocabulary(tree) or _members(tree, len(view.ranks)) or _servers(tree, view)
    if problem:
        raise PolicyError(*names, problem)
    return tree


def _vocabulary(tree: Group) -> str:
    for field, value, choices in (
        ("architecture", tree.architecture, get_args(Architecture)),
        ("sync", tree.sync, get_args(Sync)),
        ("sharding", tree.sharding, get_args(Sharding)),
    ):
        if value not in choices:
            return f"aggregation.{field}: {unknown(field, str(value), choices)}"
    return ""


def _members(tree: Group, n_ranks: int) -> str:
    where: dict[int, int] = {}
    for position, member in enumerate(tree.members):
        path = f"aggregation.members[{position}]"
        if isinstance(member, Group):
            return f"{path}: a group inside a group cannot be run, only one flat group of ranks"
        if not isinstance(member, Rank):
            return f"{path}: a {type(member).__name__} is not a Rank"
        if member.index not in range(n_ranks):
            return f"{path}: there is no rank {member.index}, ranks are 0 to {n_ranks - 1}"
        if member.index in where:
            return f"{path}: rank {member.index} is already aggregation.members[{where[member.index]}]"
        where[member.index] = position
    missing = [rank for rank in range(n_ranks) if rank not in where]
    if missing:
        return f"aggregation.members: without rank {', '.join(map(str, missing))}"
    return ""


def _servers(tree: Group, view: AggregationView) -> str:
    if tree.architecture == "ring":
        return "aggregation.servers: a ring has none" if tree.servers else ""
    if not tree.servers:
        return "aggregation.servers: parameter servers are needed, and the job has none placed"
    for position, server in enumerate(tree.servers):
        if server not in view.servers:
            return (
                f"aggregation.servers[{position}]: no parameter server was placed on {server!r}; placed on: "
                f"{', '.join(view.servers) or 'none'}"
            )
    return ""
