"""The tree of an aggregation, written out in a scenario."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag

from hetsim.aggregation.checks import flaws_of
from hetsim.aggregation.flaws import Steps as At
from hetsim.model.aggregation import Architecture, Graph, Group, Late, Messages, Rank, Sharding, Steps, Sync
from hetsim.scenario.fields import Bytes, Items, Section, Time, shown, wrong
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc

Number = Annotated[int, Field(ge=0)]


def _member_tag(value: object) -> str:
    return "~GroupSection" if isinstance(value, dict | GroupSection) else "~rank"


def _member(value: object) -> object:
    if isinstance(value, dict | GroupSection) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise wrong(f"must be the number of a rank, or a group, not {shown(value)}")


def list_tag(value: object) -> str:
    """Return the tag of what is written as a list, or of what is written as one value.

    Parameters
    ----------
    value : object
        As written.

    Returns
    -------
    str
        For a union of both.
    """
    return "~list" if isinstance(value, list | tuple) else "~name"


class GroupSection(Section):
    """Members that combine their gradients together."""

    architecture: Architecture = Field(description="How bytes move.")
    sync: Sync = Field(
        default="bsp",
        description="When an aggregate is taken: in each step (bsp), as gradients come (async, or ssp within a bound), "
        "once a period (local), of a few members (partial), when a state server says so.",
    )
    members: Annotated[Items["Member"], Field(min_length=1)] | None = Field(
        default=None, description="Numbers of ranks, and groups."
    )
    ranks: Annotated[Items[Number], Field(min_length=1)] | None = Field(
        default=None, description="Instead of members, where all are ranks."
    )
    servers: Annotated[Items[Number], Field(min_length=1)] | None = Field(
        default=None, description="Numbers of the job's servers that hold parameters; all of them if left out."
    )
    sharding: (
        Annotated[
            Annotated[Sharding, Tag("~name")] | Annotated[Items[Annotated[float, Field(ge=0, le=1)]], Tag("~list")],
            Discriminator(list_tag),
        ]
        | None
    ) = Field(default=None, description="Round-robin by variable, even, or the share of the bytes of each server.")
    partition: Bytes | None = Field(
        default=None, description="Gradients go to servers, and sums return, in pieces of at most this size."
    )
    messages: Messages = Field(default="auto", description="Simulate a ring message by message, or as one flow.")
    staleness: Number = Field(default=0, description="Of ssp: steps that members may be apart.")
    period: Annotated[
        Annotated[Number, Tag("~name")] | Annotated[Items[Number], Tag("~list")], Discriminator(list_tag)
    ] = Field(
        default=1,
        description="Of local: rounds of the members between two aggregates; a list where ranks make different numbers "
        "of steps. Of groups in an async gossip: pushes between two sends.",
    )
    local_after: Number = Field(default=0, description="Of local: so many first steps are synchronous.")
    quorum: Number = Field(
        default=0, description="Of a bsp parameter server: gradients that are enough; zero for one of each member."
    )
    late: Late = Field(default="drop", description="With a quorum: what becomes of a gradient that comes too late.")
    steps: Steps = Field(
        default="each", description="Of an async parameter server: steps of each rank, or shared by whoever is free."
    )
    graph: Annotated[
        Annotated[Graph, Tag("~name")] | Annotated[Items[Items[Number]], Tag("~list")], Discriminator(list_tag)
    ] = Field(default="complete", description="Of gossip: neighbours, by name or as pairs of positions of members.")
    group_size: Number = Field(default=0, description="Of partial: members that average together.")
    margin: Time | None = Field(
        default=None,
        description="Of state-server: no step is begun that would end less than this before that of the slowest; "
        "500 ms if left out.",
    )


Member = Annotated[
    Annotated[Number, Tag("~rank")] | Annotated[GroupSection, Tag("~GroupSection")],
    Discriminator(_member_tag),
    BeforeValidator(_member),
]

GroupSection.model_rebuild()

_SERVERS: Final = "parameter-server"

_OPTIONAL: Final = ("staleness", "period", "local_after", "quorum", "late", "steps", "graph", "group_size")
"""Written only where they say something, so that what was written before there were such fields keeps its form."""

_KEYS: Final[Mapping[At, At]] = {("partition_bytes",): ("partition",), ("margin_s",): ("margin",)}
"""What a file calls fields whose values have units."""

_DEFAULTS: Final[Mapping[str, Any]] = {field.name: field.default for field in fields(Group)}


def has_servers(section: GroupSection) -> bool:
    """Return whether a group, or one inside of it, has parameter servers.

    Parameters
    ----------
    section : GroupSection
        The root.

    Returns
    -------
    bool
        As the architectures say.
    """
    inner = [member for member in section.members or () if isinstance(member, GroupSection)]
    return section.architecture == _SERVERS or any(has_servers(member) for member in inner)


def tree_of(section: GroupSection, n_servers: int) -> Group:
    """Return the tree that is written.

    Parameters
    ----------
    section : GroupSection
        The root.
    n_servers : int
        Servers of the job.

    Returns
    -------
    Group
        Its servers are numbers of the job's servers, as texts.
    """
    servers = section.servers
    if servers is None and section.architecture == _SERVERS:
        servers = tuple(range(n_servers))
    members: list[Group | Rank] = [Rank(rank) for rank in section.ranks or ()]
    for position, member in enumerate(section.members or ()):
        if isinstance(member, GroupSection):
            members.append(tree_of(member, n_servers))
        else:
            section.note(f"members[{position}]")
            members.append(Rank(member))
    return Group(
        members=tuple(members),
        architecture=section.architecture,
        sync=section.sync,
        staleness=section.staleness,
        period=section.period,
        local_after=section.local_after,
        quorum=section.quorum,
        late=section.late,
        steps=section.steps,
        graph=cast("Graph | tuple[tuple[int, int], ...]", section.graph),
        group_size=section.group_size,
        margin_s=_DEFAULTS["margin_s"] if section.margin is None else section.margin,
        servers=tuple(map(str, servers or ())),
        sharding=section.sharding or "round-robin",
        partition_bytes=section.partition or 0.0,
        messages=section.messages,
    )


def canonical(section: GroupSection, n_servers: int) -> dict[str, Any]:
    """Return a tree as it would be written in full, in one way for each meaning.

    Parameters
    ----------
    section : GroupSection
        The root.
    n_servers : int
        Servers of the job.

    Returns
    -------
    dict
        JSON-able, and valid as a section.
    """
    return _written(tree_of(section, n_servers))


def _written(group: Group) -> dict[str, Any]:
    written: dict[str, Any] = {"architecture": group.architecture, "sync": group.sync}
    written |= {name: _listed(value) for name in _OPTIONAL if (value := getattr(group, name)) != _DEFAULTS[name]}
    if all(isinstance(member, Rank) for member in group.members):
        written["ranks"] = [member.index for member in group.members if isinstance(member, Rank)]
    else:
        written["members"] = [
            member.index if isinstance(member, Rank) else _written(member) for member in group.members
        ]
    if group.architecture == _SERVERS:
        written["servers"] = [int(server) for server in group.servers]
        written["sharding"] = list(group.sharding) if isinstance(group.sharding, tuple) else group.sharding
    if group.margin_s != _DEFAULTS["margin_s"]:
        written["margin"] = f"{group.margin_s!r} s"
    if group.partition_bytes:
        written["partition"] = f"{group.partition_bytes!r} B"
    if group.architecture == "ring":
        written["messages"] = group.messages
    return written


def _listed(value: object) -> object:
    """Return a value with lists for tuples."""
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def check_tree(section: GroupSection, n_workers: int, n_servers: int, at: Loc) -> Iterator[Problem]:
    """Yield what is wrong with a tree whose fields are right by themselves.

    Parameters
    ----------
    section : GroupSection
        The root.
    n_workers, n_servers : int
        Of the job.
    at : Loc
        Where the section is.

    Yields
    ------
    Problem
        At the node of the tree.
    """
    found = [*_members_problems(section, at), *_server_problems(section, n_servers, at)]
    yield from found
    if found:
        return
    tree = tree_of(section, n_servers)
    for flaw in flaws_of(tree, n_workers, [str(number) for number in range(n_servers)]):
        yield Problem((*at, *_written_at(section, flaw.steps)), flaw.message)
    unused = sorted(set(range(n_servers)) - _servers_used(tree))
    if has_servers(section) and unused:
        numbers = ", ".join(map(str, unused))
        yield Problem(
            (*at[:-1], "servers"), f"{n_servers} servers, but no group of the aggregation uses server {numbers}"
        )


def _members_problems(section: GroupSection, at: Loc) -> Iterator[Problem]:
    if section.members is None and section.ranks is None:
        yield Problem(at, "has no members: write members (groups, or numbers of ranks) or ranks")
    elif section.members is not None and section.ranks is not None:
        yield Problem((*at, "ranks"), "either members or ranks, not both")
    for position, member in enumerate(section.members or ()):
        if isinstance(member, GroupSection):
            yield from _members_problems(member, (*at, "members", position))


def _server_problems(section: GroupSection, n_servers: int, at: Loc) -> Iterator[Problem]:
    for position, number in enumerate(section.servers or ()):
        if number >= n_servers:
            message = f"there is no server {number}, servers of the job are 0 to {n_servers - 1}"
            yield Problem((*at, "servers", position), message)
    for position, member in enumerate(section.members or ()):
        if isinstance(member, GroupSection):
            yield from _server_problems(member, n_servers, (*at, "members", position))


def _servers_used(group: Group) -> set[int]:
    inner = [_servers_used(member) for member in group.members if isinstance(member, Group)]
    return {int(server) for server in group.servers}.union(*inner)


def _written_at(section: GroupSection, steps: At) -> At:
    """Return where the file says what a step of the tree says: ranks are members too."""
    if steps[:1] in _KEYS:
        return _KEYS[steps[:1]]
    if steps[:1] != ("members",):
        return steps
    if section.ranks is not None:
        return ("ranks", *steps[1:])
    member = (section.members or ())[int(steps[1])] if len(steps) > 1 else None
    if isinstance(member, GroupSection):
        return (*steps[:2], *_written_at(member, steps[2:]))
    return steps
