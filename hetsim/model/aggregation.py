"""How workers combine gradients: a tree of groups over ranks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Architecture = Literal["parameter-server", "ring", "tree", "halving-doubling"]
Sync = Literal["bsp"]
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
    architecture : {"parameter-server", "ring", "tree", "halving-doubling"}
        How bytes move.
    sync : {"bsp"}
        When an aggregate is taken.
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
    if len(members) == 1 and node.architecture != "parameter-server":
        return members[0]
    return Group(
        members=members,
        architecture=node.architecture,
        sync=node.sync,
        servers=node.servers,
        sharding=node.sharding,
        partition_bytes=node.partition_bytes,
        messages=node.messages,
    )
