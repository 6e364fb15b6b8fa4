"""Senders that go on when the rest of their last message waits in front of the slowest link of its way."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.model.cluster import Cluster
from hetsim.model.instructions import Flow
from hetsim.model.plan import Plan
from hetsim.model.result import PlanRun
from hetsim.network.routes import Routes
from hetsim.plan.objects import Objects
from hetsim.plan.script import Script
from hetsim.plan.sending import Sender
from hetsim.units import TICKS_PER_S, to_seconds

NIC = 1.25e9
SIZE = 96_000_000


def holding(cluster: Cluster, queue_bytes: Sequence[float]) -> Cluster:
    """The cluster with queues on the links of its hosts to the switch."""
    queues = {f"h{i}": n_bytes for i, n_bytes in enumerate(queue_bytes)}
    links = tuple(replace(link, queue_bytes=queues[link.a]) if link.b == "switch" else link for link in cluster.links)
    return replace(cluster, links=links)


def run(plan: Plan) -> PlanRun:
    return simulate(plan, seed=0, replication=0)


def one_way(compute_s: float, queue_bytes: float, latency_s: float = 0.0) -> Plan:
    """A rank that computes and sends, and one that receives."""
    cluster = holding(star([NIC, NIC], latency_s=latency_s / 2), [queue_bytes] * 2)
    job = known_job([compute_s, 0.0], [SIZE], n_servers=0, n_steps=5)
    objects = Objects(cluster, Routes(cluster))
    sender = Sender(objects, job, lambda source, target: 1.0)
    script = Script(objects, placed(job, ["h0/gpu0", "h1/gpu0"]), sender)
    script.receive(script.send(0, 1, float(SIZE)))
    programs = tuple(script.programs(0))
    return Plan(
        jobs=("train",), resources=tuple(objects.resources), counters=tuple(objects.counters), programs=programs
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([0.0, 0.25, 1.0, 3.0]),
    st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0.01, 3.0)),
    st.sampled_from([0.0, 0.001]),
)
def test_one_message_a_step(compute: float, queue: float, latency_s: float) -> None:
    # Compute c, then n bytes at B after a latency, of which q may wait. Messages set out every max(a, c + h), where
    # a = latency + n / B is the way of a message and h = latency + (n - q) / B the time to hand it over, none if it
    # fits, and a if nothing may wait.
    send_s = SIZE / NIC
    compute_s, queue_bytes = compute * send_s, queue * SIZE
    trace = run(one_way(compute_s, queue_bytes, latency_s)).jobs[0]
    arrive_s = latency_s + send_s
    hand_over_s = 0.0 if queue_bytes >= SIZE else latency_s + (SIZE - queue_bytes) / NIC
    starts_s = compute_s + np.arange(5) * max(arrive_s, compute_s + hand_over_s)
    np.testing.assert_allclose(trace.step_end[:, 0] / TICKS_PER_S, starts_s + hand_over_s, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(trace.step_end[:, 1] / TICKS_PER_S, starts_s + arrive_s, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("queue_bytes", [0.0, SIZE, 2.0 * SIZE])
def test_a_message_that_fits_or_has_to_arrive_is_sent_whole(queue_bytes: float) -> None:
    plan = one_way(0.0, queue_bytes)
    assert len(plan.programs) == 2
    assert [entry.n_bytes for entry in plan.programs[0].body if isinstance(entry, Flow)] == [SIZE]


def test_what_is_left_is_sent_by_a_program_of_its_own() -> None:
    plan = one_way(0.0, SIZE / 4)
    assert [program.name for program in plan.programs][2:] == ["train/queue from rank 0 to rank 1"]
    parts = [entry.n_bytes for program in plan.programs for entry in program.body if isinstance(entry, Flow)]
    assert parts == [SIZE * 3 / 4, SIZE / 4]


def test_the_queue_of_the_slowest_link_counts() -> None:
    def waiting(rates: Sequence[float], queues: Sequence[float]) -> float:
        return Routes(holding(star(rates), queues)).queue_bytes("h0/gpu0", "h1")

    assert waiting([NIC, 2 * NIC], [5.0, 3.0]) == 5.0
    assert waiting([2 * NIC, NIC], [5.0, 3.0]) == 3.0
    assert waiting([NIC, NIC], [5.0, 3.0]) == 3.0
    assert waiting([2 * NIC, NIC], [5.0, 0.0]) == 0.0
    assert Routes(holding(star([NIC]), [5.0])).queue_bytes("h0", "h0") == 0.0
    assert Routes(holding(star([NIC], bus_bytes_per_s=NIC / 2), [5.0])).queue_bytes("h0/gpu0", "switch") == 0.0


def test_parameter_servers_that_apply_answer_when_all_has_arrived() -> None:
    job = known_job([0.01, 0.02], [SIZE], n_servers=1, n_steps=2, update_s=0.001)
    ready = placed(job, ["h0/gpu0", "h1/gpu0"], ["h2"])
    assert plan_of(holding(star([NIC] * 3), [1e6] * 3), ready) == plan_of(star([NIC] * 3), ready)


RATES = st.floats(0.05, 1.0).map(lambda share: share * NIC)
QUEUES = st.one_of(st.just(0.0), st.floats(0.0, 1.0)).map(lambda share: share * SIZE)


@st.composite
def rings(draw: st.DrawFn) -> tuple[list[float], list[float], list[float]]:
    """Rates, queues and compute times of the members of a ring."""
    n = draw(st.integers(2, 6))
    compute_s = st.one_of(st.just(0.0), st.floats(0.0, 2 * SIZE / NIC))
    return tuple(draw(st.lists(each, min_size=n, max_size=n)) for each in (RATES, QUEUES, compute_s))


def ring_plan(rates: Sequence[float], queues: Sequence[float], compute_s: Sequence[float], n_steps: int = 4) -> Plan:
    n = len(rates)
    job = known_job(compute_s, [SIZE], n_servers=0, n_steps=n_steps)
    cluster = holding(star(rates, latency_s=1e-5), queues)
    return plan_of(cluster, placed(job, [f"h{i}/gpu0" for i in range(n)], architecture="ring"))


def assert_no_later(first: PlanRun, second: PlanRun) -> None:
    """See that no step ends later in the first run, but for what rounding to ticks adds up to."""
    assert np.all(first.jobs[0].step_end <= second.jobs[0].step_end + 1000)


@settings(max_examples=40, deadline=None)
@given(rings(), st.data())
def test_a_faster_link_never_slows_a_ring_that_runs_alone(
    ring: tuple[list[float], list[float], list[float]], data: st.DataObject
) -> None:
    # Each direction of a link carries the messages of one way, so nothing is shared, and a ring is a recurrence of
    # maxima and sums. Queues are equal, since the one of the slowest link counts: a faster link may make it another.
    rates, queues, compute_s = ring
    faster = list(rates)
    i = data.draw(st.integers(0, len(rates) - 1))
    faster[i] *= data.draw(st.floats(1.0, 10.0))
    without = [0.0] * len(rates)
    assert_no_later(run(ring_plan(faster, without, compute_s)), run(ring_plan(rates, without, compute_s)))
    equal_queues = [queues[0]] * len(rates)
    assert_no_later(run(ring_plan(faster, equal_queues, compute_s)), run(ring_plan(rates, equal_queues, compute_s)))


@settings(max_examples=40, deadline=None)
@given(rings(), st.floats(1.0, 3.0))
def test_a_longer_queue_never_slows_a_ring_that_runs_alone(
    ring: tuple[list[float], list[float], list[float]], factor: float
) -> None:
    rates, queues, compute_s = ring
    longer = run(ring_plan(rates, [factor * queue for queue in queues], compute_s))
    as_drawn = run(ring_plan(rates, queues, compute_s))
    assert_no_later(longer, as_drawn)
    assert_no_later(as_drawn, run(ring_plan(rates, [0.0] * len(rates), compute_s)))


@settings(max_examples=30, deadline=None)
@given(rings())
def test_queues_lose_no_bytes_and_both_executors_agree(ring: tuple[list[float], list[float], list[float]]) -> None:
    rates, queues, compute_s = ring
    plan, n = ring_plan(rates, queues, compute_s), len(rates)
    engine, kernel = run(plan), CompiledPlan(plan).run(seed=0, replication=0)
    np.testing.assert_array_equal(engine.jobs[0].step_end, kernel.jobs[0].step_end)
    np.testing.assert_array_equal(engine.jobs[0].communication, kernel.jobs[0].communication)
    assert engine.end == kernel.end
    for resource, carried in zip(plan.resources, engine.carried.tolist(), strict=True):
        if resource.kind == "link":
            assert carried == pytest.approx(4 * 2 * (n - 1) / n * SIZE)
            assert carried <= resource.capacity * engine.end * (1 + 1e-9)


def test_a_rank_behind_a_slow_link_computes_while_its_queue_drains() -> None:
    rates, compute_s = [NIC / 8, NIC, NIC], [0.1] * 3
    ends = [to_seconds(run(ring_plan(rates, [queue] * 3, compute_s)).end) for queue in (0.0, SIZE / 8, SIZE)]
    assert ends[0] > ends[1] > ends[2]
