"""A state server, which only the SimPy engine can ask."""

import numpy as np
import pytest
from plan.test_schemes import as_job, plan_for, served

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.errors import SimulationError
from hetsim.metrics.staleness import staleness_mean
from hetsim.metrics.throughput import n_updates
from hetsim.model.job import Slots
from hetsim.units import TICKS_PER_S


def test_fast_workers_make_several_steps_while_the_slowest_makes_one() -> None:
    tree = served(3, sync="state-server", margin_s=0.0)
    plan = plan_for(tree, [0.1, 0.2, 0.45], n_steps=6)
    run = simulate(plan, seed=0, replication=0)
    job = as_job(plan, run, tree)
    counts = (job.trace.step_end >= 0).sum(axis=0)
    # In the first round nobody is known to be slower; then 4, 2 and 1 steps fit into 0.45 s, and when there are 18 the
    # last round ends.
    assert counts.tolist() == [1 + 4 + 4 + 1, 1 + 2 + 2 + 1, 4]
    assert n_updates(job) == 4
    rounds = np.diff(job.trace.updates) / TICKS_PER_S
    # The slowest one pushes alone, 1 ms, and all pull together, 3 ms.
    np.testing.assert_allclose(rounds, 0.45 + 0.001 + 0.003, rtol=1e-3)
    assert staleness_mean(job) == pytest.approx((2 * (0 + 1 + 2 + 3) + 2 * (0 + 1)) / 20)


def test_equal_workers_are_bulk_synchronous() -> None:
    tree = served(3, sync="state-server", margin_s=0.0)
    trace = simulate(plan_for(tree, [0.1] * 3, n_steps=5), seed=0, replication=0).jobs[0]
    assert trace.step_end.shape == (5, 3)
    np.testing.assert_allclose(np.diff(trace.step_end, axis=0) / TICKS_PER_S, 0.106, rtol=1e-3)


def test_a_margin_keeps_fast_workers_from_one_step_more() -> None:
    few, many = (
        simulate(plan_for(served(2, sync="state-server", margin_s=m), [0.1, 0.45]), seed=0, replication=0)
        for m in (0.2, 0.0)
    )
    in_rounds = [np.sum(run.jobs[0].step_end[:, 0] >= 0) / run.jobs[0].updates.size for run in (few, many)]
    assert in_rounds[0] < in_rounds[1]


def test_the_kernel_refuses_it_by_name() -> None:
    plan = plan_for(served(2, sync="state-server"), [0.1, 0.2])
    with pytest.raises(SimulationError, match="the kernel asks nobody while it runs: train/rank 0 asks StateServer"):
        CompiledPlan(plan).run(seed=0, replication=0)


def test_a_worker_that_skips_its_slot_has_made_a_step_too() -> None:
    tree = served(3, sync="state-server", margin_s=0.0)
    slots = Slots(probability=(0.5, 0.5, 1.0), unfinished="skip")
    plan = plan_for(tree, [0.1, 0.2, 0.45], n_steps=20, slots=slots)
    ends = simulate(plan, seed=0, replication=0).jobs[0].step_end
    assert (ends >= 0).sum() >= 60
