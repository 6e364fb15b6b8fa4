"""A host of a scenario with all that is inside it."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.catalog.meshes import meshes
from hetsim.catalog.tables import links
from hetsim.model.cluster import Device, Host, Link, LinkSpec
from hetsim.scenario.hardware import CpuDevice, HostSection, NvlinkMesh
from hetsim.scenario.specs import background, cpu_spec, device_spec, link_spec

MEMORY_BUS: Final = "memory bus of the host's CPU"


@dataclass(frozen=True, slots=True)
class BuiltHost:
    """One host.

    Parameters
    ----------
    host : Host
        With its devices.
    switches : tuple of str
        Inner nodes: cards of several dies, sockets, PCIe switches, what joins devices.
    links : tuple of Link
        Inner links.
    """

    host: Host
    switches: tuple[str, ...]
    links: tuple[Link, ...]


def build_host(name: str, section: HostSection) -> BuiltHost:
    """Return one host with its inner links and switches.

    Parameters
    ----------
    name : str
        Of the host.
    section : HostSection
        As written, free of problems.

    Returns
    -------
    BuiltHost
        The host.
    """
    cpu = cpu_spec(section)
    devices, inner, switches = _devices(name, section)
    gpus = [device for device in devices if device.spec.kind == "gpu"]
    for link in (*_sockets(name, section), *_pcie(name, section)):
        inner.append(link)
        switches.append(link.a)
    if section.peer is not None and gpus:
        spec = link_spec(section.peer)
        switches.append(f"{name}/peer")
        inner += [_link(device.name, f"{name}/peer", spec, latency_s=spec.latency_s / 2) for device in gpus]
    inner += _mesh(name, section)
    host = Host(
        name=name,
        devices=tuple(devices),
        cpu=cpu,
        n_cores=section.cpu.cores or cpu.n_cores,
        memory_bytes=section.memory,
        background=background(section.background, has_gpu=bool(gpus)),
    )
    return BuiltHost(host, tuple(dict.fromkeys(switches)), tuple(inner))


def _link(a: str, b: str, spec: LinkSpec, *, latency_s: float | None = None) -> Link:
    own_s = spec.latency_s if latency_s is None else latency_s
    return Link(a=a, b=b, bytes_per_s=spec.bytes_per_s, latency_s=own_s, source=spec.source)


def _node(host: str, section: HostSection, place: str | None) -> str:
    """Return the node of a socket or a PCIe switch; the socket of the network card is the host itself."""
    inside = section.inside
    if place is None or inside is None or place == f"socket-{inside.nic_socket}":
        return host
    return f"{host}/{place}"


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
        spec, bus, place = device_spec(entry), link_spec(entry.bus), _node(host, section, entry.on)
        for index in range(entry.count):
            card = f"{host}/card{n_cards + index // spec.dies_per_card}"
            device = Device(name=f"{host}/gpu{n_gpus}", host=host, card=card, spec=spec)
            devices.append(device)
            n_gpus += 1
            if spec.dies_per_card == 1:
                inner.append(_link(device.name, place, bus))
                continue
            inner.append(_link(device.name, card, bus, latency_s=0.0))
            if index % spec.dies_per_card == 0:
                cards.append(card)
                inner.append(_link(card, place, bus))
        n_cards += math.ceil(entry.count / spec.dies_per_card)
    return devices, inner, cards


def _sockets(host: str, section: HostSection) -> Iterator[Link]:
    """Yield the links between each two sockets, that of the network card last."""
    inside = section.inside
    if inside is None or inside.sockets == 1:
        return
    assert inside.socket_link is not None, host
    spec = link_spec(inside.socket_link)
    others = [f"{host}/socket-{index}" for index in range(inside.sockets) if index != inside.nic_socket]
    for a, b in itertools.combinations([*others, host], 2):
        yield _link(a, b, spec)


def _pcie(host: str, section: HostSection) -> Iterator[Link]:
    for switch in section.inside.switches if section.inside else ():
        yield _link(f"{host}/{switch.name}", _node(host, section, switch.on), link_spec(switch.uplink))


def _mesh(host: str, section: HostSection) -> Iterator[Link]:
    """Yield the links between devices: each pair has the rate of all of its links."""
    nvlink = section.inside.nvlink if section.inside else None
    if nvlink is None:
        return
    spec, pairs = _pairs(nvlink)
    for a, b, n_links in pairs:
        yield Link(
            a=f"{host}/gpu{a}",
            b=f"{host}/gpu{b}",
            bytes_per_s=n_links * spec.bytes_per_s,
            latency_s=spec.latency_s,
            source=spec.source,
        )


def _pairs(nvlink: str | NvlinkMesh) -> tuple[LinkSpec, Sequence[tuple[int, int, int]]]:
    if isinstance(nvlink, str):
        mesh = meshes()[nvlink]
        return links()[mesh.link], mesh.pairs
    return link_spec(nvlink.link), [(pair.between[0], pair.between[1], pair.links) for pair in nvlink.pairs]
