"""Recursive halving and doubling, as MPICH combines them.

An all-reduce of p = 2^k members takes ``2 lg p alpha + 2 (p - 1) / p S / B`` (Rabenseifner's algorithm). Other counts
are folded: each of the surplus members first hands all its bytes to a partner and receives the sum from it at the end,
which adds ``2 alpha + 2 S / B`` to the cost of the largest power of two below (Thakur, Rabenseifner and Gropp 2005,
doi:10.1177/1094342005051521; MPICH, src/mpi/coll/allreduce, comments). A message sets out when its receiver has come as
far, as large messages do in MPI (rendezvous).
"""

from collections.abc import Sequence

from hetsim.plan.entries import Actor
from hetsim.plan.script import Script


def is_power_of_two(n: int) -> bool:
    """Return whether halving and doubling needs no fold.

    Parameters
    ----------
    n : int
        Members, one at least.

    Returns
    -------
    bool
        Also for one.
    """
    return n & (n - 1) == 0


def all_reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member the sum: reduce-scatter by halving, gather by doubling.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Partners are those whose positions differ in one bit.
    n_bytes : float
        Of each member's gradient.
    """
    core, pairs = _fold(script, actors, n_bytes)
    scatter(script, core, n_bytes)
    gather(script, core, n_bytes)
    _send_all(script, pairs, n_bytes)


def scatter(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Reduce-scatter by halving: S/2 to the partner half the members away, S/4 to the next, and so on.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (2^k,)
        A power of two.
    n_bytes : float
        Of each member's gradient.
    """
    distance = len(actors) // 2
    while distance:
        _exchange(script, actors, distance, n_bytes * distance / len(actors))
        distance //= 2


def gather(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Gather what was scattered, by doubling.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (2^k,)
        A power of two.
    n_bytes : float
        Of the sum.
    """
    distance = 1
    while distance < len(actors):
        _exchange(script, actors, distance, n_bytes * distance / len(actors))
        distance *= 2


def reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give the first member the sum: fold, reduce-scatter by halving, gather to it along a binomial tree.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Of any number.
    n_bytes : float
        Of each member's gradient.
    """
    core, _ = _fold(script, actors, n_bytes)
    scatter(script, core, n_bytes)
    distance = 1
    while distance < len(core):
        ways = [(core[i + distance], core[i]) for i in range(0, len(core), 2 * distance)]
        _send_all(script, ways, n_bytes * distance / len(core))
        distance *= 2


def broadcast(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member what the first one has: scatter along a binomial tree, gather by doubling, unfold.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        Of any number.
    n_bytes : float
        Of the sum.
    """
    core, pairs = _pair(actors)
    distance = len(core) // 2
    while distance:
        ways = [(core[i], core[i + distance]) for i in range(0, len(core), 2 * distance)]
        _send_all(script, ways, n_bytes * distance / len(core))
        distance //= 2
    gather(script, core, n_bytes)
    _send_all(script, pairs, n_bytes)


def _fold(script: Script, actors: Sequence[Actor], n_bytes: float) -> tuple[list[Actor], list[tuple[Actor, Actor]]]:
    """Let surplus members hand over their bytes, and return the others and the pairs."""
    core, pairs = _pair(actors)
    _send_all(script, [(odd, even) for even, odd in pairs], n_bytes)
    return core, pairs


def _pair(actors: Sequence[Actor]) -> tuple[list[Actor], list[tuple[Actor, Actor]]]:
    """Return a power of two of members, the first one among them, and the pairs of one of them and one left out."""
    n_surplus = len(actors) - (1 << (len(actors).bit_length() - 1))
    paired = actors[: 2 * n_surplus]
    return [*paired[::2], *actors[2 * n_surplus :]], list(zip(paired[::2], paired[1::2], strict=True))


def _send_all(script: Script, ways: Sequence[tuple[Actor, Actor]], n_bytes: float) -> None:
    for source, target in ways:
        _meet(script, source, target)
        script.receive(script.send(source, target, n_bytes))


def _exchange(script: Script, actors: Sequence[Actor], distance: int, n_bytes: float) -> None:
    for i, actor in enumerate(actors):
        if not i & distance:
            _meet(script, actor, actors[i ^ distance])
    arriving = [script.send(actor, actors[i ^ distance], n_bytes) for i, actor in enumerate(actors)]
    for message in arriving:
        script.receive(message)


def _meet(script: Script, a: Actor, b: Actor) -> None:
    """Let two actors wait for each other."""
    both = script.barrier(f"{script.name(a)} and {script.name(b)} met")
    for actor in (a, b):
        script.push(actor, both)
    for actor in (a, b):
        script.add(actor, both)
