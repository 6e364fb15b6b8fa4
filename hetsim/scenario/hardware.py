"""The sections of a scenario file that describe hosts. Quantities are SI floats here."""

import itertools
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from hetsim.scenario.fields import (
    Bytes,
    Count,
    FlopRate,
    Items,
    Named,
    Quantity,
    Rate,
    Section,
    Share,
    Slug,
    Time,
    has,
    wrong,
)
from hetsim.scenario.impairments import Qdisc
from hetsim.scenario.queues import QUEUE, Queue

DEFAULT_BUS: Final = "PCIe3-x16"


class InlineLink(Section):
    """A link that no catalog holds."""

    rate: Rate = Field(description="Payload rate of each direction.")
    latency: Time = Field(description="One way.")


class InlineNic(InlineLink):
    """A network card that no catalog holds."""

    queue: Queue | None = Field(default=None, description=QUEUE)


def _link_tag(value: object) -> str:
    return "~InlineLink" if isinstance(value, dict | InlineLink) else "~name"


def _nic_tag(value: object) -> str:
    if isinstance(value, str) and value.lstrip()[:1].isalpha():
        return "~name"
    return "~InlineNic" if isinstance(value, dict | InlineNic) else "~rate"


Bus = Annotated[
    Annotated[str, Named("bus"), Tag("~name")] | Annotated[InlineLink, Tag("~InlineLink")], Discriminator(_link_tag)
]
Peer = Annotated[
    Annotated[str, Named("peer link"), Tag("~name")] | Annotated[InlineLink, Tag("~InlineLink")],
    Discriminator(_link_tag),
]
Nic = Annotated[
    Annotated[str, Named("network link"), Tag("~name")]
    | Annotated[InlineNic, Tag("~InlineNic")]
    | Annotated[float, Quantity("rate", positive=True), Tag("~rate")],
    Discriminator(_nic_tag),
]


SocketLink = Annotated[
    Annotated[str, Named("socket link"), Tag("~name")] | Annotated[InlineLink, Tag("~InlineLink")],
    Discriminator(_link_tag),
]
ON: Final = "The PCIe switch or socket that it is on, such as socket-1; the network card's socket if left out."


class CatalogDevice(Section):
    """Devices of a kind that the catalog holds."""

    bare_key: ClassVar = "type"

    type: Annotated[str, Named("device")] = Field(description="Catalog name.")
    count: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="How many; of a two-die card, how many dies."
    )
    bus: Bus = Field(default=DEFAULT_BUS, description="Between each card and the host.")
    on: str | None = Field(default=None, description=ON)


class CpuDevice(Section):
    """The host's own CPU, holding a worker."""

    type: Literal["cpu"]


class InlineDevice(Section):
    """Accelerators that no catalog holds."""

    name: Slug
    peak: FlopRate = Field(description="Peak fp32 rate.")
    memory: Bytes
    memory_rate: Rate = Field(description="Peak memory bandwidth.")
    count: Annotated[int, Field(ge=1, le=1024)] = 1
    bus: Bus = Field(default=DEFAULT_BUS, description="Between each device and the host.")
    on: str | None = Field(default=None, description=ON)


class CatalogCpu(Section):
    """A CPU that the catalog holds."""

    bare_key: ClassVar = "type"

    type: Annotated[str, Named("CPU")] = Field(description="Catalog name.")
    cores: Count | None = Field(default=None, description="Cores of the host; those of the catalog's CPU if left out.")


class InlineCpu(Section):
    """A CPU that no catalog holds."""

    name: Slug
    peak: FlopRate = Field(description="Peak fp32 rate of all cores.")
    memory_rate: Rate = Field(description="Peak memory bandwidth.")
    cores: Count


def _device_tag(value: object) -> str:
    if isinstance(value, CatalogDevice | CpuDevice | InlineDevice):
        return f"~{type(value).__name__}"
    if isinstance(value, dict) and value.get("type") == "cpu":
        return "~CpuDevice"
    return "~InlineDevice" if isinstance(value, dict) and not has(value, "type") else "~CatalogDevice"


def _cpu_tag(value: object) -> str:
    is_inline = isinstance(value, InlineCpu) or (isinstance(value, dict) and not has(value, "type"))
    return "~InlineCpu" if is_inline else "~CatalogCpu"


def _says_nothing(value: object) -> bool:
    return isinstance(value, dict) and not any(has(value, key) for key in ("type", "name", "peak", "memory_rate"))


def _device_has_type(value: object) -> object:
    if _says_nothing(value):
        raise wrong(
            "needs a type (a catalog name, or cpu); a device of your own has name, peak, memory and memory_rate instead"
        )
    return value


def _cpu_has_type(value: object) -> object:
    if _says_nothing(value):
        raise wrong("needs a type (a catalog name); a CPU of your own has name, peak, memory_rate and cores instead")
    return value


DeviceEntry = Annotated[
    Annotated[CatalogDevice, Tag("~CatalogDevice")]
    | Annotated[CpuDevice, Tag("~CpuDevice")]
    | Annotated[InlineDevice, Tag("~InlineDevice")],
    Discriminator(_device_tag),
    BeforeValidator(_device_has_type),
]
CpuEntry = Annotated[
    Annotated[CatalogCpu, Tag("~CatalogCpu")] | Annotated[InlineCpu, Tag("~InlineCpu")],
    Discriminator(_cpu_tag),
    BeforeValidator(_cpu_has_type),
]


class ScheduleStep(Section):
    """A share from a time on."""

    at: Time
    share: Share


def _in_order(steps: tuple[ScheduleStep, ...]) -> tuple[ScheduleStep, ...]:
    if not steps or steps[0].at != 0:
        raise wrong("a schedule starts with 'at: 0 s'")
    for before, after in itertools.pairwise(steps):
        if after.at <= before.at:
            raise wrong(f"the times of a schedule must increase: {after.at:g} s comes after {before.at:g} s")
    return steps


def _load_tag(value: object) -> str:
    return "~schedule" if isinstance(value, list | tuple) else "~share"


Load = Annotated[
    Annotated[Share, Tag("~share")] | Annotated[Items[ScheduleStep], AfterValidator(_in_order), Tag("~schedule")],
    Discriminator(_load_tag),
]


class BackgroundSection(Section):
    """What others take of a host, as shares between 0 and 1: a number, or a schedule."""

    bare_key: ClassVar = "gpu"

    gpu: Load = Field(default=0.0, description="Of each accelerator.")
    cpu: Load = 0.0
    nic: Load = Field(default=0.0, description="Of the network card's rate, each way.")
    memory: Annotated[float, Field(ge=0, le=1)] = Field(default=0.0, description="Of the host's memory.")


class PcieSwitch(Section):
    """A PCIe switch inside a host: what is on it shares its uplink."""

    name: Slug
    on: str | None = Field(default=None, description=ON)
    uplink: Bus = DEFAULT_BUS


class NvlinkPair(Section):
    """Two accelerators that are joined directly."""

    between: Annotated[Items[Annotated[int, Field(ge=0, le=1023)]], Field(min_length=2, max_length=2)] = Field(
        description="Their numbers in the host, from 0."
    )
    links: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="How many links, all used together.")


class NvlinkMesh(Section):
    """Direct links between accelerators that no catalog holds."""

    link: Peer = Field(description="One link.")
    pairs: Items[NvlinkPair] = Field(min_length=1)


Nvlink = Annotated[
    Annotated[str, Named("NVLink mesh"), Tag("~name")] | Annotated[NvlinkMesh, Tag("~NvlinkMesh")],
    Discriminator(lambda value: "~NvlinkMesh" if isinstance(value, dict | NvlinkMesh) else "~name"),
]


class InsideSection(Section):
    """What joins the devices of a host, where a bus to the host is not all."""

    sockets: Annotated[int, Field(ge=1, le=16)] = Field(
        default=1, description="CPU sockets, called socket-0, socket-1, ..., each joined to each."
    )
    socket_link: SocketLink | None = Field(default=None, description="Needed by more than one socket.")
    nic_socket: Annotated[int, Field(ge=0, le=15)] = Field(
        default=0, description="The socket of the network card, and of the host's memory."
    )
    switches: Items[PcieSwitch] = Field(default=(), description="PCIe switches.")
    nvlink: Nvlink | None = Field(default=None, description="Direct links between accelerators.")


class HostSection(Section):
    """A host, or a template of equal hosts."""

    name: Slug
    count: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="If given, the hosts are called name-0, name-1, ..."
    )
    devices: Items[DeviceEntry] = Field(default=(), description="What can hold workers, in order.")
    peer: Peer | None = Field(
        default=None, description="Joins the host's accelerators through a switch, one port each."
    )
    inside: InsideSection | None = Field(default=None, description="Sockets, PCIe switches, NVLink mesh.")
    cpu: CpuEntry = Field(description="Does the arithmetic of parameter servers placed here.")
    memory: Bytes
    nic: Nic | None = Field(default=None, description="Payload rate, or catalog name, or rate, latency and queue.")
    netem: Qdisc | None = Field(
        default=None, description="What tc does to what leaves the host, such as 'delay 10ms loss 0.1%'."
    )
    background: BackgroundSection = Field(default_factory=BackgroundSection)
