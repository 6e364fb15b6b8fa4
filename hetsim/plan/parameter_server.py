"""Synchronous parameter server, as TensorFlow's sync replicas do it when no replica is a backup.

Each step, a rank pulls the parameters from every server, computes, and pushes its gradients to every server. A server
that has the gradients of all ranks applies them; when all servers have, every rank goes on (the token queue of
``SyncReplicasOptimizer``, tensorflow/python/training/sync_replicas_optimizer.py).
"""

from collections.abc import Sequence
from itertools import cycle

from hetsim.model.aggregation import Sharding
from hetsim.model.cluster import Cluster
from hetsim.model.job import KnownCompute
from hetsim.model.plan import Flow, Instruction, Program, Push, Wait, Work
from hetsim.model.workload import Variable
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob, compute_work
from hetsim.units import to_ticks
from hetsim.workload.memory import update_traffic_bytes


def server_bytes(variables: Sequence[Variable], n_servers: int, sharding: Sharding) -> tuple[float, ...]:
    """Return the bytes of parameters on each server.

    Parameters
    ----------
    variables : sequence of Variable
        In creation order.
    n_servers : int
        Servers.
    sharding : {"round-robin", "even"}
        Variable j on server ``j mod n_servers`` (tensorflow/python/training/device_setter.py), or equal shares.

    Returns
    -------
    tuple of float, shape (n_servers,)
        Bytes.

    Examples
    --------
    >>> server_bytes([Variable("a", 10), Variable("b", 1), Variable("c", 2)], 2, "round-robin")
    (48.0, 4.0)
    """
    if sharding == "even":
        return (sum(variable.n_bytes for variable in variables) / n_servers,) * n_servers
    held = [0.0] * n_servers
    for variable, server in zip(variables, cycle(range(n_servers)), strict=False):
        held[server] += variable.n_bytes
    return tuple(held)


def lower_parameter_server(objects: Objects, cluster: Cluster, placed: PlacedJob, job: int) -> list[Program]:
    """Return the programs of one job under a flat synchronous parameter server.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    cluster : Cluster
        Where the servers' CPUs are.
    placed : PlacedJob
        The job.
    job : int
        Its index.

    Returns
    -------
    list of Program
        Ranks, then servers; a server without variables has none.
    """
    name, servers = placed.job.name, placed.tree.servers
    shares = server_bytes(placed.job.variables, len(servers), placed.tree.sharding)
    used = [(host, n_bytes) for host, n_bytes in zip(servers, shares, strict=True) if n_bytes > 0.0]
    received = [objects.counter(f"{name}/gradients at server {s}") for s in range(len(used))]
    applied = objects.counter(f"{name}/servers that applied")
    programs = []
    for rank in range(placed.job.n_workers):
        device = placed.placement.workers[rank]
        pulled = objects.counter(f"{name}/pulls of rank {rank}")
        body: list[Instruction] = [_flow(objects, host, device, n_bytes, pulled) for host, n_bytes in used]
        body.append(Wait(counter=pulled, base=len(used), stride=len(used)))
        body.append(compute_work(objects, placed, rank))
        body += [
            _flow(objects, device, host, n_bytes, counter)
            for (host, n_bytes), counter in zip(used, received, strict=True)
        ]
        body.append(Wait(counter=applied, base=len(used), stride=len(used)))
        programs.append(_program(placed, f"{name}/rank {rank}", job, rank, body))
    for server, (host, n_bytes) in enumerate(used):
        n = placed.job.n_workers
        body = [Wait(counter=received[server], base=n, stride=n)]
        body.append(Work(resources=(objects.cpu(host),), ticks=_update_ticks(cluster, placed, host, n_bytes)))
        body.append(Push(applied))
        programs.append(_program(placed, f"{name}/server {server}", job, -1, body))
    return programs


def _flow(objects: Objects, source: str, target: str, n_bytes: float, signal: int) -> Flow:
    usage, latency_ticks = objects.way(source, target)
    return Flow(usage=usage, n_bytes=n_bytes, latency_ticks=latency_ticks, signals=(signal,))


def _update_ticks(cluster: Cluster, placed: PlacedJob, host: str, n_bytes: float) -> int:
    workload = placed.job.workload
    if isinstance(workload, KnownCompute):
        return to_ticks(workload.server_update_s)
    return to_ticks(update_traffic_bytes(n_bytes) / cluster.host(host).cpu.memory_bytes_per_s)


def _program(placed: PlacedJob, name: str, job: int, rank: int, body: list[Instruction]) -> Program:
    return Program(name=name, job=job, rank=rank, body=tuple(body), n_iterations=placed.job.n_steps)
