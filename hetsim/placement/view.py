"""What placement policies see of a cluster and a job, and the step times behind it."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hetsim.catalog import profiles as catalog_profiles
from hetsim.contracts import HostView, PlacementView, Requirements, SlotView
from hetsim.errors import HetsimError, PlacementError
from hetsim.model.cluster import Cluster, Device, DeviceSpec, Host, share_at
from hetsim.model.job import Job, KnownCompute
from hetsim.model.placement import Placement
from hetsim.model.result import FloatArray
from hetsim.model.workload import Model, StepTime, StepTimeProfile
from hetsim.network.routes import Routes
from hetsim.units import format_iec
from hetsim.workload.memory import server_bytes, update_traffic_bytes, worker_bytes
from hetsim.workload.split import split_balanced, split_by_speed
from hetsim.workload.step_time import step_time


def build_view(
    cluster: Cluster,
    routes: Routes,
    job: Job,
    *,
    taken: frozenset[str],
    held_bytes: Mapping[str, float],
    shards: Sequence[float],
    draws: FloatArray,
) -> PlacementView:
    """Return what a placement policy may see: the state of the cluster at 0 s.

    Parameters
    ----------
    cluster : Cluster
        Where the job may run.
    routes : Routes
        Routes of that cluster.
    job : Job
        What is to be placed.
    taken : frozenset of str
        Devices that other jobs hold.
    held_bytes : mapping of str to float
        Host memory that other jobs hold, by host.
    shards : sequence of float, shape (n_servers,)
        Bytes of parameters that each server is expected to hold.
    draws : FloatArray, shape (n_devices + n_hosts,)
        Uniform numbers for policies that choose by chance.

    Returns
    -------
    PlacementView
        Devices and hosts in the order of the cluster, the job's requirements, and the free rate between hosts.
    """
    compute_s = _compute_estimator(job)
    frozen_draws = np.array(draws, dtype=np.float64)
    frozen_draws.flags.writeable = False
    return PlacementView(
        job=_requirements(job, shards),
        slots=tuple(
            _slot(
                host,
                device,
                compute_s(host, device),
                routes,
                is_taken=device.name in taken,
                free_bytes=_free_bytes(host, held_bytes),
            )
            for host in cluster.hosts
            for device in host.devices
        ),
        hosts=_hosts(cluster, job, held_bytes),
        draws=frozen_draws,
        path_bytes_per_s=routes.free_bytes_per_s,
        path_latency_s=_latency(routes),
    )


def step_times(
    cluster: Cluster, job: Job, placement: Placement, profiles: Sequence[StepTimeProfile]
) -> tuple[StepTime, ...]:
    """Return the time of one step of each placed rank on its device, were it idle.

    Parameters
    ----------
    cluster : Cluster
        Where the job runs.
    job : Job
        What runs; known compute times belong to the rank, whatever its device.
    placement : Placement
        Device of each rank.
    profiles : sequence of StepTimeProfile
        Measured step times.

    Returns
    -------
    tuple of StepTime, shape (n_workers,)
        By rank; each has a batch of its own where the job's is split by speed.

    Raises
    ------
    PlacementError
        If a device cannot hold its part of the batch.
    """
    workload = job.workload
    if isinstance(workload, KnownCompute):
        return tuple(_known(seconds) for seconds in workload.compute_s)
    places = {device.name: (device.spec, _n_cores(host, device)) for host in cluster.hosts for device in host.devices}
    known: dict[tuple[DeviceSpec, int | None, int], StepTime] = {}

    def timed(worker: str, batch: int) -> StepTime:
        spec, n_cores = places[worker]
        if (spec, n_cores, batch) not in known:
            known[spec, n_cores, batch] = step_time(workload, spec, batch, profiles, n_cores=n_cores)
        return known[spec, n_cores, batch]

    times = tuple(timed(worker, job.batch) for worker in placement.workers)
    if job.split == "even":
        return times
    total = job.batch * job.n_workers
    if job.split == "by-speed":
        batches = split_by_speed(total, [job.batch / time.total_s for time in times])
    else:
        batches = split_balanced(total, [functools.partial(_seconds, timed, worker) for worker in placement.workers])
    _check_memory(cluster, job, workload, placement, batches)
    return tuple(
        replace(timed(worker, batch), batch=batch) for worker, batch in zip(placement.workers, batches, strict=True)
    )


def _seconds(timed: Callable[[str, int], StepTime], worker: str, batch: int) -> float:
    return timed(worker, batch).total_s


def _check_memory(cluster: Cluster, job: Job, workload: Model, placement: Placement, batches: Sequence[int]) -> None:
    """Refuse a batch that its device cannot hold; placement has looked at equal batches only."""
    rooms = {
        device.name: host.memory_bytes if device.spec.kind == "cpu" else device.spec.memory_bytes
        for host in cluster.hosts
        for device in host.devices
    }
    for rank, (worker, batch) in enumerate(zip(placement.workers, batches, strict=True)):
        needed, room = worker_bytes(workload, batch), rooms[worker]
        if needed > room:
            short = f"{format_iec(needed)}, {format_iec(needed - room)} more than it has"
            message = f"the split gives rank {rank} on {worker} a batch of {batch}, which needs {short}"
            raise PlacementError(job.placement.policy, job.name, message)


def _known(seconds: float) -> StepTime:
    return StepTime(
        forward_s=seconds, backward_s=0.0, basis="measured", method="given in the scenario", source="scenario"
    )


def _n_cores(host: Host, device: Device) -> int | None:
    return host.n_cores if device.spec.kind == "cpu" else None


def _compute_estimator(job: Job) -> Callable[[Host, Device], float]:
    workload = job.workload
    if isinstance(workload, KnownCompute):
        mean_s = sum(workload.compute_s) / len(workload.compute_s)
        return lambda host, device: mean_s
    profiles = catalog_profiles()
    known: dict[tuple[DeviceSpec, int | None], float] = {}

    def estimate(host: Host, device: Device) -> float:
        key = (device.spec, _n_cores(host, device))
        if key not in known:
            known[key] = step_time(workload, device.spec, job.batch, profiles, n_cores=key[1]).total_s
        return known[key]

    return estimate


def _latency(routes: Routes) -> Callable[[str, str], float]:
    def latency_s(source: str, target: str) -> float:
        try:
            return routes.latency_s(source, target)
        except HetsimError:
            return math.inf

    return latency_s


def _requirements(job: Job, shards: Sequence[float]) -> Requirements:
    workload = job.workload
    return Requirements(
        job=job.name,
        n_workers=job.n_workers,
        n_servers=job.n_servers,
        worker_bytes=0.0 if isinstance(workload, KnownCompute) else worker_bytes(workload, job.batch),
        server_bytes=server_bytes(job.variables, job.n_workers) if job.n_servers else 0.0,
        gradient_bytes=float(job.gradient_bytes),
        shard_frac=_shard_frac(job, shards),
        server_update_s=workload.server_update_s if isinstance(workload, KnownCompute) else 0.0,
    )


def _shard_frac(job: Job, shards: Sequence[float]) -> tuple[float, ...]:
    if job.gradient_bytes == 0:
        return (1.0 / max(job.n_servers, 1),) * job.n_servers
    return tuple(n_bytes / job.gradient_bytes for n_bytes in shards)


def _slot(
    host: Host, device: Device, compute_s: float, routes: Routes, *, is_taken: bool, free_bytes: float
) -> SlotView:
    on_cpu = device.spec.kind == "cpu"
    background = host.background.cpu if on_cpu else host.background.gpu
    return SlotView(
        device=device.name,
        host=host.name,
        kind=device.spec.name,
        compute_s=compute_s,
        available_frac=1.0 - share_at(background, 0.0),
        free_bytes=free_bytes if on_cpu else device.spec.memory_bytes,
        card=device.card,
        card_capacity=device.spec.card_capacity,
        bus_bytes_per_s=routes.free_bytes_per_s(device.name, host.name),
        taken=is_taken,
        bus_latency_s=routes.latency_s(device.name, host.name),
        uses_host_memory=on_cpu,
    )


def _free_bytes(host: Host, held_bytes: Mapping[str, float]) -> float:
    return host.memory_bytes * (1.0 - host.background.memory_frac) - held_bytes.get(host.name, 0.0)


def _hosts(cluster: Cluster, job: Job, held_bytes: Mapping[str, float]) -> tuple[HostView, ...]:
    rates = _network_rates(cluster)
    return tuple(
        HostView(
            name=host.name,
            cpu_available_frac=1.0 - share_at(host.background.cpu, 0.0),
            update_s=_update_s(job, host),
            free_bytes=_free_bytes(host, held_bytes),
            network_bytes_per_s=rates.get(host.name, (0.0, False))[0],
            is_half_duplex=rates.get(host.name, (0.0, False))[1],
        )
        for host in cluster.hosts
    )


def _network_rates(cluster: Cluster) -> dict[str, tuple[float, bool]]:
    """Return the best free rate of each node's network links, and whether both directions share it."""
    rates: dict[str, tuple[float, bool]] = {}
    for link in cluster.network_links:
        rate = link.bytes_per_s * (1.0 - share_at(link.background, 0.0))
        for node in (link.a, link.b):
            if rate > rates.get(node, (0.0, False))[0]:
                rates[node] = (rate, link.duplex == "half")
    return rates


def _update_s(job: Job, host: Host) -> float:
    if isinstance(job.workload, KnownCompute):
        return 0.0  # the given time is that of each server, whatever its share
    return update_traffic_bytes(job.gradient_bytes) / host.cpu.memory_bytes_per_s
