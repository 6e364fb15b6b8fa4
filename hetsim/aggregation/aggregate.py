"""Ask a job's aggregation policy, and check the tree it returns."""

import dataclasses

from hetsim.aggregation.checks import flaws_of
from hetsim.aggregation.find import find_aggregator
from hetsim.aggregation.shape import mistyped
from hetsim.contracts import AggregationView
from hetsim.errors import PolicyError
from hetsim.lookup import ask
from hetsim.model.aggregation import Group, Rank
from hetsim.model.job import Job

GIVEN = "tree"
"""Named in errors where a scenario gives the tree itself."""


def aggregate(job: Job, view: AggregationView) -> Group:
    """Return how a job's workers combine their gradients: as the scenario says, or as its aggregation policy decides.

    Parameters
    ----------
    job : Job
        Gives the tree, or names the policy and its parameters.
    view : AggregationView
        What the policy may see.

    Returns
    -------
    Group
        Checked: it holds each rank once; servers where parameters live on servers, and only there.

    Raises
    ------
    UnknownNameError
        If there is no such policy.
    PolicyError
        If the policy fails, or its tree cannot be run; the message names the node of the tree.
    """
    if isinstance(job.aggregation, Group):
        names = (GIVEN, job.name)
        tree = _with_hosts(job.aggregation, view.servers)
    else:
        names = (job.aggregation.policy, job.name)
        function = find_aggregator(job.aggregation.policy).function
        tree = ask(function, view, job.aggregation.parameters, names=names, kind=Group)
        for flaw in mistyped(tree):
            raise PolicyError(*names, str(flaw))
    for flaw in flaws_of(tree, len(view.ranks), view.servers, [rank.host for rank in view.ranks]):
        raise PolicyError(*names, str(flaw))
    if job.compression is not None and job.compression.kind == "top-k" and not _takes_sparse(tree):
        message = "top-k gradients go to parameter servers, or round a ring of all ranks: elsewhere no sum is as sparse"
        raise PolicyError(*names, message)
    return tree


def _takes_sparse(tree: Group) -> bool:
    """Return whether gradients with indices can be combined: a server adds them, and a ring gathers them."""
    is_flat = all(isinstance(member, Rank) for member in tree.members)
    return is_flat and (tree.architecture == "parameter-server" or (tree.architecture, tree.sync) == ("ring", "bsp"))


def _with_hosts(group: Group, hosts: tuple[str, ...]) -> Group:
    """Return the tree of a scenario, which numbers the servers of its job, with their hosts."""
    members = tuple(_with_hosts(member, hosts) if isinstance(member, Group) else member for member in group.members)
    return dataclasses.replace(group, members=members, servers=tuple(hosts[int(server)] for server in group.servers))
