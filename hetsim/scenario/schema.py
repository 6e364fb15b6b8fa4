"""The sections of a scenario file. Quantities are SI floats here; what is left out has its default."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from hetsim.scenario.convergence import ConvergenceSection
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
)
from hetsim.scenario.groups import GroupSection
from hetsim.scenario.hardware import HostSection
from hetsim.scenario.steps import CompressionSection, SlotsSection
from hetsim.scenario.topology import LinkException, Topology
from hetsim.scenario.traffic import TrafficSection


class ClusterSection(Section):
    """Where training runs."""

    hosts: Annotated[Items[HostSection], Field(min_length=1)]
    topology: Topology | None = Field(default=None, description="Needed by more than one host.")
    links: Items[LinkException] = Field(default=(), description="Exceptions to the topology.")
    traffic: Items[TrafficSection] | None = Field(default=None, description="Transfers of others.")


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


class TransportSection(Section):
    """How messages cross the network."""

    bare_key: ClassVar = "type"

    type: Annotated[str, Named("transport")] = Field(description="Catalog name: see 'hetsim list transports'.")
    streams: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None, description="Connections that share a message, instead of the catalog's."
    )
    stream_rate: Rate | None = Field(default=None, description="Of each connection, at most, such as 5 Gbit/s on EC2.")
    window: Bytes | None = Field(default=None, description="In flight on each connection, instead of the catalog's.")
    unfairness: Annotated[float, Field(ge=0, le=3)] = Field(
        default=0.0,
        description="Standard deviation of the logarithm of the weights with which connections share what they compete "
        "for, drawn in each replication. Recorded at 50 to 500 Mbit/s: 1.15; long flows at 1 Gbit/s are nearly fair.",
    )


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
    split: Literal["even", "by-speed", "balanced"] | None = Field(
        default=None,
        description="Whether workers have equal batches, batches by speed, or those with which they end together, "
        "all of the same sum.",
    )
    workers: Count
    servers: Count = Field(default=1, description="Parameter servers, where the aggregation has any.")
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = Field(default=None, description="Of each worker.")
    epochs: Annotated[float, Field(gt=0, le=10**6)] | None = Field(default=None, description="Instead of steps.")
    transport: TransportSection | None = Field(
        default=None, description="How messages cross the network; fluid sharing alone (ideal) if left out."
    )
    accumulate: Annotated[int, Field(ge=1, le=10**6)] | None = Field(
        default=None, description="Batches whose gradients a worker adds up in a step; 1 if left out."
    )
    slots: SlotsSection | None = Field(
        default=None, description="Workers that may not finish a step in its time; they do if left out."
    )
    compression: CompressionSection | None = Field(
        default=None, description="Gradients in fewer bytes; whole ones if left out."
    )
    convergence: ConvergenceSection | None = Field(
        default=None, description="Updates to a target accuracy; those of the catalog if left out."
    )
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
