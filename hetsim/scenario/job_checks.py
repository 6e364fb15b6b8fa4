"""Problems of jobs that no field has by itself: what belongs together, and what the cluster can hold."""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from hetsim.catalog.tables import datasets
from hetsim.errors import HetsimError
from hetsim.lookup import did_you_mean
from hetsim.scenario import policies
from hetsim.scenario.cluster_checks import duplicate_names
from hetsim.scenario.convergence import check_convergence
from hetsim.scenario.groups import GroupSection, check_tree
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.inputs import input_shape
from hetsim.scenario.parts import Parts, items
from hetsim.scenario.problems import Problem
from hetsim.scenario.schema import JobSection
from hetsim.scenario.specs import memory_of_slots, n_slots
from hetsim.scenario.steps import check_steps
from hetsim.scenario.tables import names
from hetsim.scenario.tree import Loc, Node
from hetsim.units import format_iec
from hetsim.workload.memory import worker_bytes
from hetsim.workload.table import build_model

_UNKNOWN: Final = 10**9
"""Devices left by a job that is wrong: more than later jobs ask for, since one message is enough."""


def check_jobs(parts: Parts, root: Node) -> Iterator[Problem]:
    """Yield what is wrong between the fields of the jobs, and between jobs and cluster.

    Parameters
    ----------
    parts : Parts
        The valid sections.
    root : Node
        The whole tree.

    Yields
    ------
    Problem
        In no particular order.
    """
    yield from duplicate_names(items(parts.data, "jobs"), ("jobs",), "job")
    for index, raw in enumerate(items(parts.data, "jobs")):
        yield from _check_policies(raw, root, ("jobs", index))
        if isinstance(raw, dict):
            yield from _check_keys(raw, ("jobs", index))
    hosts = parts.all_hosts
    n_left = sum(n_slots(host) for host in hosts or [])
    for index, job in enumerate(parts.jobs):
        if job is None:
            n_left = _UNKNOWN
            continue
        at = ("jobs", index)
        yield from _check_times(job, at)
        yield from check_convergence(job, at)
        yield from check_steps(job, at)
        if isinstance(job.aggregation, GroupSection):
            yield from check_tree(job.aggregation, job.workers, job.servers, (*at, "aggregation"))
        if hosts is not None:
            yield from _check_servers(job, at, hosts)
        if hosts is not None and parts.has_all_devices:
            yield from _check_room(job, at, hosts, n_left)
            yield from _check_memory(job, at, hosts)
        n_left = n_left - job.workers if job.workers <= n_left else _UNKNOWN


def _check_policies(raw: object, root: Node, at: Loc) -> Iterator[Problem]:
    for key in policies.FAMILIES:
        section = raw.get(key) if isinstance(raw, dict) else None
        if isinstance(section, dict) and isinstance(section.get("policy"), str):
            yield from policies.check(key, section, root, (*at, key))[1]


def _written(raw: dict[str, object]) -> set[str]:
    """Return the keys of a job that have a value; a misspelt key counts as the one that was meant."""
    keys = [key for key, value in raw.items() if value is not None]
    known = list(JobSection.model_fields)
    unknown = [key for key in keys if key not in known]
    return {*keys, *(name for name in known for key in unknown if did_you_mean(key, [name]))}


def _check_keys(raw: dict[str, object], at: Loc) -> Iterator[Problem]:
    """Yield keys that exclude or need each other."""
    keys = _written(raw)
    if not keys & {"model", "compute"}:
        yield Problem(
            at, "says nothing about the work: write model (with dataset and batch) or compute (with gradient)"
        )
    elif {"model", "compute"} <= keys:
        yield Problem((*at, "compute"), "either model or compute, not both")
    elif "model" in keys:
        yield from _check_model(keys, at)
    else:
        yield from _check_known(keys, at)
    if not keys & {"steps", "epochs"}:
        yield Problem((*at, "steps"), "required, but missing: how long the job runs (or epochs)")
    elif {"steps", "epochs"} <= keys:
        yield Problem((*at, "epochs"), "either steps or epochs, not both")


def _check_model(keys: set[str], at: Loc) -> Iterator[Problem]:
    if "batch" not in keys:
        yield Problem((*at, "batch"), "required with model: the samples of each worker and step")
    if "dataset" not in keys:
        known = ", ".join(names("data set"))
        yield Problem((*at, "dataset"), f"required with model: it sets the input and the classes. Known: {known}")
    for key in sorted(keys & {"gradient", "update"}):
        yield Problem((*at, key), "goes with compute; with model it follows from the model")


def _check_known(keys: set[str], at: Loc) -> Iterator[Problem]:
    if "gradient" not in keys:
        yield Problem((*at, "gradient"), "required with compute: the bytes that each worker exchanges in a step")
    if "split" in keys:
        yield Problem((*at, "split"), "goes with model; compute times are those of each worker's own batch")
    if "pixels" in keys:
        yield Problem((*at, "pixels"), "goes with model; compute times are for the input that they were measured with")
    if "convergence" in keys and "batch" not in keys:
        yield Problem((*at, "batch"), "required with convergence: the samples that a step's gradients are of")
    if "epochs" in keys and not {"dataset", "batch"} <= keys:
        yield Problem((*at, "epochs"), "needs a dataset and a batch to count the steps of an epoch")


def _check_times(job: JobSection, at: Loc) -> Iterator[Problem]:
    if isinstance(job.compute, tuple) and len(job.compute) != job.workers:
        yield Problem(
            (*at, "compute"), f"{len(job.compute)} times for {job.workers} workers: write one for each, or one for all"
        )


def _check_room(job: JobSection, at: Loc, hosts: list[HostSection], n_left: int) -> Iterator[Problem]:
    n_devices = sum(n_slots(host) for host in hosts)
    if job.workers > n_devices:
        yield Problem((*at, "workers"), f"{job.workers} workers, but the cluster has {_count(n_devices, 'device')}")
    elif job.workers > n_left:
        message = f"{job.workers} workers, but the jobs before it leave {n_left} of {_count(n_devices, 'device')}"
        yield Problem((*at, "workers"), message)


def _check_servers(job: JobSection, at: Loc, hosts: list[HostSection]) -> Iterator[Problem]:
    n_hosts = sum(host.count or 1 for host in hosts)
    try:
        has_servers = policies.has_servers(job.aggregation)
    except (HetsimError, ValidationError):
        return  # reported as an unknown policy, or as a wrong parameter
    if has_servers and job.servers > n_hosts:
        yield Problem((*at, "servers"), f"{job.servers} servers, but the cluster has {_count(n_hosts, 'host')}")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _check_memory(job: JobSection, at: Loc, hosts: list[HostSection]) -> Iterator[Problem]:
    """Yield a problem if fewer devices than workers can hold a worker."""
    if job.model is None or job.dataset is None or job.batch is None:
        return
    dataset = datasets()[job.dataset]
    try:
        model = build_model(job.model, input_shape(job.model, dataset, job.pixels), dataset.n_classes)
    except HetsimError as error:
        yield Problem((*at, "model"), str(error))
        return
    needed = worker_bytes(model, job.batch)
    slots = [(memory, name, n * (host.count or 1)) for host in hosts for name, memory, n in memory_of_slots(host)]
    n_fit = sum(n for memory, _, n in slots if memory >= needed)
    short = [(memory, name) for memory, name, _ in slots if memory < needed]
    if n_fit >= job.workers or not short or sum(n for _, _, n in slots) < job.workers:
        return
    memory, name = max(short)
    need = f"a worker needs {format_iec(needed)} at batch {job.batch}"
    gap = f"a {name}, has {format_iec(memory)}: {format_iec(needed - memory)} short"
    if n_fit == 0:
        message = f"{need}, but the largest device, {gap}"
    else:
        message = f"{need}, which only {n_fit} of {job.workers} workers would have; the next largest device, {gap}"
    yield Problem((*at, "batch"), message)
