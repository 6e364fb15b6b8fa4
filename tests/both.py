"""A plan on the SimPy engine and on the compiled event kernel, which must agree to the last bit."""

from unittest.mock import patch

import numpy as np

from hetsim.engine import events
from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.model.plan import Plan
from hetsim.model.result import PlanRun

SEED, REPLICATION = 3, 2


def assert_equal(ours: PlanRun, theirs: PlanRun) -> None:
    """See that two recordings are the same."""
    for trace, other in zip(ours.jobs, theirs.jobs, strict=True):
        for column in ("step_end", "compute_end", "compute", "communication", "updates"):
            np.testing.assert_array_equal(getattr(trace, column), getattr(other, column), err_msg=column)
    assert (ours.end, ours.n_events) == (theirs.end, theirs.n_events)
    np.testing.assert_array_equal(ours.carried, theirs.carried)
    np.testing.assert_array_equal(ours.n_dropped, theirs.n_dropped)
    assert [counts.tolist() for counts in ours.collected] == [counts.tolist() for counts in theirs.collected]


def on_engine(plan: Plan) -> PlanRun:
    """Run on the engine."""
    return simulate(plan, seed=SEED, replication=REPLICATION)


def on_kernel(plan: Plan) -> PlanRun:
    """Run on the event kernel alone: where it meets a deadlock it asks the engine, which would hide a wrong one."""
    with patch.object(events, "simulate", side_effect=AssertionError("the kernel met a deadlock")):
        return CompiledPlan(plan, events_only=True).run(seed=SEED, replication=REPLICATION)


def equal_run(plan: Plan) -> PlanRun:
    """Run a plan on both, see that they agree, and return the run."""
    engine = on_engine(plan)
    assert_equal(on_kernel(plan), engine)
    return engine
