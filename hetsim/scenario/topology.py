"""The sections of a scenario file that join hosts. Quantities are SI floats here."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from hetsim.lookup import unknown
from hetsim.network.topologies import TOPOLOGIES
from hetsim.scenario.fields import Count, Items, Quantity, Rate, Section, Slug, Time, shown, wrong
from hetsim.scenario.impairments import NETEM, LinkSchedule, LinkTrace, Qdiscs, noted
from hetsim.scenario.queues import QUEUE, Queue

Duplex = Literal["full", "half"]
DUPLEX: Final = "Whether each direction has the whole rate (full, if left out), or both share it (half)."
"""Described so wherever it can be written."""

ECMP_SEED: Final = "Key of the hash that chooses among routes of equal cost, 0 if left out; not that of the draws."

Seed = Annotated[int, Field(ge=0, lt=2**63)]


class PortTopology(Section):
    """A topology that hosts are joined to by their network cards."""

    kind: str
    latency: Time | None = Field(default=None, description="One way, of each link.")
    queue: Queue | None = Field(default=None, description=QUEUE)
    duplex: Duplex | None = Field(default=None, description=DUPLEX)


class UplinkTopology(PortTopology):
    """A topology with links of their own latency above the switches of the hosts."""

    uplink_latency: Time | None = Field(default=None, description="One way; like latency if left out.")


class StarTopology(PortTopology):
    """All hosts on one switch, called ``switch``."""

    kind: Literal["star"]


class TwoLevelTopology(UplinkTopology):
    """Racks, filled in the order of the hosts, under a core switch: ``rack-0``, ``rack-1``, ... and ``core``."""

    kind: Literal["two-level"]
    hosts_per_rack: Count
    uplink: Rate = Field(description="Payload rate between a rack's switch and the core.")


class LeafSpineTopology(UplinkTopology):
    """Leaf switches, filled in the order of the hosts, each joined to each spine switch."""

    kind: Literal["leaf-spine"]
    hosts_per_leaf: Count
    spines: Annotated[int, Field(ge=1, le=1024)]
    uplink: Rate | None = Field(default=None, description="Payload rate between a leaf and a spine.")
    oversubscription: Annotated[float, Field(ge=0.001, le=1000)] | None = Field(
        default=None, description="Instead of uplink: rate of a leaf's ports over that of its uplinks."
    )
    ecmp_seed: Seed | None = Field(default=None, description=ECMP_SEED)


def _even(k: int) -> int:
    if k % 2:
        raise wrong(f"must be even: half of a switch's ports lead up, not {k}")
    return k


class FatTreeTopology(UplinkTopology):
    """The fat tree of k-port switches, filled with the hosts pod by pod."""

    kind: Literal["fat-tree"]
    k: Annotated[int, Field(ge=2, le=64), AfterValidator(_even)] = Field(description="Ports of each switch; even.")
    uplink: Rate | None = Field(
        default=None, description="Payload rate between switches; that of the fastest nic if left out."
    )
    ecmp_seed: Seed | None = Field(default=None, description=ECMP_SEED)


class DragonflyTopology(PortTopology):
    """Groups of routers that are all joined to each other, and one link between each two groups."""

    kind: Literal["dragonfly"]
    groups: Annotated[int, Field(ge=2, le=1024)]
    routers_per_group: Annotated[int, Field(ge=1, le=1024)]
    hosts_per_router: Count
    local_rate: Rate = Field(description="Payload rate between two routers of a group.")
    local_latency: Time | None = Field(default=None, description="One way; like latency if left out.")
    global_rate: Rate = Field(description="Payload rate between two groups.")
    global_latency: Time | None = Field(default=None, description="One way; like latency if left out.")


def _listed_tag(value: object) -> str:
    return "~list" if isinstance(value, list | tuple) else "~one"


SiteHosts = Annotated[
    Annotated[Count, Tag("~one")] | Annotated[Items[str], Field(min_length=1), Tag("~list")],
    Discriminator(_listed_tag),
]


class Site(Section):
    """A place with a switch of its own."""

    name: Slug = Field(description="Also that of its switch.")
    hosts: SiteHosts = Field(description="How many of the hosts that no other site names, or names of hosts.")


Sites = Annotated[
    Annotated[int, Field(ge=2, le=1024), Tag("~one")] | Annotated[Items[Site], Field(min_length=2), Tag("~list")],
    Discriminator(_listed_tag),
]
WanRates = Annotated[
    Annotated[float, Quantity("rate", positive=True), Tag("~one")]
    | Annotated[Items[Rate], Field(min_length=1), Tag("~list")],
    Discriminator(_listed_tag),
]
WanTimes = Annotated[
    Annotated[float, Quantity("time"), Tag("~one")] | Annotated[Items[Time], Field(min_length=1), Tag("~list")],
    Discriminator(_listed_tag),
]


class WanRingTopology(PortTopology):
    """Sites, each with a switch, on a ring of wide-area links."""

    kind: Literal["wan-ring"]
    sites: Sites = Field(
        description="How many, called site-0, site-1, ... and filled evenly in order; or each of them."
    )
    wan: WanRates = Field(description="Payload rate from each site to the next: of all links, or of each.")
    wan_latency: WanTimes = Field(description="One way, of all links between sites, or of each.")
    ecmp_seed: Seed | None = Field(default=None, description=ECMP_SEED)


Ends = Annotated[Items[str], Field(min_length=2, max_length=2)]


class GraphLink(Section):
    """A link of an explicit graph."""

    between: Ends = Field(description="Two hosts or switches.")
    rate: Rate = Field(description="Payload rate of each direction.")
    latency: Time = Field(description="One way.")
    queue: Queue | None = Field(default=None, description=QUEUE)
    duplex: Duplex | None = Field(default=None, description="As of the topology if left out.")
    metric: Count | None = Field(default=None, description="What it adds to the length of a route; 1 if left out.")


class GraphTopology(Section):
    """Hosts and switches joined by the links that are listed; a host's nic plays no part."""

    kind: Literal["graph"]
    switches: Items[Slug] = ()
    links: Items[GraphLink] = Field(min_length=1)
    file: str | None = Field(
        default=None,
        exclude=True,
        description="GraphML or node-link JSON, beside the scenario: instead of switches and links.",
    )
    duplex: Duplex | None = Field(default=None, description=DUPLEX)
    ecmp_seed: Seed | None = Field(default=None, description=ECMP_SEED)


AnyTopology = PortTopology | GraphTopology

_TOPOLOGY_TAGS: Final = {
    "star": "~StarTopology",
    "two-level": "~TwoLevelTopology",
    "leaf-spine": "~LeafSpineTopology",
    "fat-tree": "~FatTreeTopology",
    "dragonfly": "~DragonflyTopology",
    "wan-ring": "~WanRingTopology",
    "graph": "~GraphTopology",
}
_TOPOLOGY_EXAMPLES: Final = {
    "star": "kind: star, latency: 25 us",
    "two-level": "kind: two-level, hosts_per_rack: 8, uplink: 40 Gbit/s, latency: 25 us",
    "leaf-spine": "kind: leaf-spine, hosts_per_leaf: 8, spines: 2, oversubscription: 4, latency: 25 us",
    "fat-tree": "kind: fat-tree, k: 4, latency: 25 us",
    "dragonfly": "kind: dragonfly, groups: 3, routers_per_group: 2, hosts_per_router: 2, local_rate: 50 Gbit/s, "
    "global_rate: 25 Gbit/s, latency: 1 us",
    "wan-ring": "kind: wan-ring, sites: 3, wan: 1 Gbit/s, wan_latency: 10 ms, latency: 25 us",
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
    | Annotated[LeafSpineTopology, Tag("~LeafSpineTopology")]
    | Annotated[FatTreeTopology, Tag("~FatTreeTopology")]
    | Annotated[DragonflyTopology, Tag("~DragonflyTopology")]
    | Annotated[WanRingTopology, Tag("~WanRingTopology")]
    | Annotated[GraphTopology, Tag("~GraphTopology")],
    Discriminator(_topology_tag),
    BeforeValidator(_topology_kind),
]


class LinkException(Section):
    """What is different about one link of the topology, from the start or later."""

    between: Ends = Field(description="The link's ends: a host or switch each.")
    rate: Rate | None = None
    latency: Time | None = Field(default=None, description="One way.")
    queue: Queue | None = Field(default=None, description=QUEUE)
    duplex: Duplex | None = Field(default=None, description=DUPLEX)
    netem: Qdiscs | None = Field(default=None, description=NETEM)
    schedule: LinkSchedule | None = Field(default=None, description="How the link changes with time.")
    trace: LinkTrace | None = Field(
        default=None, exclude=True, description="Recordings that are replayed, as a schedule."
    )

    @property
    def qdiscs(self) -> str | dict[str, str] | None:
        """What is written as ``netem``; recorded as read."""
        return noted(self, self.netem)
