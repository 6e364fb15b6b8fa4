"""Rings, message by message or as one composite flow; and chains, along which a ring reduces to one member.

On equal links a pass around the ring takes ``(n - 1) (alpha + S / (n B))``, an all-reduce two of them (Thakur,
Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005,
doi:10.1177/1094342005051521). A chain takes ``(n - 2 + k) (alpha + S / (k B))`` with k pieces: the first piece crosses
n - 1 links, and each later one follows it a piece behind; NCCL reduces and broadcasts along its ring that way, with a
bandwidth factor of 1 (nccl-tests, doc/PERFORMANCE.md).
"""

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from hetsim.model.aggregation import Group
from hetsim.network.transports import Role
from hetsim.plan.entries import Actor
from hetsim.plan.pieces import n_pieces
from hetsim.plan.placed import compute_work
from hetsim.plan.script import Script
from hetsim.plan.sending import Latencies, Sending, flow_of, steps

MOST_ROUNDS_MEMBERS: Final = 64
"""A ring of more members is one composite flow, unless rounds are asked for."""


def is_composite(script: Script, group: Group, actors: Sequence[Actor], *, is_alone: bool) -> bool:
    """Return whether a ring is simulated as one flow.

    Without being told, it is where there are more than 64 members, and where that says the same as its messages: all
    ranks start together, the links of all are equal, and nothing else is on them.

    Parameters
    ----------
    script : Script
        Of the job.
    group : Group
        A ring.
    actors : sequence of Actor
        In ring order.
    is_alone : bool
        Whether the ring is all that there is: nothing is exchanged before it, and there is no other job.

    Returns
    -------
    bool
        False where its messages are simulated one by one.
    """
    if group.messages != "auto":
        return group.messages == "composite"
    return len(actors) > MOST_ROUNDS_MEMBERS or (
        is_alone and _start_together(script, actors) and _has_equal_links(script, actors)
    )


def _start_together(script: Script, ranks: Sequence[Actor]) -> bool:
    """Return whether all ranks have computed at the same time."""
    works = [compute_work(script.objects, script.placed, rank) for rank in ranks]
    devices = [work.resources for work in works]
    capacities = {tuple(script.objects.resources[resource].capacity for resource in device) for device in devices}
    used = [resource for device in devices for resource in device]
    return (
        len({work.ticks for work in works}) == 1
        and all(work.jitter_cv == 0.0 for work in works)
        and len(capacities) == 1
        and len(set(used)) == len(used)
        and not any(change.resource in used for change in script.objects.changes)
    )


def _has_equal_links(script: Script, actors: Sequence[Actor]) -> bool:
    """Return whether a ring has one stream on each of its links, and all its ways are alike and without a queue."""
    sendings = _sendings(script, actors, 1.0, "next")
    used = [link for sending in sendings for link, _ in sending.usage]
    resources = script.objects.resources
    return (
        len(set(used)) == len(used) > 0
        and len({tuple((resources[link].capacity, use) for link, use in sending.usage) for sending in sendings}) == 1
        and len({sending.latencies for sending in sendings}) == 1
        and len(sendings[0].latencies) == 1
        and not any(script.has_queue(a, b) for a, b in _neighbours(actors))
        and not any(change.resource in used for change in script.objects.changes)
    )


def _neighbours(actors: Sequence[Actor]) -> list[tuple[Actor, Actor]]:
    return list(zip(actors, [*actors[1:], actors[0]], strict=True))


def _sendings(script: Script, actors: Sequence[Actor], n_bytes: float, role: Role) -> list[Sending]:
    return [script.sending(a, b, n_bytes, role) for a, b in _neighbours(actors)]


def rounds(script: Script, actors: Sequence[Actor], n_bytes: float, n_passes: int) -> None:
    """Pass around the ring: each member sends one n-th of the bytes to the next one, n - 1 times a pass.

    A member sends its next message when the one before has arrived and it has received that of the same round.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of what is reduced or gathered.
    n_passes : int
        1 to reduce-scatter or to gather, 2 for both: an all-reduce.
    """
    n = len(actors)
    for number in range(n_passes * (n - 1)):
        role: Role = "first" if number % (n - 1) == 0 else "next"
        arriving = [script.send(a, b, n_bytes / n, role) for a, b in _neighbours(actors)]
        for message in arriving:
            script.receive(message)


def composite(script: Script, actors: Sequence[Actor], n_bytes: float, n_passes: int) -> None:
    """Pass around the ring as one flow over all links, which sets out when every member is ready.

    Each link carries the stream of every pair of neighbours that it joins; all streams move at the rate of the slowest,
    as the members wait for each other in every round. Each round waits for the longest latency. Members go on when all
    has arrived, whatever the queues of the links.

    Parameters
    ----------
    script : Script
        Extended, by an actor that starts the flow.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of what is reduced or gathered.
    n_passes : int
        As for `rounds`.
    """
    n_rounds = n_passes * (len(actors) - 1)
    part_bytes = n_bytes / len(actors) * script.sent_frac
    first, later = (_sendings(script, actors, part_bytes, role) for role in ("first", "next"))
    n_streams: dict[int, float] = defaultdict(float)
    for sending in later:
        for link, use in sending.usage:
            n_streams[link] += use
    ring = script.collective("ring", actors)
    name = script.name(ring)
    ready, done = script.barrier(f"members ready for {name}"), script.barrier(f"{name} done")
    script.add(ring, ready)
    latencies = _added([(n_passes, first), (n_rounds - n_passes, later)])
    usage = tuple(sorted(n_streams.items()))
    whole = Sending(usage=usage, n_bytes=n_rounds * later[0].n_bytes, latencies=latencies)
    flow = flow_of(whole, (done.counter,))
    done.n_signals += 1
    script.add(ring, flow)
    script.add(ring, done)
    for actor in actors:
        script.push(actor, ready)
        script.add(actor, done)


def _added(parts: Sequence[tuple[int, Sequence[Sending]]]) -> Latencies:
    """Return the latency of rounds one after the other, each as long as that of its slowest message."""
    ticks = sorted({tick for _, sendings in parts for sending in sendings for tick, _ in sending.latencies})

    def at(sending: Sending, tick: int) -> int:
        return sending.latencies[bisect_right(sending.latencies, tick, key=lambda entry: entry[0]) - 1][1]

    return steps((tick, sum(n * max(at(each, tick) for each in sendings) for n, sendings in parts)) for tick in ticks)


def all_reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member the sum.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of each member's gradient.
    """
    rounds(script, actors, n_bytes, 2)


def one_pass(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Reduce-scatter, or gather what was scattered: the same messages.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of the whole gradient.
    """
    rounds(script, actors, n_bytes, 1)


def reduce(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give the first member the sum, along the chain from the second to the last and round to it.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of each member's gradient.
    """
    _chain(script, [*actors[1:], actors[0]], n_bytes)


def broadcast(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    """Give every member what the first one has, along the chain.

    Parameters
    ----------
    script : Script
        Extended.
    actors : sequence of Actor, shape (n,)
        In ring order.
    n_bytes : float
        Of the sum.
    """
    _chain(script, actors, n_bytes)


def _chain(script: Script, actors: Sequence[Actor], n_bytes: float) -> None:
    k = n_pieces(n_bytes)
    for piece in range(k):
        for hop, (a, b) in enumerate(itertools.pairwise(actors)):
            role: Role = "next" if piece else "hop" if hop else "first"
            script.receive(script.send(a, b, n_bytes / k, role))
