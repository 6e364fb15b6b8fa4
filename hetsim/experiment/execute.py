"""Run the replications of scenarios, in this process or in a pool; the records are the same to the byte."""

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast, get_args

import numpy as np

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.find import find_aggregator
from hetsim.aggregation.view import build_view as build_aggregation_view
from hetsim.catalog.tables import profiles
from hetsim.engine.simulate import simulate
from hetsim.errors import HetsimError, Issue, ScenarioError, SimulationError, WorkerError
from hetsim.experiment.pool import no_interrupt, workers
from hetsim.kernels.draws import stream_key, uniforms
from hetsim.model.aggregation import Group, Sharding, simplified
from hetsim.model.cluster import Cluster
from hetsim.model.instructions import Collect
from hetsim.model.job import Job
from hetsim.model.plan import Plan
from hetsim.model.result import FloatArray, JobRun, LinkRun, PlanRun, Record, Trace
from hetsim.network.routes import Routes
from hetsim.placement.capacity import host_bytes
from hetsim.placement.place import place
from hetsim.placement.view import build_view as build_placement_view
from hetsim.placement.view import step_times
from hetsim.plan.lower import lower
from hetsim.plan.placed import PlacedJob
from hetsim.units import TICKS_PER_S, format_iec, to_seconds
from hetsim.workload.shards import shard_bytes, shard_bytes_of

if TYPE_CHECKING:
    from hetsim.engine.compiled import CompiledPlan

_CHUNKS_PER_PROCESS: Final = 4
"""Chunks are large enough to hide the 63-82 us that a task costs in a pool, and small enough to keep all busy."""

MOST_RECORDED_BYTES: Final = 2 * 2**30
"""What the recordings of all points and replications may take in memory; more is refused before anything runs."""

_STEP_BYTES: Final = 4 * 8
"""A `Trace` holds four numbers of 8 bytes for each step and rank."""

MOST_WORKER_STEPS: Final = 100_000
"""The SimPy engine takes about as long for these as the kernel takes to compile for the first time."""

Progress = Callable[[int, int], None]
"""Called with the replications done and the replications in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One scenario without its strings: all that its replications need.

    Parameters
    ----------
    name : str
        Of the scenario.
    cluster : Cluster
        Where.
    jobs : tuple of Job
        What, placed in this order on what is left.
    seed : int
        Key of all draws.
    n_replications : int
        How often, numbered from zero.
    engine : {"simpy", "kernel", "auto"}
        Executor of plans; auto is settled by `executor`.
    """

    name: str
    cluster: Cluster
    jobs: tuple[Job, ...]
    seed: int
    n_replications: int
    engine: str = "auto"

    @property
    def executor(self) -> str:
        """Executor of plans: the kernel, much faster once it is compiled, for more than `MOST_WORKER_STEPS`.

        It asks nobody while it runs, so that jobs with a state server are left to the engine.
        """
        if self.engine != "auto":
            return self.engine
        if any(_has_state_server(job) for job in self.jobs):
            return "simpy"
        n_worker_steps = self.n_replications * sum(job.n_steps * job.n_workers for job in self.jobs)
        return "kernel" if n_worker_steps > MOST_WORKER_STEPS else "simpy"


def _has_state_server(job: Job) -> bool:
    """Return whether it is decided while a job runs when its workers exchange."""
    given = job.aggregation
    return given.sync == "state-server" if isinstance(given, Group) else given.policy == "esync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the replications of one scenario gave.

    Parameters
    ----------
    record : Record
        Jobs and links.
    choices : tuple of str
        What the lowering decided, each once, in the order it came up.
    warnings : tuple of str
        What a user should know, each once.
    """

    record: Record
    choices: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def execute(setups: Sequence[Setup], *, processes: int = 1, on_progress: Progress | None = None) -> tuple[Outcome, ...]:
    """Run all replications of all setups.

    Parameters
    ----------
    setups : sequence of Setup
        One for each point of a comparison.
    processes : int
        Processes that share the work; 1 runs in this one.
    on_progress : callable, optional
        Called in this process after each replication, or each chunk of them.

    Returns
    -------
    tuple of Outcome
        One for each setup; the same bytes whatever the number of processes.

    Raises
    ------
    ScenarioError
        If there are more steps than can be recorded.
    HetsimError
        If a policy, the lowering or the simulation fails; of several failures that of the first task.
    WorkerError
        If a process of the pool dies.
    """
    if processes < 1:
        raise HetsimError(f"{processes} processes cannot run anything: use 1 or more")
    _check_size(setups)
    n_total = sum(setup.n_replications for setup in setups)
    notify = on_progress or (lambda done, total: None)
    notify(0, n_total)
    if processes == 1:
        return tuple(_serial(setups, lambda done: notify(done, n_total)))
    return _parallel(setups, processes, lambda done: notify(done, n_total))


def _check_size(setups: Sequence[Setup]) -> None:
    """Refuse what cannot be recorded; says how many steps of the longest job can."""
    sizes = [
        (setup.n_replications * job.n_steps * job.n_workers * _STEP_BYTES, job)
        for setup in setups
        for job in setup.jobs
    ]
    total = sum(size for size, _ in sizes)
    if total <= MOST_RECORDED_BYTES:
        return
    _, job = max(sizes, key=lambda pair: pair[0])
    n_times = sum(setup.n_replications for setup in setups)
    message = (
        f"{job.n_steps} steps on {job.n_workers} devices, run {n_times} times: the recordings of all jobs would take "
        f"{format_iec(total)}, and may take {format_iec(MOST_RECORDED_BYTES)}; "
        f"up to {job.n_steps * MOST_RECORDED_BYTES // total} steps are possible"
    )
    raise ScenarioError([Issue(path=f"jobs[{job.name}].steps", message=message)])


def _serial(setups: Sequence[Setup], notify: Callable[[int], None]) -> Iterator[Outcome]:
    n_done = 0
    for setup in setups:
        routes = Routes(setup.cluster)
        parts = []
        for replication in range(setup.n_replications):
            parts.append(replicate(setup, routes, replication))
            n_done += 1
            notify(n_done)
        yield _join(parts)


def _parallel(setups: Sequence[Setup], processes: int, notify: Callable[[int], None]) -> tuple[Outcome, ...]:
    tasks = list(_chunks(setups, processes))
    try:
        with workers(min(processes, len(tasks))) as pool:
            with no_interrupt():
                futures = [pool.submit(_run_chunk, setups[point], numbers) for point, numbers in tasks]
            _watch(futures, notify)
            parts = [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise WorkerError("a worker process ended before its work was done (was it out of memory?)") from error
    by_point: list[list[Outcome]] = [[] for _ in setups]
    for (point, _), part in zip(tasks, parts, strict=True):
        by_point[point].append(part)
    return tuple(_join(outcomes) for outcomes in by_point)


def _chunks(setups: Sequence[Setup], processes: int) -> Iterator[tuple[int, range]]:
    n_total = sum(setup.n_replications for setup in setups)
    size = max(1, math.ceil(n_total / (processes * _CHUNKS_PER_PROCESS)))
    for point, setup in enumerate(setups):
        for first in range(0, setup.n_replications, size):
            yield point, range(first, min(first + size, setup.n_replications))


def _watch(futures: Sequence[Future[Outcome]], notify: Callable[[int], None]) -> None:
    n_done = 0
    for future in as_completed(futures):
        if future.exception() is not None:
            # Stop early; the caller asks the futures in order, so that the error does not depend on the timing.
            return
        n_done += len({run.replication for run in future.result().record.jobs})
        notify(n_done)


def _run_chunk(setup: Setup, replications: range) -> Outcome:
    routes = Routes(setup.cluster)
    return _join([replicate(setup, routes, replication) for replication in replications])


def _join(parts: Iterable[Outcome]) -> Outcome:
    parts = list(parts)
    return Outcome(
        record=Record(
            jobs=tuple(run for part in parts for run in part.record.jobs),
            links=tuple(link for part in parts for link in part.record.links),
        ),
        choices=tuple(dict.fromkeys(choice for part in parts for choice in part.choices)),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
    )


def replicate(setup: Setup, routes: Routes, replication: int) -> Outcome:
    """Place, lower and simulate one replication.

    Parameters
    ----------
    setup : Setup
        The scenario.
    routes : Routes
        Of its cluster; they remember what they found from one replication to the next.
    replication : int
        Its number.

    Returns
    -------
    Outcome
        Of this replication alone.

    Raises
    ------
    HetsimError
        If a policy, the lowering or the simulation fails, or a job takes no time at all.
    """
    placed = _place_all(setup, routes, replication)
    plan = lower(setup.cluster, routes, placed, seed=setup.seed, replication=replication)
    run = _run(plan, setup, replication)
    hosts = {device.name: device.host for device in setup.cluster.devices}
    gradients = [_n_gradients(plan, run, job) for job in range(len(placed))]
    traces = zip(placed, run.jobs, gradients, strict=True)
    jobs = tuple(_job_run(item, trace, taken, hosts, replication) for item, trace, taken in traces)
    record = Record(jobs=jobs, links=_link_runs(plan, run, replication))
    return Outcome(record=record, choices=plan.choices, warnings=plan.warnings)


def _run(plan: Plan, setup: Setup, replication: int) -> PlanRun:
    if setup.executor == "kernel":
        return _compiled(plan).run(seed=setup.seed, replication=replication)
    return simulate(plan, seed=setup.seed, replication=replication)


@functools.lru_cache(maxsize=8)
def _compiled(plan: Plan) -> "CompiledPlan":
    """Return a plan as arrays; replications that are placed alike share one."""
    from hetsim.engine.compiled import CompiledPlan

    return CompiledPlan(plan)


def _place_all(setup: Setup, routes: Routes, replication: int) -> list[PlacedJob]:
    """Place jobs in the order of the file, each on what those before it left."""
    cluster = setup.cluster
    taken: set[str] = set()
    held_bytes: defaultdict[str, float] = defaultdict(float)
    placed = []
    for job in setup.jobs:
        n_draws = len(cluster.devices) + len(cluster.hosts)
        draws = uniforms(setup.seed, replication, stream_key("placement", job.name), n_draws)
        view = build_placement_view(
            cluster,
            routes,
            job,
            taken=frozenset(taken),
            held_bytes=held_bytes,
            shards=_shards(job),
            draws=draws,
        )
        placement = place(job, view)
        taken.update(placement.workers)
        for host, n_bytes in host_bytes(view, placement).items():
            held_bytes[host] += n_bytes
        times = step_times(cluster, job, placement, profiles())
        tree = aggregate(job, build_aggregation_view(cluster, routes, job, placement, times))
        placed.append(PlacedJob(job=job, placement=placement, tree=tree, step_times=times))
    return placed


def _shards(job: Job) -> tuple[float, ...]:
    """Return the bytes of each server, as far as that is known before the aggregation policy has seen them."""
    if isinstance(job.aggregation, Group):
        return shard_bytes_of(job.aggregation, job.variables, job.n_servers)
    if job.n_servers == 0:
        return ()
    sharding = job.aggregation.parameters.get("sharding")
    if sharding not in get_args(Sharding):
        sharding = find_aggregator(job.aggregation.policy).sharding
    return shard_bytes(job.variables, job.n_servers, cast("Sharding", sharding))


def _job_run(
    placed: PlacedJob, trace: Trace, n_gradients: FloatArray, hosts: Mapping[str, str], replication: int
) -> JobRun:
    if not np.any(trace.step_end > 0):
        message = f"job {placed.job.name!r} took no time at all, so its rates are undefined: give it some compute time"
        raise SimulationError(message, 0.0)
    return JobRun(
        job=placed.job.name,
        replication=replication,
        batch=placed.job.batch,
        placement=placed.placement,
        hosts=tuple(hosts[device] for device in placed.placement.workers),
        step_times=placed.step_times,
        trace=trace,
        tree=simplified(placed.tree),
        n_gradients=n_gradients,
        accumulate=placed.job.accumulate,
        skips=placed.job.slots is not None and placed.job.slots.unfinished == "skip",
        compression=placed.job.compression,
        efficiency=placed.job.convergence,
    )


def _n_gradients(plan: Plan, run: PlanRun, job: int) -> FloatArray:
    """Return how many gradients each update of a job took, mean over its servers; empty where nobody collects any."""
    owners = [program.job for program in plan.programs for entry in program.body if isinstance(entry, Collect)]
    counts = [taken for owner, taken in zip(owners, run.collected, strict=True) if owner == job]
    return np.mean(counts, axis=0) if counts else np.zeros(0)


def _link_runs(plan: Plan, run: PlanRun, replication: int) -> tuple[LinkRun, ...]:
    return tuple(
        LinkRun(
            link=resource.name,
            replication=replication,
            carried_bytes=carried_bytes,
            capacity_bytes_per_s=resource.capacity * TICKS_PER_S,
            duration_s=to_seconds(run.end),
        )
        for resource, carried_bytes in zip(plan.resources, run.carried.tolist(), strict=True)
        if resource.kind == "link" and carried_bytes > 0.0
    )
