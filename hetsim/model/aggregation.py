"""How workers combine gradients: a tree of groups over ranks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Architecture = Literal["parameter-server", "ring"]
Sync = Literal["bsp"]
Sharding = Literal["round-robin", "even"]


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
        In ring order where that matters.
    architecture : {"parameter-server", "ring"}
        How bytes move.
    sync : {"bsp"}
        When an aggregate is taken.
    servers : tuple of str
        Hosts that hold the parameters.
    sharding : {"round-robin", "even"}
        Bytes of each server: whole variables in creation order, as TensorFlow's device setter does, or equal shares.
    """

    members: tuple["Group | Rank", ...]
    architecture: Architecture
    sync: Sync = "bsp"
    servers: tuple[str, ...] = ()
    sharding: Sharding = "round-robin"


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
