"""Parameter servers that apply each gradient as it comes, and groups of them that tell each other of their updates.

A client pulls, computes and pushes; each server applies its part of the push by itself, and the client goes on when all
have (the class docstring of ``SyncReplicasOptimizer``, tensorflow/python/training/sync_replicas_optimizer.py, describes
it). With a bound s, nobody begins round c while a client has ended fewer than ``c - s`` rounds (stale synchronous
parallel: Ho et al., NIPS 2013; ``ssp_consistency_controller.cpp`` of sailing-pmls/bosen).

With shared steps whoever is free takes the next one (``ClusterCoordinator``,
tensorflow/python/distribute/coordinator/cluster_coordinator.py). Groups send each other the sum of their updates, once
in so many of them (GSSP, github.com/guizhiyi/GSSP).
"""

from collections.abc import Sequence

from hetsim.model.cluster import Cluster
from hetsim.model.instructions import MOST_ITERATIONS, Push, Take, Wait, Work
from hetsim.plan.entries import Actor, Clock
from hetsim.plan.parameter_server import Holders, Servers, part_bytes, update_ticks
from hetsim.plan.script import Script


def push_and_apply(script: Script, cluster: Cluster, client: tuple[Actor, float], servers: Servers) -> None:
    """Let a client push, each server apply its part by itself, and the client wait for all of them.

    Parameters
    ----------
    script : Script
        Extended.
    cluster : Cluster
        Where the servers' CPUs are.
    client : tuple of (Actor, float)
        Who has gradients, and how many of their bytes.
    servers : Servers
        Where to.
    """
    actor, held = client
    applied = script.barrier(f"gradients of {script.name(actor)} applied")
    for (server, n_bytes), host in zip(servers.holders, servers.hosts, strict=True):
        sent_bytes = part_bytes(script, held, n_bytes)
        arrived = script.barrier(f"gradients of {script.name(actor)} at {script.name(server)}")
        script.transfer(actor, (actor, server), sent_bytes, arrived)
        applier = script.actor(f"{script.name(server)} for {script.name(actor)}", host)
        script.add(applier, arrived)
        ticks = update_ticks(script.placed, cluster, host, sent_bytes)
        script.add(applier, Work(resources=(script.objects.cpu(host),), ticks=ticks))
        script.push(applier, applied)
        if script.draft.take:
            script.set_iterations(applier, MOST_ITERATIONS, is_background=True)
    script.add(actor, applied)


def keep_within(script: Script, clients: Holders, staleness: int) -> None:
    """Let no client begin a round while another one is too far behind.

    Parameters
    ----------
    script : Script
        Extended, before and after all else that the clients do.
    clients : Holders
        All of a group.
    staleness : int
        Rounds that they may be apart.
    """
    ended = {
        actor: script.objects.counter(f"{script.placed.job.name}/rounds of {script.name(actor)}")
        for actor, _ in clients
    }
    for actor, counter in ended.items():
        script.is_early = True
        for other, others in ended.items():
            if other != actor:
                script.add(actor, Clock(others, staleness))
        script.is_early = False
        script.add(actor, Push(counter))


def share_steps(script: Script) -> None:
    """Let all ranks take their steps from one queue.

    Parameters
    ----------
    script : Script
        Extended.
    """
    job = script.placed.job
    n = job.n_steps * job.n_workers
    script.draft.take = Take(counter=script.objects.counter(f"{job.name}/steps"), n_tokens=n, n_first=n)


def tell_each_other(
    script: Script,
    cluster: Cluster,
    groups: Sequence[tuple[Servers, int, int]],
    period: int,
    edges: Sequence[tuple[int, int]],
) -> None:
    """Let the servers of each group send its neighbours the sum of its last updates, who apply it, once a period.

    Parameters
    ----------
    script : Script
        Extended.
    cluster : Cluster
        Where the servers' CPUs are.
    groups : sequence of (Servers, int, int)
        Servers of each group, the counter of its updates, and how many there will be.
    period : int
        Updates between two sends.
    edges : sequence of (int, int)
        From which group to which.
    """
    total = float(script.placed.job.gradient_bytes)
    for a, b in edges:
        servers, n_updates, n_all = groups[a]
        teller = script.actor(f"updates of group {a} for group {b}", "")
        script.set_iterations(teller, n_all // period)
        script.add(teller, Wait(counter=n_updates, base=period, stride=period))
        arrived = script.barrier(f"updates of group {a} at group {b}")
        others = groups[b][0]
        for source, n_bytes in servers.holders:
            for target, share_bytes in others.holders:
                script.transfer(teller, (source, target), n_bytes * share_bytes / total, arrived)
        script.add(teller, arrived)
        for (_, n_bytes), host in zip(others.holders, others.hosts, strict=True):
            ticks = update_ticks(script.placed, cluster, host, n_bytes)
            script.add(teller, Work(resources=(script.objects.cpu(host),), ticks=ticks))
