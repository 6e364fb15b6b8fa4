"""The sections of a scenario file. Quantities are SI floats here; what is left out has its default."""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from hetsim.lookup import unknown
from hetsim.network.topologies import TOPOLOGIES
from hetsim.scenario.fields import (
    Bytes,
    Count,
    Items,
    Json,
    Named,
    Quantity,
    Rate,
    Section,
    Slug,
    Time,
    has,
    shown,
    wrong,
)
from hetsim.scenario.groups import GroupSection
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.queues import QUEUE, Queue


class StarTopology(Section):
    """All hosts on one switch, called ``switch``."""

    kind: Literal["star"]
    latency: Time | None = Field(default=None, description="One way, of each link.")
    queue: Queue | None = Field(default=None, description=QUEUE)


class TwoLevelTopology(Section):
    """Racks, filled in the order of the hosts, under a core switch: ``rack-0``, ``rack-1``, ... and ``core``."""

    kind: Literal["two-level"]
    hosts_per_rack: Count
    uplink: Rate = Field(description="Payload rate between a rack's switch and the core.")
    latency: Time | None = Field(default=None, description="One way, of each link.")
    uplink_latency: Time | None = Field(default=None, description="One way; like latency if left out.")
    queue: Queue | None = Field(default=None, description=QUEUE)


Ends = Annotated[Items[str], Field(min_length=2, max_length=2)]


class GraphLink(Section):
    """A link of an explicit graph."""

    between: Ends = Field(description="Two hosts or switches.")
    rate: Rate = Field(description="Payload rate of each direction.")
    latency: Time = Field(description="One way.")
    queue: Queue | None = Field(default=None, description=QUEUE)


class GraphTopology(Section):
    """Hosts and switches joined by the links that are listed; a host's nic plays no part."""

    kind: Literal["graph"]
    switches: Items[Slug] = ()
    links: Items[GraphLink] = Field(min_length=1)


_TOPOLOGY_TAGS: Final = {"star": "~StarTopology", "two-level": "~TwoLevelTopology", "graph": "~GraphTopology"}
_TOPOLOGY_EXAMPLES: Final = {
    "star": "kind: star, latency: 25 us",
    "two-level": "kind: two-level, hosts_per_rack: 8, uplink: 40 Gbit/s, latency: 25 us",
    "graph": "kind: graph, switches: [s], links: [{between: [a, s], rate: 10 Gbit/s, latency: 25 us}]",
}


def _topology_tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return _TOPOLOGY_TAGS.get(str(kind), "~StarTopology")


def _topology_kind(value: object) -> object:
    if isinstance(value, str):
        example = _TOPOLOGY_EXAMPLES.get(value, _TOPOLOGY_EXAMPLES["star"])
        raise wrong(f"must be a mapping, such as {{{example}}}, not {shown(value)}")
    kind = value.get("kind") if isinstance(value, dict) else "star"
    if not isinstance(kind, str) or kind not in TOPOLOGIES:
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
    """Another rate, latency or queue for one link of the topology."""

    between: Ends = Field(description="The link's ends: a host or switch each.")
    rate: Rate | None = None
    latency: Time | None = Field(default=None, description="One way.")
    queue: Queue | None = Field(default=None, description=QUEUE)


class ClusterSection(Section):
    """Where training runs."""

    hosts: Annotated[Items[HostSection], Field(min_length=1)]
    topology: Topology | None = Field(default=None, description="Needed by more than one host.")
    links: Items[LinkException] = Field(default=(), description="Exceptions to the topology.")


class Jitter(Section):
    """Noise of the compute times."""

    bare_key: ClassVar = "cv"

    cv: Annotated[float, Field(ge=0, le=10)] = Field(
        description="Coefficient of variation of the lognormal factor, of mean one, on each step."
    )


class PolicySection(Section):
    """A policy by name, or ``pkg.mod:function``, with its parameters beside it."""

    model_config = ConfigDict(extra="allow")

    bare_key: ClassVar = "policy"

    policy: str

    @property
    def parameters(self) -> dict[str, Any]:
        """What is written beside ``policy``; recorded as read."""
        written = self.__pydantic_extra__ or {}
        for name in written:
            self.note(name)
        return dict(written)


def _aggregation_tag(value: object) -> str:
    is_tree = isinstance(value, GroupSection) or (has(value, "architecture") and not has(value, "policy"))
    return "~GroupSection" if is_tree else "~PolicySection"


AggregationSection = Annotated[
    Annotated[PolicySection, Tag("~PolicySection")] | Annotated[GroupSection, Tag("~GroupSection")],
    Discriminator(_aggregation_tag),
]


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
    split: Literal["even", "by-speed"] | None = Field(
        default=None, description="Whether workers have equal batches, or batches by their speed of the same sum."
    )
    workers: Count
    servers: Count = Field(default=1, description="Parameter servers, where the aggregation has any.")
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = Field(default=None, description="Of each worker.")
    epochs: Annotated[float, Field(gt=0, le=10**6)] | None = Field(default=None, description="Instead of steps.")
    jitter: Jitter = Field(default_factory=lambda: Jitter(cv=0.0))
    placement: PolicySection = Field(default_factory=lambda: PolicySection(policy="default-tensorflow"))
    aggregation: AggregationSection = Field(
        default_factory=lambda: PolicySection(policy="parameter-server"), description="A policy, or the tree itself."
    )


class MeasuredSection(Section):
    """Values that were measured or published, of the job that the scale is a field of, or of the only job."""

    metric: Annotated[str, Named("metric")] = Field(description="What was measured.")
    source: str = Field(description="Where the values come from.")
    scale: str = Field(
        description="Path of the field, among fields, that plain linear scaling goes by; times stay as they are."
    )
    fields: Annotated[Items[str], Field(min_length=1)] = Field(description="Field paths: what the rows differ in.")
    rows: Annotated[Items[Items[Json]], Field(min_length=1)] = Field(
        description="The values of the fields, then the measured value."
    )


class ScenarioFile(Section):
    """A scenario."""

    name: Slug = Field(description="Names the folder of the results.")
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=0, description="Key of all random draws.")
    replications: Count = Field(default=1, description="How often everything is drawn anew.")
    engine: Literal["simpy", "kernel", "auto"] = Field(
        default="auto", description="Executor of plans: both give the same ticks; auto takes the kernel for long work."
    )
    cluster: ClusterSection
    jobs: Annotated[Items[JobSection], Field(min_length=1)]
    compare: dict[str, Annotated[Items[Json], Field(min_length=1)]] = Field(
        default_factory=dict, description="Each axis is a field path and the values to try."
    )
    measured: MeasuredSection | None = Field(default=None, description="Held against the simulated values.")
