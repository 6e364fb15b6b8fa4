"""What of a group's fields goes together: when aggregates are taken, and by whom.

The messages name the field that is wrong and the one that it does not go with, since policies hand their parameters on.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, Literal, get_args

from hetsim.aggregation.flaws import Flaw, Steps, path_of
from hetsim.model.aggregation import Architecture, Group, Rank

MOST: Final = 100_000
"""Of steps, gradients or members that a field counts, as of all that a scenario counts."""

Place = Literal["root", "pushing", "below"]
"""Of a group in its tree; a pushing one is a member of a root that gossips asynchronously."""

_ARCHITECTURES: Final[Mapping[str, tuple[str, ...]]] = {
    "bsp": get_args(Architecture),
    "local": get_args(Architecture),
    "async": ("parameter-server", "gossip"),
    "ssp": ("parameter-server",),
    "partial": ("ring",),
    "state-server": ("parameter-server",),
}
"""Of each sync."""

_BY_ITSELF: Final = ("async", "ssp")
"""Syncs of members that do not wait for each other."""

_OF_THE_ROOT: Final = ("partial", "state-server")
"""Syncs over ranks that take no part in anything else."""

_DEFAULTS: Final[Mapping[str, Any]] = {field.name: field.default for field in fields(Group) if field.default != MISSING}


def scheme_flaws(tree: Group) -> Iterator[Flaw]:
    """Yield the fields of a tree that do not go together.

    Parameters
    ----------
    tree : Group
        Its architectures and syncs are known words.

    Yields
    ------
    Flaw
        From the root down.

    Examples
    --------
    >>> tree = Group(members=(Rank(0), Rank(1)), architecture="ring", staleness=3)
    >>> [str(flaw) for flaw in scheme_flaws(tree)]
    ["aggregation.staleness: goes with sync ssp, but sync is 'bsp'"]
    """
    yield from _group(tree, (), "root")
    if tree.partition_bytes:
        yield from _partitions(tree)


def _group(group: Group, at: Steps, place: Place) -> Iterator[Flaw]:
    if group.architecture not in _ARCHITECTURES[group.sync]:
        yield from _only_with(group, (*at, "sync"), group.sync, "architecture", _ARCHITECTURES[group.sync])
    else:
        yield from _place(group, at, place)
        for check in (_period, _local_after, _staleness, _quorum, _steps, _graph, _group_size, _margin):
            yield from check(group, at)
        yield from _equal_rounds(group, at)
    inner: Place = "pushing" if not at and gossips_by_itself(group) else "below"
    for position, member in enumerate(group.members):
        if isinstance(member, Group):
            yield from _group(member, (*at, "members", position), inner)


def gossips_by_itself(group: Group) -> bool:
    """Return whether the members of a group gossip without waiting for each other.

    Parameters
    ----------
    group : Group
        Of a tree.

    Returns
    -------
    bool
        Members are ranks, or groups of parameter servers.
    """
    return group.architecture == "gossip" and group.sync == "async"


def _place(group: Group, at: Steps, place: Place) -> Iterator[Flaw]:
    """Yield what a group cannot be where it is, and with the members that it has."""
    if place != "root" and group.architecture == "gossip":
        yield Flaw((*at, "architecture"), "only the root can gossip")
    elif place != "root" and group.sync in _OF_THE_ROOT:
        yield Flaw((*at, "sync"), f"only the root can be {group.sync}")
    elif place == "below" and group.sync in _BY_ITSELF:
        where = "only the root can be, or the groups of a root that is gossip and async"
        yield Flaw((*at, "sync"), f"a group inside of others is bsp or local, not {group.sync}: {where}")
    if group.sync in _OF_THE_ROOT:
        yield from _only_ranks(group, at, f"sync {group.sync}")
    if group.sync == "partial" and group.messages != "auto":
        yield Flaw((*at, "messages"), f"goes with sync bsp or local, but sync is {group.sync!r}")
    if gossips_by_itself(group) and not _has_only_ranks(group):
        for position, member in enumerate(group.members):
            if not _pushes(member):
                message = "either all members of an async gossip are ranks, or all are parameter servers of sync async "
                yield Flaw((*at, "members", position), f"{message}or ssp")


def _pushes(member: object) -> bool:
    return isinstance(member, Group) and member.architecture == "parameter-server" and member.sync in _BY_ITSELF


def _period(group: Group, at: Steps) -> Iterator[Flaw]:
    here, period = (*at, "period"), group.period
    if isinstance(period, tuple):
        yield from _only_with(group, here, "a list of steps", "sync", ["local"])
        if at:
            yield Flaw(here, "only the root can have a list of steps, one for each rank")
        yield from _only_ranks(group, at, "a period for each member")
        if len(period) != len(group.members):
            yield Flaw(here, f"{len(period)} numbers of steps for {len(group.members)} members")
        for position, steps in enumerate(period):
            yield from _within(steps, (*here, position), 1)
        return
    yield from _within(period, here, 1)
    if period == 1:
        return
    if gossips_by_itself(group):
        if _has_only_ranks(group):
            yield Flaw(here, "goes with sync local, or with groups as members of sync async, but members are ranks")
    else:
        yield from _only_with(group, here, "", "sync", ["local"])


def _local_after(group: Group, at: Steps) -> Iterator[Flaw]:
    here = (*at, "local_after")
    yield from _within(group.local_after, here, 0)
    if not _is_default(group, "local_after"):
        yield from _only_with(group, here, "", "sync", ["local"])
        if at:
            yield Flaw(here, "only the root says when exchanges become rare")
        if isinstance(group.period, tuple):
            yield Flaw(here, "goes with one period for all members, but period is a list")


def _staleness(group: Group, at: Steps) -> Iterator[Flaw]:
    here = (*at, "staleness")
    yield from _within(group.staleness, here, 0)
    if not _is_default(group, "staleness"):
        yield from _only_with(group, here, "", "sync", ["ssp"])


def _quorum(group: Group, at: Steps) -> Iterator[Flaw]:
    here = (*at, "quorum")
    yield from _within(group.quorum, here, 0)
    if group.quorum:
        yield from _only_with(group, here, "", "architecture", ["parameter-server"])
        yield from _only_with(group, here, "", "sync", ["bsp"])
        if at:
            yield Flaw(here, "only the servers at the root can have one")
        yield from _only_ranks(group, at, "a quorum")
    elif not _is_default(group, "late"):
        yield Flaw((*at, "late"), f"{group.late} goes with a quorum, but quorum is {group.quorum}")


def _steps(group: Group, at: Steps) -> Iterator[Flaw]:
    here = (*at, "steps")
    if not _is_default(group, "steps"):
        yield from _only_with(group, here, group.steps, "architecture", ["parameter-server"])
        yield from _only_with(group, here, group.steps, "sync", ["async"])
        if at:
            yield Flaw(here, "only the root can share steps")
        yield from _only_ranks(group, at, f"steps {group.steps}")


def _graph(group: Group, at: Steps) -> Iterator[Flaw]:
    here, graph, n = (*at, "graph"), group.graph, len(group.members)
    if _is_default(group, "graph"):
        return
    yield from _only_with(group, here, "", "architecture", ["gossip"])
    if not isinstance(graph, tuple):
        return
    wrong = [Flaw((*here, position), text) for position, edge in enumerate(graph) if (text := _wrong_edge(edge, n))]
    yield from wrong
    if not wrong and (apart := _apart(graph, n)):
        numbers = ", ".join(map(str, apart))
        yield Flaw(here, f"is not connected: no way leads from member 0 to {numbers}")


def _wrong_edge(edge: tuple[int, ...], n: int) -> str:
    if len(edge) != 2:
        return f"an edge joins two members, not {len(edge)}"
    beyond = [end for end in edge if end not in range(n)]
    if beyond:
        return f"there is no member {beyond[0]}, members are 0 to {n - 1}"
    return f"member {edge[0]} is no neighbour of itself" if edge[0] == edge[1] else ""


def _apart(graph: Collection[tuple[int, int]], n: int) -> list[int]:
    """Return the members that cannot be reached from the first one."""
    neighbours: dict[int, set[int]] = {member: set() for member in range(n)}
    for a, b in graph:
        neighbours[a].add(b)
        neighbours[b].add(a)
    reached, waiting = {0}, [0]
    while waiting:
        found = neighbours[waiting.pop()] - reached if n else set()
        reached |= found
        waiting += found
    return [member for member in range(n) if member not in reached]


def _group_size(group: Group, at: Steps) -> Iterator[Flaw]:
    here, n = (*at, "group_size"), len(group.members)
    if group.sync == "partial":
        if not 2 <= group.group_size <= n:
            yield Flaw(here, f"must be 2 to {n}, the number of members, not {group.group_size}")
    elif not _is_default(group, "group_size"):
        yield from _only_with(group, here, "", "sync", ["partial"])


def _margin(group: Group, at: Steps) -> Iterator[Flaw]:
    here = (*at, "margin_s")
    if not (math.isfinite(group.margin_s) and group.margin_s >= 0.0):
        yield Flaw(here, f"must be a finite number of seconds, not {group.margin_s!r}")
    if not _is_default(group, "margin_s"):
        yield from _only_with(group, here, "", "sync", ["state-server"])


def _equal_rounds(group: Group, at: Steps) -> Iterator[Flaw]:
    """Yield member groups that exchange more or less often than the first of them."""
    if gossips_by_itself(group):
        return
    inner = [(position, member) for position, member in enumerate(group.members) if isinstance(member, Group)]
    for position, member in inner[1:]:
        first, own = _steps_of(inner[0][1]), _steps_of(member)
        if own != first:
            message = f"exchanges once in {own} steps, but member {inner[0][0]} once in {first}"
            yield Flaw((*at, "members", position, "period"), message)


def _steps_of(group: Group) -> int:
    """Return how many steps lie between two exchanges of a group."""
    below = max((_steps_of(member) for member in group.members if isinstance(member, Group)), default=1)
    return below * group.period if group.sync == "local" and isinstance(group.period, int) else below


def _partitions(tree: Group) -> Iterator[Flaw]:
    """Yield what partitions at the root do not go with, anywhere."""
    if tree.quorum:
        yield Flaw(("partition_bytes",), f"goes with gradients of all members, but quorum is {tree.quorum}")
    for steps, group in _groups(tree, ()):
        if group.sync != "bsp":
            where = f" of {path_of(steps).removeprefix('aggregation.')}" if steps else ""
            yield Flaw(("partition_bytes",), f"goes with sync bsp, but sync{where} is {group.sync!r}")
            return


def _groups(group: Group, at: Steps) -> Iterator[tuple[Steps, Group]]:
    yield at, group
    for position, member in enumerate(group.members):
        if isinstance(member, Group):
            yield from _groups(member, (*at, "members", position))


def _only_with(group: Group, at: Steps, value: str, other: str, allowed: Collection[str]) -> Iterator[Flaw]:
    found = getattr(group, other)
    if found not in allowed:
        yield Flaw(at, f"{value} goes with {other} {_any_of(allowed)}, but {other} is {found!r}".strip())


def _only_ranks(group: Group, at: Steps, what: str) -> Iterator[Flaw]:
    for position, member in enumerate(group.members):
        if isinstance(member, Group):
            yield Flaw((*at, "members", position), f"{what} goes with ranks as members, and this is a group")


def _has_only_ranks(group: Group) -> bool:
    return all(isinstance(member, Rank) for member in group.members)


def _is_default(group: Group, field: str) -> bool:
    return bool(getattr(group, field) == _DEFAULTS[field])


def _within(value: int, at: Steps, least: int) -> Iterator[Flaw]:
    if not least <= value <= MOST:
        yield Flaw(at, f"must be {least} to {MOST}, not {value}")


def _any_of(words: Collection[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
