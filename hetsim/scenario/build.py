"""A scenario as cluster and jobs: strings, units and defaults end here."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hetsim.catalog.tables import datasets
from hetsim.catalog.transports import transports
from hetsim.model.cluster import Cluster
from hetsim.model.job import Job, KnownCompute, PolicyChoice
from hetsim.model.transport import IDEAL, Transport
from hetsim.model.workload import Dataset, Model, Variable
from hetsim.scenario import policies
from hetsim.scenario.convergence import convergence_of
from hetsim.scenario.groups import GroupSection, tree_of
from hetsim.scenario.hosts import build_host
from hetsim.scenario.inputs import input_shape
from hetsim.scenario.load import Scenario
from hetsim.scenario.network import build_network
from hetsim.scenario.schema import JobSection, PolicySection, TransportSection
from hetsim.scenario.specs import host_names
from hetsim.scenario.steps import compression_of, slots_of
from hetsim.scenario.traffic import traffic_of
from hetsim.workload.table import build_model

if TYPE_CHECKING:
    from hetsim.model.aggregation import Group


def build_cluster(scenario: Scenario) -> Cluster:
    """Return the machines of a scenario and the links between them.

    A device is joined to its host, or to the socket or PCIe switch that it is on, by its bus. The dies of a two-die
    card are joined to a node of the card, at the rate of the bus and without latency, and the card to the host. A CPU
    that holds a worker is joined to its host at the rate of its memory. Latencies are those of one link, one way; half
    of a peer link's is charged at each of its ports.

    Parameters
    ----------
    scenario : Scenario
        Loaded, so free of problems.

    Returns
    -------
    Cluster
        Nodes are called ``host``, ``host/gpu0``, ``host/card0``, ``host/cpu``, ``host/peer``, ``host/socket-1``, and as
        PCIe switches and the topology say. Of a host with several sockets, ``host`` is that of the network card.
    """
    section = scenario.document.cluster
    built = [build_host(name, written) for written in section.hosts for name in host_names(written)]
    hosts = tuple(each.host for each in built)
    network = build_network(section, hosts)
    return Cluster(
        hosts=hosts,
        switches=(*(switch for each in built for switch in each.switches), *network.switches),
        links=(*(link for each in built for link in each.links), *network.links),
        traffic=tuple(traffic_of(each) for each in section.traffic or ()),
        ecmp_seed=getattr(section.topology, "ecmp_seed", None) or 0,
    )


def build_jobs(scenario: Scenario) -> tuple[Job, ...]:
    """Return the jobs of a scenario, in its order.

    A field is read only where it has an effect: ``servers`` by aggregations that have parameter servers, ``dataset``
    beside known compute times only to count an epoch.

    Parameters
    ----------
    scenario : Scenario
        Loaded, so free of problems.

    Returns
    -------
    tuple of Job
        What is to be trained.
    """
    return tuple(_job(section) for section in scenario.document.jobs)


def _job(section: JobSection) -> Job:
    has_servers = policies.has_servers(section.aggregation)
    aggregation: PolicyChoice | Group
    if isinstance(section.aggregation, GroupSection):
        aggregation = tree_of(section.aggregation, section.servers if has_servers else 0)
    else:
        aggregation = _choice("aggregation", section.aggregation)
    workload: Model | KnownCompute
    dataset: Dataset | None
    if section.compute is None:
        assert section.model is not None, section.name
        assert section.dataset is not None, section.name
        dataset = datasets()[section.dataset]
        workload = build_model(section.model, input_shape(section.model, dataset, section.pixels), dataset.n_classes)
    else:
        dataset = datasets()[section.dataset] if section.steps is None and section.dataset else None
        workload = _known(section, has_servers=has_servers)
    return Job(
        name=section.name,
        workload=workload,
        dataset=dataset,
        batch=section.batch or 1,
        n_workers=section.workers,
        n_servers=section.servers if has_servers else 0,
        n_steps=section.steps or _steps_of(section, dataset),
        jitter_cv=float(section.jitter.cv),
        placement=_choice("placement", section.placement),
        aggregation=aggregation,
        split=section.split or "even",
        transport=_transport(section.transport),
        unfairness=0.0 if section.transport is None else float(section.transport.unfairness),
        accumulate=section.accumulate or 1,
        slots=slots_of(section.slots, section.workers),
        compression=compression_of(section.compression),
        convergence=convergence_of(
            section.convergence,
            section.model,
            None if section.model is None else section.dataset,
            (section.batch or 1) * section.workers,
        ),
    )


def _transport(section: TransportSection | None) -> Transport:
    if section is None:
        return IDEAL
    transport = transports()[section.type]
    return replace(
        transport,
        n_streams=section.streams or transport.n_streams,
        stream_bytes_per_s=section.stream_rate or transport.stream_bytes_per_s,
        window_bytes=section.window or transport.window_bytes,
    )


def _steps_of(section: JobSection, dataset: Dataset | None) -> int:
    assert dataset is not None, section.name
    assert section.epochs is not None, section.name
    return max(1, math.ceil(section.epochs * dataset.n_samples / ((section.batch or 1) * section.workers)))


def _known(section: JobSection, *, has_servers: bool) -> KnownCompute:
    compute, gradient = section.compute, section.gradient
    assert compute is not None, section.name
    assert gradient is not None, section.name
    sizes = gradient if isinstance(gradient, tuple) else (gradient,)
    return KnownCompute(
        compute_s=compute if isinstance(compute, tuple) else (compute,) * section.workers,
        variables=tuple(Variable(f"variable{index}", math.ceil(size), 1) for index, size in enumerate(sizes)),
        server_update_s=(section.update or 0.0) if has_servers else 0.0,
    )


def _choice(key: str, section: PolicySection) -> PolicyChoice:
    name = section.policy
    return PolicyChoice(policy=name, parameters=policies.arguments(key, name, section.parameters))
