"""The SimPy engine and the compiled kernel on the same random plans: equal to the tick."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
from both import REPLICATION, SEED, equal_run, on_engine
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TIES, UNEVEN, plans, raw_plans

from hetsim.engine.compiled import CompiledPlan
from hetsim.errors import DeadlockError
from hetsim.model.instructions import Delay, Flow, Instruction, Wait, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource
from hetsim.model.result import PlanRun

SOUND = st.one_of(plans(UNEVEN), plans(TIES))
UNSOUND = st.one_of(raw_plans(UNEVEN, is_sound=False), raw_plans(TIES, is_sound=False))
T = TypeVar("T")


def deadlock_of(run: Callable[[], PlanRun]) -> str:
    """Return what the error says if a run cannot end, else nothing."""
    try:
        run()
    except DeadlockError as error:
        return str(error)
    return ""


def equal_outcome(plan: Plan) -> bool:
    """Run a plan that may not end, see that both agree, and return whether it ended."""
    said = deadlock_of(lambda: on_engine(plan))
    if said:
        assert deadlock_of(lambda: CompiledPlan(plan).run(seed=SEED, replication=REPLICATION)) == said
    else:
        equal_run(plan)
    return not said


def outcomes_of(check: Callable[[Plan], T], strategy: st.SearchStrategy[Plan], n: int) -> list[T]:
    """Return what a check says of `n` random plans."""
    outcomes = []

    @settings(max_examples=n, deadline=None, derandomize=True, database=None)
    @given(strategy)
    def check_one(plan: Plan) -> None:
        outcomes.append(check(plan))

    check_one()
    assert len(outcomes) >= n
    return outcomes


def plan_of(
    resources: Sequence[Resource],
    counters: int,
    *bodies: Sequence[Instruction],
    n: int = 1,
    changes: Sequence[CapacityChange] = (),
) -> Plan:
    programs = [
        Program(name=f"job/rank {rank}", job=0, rank=rank, body=tuple(body), n_iterations=n)
        for rank, body in enumerate(bodies)
    ]
    names = tuple(f"counter {i}" for i in range(counters))
    return Plan(
        jobs=("job",), resources=tuple(resources), counters=names, programs=tuple(programs), changes=tuple(changes)
    )


def flow(n_bytes: float, *links: int, latency: int = 0, signals: tuple[int, ...] = (0,)) -> Flow:
    usage = tuple((link, 1.0) for link in links)
    return Flow(usage=usage, n_bytes=n_bytes, latency_ticks=latency, signals=signals)


LINK = Resource(name="link", kind="link", capacity=2.0)
DEVICE = Resource(name="device", kind="device", capacity=1.0)


def test_engine_and_kernel_are_equal_to_the_tick() -> None:
    runs = outcomes_of(equal_run, SOUND, 200)
    assert sum(run.end > 0 for run in runs) > 120
    assert max(run.n_events for run in runs) > 500


@pytest.mark.slow
def test_engine_and_kernel_are_equal_to_the_tick_on_many_plans() -> None:
    outcomes_of(equal_run, SOUND, 2000)


def test_deadlocks_and_stalls_are_the_same_and_say_the_same() -> None:
    ended = outcomes_of(equal_outcome, UNSOUND, 100)
    assert 20 < sum(ended) < 80


def test_a_stall_after_a_change_of_capacity_says_the_same() -> None:
    changes = [CapacityChange(tick=5, resource=0, capacity=0.0), CapacityChange(tick=9, resource=1, capacity=0.5)]
    plan = plan_of([LINK, DEVICE], 1, [flow(100.0, 0), Wait(counter=0, base=1, stride=1)], changes=changes)
    assert not equal_outcome(plan)


@pytest.mark.parametrize("n", [63, 64, 65, 300])
@pytest.mark.parametrize("latency", [0, 7])
def test_more_transfers_at_once_than_there_is_room_for_at_first(n: int, latency: int) -> None:
    sends = [flow(2.0 * (i + 1), 0, latency=latency) for i in range(n)]
    run = equal_run(plan_of([LINK], 1, [*sends, Wait(counter=0, base=n, stride=n)], n=2))
    # The link is never idle while bytes are left; ends are rounded up to a tick, one for each transfer at most.
    least = 2 * (latency + n * (n + 1) // 2)
    assert least <= run.end <= least + 2 * n


def test_many_programs_on_one_device_take_turns() -> None:
    run = equal_run(plan_of([DEVICE], 0, *[(Delay(0), Work(resources=(0,), ticks=3))] * 150, n=2))
    assert run.jobs[0].step_end.ravel().tolist() == list(range(3, 903, 3))


def test_many_rises_at_once_within_one_node() -> None:
    # No latency and no link: each rises at once, so nothing of it is under way, but all rises of a tick are noted.
    run = equal_run(plan_of([LINK], 1, [flow(1e9)] * 50, n=40))
    assert (run.end, run.n_events) == (0, 2000)


def test_a_transfer_that_raises_many_counters() -> None:
    sends = [flow(2.0, 0, signals=tuple(range(500)))] * 64
    waits = [Wait(counter=i, base=64, stride=64) for i in range(500)]
    run = equal_run(plan_of([LINK], 500, [*sends, *waits], n=2))
    assert (run.end, run.n_events) == (128, 2 * 64 * 501)


def test_transfers_that_nobody_waits_for_end_after_the_programs() -> None:
    run = equal_run(plan_of([LINK, DEVICE], 1, [flow(100.0, 0, latency=3)], [Work(resources=(1,), ticks=7)], n=2))
    assert run.end == 14
    assert run.carried.tolist() == [200.0, 14.0]
    assert run.jobs[0].communication.tolist() == [[103, 0], [0, 0]]


def test_a_transfer_that_nobody_waits_for_may_stall() -> None:
    no_link = Resource(name="link", kind="link", capacity=0.0)
    run = equal_run(plan_of([no_link], 1, [flow(1.0, 0), Delay(4)]))
    assert run.end == 4
