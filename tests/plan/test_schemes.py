"""What every aggregation scheme means, in closed form and as properties of what both executors do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from both import equal_run
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.metrics.clients import delays_of, started_ticks
from hetsim.metrics.staleness import dropped_frac, staleness_mean
from hetsim.metrics.steps import steps_of
from hetsim.metrics.throughput import n_updates
from hetsim.model.aggregation import Group, Rank
from hetsim.model.job import Compression, Slots
from hetsim.model.plan import Plan
from hetsim.model.result import JobRun, PlanRun
from hetsim.units import TICKS_PER_S

SIZE = 1_000_000
RATE = 1e9
SEND_S = SIZE / RATE
"""Of a whole gradient over one link."""


def ranks(n: int) -> tuple[Rank, ...]:
    return tuple(Rank(i) for i in range(n))


def served(n: int, **fields: Any) -> Group:
    """Ranks with a parameter server of their own host."""
    return Group(members=ranks(n), architecture="parameter-server", servers=(f"h{n}",), **fields)


def plan_for(
    tree: Group,
    compute_s: Sequence[float],
    *,
    n_steps: int = 6,
    rates: Sequence[float] | None = None,
    update_s: float = 0.0,
    **job_fields: Any,
) -> Plan:
    n = len(compute_s)
    job = known_job(compute_s, [SIZE], n_servers=max(1, len(tree.servers)), n_steps=n_steps, update_s=update_s)
    at = placed(replace(job, **job_fields), [f"h{i}/gpu0" for i in range(n)], tree.servers)
    plan: Plan = plan_of(star(rates or [RATE] * (n + 3)), replace(at, tree=tree))
    return plan


def as_job(plan: Plan, run: PlanRun, tree: Group, **fields: Any) -> JobRun:
    counts = [np.asarray(taken) for taken in run.collected]
    placement = placed(known_job([0.0], [4]), ["h0/gpu0"]).placement
    return JobRun(
        job="train",
        replication=0,
        batch=1,
        placement=placement,
        hosts=(),
        step_times=(),
        trace=run.jobs[0],
        tree=tree,
        n_gradients=np.mean(counts, axis=0) if counts else np.zeros(0),
        **fields,
    )


def ran(tree: Group, compute_s: Sequence[float], **fields: Any) -> JobRun:
    plan = plan_for(tree, compute_s, **fields)
    return as_job(plan, equal_run(plan), tree)


def carried(plan: Plan) -> float:
    """Bytes of all links together."""
    run = equal_run(plan)
    return float(sum(amount for amount, r in zip(run.carried, plan.resources, strict=True) if r.kind == "link"))


def test_equal_asynchronous_workers_are_one_round_of_the_others_behind() -> None:
    n = 5
    run = ran(served(n, sync="async"), [0.01] * n, n_steps=10)
    by_client = delays_of(run).reshape(n, 10)
    # Of the first n updates the k-th one meets k - 1 others, later ones all of the others.
    np.testing.assert_array_equal(np.sort(by_client[:, 0]), range(n))
    assert np.all(by_client[:, 1:] == n - 1)
    assert n_updates(run) == run.n_samples == 10 * n


def test_a_fast_asynchronous_worker_waits_for_nobody() -> None:
    run = ran(served(2, sync="async"), [0.001, 1.0], n_steps=3)
    # Pull, compute, push; both pull at first, then it is alone on its server's link.
    expected = (SEND_S + np.arange(1, 4) * (2 * SEND_S + 0.001)) * TICKS_PER_S
    np.testing.assert_allclose(run.trace.step_end[:, 0], expected, rtol=1e-3)


def test_shared_steps_go_to_whoever_is_free() -> None:
    run = ran(served(3, sync="async", steps="shared"), [0.01, 0.01, 0.04], n_steps=8)
    counts = (run.trace.step_end >= 0).sum(axis=0)
    assert counts.sum() == 24
    assert counts[0] == counts[1] > 2 * counts[2]
    own = ran(served(3, sync="async"), [0.01, 0.01, 0.04], n_steps=8)
    assert run.trace.step_end.max() < own.trace.step_end.max()


compute_times = st.lists(st.sampled_from([0.0, 0.001, 0.0015, 0.004, 0.0333, 0.1]), min_size=1, max_size=5)
link_rates = st.lists(st.sampled_from([1e8, 3e8, 1e9, 1e10]), min_size=8, max_size=8)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(compute_times, link_rates, st.integers(0, 3), st.integers(1, 7), st.booleans())
def test_stale_synchronous_workers_keep_their_bound(
    compute_s: list[float], rates: list[float], bound: int, n_steps: int, is_slow: bool
) -> None:
    tree = served(len(compute_s), sync="ssp", staleness=bound)
    run = ran(tree, compute_s, rates=rates, n_steps=n_steps, update_s=0.01 if is_slow else 0.0)
    ends = run.trace.step_end
    started = started_ticks(ends, bound)
    for step, rank in np.ndindex(*ends.shape):
        # Whoever begins iteration c: all have ended c - s, and nobody has ended more than s + 1 more than another.
        ended = (ends <= started[step, rank]).sum(axis=0)
        assert ended.min() >= step - bound
        if step:
            assert (ends[: step - bound].max(initial=0) <= started[step, rank]) or step <= bound
    events = np.unique(ends)
    spread = [np.ptp((ends <= tick).sum(axis=0)) for tick in events]
    assert max(spread, default=0) <= bound + 1
    work = run.trace.compute_end - run.trace.compute
    assert np.all(work >= started)


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(compute_times, link_rates, st.integers(1, 5))
def test_no_staleness_is_bulk_synchronous(compute_s: list[float], rates: list[float], n_steps: int) -> None:
    n = len(compute_s)
    bsp = ran(served(n), compute_s, rates=rates, n_steps=n_steps)
    ssp = ran(served(n, sync="ssp", staleness=0), compute_s, rates=rates, n_steps=n_steps)
    np.testing.assert_array_equal(ssp.trace.step_end.max(axis=1), bsp.trace.step_end.max(axis=1))
    np.testing.assert_array_equal(ssp.trace.compute_end, bsp.trace.compute_end)


@pytest.mark.parametrize("architecture", ["parameter-server", "ring", "tree", "halving-doubling"])
def test_one_local_step_is_bulk_synchronous(architecture: Any) -> None:
    servers = ("h4",) if architecture == "parameter-server" else ()
    bsp = Group(members=ranks(4), architecture=architecture, servers=servers)
    assert plan_for(replace(bsp, sync="local"), [0.01] * 4) == plan_for(bsp, [0.01] * 4)


@pytest.mark.parametrize("architecture", ["parameter-server", "ring", "tree", "halving-doubling", "gossip"])
@pytest.mark.parametrize("n_steps", [7, 8])
def test_local_steps_send_once_in_a_period(architecture: Any, n_steps: int) -> None:
    servers = ("h4",) if architecture == "parameter-server" else ()
    bsp = Group(members=ranks(4), architecture=architecture, servers=servers)
    once = carried(plan_for(bsp, [0.01] * 4, n_steps=1))
    local = replace(bsp, sync="local", period=4)
    assert carried(plan_for(local, [0.01] * 4, n_steps=n_steps)) == pytest.approx(once * (n_steps // 4))
    run = ran(local, [0.01, 0.02, 0.02, 0.02], n_steps=n_steps)
    assert n_updates(run) == n_steps // 4
    assert staleness_mean(run) == pytest.approx(np.mean([step % 4 for step in range(n_steps)]))


def test_local_steps_of_a_ring_wait_at_the_end_of_a_round_only() -> None:
    run = ran(Group(members=ranks(2), architecture="ring", sync="local", period=3), [0.01, 0.02], n_steps=6)
    # Two ranks exchange halves twice, 1 ms in all, when the slower one has made three steps.
    round_s = 3 * 0.02 + SEND_S
    expected = [[0.01, 0.02], [0.02, 0.04], [round_s] * 2]
    np.testing.assert_allclose(run.trace.step_end[:3] / TICKS_PER_S, expected, rtol=1e-3)
    np.testing.assert_allclose(run.trace.step_end[3:] - run.trace.step_end[2], run.trace.step_end[:3], rtol=1e-6)
    steps = steps_of(run)
    waits = np.zeros((6, 2))
    waits[[2, 5], 0] = 0.03
    np.testing.assert_allclose(steps.wait.reshape(6, 2) / TICKS_PER_S, waits, rtol=1e-6)
    parts = (steps.compute + steps.wait + steps.exposed).reshape(6, 2).sum(axis=0)
    np.testing.assert_array_equal(parts, run.trace.step_end[-1])


def test_first_steps_may_be_synchronous() -> None:
    tree = Group(members=ranks(2), architecture="ring", sync="local", period=3, local_after=2)
    ends = ran(tree, [0.01] * 2, n_steps=8).trace.step_end[:, 0] / TICKS_PER_S
    exchanged = np.diff(ends, prepend=0.0) > 0.0105
    assert exchanged.tolist() == [True, True, False, False, True, False, False, True]


def test_members_may_make_different_numbers_of_local_steps() -> None:
    tree = served(3, sync="local", period=(4, 2, 1))
    run = ran(tree, [0.01, 0.02, 0.04], n_steps=7)
    # 21 steps together are three rounds of 7; all come to the end of a round at the same time.
    assert (run.trace.step_end >= 0).sum(axis=0).tolist() == [12, 6, 3]
    assert n_updates(run) == 3
    np.testing.assert_allclose(run.trace.compute_end[[3, 1, 0], [0, 1, 2]], run.trace.compute_end[3, 0])


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_a_quorum_takes_enough_gradients_and_drops_the_late_ones(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    quorum = data.draw(st.integers(1, n + 1))
    # Times without a common beat: no two pushes of a tick.
    compute_s = [0.01 + 0.007 * np.sqrt(2 + i) for i in range(n)]
    tree = served(n, quorum=quorum, late=data.draw(st.sampled_from(["drop", "apply"])))
    plan = plan_for(tree, compute_s, n_steps=data.draw(st.integers(1, 6)))
    run = equal_run(plan)
    (taken,) = run.collected
    job = as_job(plan, run, tree)
    ends = job.trace.step_end[job.trace.step_end >= 0]
    is_alone = [np.sum(ends == tick) <= 1 for tick in job.trace.updates]
    assert np.all(taken >= quorum)
    assert np.all(taken[np.array(is_alone)] == quorum)
    # Each push that ended was taken, dropped, or is still there.
    n_left = ends.size - taken.sum() - run.n_dropped.sum()
    assert 0 <= n_left < quorum + n
    if tree.late == "apply":
        assert run.n_dropped.sum() == 0
    assert dropped_frac(job) == pytest.approx(1 - taken.sum() / ends.size)


def test_a_quorum_of_all_equal_workers_is_bulk_synchronous_after_the_first_step() -> None:
    quorum = ran(served(4, quorum=4), [0.01] * 4, n_steps=6)
    bsp = ran(served(4), [0.01] * 4, n_steps=6)
    (step,) = set(np.diff(bsp.trace.step_end.max(axis=1))[1:].tolist())
    # Tokens of the start let every worker make a gradient more for the first version, which is dropped.
    assert set(np.diff(quorum.trace.updates)[1:].tolist()) == {step}
    assert dropped_frac(quorum) == pytest.approx(4 / 28)


def test_backup_workers_hide_a_straggler() -> None:
    compute_s = [0.01, 0.0107, 0.0113, 1.0]
    backed = ran(served(4, quorum=3), compute_s, n_steps=60)
    alone, bsp = ran(served(3), compute_s[:3], n_steps=60), ran(served(4), compute_s, n_steps=2)
    # Four tokens an update for three workers: what the straggler leaves of them is old when it is taken, so that each
    # update takes four gradients of three workers.
    assert backed.trace.updates[-1] / alone.trace.step_end.max() == pytest.approx(4 / 3, rel=0.1)
    assert backed.trace.updates[-1] < 4 * bsp.trace.step_end.max()
    # A gradient more where two pushes came in one tick.
    assert 180 <= backed.n_samples <= 186


def test_hubs_average_once_a_period_and_all_of_them_once_in_some() -> None:
    hubs = tuple(Group(members=ranks(4)[i : i + 2], architecture="ring", sync="local", period=2) for i in (0, 2))
    tree = Group(members=hubs, architecture="ring", sync="local", period=3)
    plan = plan_for(tree, [0.01] * 4, n_steps=12)
    ends = equal_run(plan).jobs[0].step_end[:, 0] / TICKS_PER_S
    steps = np.diff(ends, prepend=0.0) - 0.01
    # Two of a hub exchange halves twice; across, each of two sends half of its half twice at the same time.
    inner, outer = SEND_S, SEND_S / 2
    expected = [0, inner, 0, inner, 0, inner + outer] * 2
    np.testing.assert_allclose(steps, expected, atol=1e-6)


@pytest.mark.parametrize("outer", ["ring", "gossip"])
def test_hubs_of_one_worker_keep_their_period(outer: Any) -> None:
    hubs = tuple(Group(members=(rank,), architecture="ring", sync="local", period=2) for rank in ranks(3))
    tree = Group(members=hubs, architecture=outer, sync="local", period=2)
    flat = Group(members=ranks(3), architecture=outer, sync="local", period=4)
    run, other = ran(tree, [0.01, 0.02, 0.03], n_steps=8), ran(flat, [0.01, 0.02, 0.03], n_steps=8)
    np.testing.assert_array_equal(run.trace.step_end, other.trace.step_end)


def test_two_that_meet_at_random_compute_meanwhile() -> None:
    tree = Group(members=ranks(2), architecture="gossip", sync="async")
    # Each meeting is two transfers one each way, and each way carries those of both: 2 ms, hidden or not.
    for compute, step in ((0.01, 0.01), (0.0005, 2 * SEND_S)):
        ends = ran(tree, [compute] * 2, n_steps=5).trace.step_end[:, 0] / TICKS_PER_S
        np.testing.assert_allclose(np.diff(ends, prepend=0.0), step, rtol=1e-3)


def test_neighbours_on_a_line_send_to_their_neighbours() -> None:
    tree = Group(members=ranks(4), architecture="gossip", graph="line")
    assert carried(plan_for(tree, [0.01] * 4, n_steps=2)) == pytest.approx(2 * 6 * 4 * SIZE, rel=1e-6)


def test_partial_all_reduce_costs_a_small_ring() -> None:
    tree = Group(members=ranks(6), architecture="ring", sync="partial", group_size=3)
    ends = ran(tree, [0.01] * 6, n_steps=20).trace.step_end / TICKS_PER_S
    expected = np.arange(1, 21)[:, np.newaxis] * (0.01 + 4 / 3 * SEND_S)
    np.testing.assert_allclose(ends, np.broadcast_to(expected, (20, 6)), rtol=1e-3)


def test_a_straggler_of_a_partial_all_reduce_holds_up_its_group_only() -> None:
    tree = Group(members=ranks(6), architecture="ring", sync="partial", group_size=2)
    ends = ran(tree, [0.5] + [0.01] * 5, n_steps=1).trace.step_end[0] / TICKS_PER_S
    assert np.sum(ends > 0.5) == 2


def test_groups_tell_each_other_of_their_updates() -> None:
    def group(first: int) -> Group:
        members = ranks(4)[first : first + 2]
        return Group(
            members=members, architecture="parameter-server", servers=(f"h{4 + first // 2}",), sync="ssp", staleness=1
        )

    inner = (group(0), group(2))
    tree = Group(members=inner, architecture="gossip", sync="async", period=3)
    plan = plan_for(tree, [0.01, 0.02, 0.01, 0.03], n_steps=6)
    run = equal_run(plan)
    # Pulls and pushes of 24 steps, and 12 // 3 sums each way; each crosses its host's bus and two links.
    alone = carried(plan_for(served(4), [0.01] * 4, n_steps=6))
    links = {r.name: amount for r, amount in zip(plan.resources, run.carried.tolist(), strict=True) if r.kind == "link"}
    assert sum(links.values()) == pytest.approx(alone + 2 * 2 * 4 * SIZE)
    assert sum(n for name, n in links.items() if name == "h4>switch") == pytest.approx(12 * SIZE + 4 * SIZE)
    job = as_job(plan, run, tree)
    assert delays_of(job).size == 24
    assert delays_of(job).max() <= 2


def test_all_reduce_inside_and_a_server_across() -> None:
    rings = tuple(Group(members=ranks(4)[i : i + 2], architecture="ring") for i in (0, 2))
    tree = Group(members=rings, architecture="parameter-server", servers=("h4",), sync="async")
    run = ran(tree, [0.01, 0.01, 0.05, 0.05], n_steps=5)
    # A ring does not wait for the other one: its own all-reduce, a push, a pull, and the chain to the second.
    assert run.trace.step_end[-1, 0] < run.trace.step_end[1, 2]
    assert n_updates(run) == 10
    bsp = ran(replace(tree, sync="bsp"), [0.01, 0.01, 0.05, 0.05], n_steps=5)
    assert np.all(bsp.trace.step_end[-1, 0] > 5 * 0.05 * TICKS_PER_S)


def test_skipped_slots_take_their_time_and_make_no_gradient() -> None:
    tree = Group(members=ranks(2), architecture="ring", sync="local", period=4)
    slots = Slots(probability=(1.0, 0.25), unfinished="skip")
    plan = plan_for(tree, [0.01] * 2, n_steps=400, slots=slots)
    run = as_job(plan, equal_run(plan), tree, skips=True)
    even = equal_run(plan_for(tree, [0.01] * 2, n_steps=400))
    np.testing.assert_array_equal(run.trace.step_end, even.jobs[0].step_end)
    worked = (run.trace.compute > 0).sum(axis=0)
    assert worked[0] == 400
    assert worked[1] == pytest.approx(100, abs=4 * np.sqrt(400 * 0.25 * 0.75))
    assert run.n_samples == worked.sum()


def test_repeated_slots_take_as_many_as_it_takes() -> None:
    tree = Group(members=ranks(2), architecture="ring")
    slots = Slots(probability=(1.0, 0.5), unfinished="repeat")
    compute = equal_run(plan_for(tree, [0.01] * 2, n_steps=400, slots=slots)).jobs[0].compute / TICKS_PER_S
    tries = np.round(compute[:, 1] / 0.01).astype(int)
    np.testing.assert_allclose(compute[:, 1], tries * 0.01, rtol=1e-6)
    # Geometric: mean 2, variance 2; half of them at once.
    assert tries.mean() == pytest.approx(2.0, abs=4 * np.sqrt(2 / 400))
    assert np.mean(tries == 1) == pytest.approx(0.5, abs=4 * 0.5 / 20)


def test_batches_may_be_accumulated() -> None:
    tree = Group(members=ranks(2), architecture="ring")
    run = equal_run(plan_for(tree, [0.01, 0.02], n_steps=3, accumulate=4)).jobs[0]
    np.testing.assert_allclose(run.compute / TICKS_PER_S, [[0.04, 0.08]] * 3, rtol=1e-6)
    step_s = 0.08 + SEND_S
    np.testing.assert_allclose(run.step_end[:, 0] / TICKS_PER_S, [step_s, 2 * step_s, 3 * step_s], rtol=1e-4)


def test_quantized_gradients_are_smaller_on_their_way() -> None:
    eight_bits = Compression(kind="quantized", sent_frac=8 / 32)
    for tree, part in ((served(3), 5 / 8), (Group(members=ranks(3), architecture="ring"), 1 / 4)):
        # Parameters come back from servers whole.
        plain, small = (
            carried(plan_for(tree, [0.01] * 3, compression=compression)) for compression in (None, eight_bits)
        )
        assert small == pytest.approx(part * plain)


def test_the_largest_entries_are_gathered_with_their_indices() -> None:
    keep = 0.01
    tree = Group(members=ranks(5), architecture="ring")
    compression = Compression(kind="top-k", sent_frac=2 * keep, bytes_per_s=SIZE / 0.002)
    ends = equal_run(plan_for(tree, [0.01] * 5, n_steps=1, compression=compression)).jobs[0].step_end
    # Compressing and restoring take 2 ms each; everybody then gets 2 % of the bytes of each of four others.
    np.testing.assert_allclose(ends / TICKS_PER_S, 0.01 + 0.004 + 4 * 2 * keep * SEND_S, rtol=1e-4)


def test_parts_of_a_step_stay_positive_where_slots_are_skipped() -> None:
    tree = Group(members=ranks(3), architecture="ring")
    plan = plan_for(tree, [0.01] * 3, n_steps=50, slots=Slots(probability=(0.5,) * 3, unfinished="skip"))
    steps = steps_of(as_job(plan, equal_run(plan), tree, skips=True))
    assert np.all(steps.exposed >= 0)
    assert np.all(steps.wait >= 0)
