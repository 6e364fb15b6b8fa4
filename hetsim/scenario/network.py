"""The network of a scenario: its topology with what hosts and exceptions say of links."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hetsim.catalog.tables import links
from hetsim.model.cluster import Host, Link
from hetsim.network.fabric import Fabric, Port
from hetsim.scenario.fabrics import fabric
from hetsim.scenario.hardware import InlineLink, InlineNic
from hetsim.scenario.impairments import impaired
from hetsim.scenario.queues import Queue
from hetsim.scenario.schema import ClusterSection
from hetsim.scenario.specs import SOURCE, host_names
from hetsim.scenario.topology import Duplex, GraphTopology, LinkException, PortTopology


def build_network(section: ClusterSection, hosts: Sequence[Host]) -> Fabric:
    """Return the switches and links between hosts.

    Parameters
    ----------
    section : ClusterSection
        As written, free of problems.
    hosts : sequence of Host
        Those that it stands for.

    Returns
    -------
    Fabric
        Empty without a topology.
    """
    topology = section.topology
    if topology is None:
        return Fabric((), ())
    ports = [Port(host=host.name, background=host.background.nic) for host in hosts]
    if isinstance(topology, PortTopology):
        ports = _ports(section, topology, hosts)
    bare = fabric(topology, ports, section.hosts)
    exceptions = {frozenset(link.between): link for link in section.links}
    network = [_with_exception(link, exceptions.get(frozenset((link.a, link.b)))) for link in bare.links]
    network = _with_duplex(section, _with_queues(section, network))
    netems = {name: written.netem for written in section.hosts for name in host_names(written) if written.netem}
    return Fabric(
        bare.switches,
        tuple(_impaired(link, exceptions.get(frozenset((link.a, link.b))), netems) for link in network),
    )


def _impaired(link: Link, other: LinkException | None, netems: Mapping[str, str]) -> Link:
    """Return a link with what its hosts' qdiscs and exceptions do to it; exceptions win."""
    of_hosts = {end: netems[end] for end in (link.a, link.b) if end in netems}
    if other is None:
        return impaired(link, (link.a, link.b), of_hosts or None, ())
    if other.trace is not None:
        files = [file for file in (other.trace.ping, other.trace.iperf3) if file is not None]
        link = replace(link, source=f"{link.source}; replayed: {', '.join(files)}")
    netem = other.qdiscs
    written = {other.between[0]: netem} if isinstance(netem, str) else (netem or {})
    return impaired(link, other.between, (of_hosts | written) or None, other.schedule or ())


def _ports(section: ClusterSection, topology: PortTopology, hosts: Sequence[Host]) -> list[Port]:
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


def _nic(nic: float | str | InlineLink | None, topology: PortTopology) -> tuple[float, float, str]:
    """Return rate, latency and source: what the host states holds before the topology, and that before the catalog."""
    if isinstance(nic, InlineLink):
        return nic.rate, nic.latency, SOURCE
    if isinstance(nic, str):
        spec = links()[nic]
        latency_s = topology.latency
        return spec.bytes_per_s, spec.latency_s if latency_s is None else latency_s, spec.source
    return nic or 0.0, topology.latency or 0.0, SOURCE


def _with_exception(link: Link, other: LinkException | None) -> Link:
    if other is None:
        return link
    rate, latency = other.rate, other.latency
    return replace(
        link,
        bytes_per_s=link.bytes_per_s if rate is None else rate,
        latency_s=link.latency_s if latency is None else latency,
        source=link.source if rate is None else SOURCE,
    )


def _with_queues(section: ClusterSection, network: Sequence[Link]) -> list[Link]:
    """Return links with what they hold."""
    written = _queues(section)
    queues = [written.get(frozenset((link.a, link.b))) or written.get(frozenset((link.a,))) for link in network]
    topology = section.topology
    if None in queues and isinstance(topology, PortTopology):
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


def _with_duplex(section: ClusterSection, network: Sequence[Link]) -> list[Link]:
    """Return links whose directions share their rate where that is written; exceptions win, then links of a graph."""
    topology = section.topology
    written: dict[frozenset[str], Duplex | None] = {}
    if isinstance(topology, GraphTopology):
        written = {frozenset(link.between): link.duplex for link in topology.links}
    written |= {frozenset(link.between): link.duplex for link in section.links if link.duplex is not None}
    found = [written.get(frozenset((link.a, link.b))) for link in network]
    if topology is not None and None in found:
        found = [duplex or topology.duplex for duplex in found]
    return [
        link if duplex in (None, "full") else replace(link, duplex=duplex)
        for link, duplex in zip(network, found, strict=True)
    ]
