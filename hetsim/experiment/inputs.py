"""What a result rests on: every input with its basis, its method and its source."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hetsim.catalog.convergence import figures as convergence_figures
from hetsim.catalog.transports import figures
from hetsim.experiment.execute import Setup
from hetsim.metrics.efficiency import DELAY_SOURCE
from hetsim.model.cluster import IDLE, Host, Link
from hetsim.model.job import Job
from hetsim.model.result import JobRun, Record
from hetsim.model.transport import IDEAL
from hetsim.model.workload import Model
from hetsim.units import format_iec, format_si

GIVEN = "given in the scenario"
CATALOG = "catalog"
BOUND = "shape of a bound, its constant taken as one"
STEP_TIME = "step time of"
"""How the names of inputs begin that say how long a step takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One figure, or a few that belong together.

    Parameters
    ----------
    input : str
        What.
    basis : {"measured", "derived", "assumed"}
        Measured on the thing itself; derived from such a measurement beyond its range; assumed without one.
    method : str
        How it was arrived at.
    source : str
        Where it comes from.
    """

    input: str
    basis: Literal["measured", "derived", "assumed"]
    method: str
    source: str


def inputs(setup: Setup, record: Record) -> tuple[Input, ...]:
    """Return the inputs of a result, each once.

    Parameters
    ----------
    setup : Setup
        The scenario as built.
    record : Record
        What ran, for the devices and links that were used.

    Returns
    -------
    tuple of Input
        Step times, devices, servers, links, background load, jitter and convergence, in the order of jobs and hosts.
    """
    found: list[Input] = []
    jobs = {job.name: job for job in setup.jobs}
    for run in record.jobs:
        found += _step_times(setup, jobs[run.job], run)
    found += _devices(setup, record)
    found += _links(setup, record)
    found += _background([host.name for host in setup.cluster.hosts if _is_busy(host)])
    found += [_transport(job) for job in setup.jobs if job.transport.name != IDEAL.name]
    found += [_jitter(job) for job in setup.jobs if job.jitter_cv > 0.0]
    for job in setup.jobs:
        found += _convergence(job)
    return tuple(dict.fromkeys(found))


def _step_times(setup: Setup, job: Job, run: JobRun) -> Iterator[Input]:
    kinds = {device.name: device.spec.name for device in setup.cluster.devices}
    for rank, (device, time) in enumerate(zip(run.placement.workers, run.step_times, strict=True)):
        what = (
            f"{job.workload.name} on {kinds[device]}, batch {time.batch or job.batch}"
            if isinstance(job.workload, Model)
            else f"{job.name}, rank {rank}"
        )
        name = f"{STEP_TIME} {what}: {format_si(time.total_s, 's')}"
        yield Input(input=name, basis=time.basis, method=time.method, source=time.source)


def _devices(setup: Setup, record: Record) -> Iterator[Input]:
    used = {device for run in record.jobs for device in run.placement.workers}
    serving = {host for run in record.jobs for host in run.placement.servers}
    specs = [device.spec for device in setup.cluster.devices if device.name in used]
    specs += [host.cpu for host in setup.cluster.hosts if host.name in serving]
    for spec in dict.fromkeys(specs):
        memory = f", {format_iec(spec.memory_bytes)}" if spec.memory_bytes else ""
        rates = f"{format_si(spec.flop_per_s, 'FLOP/s')}, {format_si(spec.memory_bytes_per_s, 'B/s')}"
        yield _stated(f"{spec.kind} {spec.name}: peak {rates}{memory}", spec.source)


def _links(setup: Setup, record: Record) -> Iterator[Input]:
    carried = {frozenset(link.link.replace("<>", ">").split(">")) for link in record.links}
    alike: dict[tuple[float, float, float, str, str], list[Link]] = {}
    for link in setup.cluster.links:
        if frozenset((link.a, link.b)) in carried:
            key = (link.bytes_per_s, link.latency_s, link.queue_bytes, link.duplex, link.source)
            alike.setdefault(key, []).append(link)
    for (bytes_per_s, latency_s, queue_bytes, duplex, source), links in alike.items():
        more = f" and {len(links) - 1} more" if len(links) > 1 else ""
        queue = f", holding {format_si(queue_bytes, 'B')}" if queue_bytes else ""
        ways = "each way" if duplex == "full" else "both ways together"
        figures = f"{format_si(bytes_per_s, 'B/s')} {ways}, {format_si(latency_s, 's')}{queue}"
        yield _stated(f"link {links[0].a} to {links[0].b}{more}: {figures}", source)


def _stated(name: str, source: str) -> Input:
    return Input(input=name, basis="assumed", method=GIVEN if source == "scenario" else CATALOG, source=source)


def _is_busy(host: Host) -> bool:
    load = host.background
    return any(schedule != IDLE for schedule in (load.gpu, load.cpu, load.nic)) or load.memory_frac > 0.0


def _background(hosts: Sequence[str]) -> Iterator[Input]:
    if hosts:
        name = f"background load of {', '.join(hosts)}"
        yield Input(input=name, basis="assumed", method=GIVEN, source="scenario")


def _transport(job: Job) -> Input:
    name = f"transport of {job.name}: {job.transport.name} ({figures(job.transport)})"
    return Input(input=name, basis="derived", method=CATALOG, source=job.transport.source)


def _jitter(job: Job) -> Input:
    name = f"jitter of {job.name}: lognormal, coefficient of variation {job.jitter_cv:g}"
    return Input(input=name, basis="assumed", method=GIVEN, source="scenario")


def _convergence(job: Job) -> Iterator[Input]:
    known = job.convergence
    if known is None:
        return
    name = f"convergence of {job.name} to {known.target}: {convergence_figures(known)}"
    yield Input(input=name, basis=known.basis, method=known.method or GIVEN, source=known.source)
    factor, exponent = known.delay_factor, known.delay_exponent
    name = f"cost of delay of {job.name}: {factor:g} x (mean delay in updates) ^ {exponent:g} of the noiseless part"
    is_default = factor == exponent == 1.0
    yield Input(
        input=name,
        basis="assumed",
        method=BOUND if is_default else GIVEN,
        source=DELAY_SOURCE if is_default else "scenario",
    )


def count_by_basis(found: Iterable[Input]) -> dict[str, int]:
    """Return how many inputs rest on each basis.

    Parameters
    ----------
    found : iterable of Input
        Of a result.

    Returns
    -------
    dict of str to int
        For measured, derived and assumed, in this order.
    """
    bases = [item.basis for item in found]
    return {basis: bases.count(basis) for basis in ("measured", "derived", "assumed")}
