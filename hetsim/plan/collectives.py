"""What each architecture without servers can do; a new one is a file in this folder and a line here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.plan import double_tree, halving_doubling, ring
from hetsim.plan.entries import Actor
from hetsim.plan.script import Script

Collective = Callable[[Script, Sequence[Actor], float], None]
"""Extends a script by an exchange among two actors or more; the number is the bytes of the whole gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """The exchanges of an architecture.

    Parameters
    ----------
    all_reduce : Collective
        Every member gets the sum.
    reduce, broadcast : Collective
        The first member gets the sum; every member gets what the first one has.
    scatter, gather : Collective
        Each member gets its own equal part of the sum; every member gets all parts.
    can_scatter : callable
        ``(n_members: int) -> bool``: whether the last two exist.
    """

    all_reduce: Collective
    reduce: Collective
    broadcast: Collective
    scatter: Collective
    gather: Collective
    can_scatter: Callable[[int], bool]


def _nothing(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    raise AssertionError("a double tree leaves whole sums, never parts")


COLLECTIVES: Final[Mapping[str, Exchanges]] = {
    "ring": Exchanges(
        all_reduce=ring.all_reduce,
        reduce=ring.reduce,
        broadcast=ring.broadcast,
        scatter=ring.one_pass,
        gather=ring.one_pass,
        can_scatter=lambda n_members: n_members > 0,
    ),
    "tree": Exchanges(
        all_reduce=double_tree.all_reduce,
        reduce=double_tree.reduce,
        broadcast=double_tree.broadcast,
        scatter=_nothing,
        gather=_nothing,
        can_scatter=lambda _: False,
    ),
    "halving-doubling": Exchanges(
        all_reduce=halving_doubling.all_reduce,
        reduce=halving_doubling.reduce,
        broadcast=halving_doubling.broadcast,
        scatter=halving_doubling.scatter,
        gather=halving_doubling.gather,
        can_scatter=halving_doubling.is_power_of_two,
    ),
}
