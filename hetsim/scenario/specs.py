"""Hardware as the model knows it: catalog names looked up, inline descriptions taken over."""

from collections.abc import Iterator
from typing import Final

from hetsim.catalog.tables import devices, links
from hetsim.model.cluster import IDLE, Background, DeviceSpec, LinkSpec, Schedule
from hetsim.scenario.hardware import (
    BackgroundSection,
    CatalogCpu,
    CatalogDevice,
    CpuDevice,
    HostSection,
    InlineDevice,
    InlineLink,
    ScheduleStep,
)

SOURCE: Final = "scenario"
"""Source of every figure that the scenario itself states."""


def host_names(host: HostSection) -> list[str]:
    """Return the names of the hosts that a section stands for.

    Parameters
    ----------
    host : HostSection
        A host or a template.

    Returns
    -------
    list of str
        The name itself, or name-0, name-1, ...
    """
    return [host.name] if host.count is None else [f"{host.name}-{index}" for index in range(host.count)]


def cpu_spec(host: HostSection) -> DeviceSpec:
    """Return the kind of a host's CPU.

    Parameters
    ----------
    host : HostSection
        The host.

    Returns
    -------
    DeviceSpec
        From the catalog, or as described.
    """
    if isinstance(host.cpu, CatalogCpu):
        return devices()[host.cpu.type]
    return DeviceSpec(
        name=host.cpu.name,
        kind="cpu",
        flop_per_s=host.cpu.peak,
        memory_bytes=0.0,
        memory_bytes_per_s=host.cpu.memory_rate,
        n_cores=host.cpu.cores,
        source=SOURCE,
    )


def device_spec(entry: CatalogDevice | InlineDevice) -> DeviceSpec:
    """Return the kind of an accelerator.

    Parameters
    ----------
    entry : CatalogDevice or InlineDevice
        As written.

    Returns
    -------
    DeviceSpec
        From the catalog, or as described.
    """
    if isinstance(entry, CatalogDevice):
        return devices()[entry.type]
    return DeviceSpec(
        name=entry.name,
        kind="gpu",
        flop_per_s=entry.peak,
        memory_bytes=entry.memory,
        memory_bytes_per_s=entry.memory_rate,
        source=SOURCE,
    )


def link_spec(written: str | InlineLink) -> LinkSpec:
    """Return the kind of a link.

    Parameters
    ----------
    written : str or InlineLink
        A catalog name, or rate and latency.

    Returns
    -------
    LinkSpec
        From the catalog, or as described.
    """
    if isinstance(written, str):
        return links()[written]
    return LinkSpec(name="inline", kind="network", bytes_per_s=written.rate, latency_s=written.latency, source=SOURCE)


def memory_of_slots(host: HostSection) -> Iterator[tuple[str, float, int]]:
    """Yield what can hold workers on one host of a section.

    Parameters
    ----------
    host : HostSection
        The host.

    Yields
    ------
    name : str
        Kind of device.
    memory_bytes : float
        Memory that a worker may have there, as the background leaves it.
    n_slots : int
        How many.
    """
    for entry in host.devices:
        if isinstance(entry, CpuDevice):
            yield cpu_spec(host).name, host.memory * (1.0 - host.background.memory), 1
        else:
            spec = device_spec(entry)
            yield spec.name, spec.memory_bytes, entry.count


def n_slots(host: HostSection) -> int:
    """Return how many workers the hosts of a section can hold together.

    Parameters
    ----------
    host : HostSection
        A host or a template.

    Returns
    -------
    int
        Devices.
    """
    return (host.count or 1) * sum(n for _, _, n in memory_of_slots(host))


def background(section: BackgroundSection, *, has_gpu: bool) -> Background:
    """Return what others take of a host.

    Parameters
    ----------
    section : BackgroundSection
        As written.
    has_gpu : bool
        Whether the host has accelerators; without, their share means nothing and is not read.

    Returns
    -------
    Background
        Schedules.
    """
    return Background(
        gpu=_schedule(section.gpu) if has_gpu else IDLE,
        cpu=_schedule(section.cpu),
        nic=_schedule(section.nic),
        memory_frac=float(section.memory),
    )


def _schedule(load: float | tuple[ScheduleStep, ...]) -> Schedule:
    if isinstance(load, tuple):
        return tuple((step.at, float(step.share)) for step in load)
    return ((0.0, float(load)),)
