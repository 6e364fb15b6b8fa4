"""Synchronous parameter servers, as TensorFlow's sync replicas work when no replica is a backup, or as BytePS does.

Each step, a rank pulls the parameters from every server, computes, and pushes its gradients to every server. A server
that has the gradients of all ranks applies them; when all servers have, every rank goes on (the token queue of
``SyncReplicasOptimizer``, tensorflow/python/training/sync_replicas_optimizer.py).

With partitions, servers only sum, and the ranks apply: a server returns the sum of a partition while the next one is on
its way (BytePS, docs/rationale.md and docs/best-practice.md). Then each direction of a link is busy once for all bytes
that it carries in pushes and pulls together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hetsim.model.aggregation import Group
from hetsim.model.cluster import Cluster
from hetsim.model.instructions import Work
from hetsim.model.job import KnownCompute
from hetsim.plan.entries import Actor, Message
from hetsim.plan.placed import PlacedJob
from hetsim.plan.script import Script
from hetsim.units import to_ticks
from hetsim.workload.memory import update_traffic_bytes
from hetsim.workload.shards import shard_bytes

SUM_ACCESSES_PER_BYTE: Final = 3.0
"""Of adding a gradient to a sum: read both, write one. As in `update_traffic_bytes`, gradients that came earlier are
taken to be summed while later ones arrive."""

Holders = tuple[tuple[Actor, float], ...]
"""Who holds an aggregate, and how many of its bytes each."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one group that hold anything, as actors.

    Parameters
    ----------
    holders : Holders
        Actor and bytes of each.
    hosts : tuple of str
        Where each is.
    """

    holders: Holders
    hosts: tuple[str, ...]

    @property
    def actors(self) -> tuple[Actor, ...]:
        """Without their bytes."""
        return tuple(actor for actor, _ in self.holders)


def add_servers(script: Script, group: Group, n_before: int) -> Servers:
    """Add the servers of a group to a script.

    Parameters
    ----------
    script : Script
        Extended.
    group : Group
        With servers.
    n_before : int
        Servers that the job has already.

    Returns
    -------
    Servers
        A server without variables has no part in anything.
    """
    shares = shard_bytes(script.placed.job.variables, len(group.servers), group.sharding)
    used = [(host, n_bytes) for host, n_bytes in zip(group.servers, shares, strict=True) if n_bytes > 0.0]
    holders = tuple(
        (script.actor(f"server {n_before + index}", host), n_bytes) for index, (host, n_bytes) in enumerate(used)
    )
    return Servers(holders, tuple(host for host, _ in used))


def push_all(script: Script, clients: Holders, servers: Servers) -> None:
    """Let every client send each server its part, and each server wait for all of them.

    Parameters
    ----------
    script : Script
        Extended.
    clients : Holders
        Who has gradients to add; one with a part of the bytes sends that part of each server's.
    servers : Servers
        Where to.
    """
    received = {server: script.barrier(f"gradients at {script.name(server)}") for server in servers.actors}
    for client, held in clients:
        for server, n_bytes in servers.holders:
            script.transfer(client, (client, server), part_bytes(script, held, n_bytes), received[server])
    for server in servers.actors:
        script.add(server, received[server])


def apply_all(script: Script, cluster: Cluster, clients: Sequence[Actor], servers: Servers) -> None:
    """Let every server apply the gradients, and every client wait until all have.

    Parameters
    ----------
    script : Script
        Extended.
    cluster : Cluster
        Where the servers' CPUs are.
    clients : sequence of Actor
        Who goes on then.
    servers : Servers
        Of the group.
    """
    applied = script.barrier(f"servers that applied, from {script.name(servers.actors[0])} on")
    for (server, n_bytes), host in zip(servers.holders, servers.hosts, strict=True):
        ticks = update_ticks(script.placed, cluster, host, n_bytes)
        script.add(server, Work(resources=(script.objects.cpu(host),), ticks=ticks))
        script.push(server, applied)
    for client in clients:
        script.add(client, applied)


def pull_all(script: Script, clients: Holders, servers: Servers) -> None:
    """Let every client fetch its part from each server.

    Parameters
    ----------
    script : Script
        Extended.
    clients : Holders
        Who wants parameters.
    servers : Servers
        Where from.
    """
    for client, held in clients:
        pulled = script.barrier(f"pulls of {script.name(client)}")
        for server, n_bytes in servers.holders:
            script.transfer(client, (server, client), part_bytes(script, held, n_bytes), pulled)
        script.add(client, pulled)


def exchange_in_partitions(
    script: Script, cluster: Cluster, clients: Holders, servers: Servers, partition_bytes: float
) -> None:
    """Let servers sum and return partition after partition.

    Parameters
    ----------
    script : Script
        Extended.
    cluster : Cluster
        Where the servers' CPUs are.
    clients : Holders
        Who has gradients, and wants their sum.
    servers : Servers
        Each has its share of every partition.
    partition_bytes : float
        Of all servers together, at most.
    """
    k = math.ceil(script.placed.job.gradient_bytes / partition_bytes)
    returning: list[list[Message]] = []
    for partition in range(k):
        role: Literal["next", "lone"] = "next" if partition else "lone"
        sent = [
            script.send(client, server, part_bytes(script, held, n_bytes) / k, role)
            for client, held in clients
            for server, n_bytes in servers.holders
        ]
        for message in sent:
            script.receive(message)
        for (server, n_bytes), host in zip(servers.holders, servers.hosts, strict=True):
            traffic_bytes = SUM_ACCESSES_PER_BYTE * n_bytes
            ticks = _server_ticks(script.placed, cluster.host(host).cpu.memory_bytes_per_s, traffic_bytes, k)
            script.add(server, Work(resources=(script.objects.cpu(host),), ticks=ticks))
        returning.append(
            [
                script.send(server, client, part_bytes(script, held, n_bytes) / k, role)
                for server, n_bytes in servers.holders
                for client, held in clients
            ]
        )
    for messages in returning:
        for message in messages:
            script.receive(message)


def part_bytes(script: Script, held: float, n_bytes: float) -> float:
    """Return how many bytes of a server's a holder of some part exchanges with it.

    Parameters
    ----------
    script : Script
        Of the job.
    held : float
        Bytes of the part.
    n_bytes : float
        That the server holds.

    Returns
    -------
    float
        The same part of the server's bytes.
    """
    total = float(script.placed.job.gradient_bytes)
    return n_bytes if held == total else n_bytes * (held / total)


def update_ticks(placed: PlacedJob, cluster: Cluster, host: str, n_bytes: float) -> int:
    """Return how long a server takes to apply a gradient.

    Parameters
    ----------
    placed : PlacedJob
        The job.
    cluster : Cluster
        Where its servers are.
    host : str
        Of the server.
    n_bytes : float
        Parameters that are updated.

    Returns
    -------
    int
        Ticks on an idle CPU.
    """
    memory_bytes_per_s = cluster.host(host).cpu.memory_bytes_per_s
    return _server_ticks(placed, memory_bytes_per_s, update_traffic_bytes(n_bytes), 1)


def _server_ticks(placed: PlacedJob, memory_bytes_per_s: float, traffic_bytes: float, n_parts: int) -> int:
    """Return how long a server works on one of so many parts of what it does in a step."""
    workload = placed.job.workload
    if isinstance(workload, KnownCompute):
        return to_ticks(workload.server_update_s / n_parts)
    return to_ticks(traffic_bytes / memory_bytes_per_s / n_parts)
