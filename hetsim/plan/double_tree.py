"""Two binary trees that each carry half of the bytes, every member inside one of them and a leaf of the other.

Sums go up in pieces, then come down in pieces. On the way up a member receives S/2 from each of two children where it
is inside a tree, and sends S/2 in each tree; on the way down it is the other way round. So an all-reduce takes
``2 S / B`` and the time to fill the pipeline twice, whatever the number of members (Sanders, Speck and Traeff,
"Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009, doi:10.1016/j.parco.2009.09.001). The
latency of one piece is twice the depth, ``2 log2(n) alpha`` (NCCL, src/graph/tuning.cc). The shape of the trees is
NCCL's (src/graph/trees.cc): odd positions are leaves; the second tree is the first one mirrored, or shifted where the
number of members is odd.

A member turns round when all that it waits for has come up. Of three members the root of the second tree is ready
first; what it sent down at once would meet what still goes up to the other root, and all would take 2.49 S / B.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hetsim.plan.entries import Actor, Message
from hetsim.plan.pieces import n_pieces
from hetsim.plan.script import Script


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree over the positions of a group.

    Parameters
    ----------
    parents : tuple of int, shape (n,)
        Of each position; -1 at the root.
    """

    parents: tuple[int, ...]

    @property
    def root(self) -> int:
        """Position without a parent."""
        return self.parents.index(-1)

    def depth(self, position: int) -> int:
        """Return how many edges lie between a position and the root.

        Parameters
        ----------
        position : int
            Which.

        Returns
        -------
        int
            Zero for the root.
        """
        parent = self.parents[position]
        return 0 if parent < 0 else 1 + self.depth(parent)

    def heights(self) -> list[int]:
        """Return how many edges lie between each position and the furthest leaf below it.

        Returns
        -------
        list of int, shape (n,)
            Zero for leaves.
        """
        heights = [0] * len(self.parents)
        for position in sorted(range(len(heights)), key=self.depth, reverse=True):
            parent = self.parents[position]
            if parent >= 0:
                heights[parent] = max(heights[parent], heights[position] + 1)
        return heights


def double_tree(n: int) -> tuple[Tree, Tree]:
    """Return the two trees over n positions.

    Parameters
    ----------
    n : int
        Positions, two at least.

    Returns
    -------
    tuple of (Tree, Tree)
        The root of the first is position 0.

    Examples
    --------
    >>> first, second = double_tree(6)
    >>> first.parents
    (-1, 2, 4, 2, 0, 4)
    >>> second.parents
    (1, 5, 3, 1, 3, -1)
    """
    first = [_parent(position, n) for position in range(n)]
    second = [0] * n
    move: Callable[[int], int] = (lambda i: n - 1 - i) if n % 2 == 0 else (lambda i: (i + 1) % n)
    for position, parent in enumerate(first):
        second[move(position)] = -1 if parent < 0 else move(parent)
    return Tree(tuple(first)), Tree(tuple(second))


def _parent(position: int, n: int) -> int:
    """Return the parent in a tree whose in-order walk is 1, 2, ..., n - 1 below root 0."""
    if position == 0:
        return -1
    bit = position & -position
    parent = (position ^ bit) | (bit << 1)
    return parent if parent < n else position ^ bit


@dataclass(frozen=True, slots=True)
class _Edge:
    """A message along an edge: when it could be sent at best, counted in pieces, what it is, and between whom."""

    slot: int
    tree: int
    piece: int
    source: int
    target: int


def all_reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member the sum.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Positions in the trees.
    n_bytes : float
        Of each member's gradient.
    """
    trees = double_tree(len(actors))
    k = n_pieces(n_bytes / 2)
    _play(script, actors, _up(trees, k), n_bytes / 2 / k)
    _play(script, actors, _down(trees, k), n_bytes / 2 / k)


def reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give the first member the sum: up both trees; the root of the second one passes its half on.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Positions in the trees.
    n_bytes : float
        Of each member's gradient.
    """
    trees = double_tree(len(actors))
    k = n_pieces(n_bytes / 2)
    root = trees[1].root
    last = max(trees[1].heights())
    forward = [_Edge(piece + last, 1, piece, root, 0) for piece in range(k)]
    _play(script, actors, [*_up(trees, k), *forward], n_bytes / 2 / k)


def broadcast(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member what the first one has: half of it to the root of the second tree, then down both.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Positions in the trees.
    n_bytes : float
        Of the sum.
    """
    trees = double_tree(len(actors))
    k = n_pieces(n_bytes / 2)
    forward = [_Edge(piece, 1, piece, 0, trees[1].root) for piece in range(k)]
    edges = [replace(edge, slot=edge.slot + 1) for edge in _down(trees, k)]
    _play(script, actors, [*forward, *edges], n_bytes / 2 / k)


def _up(trees: Sequence[Tree], k: int) -> list[_Edge]:
    """Return the messages of sums: a member sends a piece when all below it have sent theirs."""
    return [
        _Edge(piece + height, which, piece, child, tree.parents[child])
        for which, tree in enumerate(trees)
        for child, height in enumerate(tree.heights())
        if tree.parents[child] >= 0
        for piece in range(k)
    ]


def _down(trees: Sequence[Tree], k: int) -> list[_Edge]:
    """Return the messages of the way back: a root sends a piece when it has the sum."""
    last = [max(tree.heights()) for tree in trees]
    return [
        _Edge(piece + slot, which, piece, tree.parents[child], child)
        for which, tree in enumerate(trees)
        for child in range(len(tree.parents))
        if tree.parents[child] >= 0
        for slot in (last[which] + tree.depth(child) - 1,)
        for piece in range(k)
    ]


def _play(script: Script, actors: Sequence[Actor], edges: Sequence[_Edge], n_bytes: float) -> None:
    """Let each member send in one order, in which causes come before effects, when it has what it is to send.

    So nobody waits for a message that cannot be sent: of all that have not arrived, the first one can.
    """
    arriving: dict[tuple[int, int, int], list[Message]] = defaultdict(list)
    for edge in sorted(edges, key=lambda edge: (edge.slot, edge.tree, edge.piece, edge.source, edge.target)):
        for message in arriving.pop((edge.source, edge.tree, edge.piece), ()):
            script.receive(message)
        message = script.send(actors[edge.source], actors[edge.target], n_bytes, "next" if edge.piece else "hop")
        arriving[edge.target, edge.tree, edge.piece].append(message)
    for messages in arriving.values():
        for message in messages:
            script.receive(message)
