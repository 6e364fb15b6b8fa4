"""The sections of a scenario file. Quantities are SI floats here; what is left out has its default."""

import itertools
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag

from hetsim.lookup import unknown
from hetsim.network.topologies import TOPOLOGIES
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
    wrong,
)

DEFAULT_BUS: Final = "PCIe3-x16"


class InlineLink(Section):
    """A link that no catalog holds."""

    rate: Rate = Field(description="Payload rate of each direction.")
    latency: Time = Field(description="One way.")


def _link_tag(value: object) -> str:
    return "~InlineLink" if isinstance(value, dict | InlineLink) else "~name"


def _nic_tag(value: object) -> str:
    if isinstance(value, str) and value.lstrip()[:1].isalpha():
        return "~name"
    return "~InlineLink" if isinstance(value, dict | InlineLink) else "~rate"


Bus = Annotated[
    Annotated[str, Named("bus"), Tag("~name")] | Annotated[InlineLink, Tag("~InlineLink")], Discriminator(_link_tag)
]
Peer = Annotated[
    Annotated[str, Named("peer link"), Tag("~name")] | Annotated[InlineLink, Tag("~InlineLink")],
    Discriminator(_link_tag),
]
Nic = Annotated[
    Annotated[str, Named("network link"), Tag("~name")]
    | Annotated[InlineLink, Tag("~InlineLink")]
    | Annotated[float, Quantity("rate", positive=True), Tag("~rate")],
    Discriminator(_nic_tag),
]


class CatalogDevice(Section):
    """Devices of a kind that the catalog holds."""

    type: Annotated[str, Named("device")] = Field(description="Catalog name.")
    count: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="How many; of a two-die card, how many dies."
    )
    bus: Bus = Field(default=DEFAULT_BUS, description="Between each card and the host.")


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


class CatalogCpu(Section):
    """A CPU that the catalog holds."""

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
    return "~InlineDevice" if isinstance(value, dict) and "type" not in value else "~CatalogDevice"


def _cpu_tag(value: object) -> str:
    is_inline = isinstance(value, InlineCpu) or (isinstance(value, dict) and "type" not in value)
    return "~InlineCpu" if is_inline else "~CatalogCpu"


def _device_has_type(value: object) -> object:
    if isinstance(value, dict) and "type" not in value and not {"name", "peak", "memory_rate"} & value.keys():
        raise wrong(
            "needs a type (a catalog name, or cpu); a device of your own has name, peak, memory and memory_rate instead"
        )
    return value


def _cpu_has_type(value: object) -> object:
    if isinstance(value, dict) and "type" not in value and not {"name", "peak", "memory_rate"} & value.keys():
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

    gpu: Load = Field(default=0.0, description="Of each accelerator.")
    cpu: Load = 0.0
    nic: Load = Field(default=0.0, description="Of the network card's rate, each way.")
    memory: Annotated[float, Field(ge=0, le=1)] = Field(default=0.0, description="Of the host's memory.")


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
    cpu: CpuEntry = Field(description="Does the arithmetic of parameter servers placed here.")
    memory: Bytes
    nic: Nic | None = Field(default=None, description="Payload rate, or catalog name, or rate and latency.")
    background: BackgroundSection = Field(default_factory=BackgroundSection)


class StarTopology(Section):
    """All hosts on one switch, called ``switch``."""

    kind: Literal["star"]
    latency: Time | None = Field(default=None, description="One way, of each link.")


class TwoLevelTopology(Section):
    """Racks, filled in the order of the hosts, under a core switch: ``rack-0``, ``rack-1``, ... and ``core``."""

    kind: Literal["two-level"]
    hosts_per_rack: Count
    uplink: Rate = Field(description="Payload rate between a rack's switch and the core.")
    latency: Time | None = Field(default=None, description="One way, of each link.")
    uplink_latency: Time | None = Field(default=None, description="One way; like latency if left out.")


Ends = Annotated[Items[str], Field(min_length=2, max_length=2)]


class GraphLink(Section):
    """A link of an explicit graph."""

    between: Ends = Field(description="Two hosts or switches.")
    rate: Rate = Field(description="Payload rate of each direction.")
    latency: Time = Field(description="One way.")


class GraphTopology(Section):
    """Hosts and switches joined by the links that are listed; a host's nic plays no part."""

    kind: Literal["graph"]
    switches: Items[Slug] = ()
    links: Items[GraphLink] = Field(min_length=1)


_TOPOLOGY_TAGS: Final = {"star": "~StarTopology", "two-level": "~TwoLevelTopology", "graph": "~GraphTopology"}


def _topology_tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return _TOPOLOGY_TAGS.get(str(kind), "~StarTopology")


def _topology_kind(value: object) -> object:
    kind = value.get("kind") if isinstance(value, dict) else "star"
    if kind not in TOPOLOGIES:
        known = ", ".join(TOPOLOGIES)
        raise wrong(unknown("topology", kind, TOPOLOGIES) if isinstance(kind, str) else f"needs a kind. Known: {known}")
    return value


Topology = Annotated[
    Annotated[StarTopology, Tag("~StarTopology")]
    | Annotated[TwoLevelTopology, Tag("~TwoLevelTopology")]
    | Annotated[GraphTopology, Tag("~GraphTopology")],
    Discriminator(_topology_tag),
    BeforeValidator(_topology_kind),
]


class LinkException(Section):
    """Another rate or latency for one link of the topology."""

    between: Ends = Field(description="The link's ends: a host or switch each.")
    rate: Rate | None = None
    latency: Time | None = Field(default=None, description="One way.")


class ClusterSection(Section):
    """Where training runs."""

    hosts: Annotated[Items[HostSection], Field(min_length=1)]
    topology: Topology | None = Field(default=None, description="Needed by more than one host.")
    links: Items[LinkException] = Field(default=(), description="Exceptions to the topology.")


class Jitter(Section):
    """Noise of the compute times."""

    cv: Annotated[float, Field(ge=0, le=10)] = Field(
        description="Coefficient of variation of the lognormal factor, of mean one, on each step."
    )


class PolicySection(Section):
    """A policy by name, or ``pkg.mod:function``, with its parameters beside it."""

    model_config = ConfigDict(extra="allow")

    policy: str

    @property
    def parameters(self) -> dict[str, Any]:
        """What is written beside ``policy``; recorded as read."""
        written = self.__pydantic_extra__ or {}
        for name in written:
            self.note(name)
        return dict(written)


def _listed_tag(value: object) -> str:
    return "~list" if isinstance(value, list | tuple) else "~one"


Times = Annotated[
    Annotated[float, Quantity("time"), Tag("~one")] | Annotated[Items[Time], Field(min_length=1), Tag("~list")],
    Discriminator(_listed_tag),
]
Sizes = Annotated[
    Annotated[float, Quantity("bytes", positive=True), Tag("~one")]
    | Annotated[Items[Bytes], Field(min_length=1), Tag("~list")],
    Discriminator(_listed_tag),
]


class JobSection(Section):
    """One training job: a model and its data set, or known compute times and gradients."""

    name: Slug
    model: Annotated[str, Named("model")] | None = Field(default=None, description="What is trained.")
    dataset: Annotated[str, Named("data set")] | None = Field(
        default=None, description="Sets input, classes and epoch."
    )
    pixels: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        default=None, description="Height and width that images are scaled to; the usual ones if left out."
    )
    batch: Count | None = Field(default=None, description="Samples of each worker and step.")
    compute: Times | None = Field(default=None, description="Known time of a step, of all workers or of each.")
    gradient: Sizes | None = Field(
        default=None, description="Bytes of the gradient, or of each variable in creation order."
    )
    update: Time | None = Field(
        default=None, description="Time a parameter server works before it answers, beside compute."
    )
    workers: Count
    servers: Count = Field(default=1, description="Parameter servers, where the aggregation has any.")
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = Field(default=None, description="Of each worker.")
    epochs: Annotated[float, Field(gt=0, le=10**6)] | None = Field(default=None, description="Instead of steps.")
    jitter: Jitter = Field(default_factory=lambda: Jitter(cv=0.0))
    placement: PolicySection = Field(default_factory=lambda: PolicySection(policy="default-tensorflow"))
    aggregation: PolicySection = Field(default_factory=lambda: PolicySection(policy="parameter-server"))


class MeasuredSection(Section):
    """Values that were measured or published, to hold the simulated ones against."""

    metric: Annotated[str, Named("metric")] = Field(description="What was measured.")
    source: str = Field(description="Where the values come from.")
    scale: str = Field(description="Path of the field, among fields, that plain linear scaling is proportional to.")
    fields: Annotated[Items[str], Field(min_length=1)] = Field(description="Field paths: what the rows differ in.")
    rows: Annotated[Items[Items[JsonValue]], Field(min_length=1)] = Field(
        description="The values of the fields, then the measured value."
    )


class ScenarioFile(Section):
    """A scenario."""

    name: Slug = Field(description="Names the folder of the results.")
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=0, description="Key of all random draws.")
    replications: Count = Field(default=1, description="How often everything is drawn anew.")
    cluster: ClusterSection
    jobs: Annotated[Items[JobSection], Field(min_length=1)]
    compare: dict[str, Annotated[Items[JsonValue], Field(min_length=1)]] = Field(
        default_factory=dict, description="Each axis is a field path and the values to try."
    )
    measured: MeasuredSection | None = Field(default=None, description="Held against the simulated values.")
