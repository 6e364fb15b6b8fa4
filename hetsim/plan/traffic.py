"""Programs of the traffic that others send: nobody waits for them."""

from collections.abc import Sequence
from typing import Final

from hetsim.kernels.draws import stream_key
from hetsim.model.instructions import Delay, Flow, Instruction, Push, Wait, Work
from hetsim.model.plan import Program
from hetsim.model.traffic import Traffic
from hetsim.plan.objects import Objects
from hetsim.plan.sending import steps
from hetsim.units import to_ticks

ENDLESS: Final = 2**31 - 1
"""Iterations of what goes on for as long as the jobs do: the most that an executor counts."""


def traffic_programs(objects: Objects, traffic: Sequence[Traffic], least_streams: int) -> list[Program]:
    """Return the programs of others' transfers.

    Each sends, waits for its time, and then for the end of what it sent. Transfers share links by their connections, as
    those of jobs do, and are bounded by nothing else.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    traffic : sequence of Traffic
        Of the cluster.
    least_streams : int
        Connections of the message of weight one.

    Returns
    -------
    list of Program
        In the background.
    """
    return [program for index, each in enumerate(traffic) for program in _programs(objects, index, each, least_streams)]


def _programs(objects: Objects, index: int, traffic: Traffic, least_streams: int) -> list[Program]:
    name = f"traffic {index}: {traffic.source} to {traffic.target}"
    ended = objects.counter(f"{name}, ended")
    way = objects.way(traffic.source, traffic.target)
    latencies = steps((to_ticks(time_s), to_ticks(way.at(time_s).latency_s)) for time_s in way.times_s())
    weight = traffic.n_streams / least_streams
    (_, latency_ticks), *changes = latencies
    flow = Flow(
        usage=tuple((link, use * weight) for link, use in objects.links(traffic.source, traffic.target)),
        n_bytes=traffic.n_bytes / weight,
        latency_ticks=latency_ticks,
        signals=(ended,),
        latency_changes=tuple(changes),
    )
    pause = Work(
        resources=(objects.timer(name),),
        ticks=to_ticks(traffic.every_s),
        jitter_cv=traffic.cv,
        stream=stream_key("traffic", index, traffic.source, traffic.target),
    )
    body: list[Instruction] = [flow, pause, Wait(counter=ended, base=1, stride=1)]
    n = traffic.n_transfers or ENDLESS
    if not traffic.start_s:
        return [_background(name, body, n)]
    begun = objects.counter(f"{name}, begun")
    start = _background(f"{name}, start", [Delay(to_ticks(traffic.start_s)), Push(begun)], 1)
    return [start, _background(name, [Wait(counter=begun, base=1, stride=0), *body], n)]


def _background(name: str, body: Sequence[Instruction], n_iterations: int) -> Program:
    return Program(name=name, job=0, rank=-1, body=tuple(body), n_iterations=n_iterations, is_background=True)
