"""Synchronous parameter servers that do not wait for everybody: backup workers.

As ``SyncReplicasOptimizer`` does it (tensorflow/python/training/sync_replicas_optimizer.py,
conditional_accumulator_base.cc; Chen et al., arXiv 1604.00981): a server averages as soon as it has R gradients of the
present version, and drops later ones of that version. When all servers have applied, the chief puts one token for each
rank into a queue, and every rank takes one before its next step. Tokens belong to nobody: a fast rank may take several
of one version, a slow one none.
"""

from hetsim.model.aggregation import Group
from hetsim.model.cluster import Cluster
from hetsim.model.instructions import Collect, Push, Take, Work
from hetsim.plan.parameter_server import Servers, update_ticks
from hetsim.plan.script import Script


def take_tokens(script: Script, group: Group) -> None:
    """Let every rank take a token before each step.

    Parameters
    ----------
    script : Script
        Extended.
    group : Group
        With a quorum.
    """
    job = script.placed.job
    tokens = script.objects.counter(f"{job.name}/tokens")
    n_each = max(job.n_workers, group.quorum)
    # The first step needs no token, and the queue holds as many as gradients are needed (get_init_tokens_op): a rank
    # that is fast begins a second step for the first version, whose gradient comes too late.
    n_first = job.n_workers + group.quorum
    n_tokens = n_first + n_each * job.n_steps
    script.draft.take = Take(counter=tokens, n_tokens=n_tokens, n_first=n_first, n_each=n_each)


def push_to_accumulators(script: Script, cluster: Cluster, group: Group, servers: Servers) -> None:
    """Let every rank push to the servers' accumulators, and servers and chief answer.

    Parameters
    ----------
    script : Script
        Extended; its ranks take tokens.
    cluster : Cluster
        Where the servers' CPUs are.
    group : Group
        With a quorum.
    servers : Servers
        Of the group.
    """
    job, take = script.placed.job, script.draft.take
    assert take is not None
    accumulators = {}
    applied = script.barrier("servers that applied")
    for (server, n_bytes), host in zip(servers.holders, servers.hosts, strict=True):
        accumulator = accumulators[server] = script.objects.counter(f"{job.name}/gradients at {script.name(server)}")
        script.add(server, Collect(counter=accumulator, n_gradients=group.quorum, drops=group.late == "drop"))
        ticks = update_ticks(script.placed, cluster, host, n_bytes)
        script.add(server, Work(resources=(script.objects.cpu(host),), ticks=ticks))
        script.push(server, applied)
        script.set_iterations(server, job.n_steps)
    for rank in range(job.n_workers):
        pushed = script.barrier(f"pushes of {script.name(rank)}")
        for server, n_bytes in servers.holders:
            script.transfer(rank, (rank, server), n_bytes, pushed, accumulator=accumulators[server])
        script.add(rank, pushed)
    chief = script.actor("chief", servers.hosts[0])
    script.add(chief, applied)
    for _ in range(take.n_each):
        script.add(chief, Push(take.counter))
    script.set_iterations(chief, job.n_steps, is_clock=True)
    script.draft.is_cut_off = True
