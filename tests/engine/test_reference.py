"""Engine and kernel against the meaning of plans in exact arithmetic, where floats are exact too."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference import Meaning, interpret
from strategies import TIES, lowered_plans, raw_plans, watched

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.errors import DeadlockError
from hetsim.model.instructions import Flow, Push, Wait, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource
from hetsim.model.result import PlanRun

KEY = {"seed": 5, "replication": 1}


def assert_means(plan: Plan, run: PlanRun, meaning: Meaning) -> None:
    """See that a run is what the plan means; of a watched plan, to every rise of a counter and end of a transfer."""
    for job, trace in enumerate(run.jobs):
        rows = [i for i, program in enumerate(plan.programs) if program.job == job and program.rank >= 0]
        n_steps = max(len(meaning.compute_end[i]) for i in rows)
        np.testing.assert_array_equal(trace.step_end.T, [padded(meaning.step_end[i], n_steps, -1) for i in rows])
        np.testing.assert_array_equal(trace.compute_end.T, [padded(meaning.compute_end[i], n_steps, 0) for i in rows])
        clocks = [i for i, program in enumerate(plan.programs) if program.job == job and program.is_clock]
        assert trace.updates.tolist() == [tick for i in clocks for tick in meaning.step_end[i]]
    assert run.carried.tolist() == [float(amount) for amount in meaning.carried]
    assert [counts.tolist() for counts in run.collected] == meaning.collected
    assert run.n_dropped.tolist() == meaning.n_dropped


def padded(ticks: list[int], n: int, missing: int) -> list[int]:
    return ticks + [missing] * (n - len(ticks))


def agrees(plan: Plan) -> bool:
    """See that both executors do what a plan means, and return whether it ends."""
    meaning = interpret(plan, **KEY)
    assume(meaning.is_exact)
    if not meaning.stuck:
        assert_means(plan, simulate(plan, **KEY), meaning)
        assert_means(plan, CompiledPlan(plan).run(**KEY), meaning)
        return True
    for execute in (partial(simulate, plan), CompiledPlan(plan).run):
        with pytest.raises(DeadlockError) as caught:
            execute(**KEY)
        # The message names eight at most.
        assert [name for name in meaning.stuck[:8] if f"{name} waits for" not in str(caught.value)] == []
    return False


def outcomes_of(strategy: st.SearchStrategy[Plan], n: int) -> list[bool]:
    outcomes = []

    @settings(
        max_examples=n,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    @given(strategy)
    def check_one(plan: Plan) -> None:
        outcomes.append(agrees(plan))

    check_one()
    assert len(outcomes) >= n
    return outcomes


def test_lowered_plans_full_of_ties() -> None:
    assert all(outcomes_of(lowered_plans(TIES, most_ranks=6).map(watched), 150))


def test_raw_plans_full_of_ties() -> None:
    assert all(outcomes_of(raw_plans(TIES).map(watched), 150))


def test_plans_that_may_not_end() -> None:
    ended = outcomes_of(raw_plans(TIES, is_sound=False), 75)
    assert 15 < sum(ended) < 60


def plan_of(resources: list[Resource], *programs: Program, changes: tuple[CapacityChange, ...] = ()) -> Plan:
    counters = ("counter 0", "counter 1")
    return Plan(jobs=("job",), resources=tuple(resources), counters=counters, programs=tuple(programs), changes=changes)


def program(*body: Work | Flow | Push | Wait, rank: int = 0, n: int = 1) -> Program:
    return Program(name=f"job/rank {rank}", job=0, rank=rank, body=body, n_iterations=n)


def test_the_reference_by_hand() -> None:
    # Two transfers at 3/2 until tick 4; one link then has 1 a tick, so the first has 10 - 6 = 4 left for 4 ticks more;
    # the second has 14 left, 2 a tick until the first ends at tick 8, then 6 left at 3.
    links = [Resource(name=name, kind="link", capacity=3.0) for name in ("shared", "own")]
    sends = [
        program(
            Flow(usage=((0, 1.0), (1, 1.0)) if rank == 0 else ((0, 1.0),), n_bytes=n, latency_ticks=0, signals=(rank,)),
            Wait(counter=rank, base=1, stride=1),
            rank=rank,
        )
        for rank, n in enumerate((10.0, 20.0))
    ]
    plan = plan_of(links, *sends, changes=(CapacityChange(tick=4, resource=1, capacity=1.0),))
    meaning = interpret(plan)
    assert meaning.step_end == [[8], [10]]
    assert meaning.counters == [1, 1]
    assert meaning.carried == [30, 10]
    assert (meaning.stuck, meaning.is_exact) == ([], True)


def test_the_reference_says_where_floats_are_not_exact() -> None:
    link = Resource(name="link", kind="link", capacity=1.0)
    thirds = [
        program(Flow(usage=((0, 1.0),), n_bytes=1.0, latency_ticks=0, signals=(0,)), rank=rank) for rank in range(3)
    ]
    meaning = interpret(plan_of([link], *thirds))
    assert not meaning.is_exact
    assert meaning.carried == [Fraction(3)]


def test_the_reference_names_who_is_stuck() -> None:
    device = Resource(name="device", kind="device", capacity=0.0)
    meaning = interpret(
        plan_of(
            [device],
            program(Work(resources=(0,), ticks=1)),
            program(Push(0), Wait(counter=0, base=1, stride=1), rank=1, n=2),
            program(Wait(counter=1, base=1, stride=0), rank=2),
        )
    )
    assert meaning.stuck == ["job/rank 0", "job/rank 2"]
    assert meaning.step_end == [[], [0, 0], []]
    assert meaning.counters == [2, 0]
