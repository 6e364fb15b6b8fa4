"""What a message becomes in a plan: links, bytes and latency, as its transport has it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from hetsim.kernels.draws import stream_key, uniforms
from hetsim.kernels.normal import exp, normal_quantile
from hetsim.model.instructions import Flow
from hetsim.model.job import Job
from hetsim.model.transport import IDEAL, Transport
from hetsim.network.conditions import Conditions, Way
from hetsim.network.transports import Role, latency_s, outside, rate_cap_bytes_per_s, restarted_bytes_per_s
from hetsim.plan.objects import Objects, Usage
from hetsim.units import to_ticks

T = TypeVar("T", int, float)

Latencies = tuple[tuple[int, int], ...]
"""Ticks from which on a latency holds, and the latency in ticks; the first from tick 0 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A message, ready to be a flow.

    Parameters
    ----------
    usage : tuple of (int, float)
        Links, and how often each carries the bytes.
    n_bytes : float
        What crosses them.
    latencies : Latencies
        Before the first byte moves.
    """

    usage: Usage
    n_bytes: float
    latencies: Latencies


class Sender:
    """Turns the messages of one job into flows.

    Messages of all its connections share links by their number of connections: a flow of weight w uses each link w
    times at 1 / w of its bytes, so that plain max-min fairness is weighted fairness.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    job : Job
        With its transport.
    weight_of : callable
        ``(source, target) -> float``: share of the connections of a way where they compete.
    """

    def __init__(self, objects: Objects, job: Job, weight_of: Callable[[str, str], float]) -> None:
        self._objects = objects
        self._job = job
        self._weight_of = weight_of
        self._made: dict[tuple[str, str, float, Role, float], Sending] = {}

    def sending(self, source: str, target: str, n_bytes: float, role: Role, idle_s: float = 0.0) -> Sending:
        """Return a message as the plan has it.

        Parameters
        ----------
        source, target : str
            Nodes.
        n_bytes : float
            Payload.
        role : Role
            Of the message.
        idle_s : float
            How long the connection has not been used before, at least.

        Returns
        -------
        Sending
            Within one host, that of `IDEAL`.
        """
        key = (source, target, n_bytes, role, idle_s)
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def weight(self, source: str, target: str) -> float:
        """Return how many times a flow uses its links.

        Parameters
        ----------
        source, target : str
            Nodes.

        Returns
        -------
        float
            Positive; 1 within a host.
        """
        way = self._objects.way(source, target)
        return self._weight_of(source, target) if way.is_networked else 1.0

    def _make(self, source: str, target: str, n_bytes: float, role: Role, idle_s: float) -> Sending:
        way = self._objects.way(source, target)
        transport = self._job.transport if way.is_networked else IDEAL
        states = [(to_ticks(time_s), way.at(time_s)) for time_s in way.times_s()]
        wire_bytes = n_bytes / transport.efficiency_frac
        latencies = steps((tick, to_ticks(latency_s(transport, state, n_bytes, role))) for tick, state in states)
        usage = self._objects.links(source, target)
        weight = self.weight(source, target)
        caps = [(tick, _cap(transport, state, wire_bytes, role, idle_s)) for tick, state in states]
        if any(cap < state.bytes_per_s for (_, cap), (_, state) in zip(caps, states, strict=True)):
            name = f"{self._job.name}: {transport.name} from {source} to {target}"
            bounds = [(tick, min(cap, state.bytes_per_s)) for (tick, cap), (_, state) in zip(caps, states, strict=True)]
            usage = (*usage, (self._objects.stream(name, steps(bounds)), 1.0))
        if way.is_networked:
            self._complain(way, transport)
        if weight != 1.0:
            usage, wire_bytes = tuple((link, use * weight) for link, use in usage), wire_bytes / weight
        return Sending(usage=usage, n_bytes=wire_bytes, latencies=latencies)

    def _complain(self, way: Way, transport: Transport) -> None:
        about = f"{self._job.name}: transport {transport.name}"
        for time_s in way.times_s():
            for what, complaint in outside(transport, way.at(time_s), self._job.gradient_bytes):
                self._objects.warn(f"{about} {what}", f"{about}: {complaint}")


def weights(job: Job, weight: float, seed: int, replication: int) -> Callable[[str, str], float]:
    """Return the weights of the connections of a job.

    TCP does not share a queue fairly: of flows that start together, one may get three times the rate of another. With
    an unfairness of u the weight of each pair of nodes is drawn once for a replication, lognormal with median one and
    standard deviation u of its logarithm.

    Parameters
    ----------
    job : Job
        Its name keys the draws.
    weight : float
        Of every connection where sharing is fair.
    seed, replication : int
        The other keys.

    Returns
    -------
    callable
        ``(source, target) -> float``.
    """

    def weight_of(source: str, target: str) -> float:
        if job.unfairness == 0.0:
            return weight
        drawn = uniforms(seed, replication, stream_key("unfairness", job.name, source, target), 1)
        return weight * float(exp(job.unfairness * normal_quantile(float(drawn[0]))))

    return weight_of


def _cap(transport: Transport, state: Conditions, wire_bytes: float, role: Role, idle_s: float) -> float:
    cap = rate_cap_bytes_per_s(transport, state, role)
    if role == "lone":
        cap = min(cap, restarted_bytes_per_s(transport, state, wire_bytes, idle_s))
    return cap


def steps(states: Iterable[tuple[int, T]]) -> tuple[tuple[int, T], ...]:
    """Return a piecewise-constant function without the steps at which it stays as it is.

    Parameters
    ----------
    states : iterable of (int, number)
        In order of time.

    Returns
    -------
    tuple of (int, number)
        The first, and each that differs from the one before.
    """
    kept: list[tuple[int, T]] = []
    for tick, value in states:
        if not kept or kept[-1][1] != value:
            kept.append((tick, value))
    return tuple(kept)


def flow_of(sending: Sending, signals: tuple[int, ...]) -> Flow:
    """Return the flow of a message.

    Parameters
    ----------
    sending : Sending
        The message.
    signals : tuple of int
        Counters that rise at its end.

    Returns
    -------
    Flow
        An instruction.
    """
    (_, latency_ticks), *changes = sending.latencies
    return Flow(
        usage=sending.usage,
        n_bytes=sending.n_bytes,
        latency_ticks=latency_ticks,
        signals=signals,
        latency_changes=tuple(changes),
    )
