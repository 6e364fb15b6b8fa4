"""Random trees of every aggregation scheme."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

from hypothesis import strategies as st

from hetsim.model.aggregation import Architecture, Graph, Group, Late, Rank, Sync
from hetsim.model.aggregation import Steps as StepsWord

SERVERLESS = ("ring", "tree", "halving-doubling")
PLAIN = (*SERVERLESS, "parameter-server")
SHARES = {1: (1.0,), 2: (0.25, 0.75), 3: (0.5, 0.25, 0.25)}
MOST_STALE = 4


@st.composite
def scheme_trees(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """A tree of one of the schemes, without flaw, over these ranks, with servers on some of these hosts.

    But not of one with a state server, which only one of the executors can ask.
    """
    kinds = [_nested, _asynchronous, _quorum, _unequal, _gossip, _gossip_by_itself]
    if len(ranks) > 1:
        kinds.append(_partial)
    tree: Group = draw(st.sampled_from(kinds))(draw, list(ranks), hosts)
    return tree


@st.composite
def mutated_trees(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """A tree of a scheme in which some fields of some groups were changed: most are flawed."""
    tree = draw(scheme_trees(ranks, hosts))
    for _ in range(draw(st.integers(0, 3))):
        tree = _mutated(draw, tree, hosts)
    return tree


def _mutated(draw: st.DrawFn, group: Group, hosts: Sequence[str]) -> Group:
    groups = [position for position, member in enumerate(group.members) if isinstance(member, Group)]
    if groups and draw(st.booleans()):
        position = draw(st.sampled_from(groups))
        members = list(group.members)
        inner = members[position]
        assert isinstance(inner, Group)
        members[position] = _mutated(draw, inner, hosts)
        return replace(group, members=tuple(members))
    if draw(st.integers(0, 7)) == 0:
        position = draw(st.integers(0, len(group.members) - 1))
        wrapped = Group(members=(group.members[position],), architecture=draw(st.sampled_from(SERVERLESS)))
        members = [*group.members[:position], wrapped, *group.members[position + 1 :]]
        return replace(group, members=tuple(members))
    n = len(group.members)
    ends = st.integers(0, n - 1)
    choices: dict[str, st.SearchStrategy[Any]] = {
        "architecture": st.sampled_from(get_args(Architecture)),
        "sync": st.sampled_from(get_args(Sync)),
        "staleness": st.integers(-1, 3),
        "period": st.one_of(st.integers(0, 3), st.tuples(*[st.integers(1, 3)] * n)),
        "local_after": st.integers(-1, 2),
        "quorum": st.integers(-1, n + 1),
        "late": st.sampled_from(get_args(Late)),
        "steps": st.sampled_from(get_args(StepsWord)),
        "graph": st.one_of(st.sampled_from(get_args(Graph)), st.lists(st.tuples(ends, ends), max_size=n).map(tuple)),
        "group_size": st.integers(0, n + 1),
        "partition_bytes": st.sampled_from([0.0, 1e5]),
        "messages": st.sampled_from(["auto", "rounds", "composite"]),
        "margin_s": st.sampled_from([-1.0, 0.0, 0.005, 0.5]),
    }
    field = draw(st.sampled_from(sorted(choices)))
    changed: dict[str, Any] = {field: draw(choices[field])}
    if changed.get("architecture") == "parameter-server":
        changed |= _served(draw, hosts)
    elif "architecture" in changed:
        changed |= {"servers": (), "sharding": "round-robin"}
    return replace(group, **changed)


def _served(draw: st.DrawFn, hosts: Sequence[str], n: int | None = None) -> dict[str, Any]:
    n = n or draw(st.integers(1, 3))
    return {
        "servers": tuple(draw(st.sampled_from(hosts)) for _ in range(n)),
        "sharding": draw(st.sampled_from(["round-robin", "even", SHARES[n]])),
    }


def _shaped(draw: st.DrawFn, hosts: Sequence[str], architectures: Sequence[str] = PLAIN) -> dict[str, Any]:
    """The architecture of a group, with what it needs."""
    architecture = draw(st.sampled_from(architectures))
    if architecture == "parameter-server":
        return {"architecture": architecture} | _served(draw, hosts)
    if architecture == "ring":
        return {"architecture": architecture, "messages": draw(st.sampled_from(["auto", "rounds", "composite"]))}
    return {"architecture": architecture}


def _cut(draw: st.DrawFn, ranks: Sequence[int]) -> list[Sequence[int]]:
    """Cut ranks into parts, often of equal size."""
    size = draw(st.integers(1, len(ranks)))
    first = draw(st.sampled_from([size, draw(st.integers(1, size))]))
    return [ranks[a:b] for a, b in pairwise([0, *range(first, len(ranks), size), len(ranks)])]


def _periods(draw: st.DrawFn, n_levels: int) -> list[int]:
    """Periods of levels, from the root down."""
    return [draw(st.sampled_from([1, 1, 2, 3])) for _ in range(n_levels)]


def _inner(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str], periods: Sequence[int]) -> Group:
    """A group of bsp and local ones, of one local group for each period that is more than one."""
    period = periods[0]
    local: dict[str, Any] = {"sync": "local", "period": period} if period > 1 else {}
    if period == 1 and draw(st.integers(0, 3)) == 0:
        local = {"sync": "local"}
    members: list[Group | Rank] = [Rank(rank) for rank in ranks]
    if len(periods) > 1:
        members = [_inner(draw, part, hosts, periods[1:]) for part in _cut(draw, ranks)]
        if max(periods[1:]) == 1:
            members = [_bare(draw, member) for member in members]
    return Group(members=tuple(members), **_shaped(draw, hosts), **local)


def _bare(draw: st.DrawFn, member: Group | Rank) -> Group | Rank:
    """A rank, where a group has only that one."""
    if isinstance(member, Group) and len(member.members) == 1 and isinstance(member.members[0], Rank):
        return draw(st.sampled_from([member, member.members[0]]))
    return member


def _levels(draw: st.DrawFn) -> list[int]:
    return _periods(draw, draw(st.integers(1, 3)))


def _members(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> tuple[Group | Rank, ...]:
    """Ranks, or groups of bsp and local ones."""
    if draw(st.booleans()):
        return tuple(Rank(rank) for rank in ranks)
    periods = _periods(draw, draw(st.integers(1, 2)))
    members: list[Group | Rank] = [_inner(draw, part, hosts, periods) for part in _cut(draw, ranks)]
    return tuple(_bare(draw, member) for member in members)


def _nested(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """Bsp and local on all levels, or partitions."""
    tree = _inner(draw, ranks, hosts, _levels(draw))
    if tree.sync == "local" and draw(st.booleans()):
        return replace(tree, local_after=draw(st.integers(0, 4)))
    return tree


def _asynchronous(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    sync = draw(st.sampled_from(["async", "ssp"]))
    fields: dict[str, Any] = {"staleness": draw(st.integers(0, MOST_STALE))} if sync == "ssp" else {}
    members = _members(draw, ranks, hosts)
    if sync == "async" and draw(st.booleans()):
        members, fields = tuple(Rank(rank) for rank in ranks), {"steps": "shared"}
    return Group(members=members, architecture="parameter-server", sync=sync, **_served(draw, hosts), **fields)


def _quorum(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    return Group(
        members=tuple(Rank(rank) for rank in ranks),
        architecture="parameter-server",
        quorum=draw(st.integers(1, len(ranks) + 2)),
        late=draw(st.sampled_from(get_args(Late))),
        **_served(draw, hosts),
    )


def _unequal(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """Members that make different numbers of steps in the same time."""
    period = tuple(draw(st.integers(1, 4)) for _ in ranks)
    architectures = (*PLAIN, "gossip")
    members = tuple(Rank(rank) for rank in ranks)
    return Group(members=members, sync="local", period=period, **_shaped(draw, hosts, architectures))


def _graph(draw: st.DrawFn, n: int) -> Graph | tuple[tuple[int, int], ...]:
    """A graph by name, or a tree with some more edges."""
    if n == 1 or draw(st.booleans()):
        return draw(st.sampled_from(get_args(Graph)))
    edges = [(draw(st.integers(0, b - 1)), b) for b in range(1, n)]
    ends = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3))
    return tuple(draw(st.permutations([*edges, *((a, b) for a, b in ends if a != b)])))


def _gossip(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """Hubs that average with their neighbours once in a while, and wait for them."""
    members = _members(draw, ranks, hosts)
    local: dict[str, Any] = {}
    if draw(st.booleans()):
        local = {"sync": "local", "period": draw(st.integers(1, 3)), "local_after": draw(st.integers(0, 3))}
    return Group(members=members, architecture="gossip", graph=_graph(draw, len(members)), **local)


def _gossip_by_itself(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    """Ranks that meet at random, or groups of parameter servers that tell each other."""
    fields: dict[str, Any] = {"architecture": "gossip", "sync": "async"}
    if draw(st.booleans()):
        return Group(members=tuple(Rank(rank) for rank in ranks), graph=_graph(draw, len(ranks)), **fields)
    parts = _cut(draw, ranks)
    groups = tuple(replace(_asynchronous(draw, part, hosts), steps="each") for part in parts)
    return Group(members=groups, graph=_graph(draw, len(parts)), period=draw(st.integers(1, 4)), **fields)


def _partial(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str]) -> Group:
    return Group(
        members=tuple(Rank(rank) for rank in ranks),
        architecture="ring",
        sync="partial",
        group_size=draw(st.integers(2, len(ranks))),
    )
