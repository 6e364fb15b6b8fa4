"""Averaging with neighbours instead of with all, and with a few at a time."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from hetsim.kernels.draws import stream_key, uniforms
from hetsim.model.aggregation import Graph, Group
from hetsim.plan import ring
from hetsim.plan.entries import Actor
from hetsim.plan.rounds import Rounds
from hetsim.plan.script import Script

N_PARTITIONS: Final = 16
"""Ways of parting the members into small groups, one after the other, before the first comes again."""


def edges_of(graph: Graph | tuple[tuple[int, int], ...], n: int) -> list[tuple[int, int]]:
    """Return who sends to whom, both ways.

    Parameters
    ----------
    graph : {"complete", "ring", "line"} or tuple of (int, int)
        Of the members.
    n : int
        How many there are.

    Returns
    -------
    list of (int, int)
        In order.

    Examples
    --------
    >>> edges_of("line", 3)
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """
    if isinstance(graph, tuple):
        pairs = list(graph)
    elif graph == "complete":
        pairs = [(a, b) for b in range(n) for a in range(b)]
    else:
        pairs = [(a, a + 1) for a in range(n - 1)] + ([(0, n - 1)] if graph == "ring" and n > 2 else [])
    return sorted({way for a, b in pairs for way in ((a, b), (b, a))})


def exchange(script: Script, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
    """Let each member send its parameters to each of its neighbours, and wait for theirs.

    Decentralised parallel SGD (Lian et al. 2017, arXiv 1705.09056), and what hubs do in multi-level local SGD
    (github.com/rpi-nsl/MLL-SGD).

    Parameters
    ----------
    script : Script
        Extended.
    group : Group
        That gossips.
    actors : sequence of Actor, shape (n,)
        One of each member.
    n_bytes : float
        Of the parameters.
    """
    sent = [script.send(actors[a], actors[b], n_bytes) for a, b in edges_of(group.graph, len(actors))]
    for message in sent:
        script.receive(message)


def meet_at_random(script: Script, group: Group, ranks: Sequence[Actor], n_bytes: float) -> None:
    """Let each rank average with a neighbour drawn for the step, while it computes.

    Asynchronous decentralised parallel SGD (Lian et al. 2018, arXiv 1710.06952): one thread computes the gradient,
    another averages; the neighbour goes on with what it does.

    Parameters
    ----------
    script : Script
        Extended.
    group : Group
        That gossips.
    ranks : sequence of Actor, shape (n,)
        Its members.
    n_bytes : float
        Of the parameters.
    """
    for position, rank in enumerate(ranks):
        others = [ranks[b] for a, b in edges_of(group.graph, len(ranks)) if a == position]
        if not others:
            continue
        met = script.barrier(f"meetings of {script.name(rank)}")
        shares = (1.0 / len(others),) * len(others)
        stream = stream_key("neighbour", script.placed.job.name, rank)
        script.is_early = True
        script.transfer_one(rank, [(rank, other) for other in others], n_bytes, met, shares=shares, stream=stream)
        script.transfer_one(rank, [(other, rank) for other in others], n_bytes, met, shares=shares, stream=stream)
        script.is_early = False
        script.add(rank, met)


def average_in_parts(script: Script, group: Group, ranks: Sequence[Actor], n_bytes: float, seed: int) -> None:
    """Let small groups of ranks all-reduce among themselves, other groups in each step.

    Partial all-reduce (Prague: Luo et al. 2020, doi:10.1145/3373376.3378499) by a schedule that is drawn beforehand.

    Parameters
    ----------
    script : Script
        Extended.
    group : Group
        Partial.
    ranks : sequence of Actor, shape (n,)
        Its members.
    n_bytes : float
        Of the parameters.
    seed : int
        Of the draws.
    """
    before = script.rounds
    for number in range(N_PARTITIONS):
        drawn = uniforms(seed, 0, stream_key("partition", script.placed.job.name, number), len(ranks))
        order = [ranks[i] for i in np.argsort(drawn, kind="stable").tolist()]
        script.rounds = Rounds(period=N_PARTITIONS, phase=number)
        for first in range(0, len(order), group.group_size):
            part = order[first : first + group.group_size]
            if len(part) > 1:
                ring.rounds(script, part, n_bytes, 2)
    script.rounds = before
