"""How workers combine gradients: a tree of groups over ranks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Architecture = Literal["parameter-server", "ring", "tree", "halving-doubling", "gossip"]
Sync = Literal["bsp", "async", "ssp", "local", "partial", "state-server"]
Late = Literal["drop", "apply"]
Steps = Literal["each", "shared"]
Graph = Literal["complete", "ring", "line"]
Sharding = Literal["round-robin", "even"]
Messages = Literal["auto", "rounds", "composite"]


@dataclass(frozen=True, slots=True)
class Rank:
    """A leaf: one worker.

    Parameters
    ----------
    index : int
        Position in the placement's workers.
    """

    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An inner node: members that aggregate together.

    Parameters
    ----------
    members : tuple of Group or Rank
        In ring order where that matters; the first one leads.
    architecture : {"parameter-server", "ring", "tree", "halving-doubling", "gossip"}
        How bytes move.
    sync : {"bsp", "async", "ssp", "local", "partial", "state-server"}
        When an aggregate is taken: of all members in every step (bsp); of each gradient as it comes, which for gossip
        is a meeting with one neighbour at a time, or what each group sends to all others once in a while (async); the
        same, but nobody begins a step while another member is more than `staleness` steps behind (ssp); of all members'
        parameters once a `period` (local); of a few members at a time, others in each step (partial); of all, when
        somebody who knows how fast each one is says so while the job runs (state-server).
    staleness : int
        Bound of ssp.
    period : int or tuple of int, shape (n_members,)
        Of local: steps between two aggregates, which for a group of groups are their aggregates; several where members
        make different numbers of steps in the same time. Of groups that gossip asynchronously: pushes between sends.
    local_after : int
        Of local: so many first steps are synchronous (post-local).
    quorum : int
        Parameter servers of bsp: gradients that are enough for an aggregate; zero for those of all members.
    late : {"drop", "apply"}
        What becomes of a gradient that comes after its aggregate was taken.
    steps : {"each", "shared"}
        Parameter servers of async: every rank has its own number of steps, or all have as many together and whoever is
        free takes the next one.
    graph : {"complete", "ring", "line"} or tuple of (int, int)
        Gossip only: who is a neighbour, by position among the members.
    group_size : int
        Of partial: members that average together.
    margin_s : float
        Of state-server: seconds before the end of the slowest member's step in which no other step is begun.
    servers : tuple of str
        Hosts that hold the parameters.
    sharding : {"round-robin", "even"} or tuple of float, shape (n_servers,)
        Bytes of each server: whole variables in creation order, as TensorFlow's device setter does, equal shares, or
        these shares of the bytes, which sum to one.
    partition_bytes : float
        Parameter servers only, at the root. Zero: ranks pull parameters at the start of a step and push gradients at
        its end. Else gradients go to the servers and their sum comes back in partitions of at most so many bytes, the
        sum of one on its way while the next is sent, as BytePS does.
    messages : {"auto", "rounds", "composite"}
        Rings only: message by message, or all as one flow over all links; ``auto`` is composite above 64 members.
    """

    members: tuple["Group | Rank", ...]
    architecture: Architecture
    sync: Sync = "bsp"
    staleness: int = 0
    period: int | tuple[int, ...] = 1
    local_after: int = 0
    quorum: int = 0
    late: Late = "drop"
    steps: Steps = "each"
    graph: Graph | tuple[tuple[int, int], ...] = "complete"
    group_size: int = 0
    margin_s: float = 0.5
    servers: tuple[str, ...] = ()
    sharding: Sharding | tuple[float, ...] = "round-robin"
    partition_bytes: float = 0.0
    messages: Messages = "auto"


def ranks_of(node: Group | Rank) -> Iterator[int]:
    """Yield the ranks below a node, in order.

    Parameters
    ----------
    node : Group or Rank
        Root of a tree.

    Yields
    ------
    int
        Rank indices.
    """
    if isinstance(node, Rank):
        yield node.index
    else:
        for member in node.members:
            yield from ranks_of(member)


def simplified(node: Group | Rank) -> Group | Rank:
    """Return a tree without groups of one member, which have nobody to exchange with.

    Parameters
    ----------
    node : Group or Rank
        Root of a tree.

    Returns
    -------
    Group or Rank
        A parameter server stays, whatever the number of its members: bytes go to its servers.

    Examples
    --------
    >>> simplified(Group(members=(Rank(3),), architecture="ring"))
    Rank(index=3)
    """
    if isinstance(node, Rank):
        return node
    members = tuple(simplified(member) for member in node.members)
    # A local group of one still says how many steps come before what is around it.
    if len(members) == 1 and node.architecture != "parameter-server" and node.sync != "local":
        return members[0]
    return replace(node, members=members)
