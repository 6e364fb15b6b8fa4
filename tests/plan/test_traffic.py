"""Transfers of others beside a job, on both executors."""

from dataclasses import replace

import numpy as np
import pytest
from both import equal_run
from clusters import known_job, placed, plan_of, star

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.errors import DeadlockError
from hetsim.kernels import memory
from hetsim.model.impairment import Impairment
from hetsim.model.plan import Plan
from hetsim.model.traffic import Traffic
from hetsim.units import TICKS_PER_S

NIC = 1e9
SIZE = 100_000_000
STEP = SIZE / NIC
"""A push alone, or a pull."""


def plan(*traffic: Traffic, n_steps: int = 1) -> Plan:
    """One worker on h1, its server on h0, and others on h2 and h3."""
    cluster = star([NIC] * 4)
    job = placed(known_job([0.0], [SIZE], n_steps=n_steps), ["h1/gpu0"], ["h0"])
    return plan_of(replace(cluster, traffic=traffic), job)


def step_ends(made: Plan) -> list[float]:
    (trace,) = equal_run(made).jobs
    return (trace.step_end[:, 0] / TICKS_PER_S).tolist()


def test_one_transfer_takes_half_of_the_link_while_it_lasts() -> None:
    other = Traffic(source="h2", target="h1", n_bytes=SIZE / 2, every_s=100.0)
    # The pull and the transfer share the link to h1: the transfer ends at 1, when the pull has half left.
    assert step_ends(plan(other)) == pytest.approx([2.5 * STEP])


def test_other_directions_and_other_links_change_nothing() -> None:
    others = (
        Traffic(source="h0", target="h2", n_bytes=SIZE, every_s=STEP, start_s=STEP),
        Traffic(source="h3", target="h2", n_bytes=SIZE, every_s=STEP, start_s=STEP),
    )
    assert step_ends(plan(*others)) == pytest.approx([2 * STEP])


def test_it_begins_when_it_is_said_and_ends_after_so_many() -> None:
    other = Traffic(source="h2", target="h0", n_bytes=SIZE / 4, every_s=STEP / 2, start_s=STEP, n_transfers=2)
    # Pushes go to h0 too. The first transfer takes half of the link from 1 to 1.5; the second follows at once, to 2.
    assert step_ends(plan(other)) == pytest.approx([2.5 * STEP])
    only_one = replace(other, n_transfers=1)
    assert step_ends(plan(only_one)) == pytest.approx([2.25 * STEP])


def test_a_transfer_that_takes_longer_is_followed_at_once() -> None:
    other = Traffic(source="h2", target="h1", n_bytes=SIZE, every_s=STEP / 100)
    made = plan(other, n_steps=3)
    # The link to h1 is never free: each pull takes 2, each push 1.
    assert step_ends(made) == pytest.approx([3 * STEP, 6 * STEP, 9 * STEP])


def test_connections_weigh() -> None:
    other = Traffic(source="h2", target="h1", n_bytes=100 * SIZE, every_s=1.0, n_streams=3)
    assert step_ends(plan(other)) == pytest.approx([(4 + 1) * STEP])


def test_a_run_ends_with_its_jobs() -> None:
    other = Traffic(source="h2", target="h3", n_bytes=SIZE / 10, every_s=STEP)
    run = equal_run(plan(other, n_steps=2))
    assert run.end / TICKS_PER_S == pytest.approx(4 * STEP)
    # Transfers that ended before: those that set out at 0, 1, 2 and 3.
    assert run.carried.tolist().count(pytest.approx(0.4 * SIZE)) == 2


def test_random_times_are_drawn_by_seed_and_replication() -> None:
    other = Traffic(source="h2", target="h1", n_bytes=SIZE / 3, every_s=STEP, cv=1.0)
    made = plan(other, n_steps=40)
    ends = {}
    for replication in range(3):
        engine = simulate(made, seed=1, replication=replication)
        kernel = CompiledPlan(made, events_only=True).run(seed=1, replication=replication)
        np.testing.assert_array_equal(engine.jobs[0].step_end, kernel.jobs[0].step_end)
        assert engine.n_events == kernel.n_events
        ends[replication] = engine.end / TICKS_PER_S
    assert len(set(ends.values())) == 3
    # A transfer costs the pull that it meets up to its own bytes; a third of the link's time would be 1/3 more.
    assert all(2 * 40 * STEP < end < 2 * 40 * STEP * 4 / 3 for end in ends.values())


def test_an_outage_holds_it_up_too() -> None:

    cluster = star([NIC] * 4)
    down = (Impairment(bytes_per_s=0.0), Impairment(at_s=STEP))
    links = tuple(
        replace(link, from_a=down) if (link.a, link.b) == ("h2", "switch") else link for link in cluster.links
    )
    other = Traffic(source="h2", target="h1", n_bytes=SIZE / 2, every_s=100.0)
    job = placed(known_job([0.0], [SIZE]), ["h1/gpu0"], ["h0"])
    assert step_ends(plan_of(replace(cluster, links=links, traffic=(other,)), job)) == pytest.approx([2 * STEP])


def test_a_job_that_stands_still_is_told_although_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_UNAWAITED", 500)
    cluster = star([NIC] * 4)
    down = (Impairment(bytes_per_s=0.0),)
    links = tuple(
        replace(link, from_a=down) if (link.a, link.b) == ("h1", "switch") else link for link in cluster.links
    )
    other = Traffic(source="h2", target="h3", n_bytes=1.0, every_s=STEP)
    job = placed(known_job([0.0], [SIZE]), ["h1/gpu0"], ["h0"])
    made = plan_of(replace(cluster, links=links, traffic=(other,)), job)
    for run in (simulate, lambda *args, **kwargs: CompiledPlan(*args, events_only=True).run(**kwargs)):
        with pytest.raises(DeadlockError, match="h1>switch has no capacity left"):
            run(made, seed=0, replication=0)


def test_a_long_step_is_no_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_UNAWAITED", 2500)
    other = Traffic(source="h2", target="h3", n_bytes=1.0, every_s=STEP / 400)
    assert step_ends(plan(other, n_steps=3)) == pytest.approx([2 * STEP, 4 * STEP, 6 * STEP])
