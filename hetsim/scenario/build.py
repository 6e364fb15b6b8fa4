"""A scenario as cluster and jobs: strings, units and defaults end here."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hetsim.catalog.tables import datasets, links
from hetsim.model.cluster import Cluster, Device, Host, Link
from hetsim.model.job import Job, KnownCompute, PolicyChoice
from hetsim.model.workload import Dataset, Model, Variable
from hetsim.network.topologies import TOPOLOGIES, Edge, Fabric, Port
from hetsim.scenario import policies
from hetsim.scenario.groups import GroupSection, tree_of
from hetsim.scenario.hardware import CpuDevice, HostSection, InlineLink, InlineNic
from hetsim.scenario.inputs import input_shape
from hetsim.scenario.load import Scenario
from hetsim.scenario.queues import Queue
from hetsim.scenario.schema import (
    ClusterSection,
    GraphTopology,
    JobSection,
    PolicySection,
    StarTopology,
    TwoLevelTopology,
)
from hetsim.scenario.specs import SOURCE, background, cpu_spec, device_spec, host_names, link_spec
from hetsim.workload.table import build_model

if TYPE_CHECKING:
    from hetsim.model.aggregation import Group

MEMORY_BUS: Final = "memory bus of the host's CPU"


def build_cluster(scenario: Scenario) -> Cluster:
    """Return the machines of a scenario and the links between them.

    A device is joined to its host by its bus. The dies of a two-die card are joined to a node of the card, at the rate
    of the bus and without latency, and the card to the host. A CPU that holds a worker is joined to its host at the
    rate of its memory. Latencies are those of one link, one way; half of a peer link's is charged at each of its ports.

    Parameters
    ----------
    scenario : Scenario
        Loaded, so free of problems.

    Returns
    -------
    Cluster
        Nodes are called ``host``, ``host/gpu0``, ``host/card0``, ``host/cpu``, ``host/peer``, and as the topology says.
    """
    section = scenario.document.cluster
    hosts: list[Host] = []
    inner: list[Link] = []
    switches: list[str] = []
    for written in section.hosts:
        for name in host_names(written):
            host, host_links, host_switches = _host(name, written)
            hosts.append(host)
            inner += host_links
            switches += host_switches
    fabric = _fabric(section, hosts)
    return Cluster(
        hosts=tuple(hosts),
        switches=(*switches, *fabric.switches),
        links=(*inner, *_with_queues(section, _with_exceptions(section, fabric.links))),
    )


def _host(name: str, section: HostSection) -> tuple[Host, list[Link], list[str]]:
    """Return one host with its inner links and switches."""
    cpu = cpu_spec(section)
    devices, inner, switches = _devices(name, section)
    gpus = [device for device in devices if device.spec.kind == "gpu"]
    if section.peer is not None and gpus:
        spec = link_spec(section.peer)
        switches.append(f"{name}/peer")
        inner += [
            Link(
                a=device.name,
                b=f"{name}/peer",
                bytes_per_s=spec.bytes_per_s,
                latency_s=spec.latency_s / 2,
                source=spec.source,
            )
            for device in gpus
        ]
    host = Host(
        name=name,
        devices=tuple(devices),
        cpu=cpu,
        n_cores=section.cpu.cores or cpu.n_cores,
        memory_bytes=section.memory,
        background=background(section.background, has_gpu=bool(gpus)),
    )
    return host, inner, switches


def _devices(host: str, section: HostSection) -> tuple[list[Device], list[Link], list[str]]:
    devices: list[Device] = []
    inner: list[Link] = []
    cards: list[str] = []
    n_gpus = n_cards = 0
    for entry in section.devices:
        if isinstance(entry, CpuDevice):
            spec = cpu_spec(section)
            name = f"{host}/{entry.type}"
            devices.append(Device(name=name, host=host, card=name, spec=spec))
            inner.append(Link(a=name, b=host, bytes_per_s=spec.memory_bytes_per_s, latency_s=0.0, source=MEMORY_BUS))
            continue
        spec, bus = device_spec(entry), link_spec(entry.bus)
        for index in range(entry.count):
            card = f"{host}/card{n_cards + index // spec.dies_per_card}"
            device = Device(name=f"{host}/gpu{n_gpus}", host=host, card=card, spec=spec)
            devices.append(device)
            n_gpus += 1
            end = host if spec.dies_per_card == 1 else card
            latency_s = bus.latency_s if end == host else 0.0
            inner.append(
                Link(a=device.name, b=end, bytes_per_s=bus.bytes_per_s, latency_s=latency_s, source=bus.source)
            )
            if end == card and index % spec.dies_per_card == 0:
                cards.append(card)
                inner.append(
                    Link(a=card, b=host, bytes_per_s=bus.bytes_per_s, latency_s=bus.latency_s, source=bus.source)
                )
        n_cards += math.ceil(entry.count / spec.dies_per_card)
    return devices, inner, cards


def _fabric(section: ClusterSection, hosts: Sequence[Host]) -> Fabric:
    topology = section.topology
    if topology is None:
        return Fabric((), ())
    make = TOPOLOGIES[topology.kind]
    if isinstance(topology, GraphTopology):
        ports = [Port(host=host.name, background=host.background.nic) for host in hosts]
        edges = [
            Edge(a=link.between[0], b=link.between[1], bytes_per_s=link.rate, latency_s=link.latency)
            for link in topology.links
        ]
        return make(ports, switches=topology.switches, edges=edges)
    ports = _ports(section, topology, hosts)
    if isinstance(topology, StarTopology):
        return make(ports)
    uplink_latency_s = topology.uplink_latency
    if uplink_latency_s is None:
        uplink_latency_s = topology.latency or 0.0
    return make(
        ports,
        hosts_per_rack=topology.hosts_per_rack,
        uplink_bytes_per_s=topology.uplink,
        uplink_latency_s=uplink_latency_s,
    )


def _ports(section: ClusterSection, topology: StarTopology | TwoLevelTopology, hosts: Sequence[Host]) -> list[Port]:
    ports: list[Port] = []
    remaining = iter(hosts)
    for written in section.hosts:
        bytes_per_s, latency_s, source = _nic(written.nic, topology)
        for _ in host_names(written):
            host = next(remaining)
            ports.append(
                Port(
                    host=host.name,
                    bytes_per_s=bytes_per_s,
                    latency_s=latency_s,
                    background=host.background.nic,
                    source=source,
                )
            )
    return ports


def _nic(nic: float | str | InlineLink | None, topology: StarTopology | TwoLevelTopology) -> tuple[float, float, str]:
    """Return rate, latency and source: what the host states holds before the topology, and that before the catalog."""
    if isinstance(nic, InlineLink):
        return nic.rate, nic.latency, SOURCE
    if isinstance(nic, str):
        spec = links()[nic]
        latency_s = topology.latency
        return spec.bytes_per_s, spec.latency_s if latency_s is None else latency_s, spec.source
    return nic or 0.0, topology.latency or 0.0, SOURCE


def _with_exceptions(section: ClusterSection, network: Sequence[Link]) -> list[Link]:
    exceptions = {frozenset(link.between): link for link in section.links}
    result: list[Link] = []
    for link in network:
        other = exceptions.get(frozenset((link.a, link.b)))
        if other is None:
            result.append(link)
            continue
        rate, latency = other.rate, other.latency
        result.append(
            Link(
                a=link.a,
                b=link.b,
                bytes_per_s=link.bytes_per_s if rate is None else rate,
                latency_s=link.latency_s if latency is None else latency,
                background=link.background,
                source=link.source if rate is None else SOURCE,
            )
        )
    return result


def _with_queues(section: ClusterSection, network: Sequence[Link]) -> list[Link]:
    """Return links with what they hold."""
    written = _queues(section)
    queues = [written.get(frozenset((link.a, link.b))) or written.get(frozenset((link.a,))) for link in network]
    topology = section.topology
    if None in queues and isinstance(topology, StarTopology | TwoLevelTopology):
        queues = [queue or topology.queue for queue in queues]
    return [
        link if queue is None else replace(link, queue_bytes=queue.n_bytes(link.bytes_per_s))
        for link, queue in zip(network, queues, strict=True)
    ]


def _queues(section: ClusterSection) -> dict[frozenset[str], Queue | None]:
    """Return what is written of links, by their ends, and of network cards, by their host; exceptions win."""
    topology = section.topology
    queues: dict[frozenset[str], Queue | None] = {}
    if isinstance(topology, GraphTopology):
        queues = {frozenset(link.between): link.queue for link in topology.links}
    elif topology is not None:
        nics = [(host.nic, host_names(host)) for host in section.hosts]
        queues = {frozenset((name,)): nic.queue for nic, names in nics if isinstance(nic, InlineNic) for name in names}
    return queues | {frozenset(link.between): link.queue for link in section.links if link.queue is not None}


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
