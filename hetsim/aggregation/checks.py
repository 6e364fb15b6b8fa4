"""What makes a tree of groups impossible, each with the node where it is."""

import math
from collections.abc import Iterator, Sequence
from typing import get_args

from hetsim.aggregation.flaws import Flaw, Steps, path_of
from hetsim.aggregation.schemes import scheme_flaws
from hetsim.lookup import unknown
from hetsim.model import aggregation as words
from hetsim.model.aggregation import Group, Rank


def flaws_of(tree: Group, n_ranks: int, servers: Sequence[str], others: Sequence[str] = ()) -> Iterator[Flaw]:
    """Yield what is wrong with a tree.

    Parameters
    ----------
    tree : Group
        Returned by a policy, or written in a scenario.
    n_ranks : int
        Ranks of the job, each of which must occur once.
    servers : sequence of str
        Hosts where parameter servers were placed.
    others : sequence of str
        Hosts that may serve as well: those of the ranks.

    Yields
    ------
    Flaw
        From the root down.
    """
    unknown_words = list(_vocabulary(tree, ()))
    yield from unknown_words
    yield from _groups(tree, (), servers, others)
    if not unknown_words:
        yield from scheme_flaws(tree)
    yield from _ranks(tree, n_ranks)


def _groups(group: Group, at: Steps, servers: Sequence[str], others: Sequence[str]) -> Iterator[Flaw]:
    if group.architecture == "parameter-server":
        yield from _serving(group, at, servers, others)
    elif group.architecture in get_args(words.Architecture):
        yield from _serverless(group, at)
    if not group.members:
        yield Flaw((*at, "members"), "an empty group has nothing to combine")
    for position, member in enumerate(group.members):
        here = (*at, "members", position)
        if isinstance(member, Group):
            yield from _groups(member, here, servers, others)
        elif not isinstance(member, Rank):
            yield Flaw(here, f"a {type(member).__name__} is neither a Group nor a Rank")


def _vocabulary(group: Group, at: Steps) -> Iterator[Flaw]:
    for field, value, choices in (
        ("architecture", group.architecture, get_args(words.Architecture)),
        ("sync", group.sync, get_args(words.Sync)),
        ("late", group.late, get_args(words.Late)),
        ("steps", group.steps, get_args(words.Steps)),
        ("graph", group.graph, get_args(words.Graph)),
        ("sharding", group.sharding, get_args(words.Sharding)),
        ("messages", group.messages, get_args(words.Messages)),
    ):
        if not isinstance(value, tuple) and value not in choices:
            yield Flaw((*at, field), unknown(field, str(value), choices))
    for position, member in enumerate(group.members):
        if isinstance(member, Group):
            yield from _vocabulary(member, (*at, "members", position))


def _serverless(group: Group, at: Steps) -> Iterator[Flaw]:
    kind = group.architecture
    if group.servers:
        yield Flaw((*at, "servers"), f"a {kind} has none")
    if group.sharding != "round-robin":
        yield Flaw((*at, "sharding"), f"a {kind} has no servers to share bytes among")
    if group.partition_bytes:
        yield Flaw((*at, "partition_bytes"), f"a {kind} has no servers that could return partitions")
    if kind != "ring" and group.messages != "auto":
        yield Flaw((*at, "messages"), f"only a ring can be one flow, a {kind} is simulated message by message")


def _serving(group: Group, at: Steps, servers: Sequence[str], others: Sequence[str]) -> Iterator[Flaw]:
    if group.messages != "auto":
        yield Flaw((*at, "messages"), "only a ring can be one flow")
    if not (math.isfinite(group.partition_bytes) and group.partition_bytes >= 0.0):
        yield Flaw((*at, "partition_bytes"), f"must be a finite number of bytes, not {group.partition_bytes!r}")
    if group.partition_bytes and at:
        yield Flaw((*at, "partition_bytes"), "only the servers at the root return partitions")
    if not group.servers:
        hint = ": name some of those placed" if servers else ", and the job has none placed"
        yield Flaw((*at, "servers"), f"parameter servers are needed{hint}")
    for position, server in enumerate(group.servers):
        if server not in {*servers, *others}:
            placed_on = ", ".join(servers) or "none"
            message = f"no parameter server was placed on {server!r}; placed on: {placed_on}"
            yield Flaw((*at, "servers", position), message)
    if isinstance(group.sharding, tuple):
        yield from _shares(group.sharding, len(group.servers), (*at, "sharding"))


def _shares(shares: tuple[float, ...], n_servers: int, at: Steps) -> Iterator[Flaw]:
    if len(shares) != n_servers:
        yield Flaw(at, f"{len(shares)} shares for {n_servers} servers")
    elif not all(share >= 0.0 for share in shares):
        yield Flaw(at, "a share is at least zero")
    elif not math.isclose(sum(shares), 1.0, rel_tol=1e-9):
        yield Flaw(at, f"shares sum to {sum(shares):.9g}, not to 1")


def _ranks(tree: Group, n_ranks: int) -> Iterator[Flaw]:
    where: dict[int, Steps] = {}
    for steps, rank in _leaves(tree, ()):
        if isinstance(rank.index, bool) or rank.index not in range(n_ranks):
            yield Flaw(steps, f"there is no rank {rank.index}, ranks are 0 to {n_ranks - 1}")
        elif rank.index in where:
            yield Flaw(steps, f"rank {rank.index} is already {path_of(where[rank.index])}")
        else:
            where[rank.index] = steps
    missing = [rank for rank in range(n_ranks) if rank not in where]
    if missing:
        yield Flaw(("members",), f"without rank {', '.join(map(str, missing))}")


def _leaves(group: Group, at: Steps) -> Iterator[tuple[Steps, Rank]]:
    for position, member in enumerate(group.members):
        here = (*at, "members", position)
        if isinstance(member, Rank):
            yield here, member
        elif isinstance(member, Group):
            yield from _leaves(member, here)
