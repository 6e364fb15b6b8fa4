"""The engine on plans written by hand."""

from functools import partial

import pytest

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.errors import DeadlockError, SimulationError
from hetsim.model.instructions import Delay, Flow, Instruction, Push, Wait, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource
from hetsim.model.result import PlanRun


def resource(name: str, kind: str = "link", capacity: float = 1.0) -> Resource:
    return Resource(name=name, kind=kind, capacity=capacity)  # type: ignore[arg-type]


def program(*body: Instruction, rank: int = 0, n: int = 1, name: str = "") -> Program:
    return Program(name=name or f"job/rank {rank}", job=0, rank=rank, body=body, n_iterations=n)


def run(
    resources: list[Resource], counters: int, *programs: Program, changes: tuple[CapacityChange, ...] = ()
) -> PlanRun:
    plan = Plan(
        jobs=("job",),
        resources=tuple(resources),
        counters=tuple(f"counter {i}" for i in range(counters)),
        programs=programs,
        changes=changes,
    )
    return simulate(plan, seed=0, replication=0)


def transfer(counter: int, n_bytes: float, *links: int, latency: int = 0, stride: int = 1) -> tuple[Flow, Wait]:
    flow = Flow(usage=tuple((link, 1.0) for link in links), n_bytes=n_bytes, latency_ticks=latency, signals=(counter,))
    return flow, Wait(counter=counter, base=1, stride=stride)


def ends(result: PlanRun) -> list[list[int]]:
    return result.jobs[0].step_end.T.tolist()


def test_one_flow_takes_latency_plus_bytes_over_rate() -> None:
    result = run([resource("a", capacity=4.0)], 1, program(*transfer(0, 100.0, 0, latency=7), n=3))
    assert ends(result) == [[32, 64, 96]]
    assert result.jobs[0].communication.ravel().tolist() == [32, 32, 32]
    assert result.carried.tolist() == [300.0]


def test_a_pair_of_flows_on_a_shared_link_takes_twice_as_long() -> None:
    result = run([resource("a")], 2, program(*transfer(0, 100.0, 0)), program(*transfer(1, 100.0, 0), rank=1))
    assert ends(result) == [[200], [200]]


def test_the_longer_of_two_flows_speeds_up_when_the_shorter_ends() -> None:
    # Both get half until the first has sent 50 bytes (tick 100); the other then has 50 bytes left at full rate.
    result = run([resource("a")], 2, program(*transfer(0, 50.0, 0)), program(*transfer(1, 100.0, 0), rank=1))
    assert ends(result) == [[100], [150]]


def test_flows_on_disjoint_links_do_not_meet() -> None:
    result = run(
        [resource("a"), resource("b", capacity=2.0)],
        2,
        program(*transfer(0, 100.0, 0)),
        program(*transfer(1, 100.0, 1), rank=1),
    )
    assert ends(result) == [[100], [50]]


def test_a_device_serves_one_after_the_other_and_a_shared_device_both_at_once() -> None:
    work = Work(resources=(0,), ticks=10)
    long = Work(resources=(0,), ticks=30)
    for kind, expected in (("device", [[10], [40]]), ("shared-device", [[20], [40]])):
        result = run([resource("d", kind)], 0, program(work), program(long, rank=1))
        assert ends(result) == expected
        assert result.jobs[0].compute.ravel().tolist() == [row[0] for row in expected]


def test_two_dies_share_the_power_of_their_card() -> None:
    card = [resource("die 0", "device"), resource("die 1", "device"), resource("card", "shared-device", 1.6)]
    both = run(card, 0, program(Work(resources=(0, 2), ticks=80)), program(Work(resources=(1, 2), ticks=80), rank=1))
    assert ends(both) == [[100], [100]]
    alone = run(card, 0, program(Work(resources=(0, 2), ticks=80)))
    assert ends(alone) == [[80]]


def test_work_in_flight_slows_down_when_the_load_rises() -> None:
    changes = (CapacityChange(tick=60, resource=0, capacity=0.5), CapacityChange(tick=100, resource=0, capacity=1.0))
    result = run([resource("d", "device")], 0, program(Work(resources=(0,), ticks=100), n=2), changes=changes)
    # 60 done by tick 60, 20 more by tick 100, the last 20 at full speed.
    assert ends(result) == [[120, 220]]


def test_a_pause_of_capacity_is_waited_for() -> None:
    changes = (CapacityChange(tick=5, resource=0, capacity=0.0), CapacityChange(tick=1000, resource=0, capacity=1.0))
    result = run([resource("d", "device")], 0, program(Work(resources=(0,), ticks=10)), changes=changes)
    assert ends(result) == [[1005]]


def test_a_counter_holds_the_fast_back_for_the_slow() -> None:
    barrier = Wait(counter=0, base=2, stride=2)
    result = run(
        [resource("a", "device"), resource("b", "device")],
        1,
        program(Work(resources=(0,), ticks=5), Push(0), barrier, n=2),
        program(Work(resources=(1,), ticks=9), Push(0), barrier, rank=1, n=2),
    )
    assert ends(result) == [[9, 18], [9, 18]]
    assert result.jobs[0].compute.T.tolist() == [[5, 5], [9, 9]]
    assert result.jobs[0].compute_end.T.tolist() == [[5, 14], [9, 18]]


def test_delay_and_messages_that_use_no_link() -> None:
    flow, wait = transfer(0, 1e9, latency=4)
    assert ends(run([], 1, program(Delay(3), flow, wait, n=2))) == [[7, 14]]


def test_work_of_no_time_ends_at_once() -> None:
    flow, wait = transfer(0, 0.0, 0)
    result = run([resource("a"), resource("d", "device")], 1, program(Work(resources=(1,), ticks=0), flow, wait, n=4))
    assert ends(result) == [[0, 0, 0, 0]]


def test_a_use_above_one_counts() -> None:
    flow = Flow(usage=((0, 2.0),), n_bytes=50.0, latency_ticks=0, signals=(0,))
    result = run([resource("a")], 1, program(flow, Wait(counter=0, base=1, stride=1)))
    assert ends(result) == [[100]]
    assert result.carried.tolist() == [100.0]


def test_the_order_of_programs_does_not_change_times() -> None:
    def build(order: list[int]) -> list[int]:
        programs = [
            program(Work(resources=(0,), ticks=7 + k), *transfer(k, 30.0 + k, 1, latency=k), rank=k, n=5) for k in order
        ]
        plan_ends = run([resource("cpu", "shared-device"), resource("a")], 3, *programs)
        by_rank = dict(zip(order, ends(plan_ends), strict=True))
        return [by_rank[k][-1] for k in range(3)]

    assert build([0, 1, 2]) == build([2, 0, 1])


def test_jitter_is_drawn_for_each_step_and_kept_by_the_key() -> None:
    work = Work(resources=(0,), ticks=10**9, jitter_cv=0.1, stream=77)
    plan = Plan(
        jobs=("job",), resources=(resource("d", "device"),), counters=(), programs=(program(work, n=50),), changes=()
    )
    first, again, other = (simulate(plan, seed=s, replication=r) for s, r in ((1, 0), (1, 0), (1, 1)))
    compute = first.jobs[0].compute.ravel()
    assert len(set(compute.tolist())) == 50
    assert 0.05 < compute.std() / compute.mean() < 0.2
    assert (compute == again.jobs[0].compute.ravel()).all()
    assert (compute != other.jobs[0].compute.ravel()).all()


def test_a_deadlock_names_who_waits_for_whom() -> None:
    one = program(Wait(counter=0, base=1, stride=1), Push(1), name="job/left")
    two = program(Wait(counter=1, base=1, stride=1), Push(0), rank=1, name="job/right")
    with pytest.raises(DeadlockError) as caught:
        run([], 2, one, two)
    assert str(caught.value) == (
        "at 0 s: nothing can happen any more: job/left waits for counter 'counter 0' >= 1, raised by job/right; "
        "job/right waits for counter 'counter 1' >= 1, raised by job/left"
    )


def test_a_stall_names_the_resource_without_capacity() -> None:
    with pytest.raises(DeadlockError, match="job/rank 0 waits for its work on gpu; gpu has no capacity left"):
        run([resource("gpu", "device", 0.0)], 0, program(Work(resources=(0,), ticks=1)))


@pytest.mark.parametrize(
    ("capacity", "body"),
    [
        (1.0, [Work(resources=(0,), ticks=2**62)] * 3),
        (1e-19, [Work(resources=(0,), ticks=10)]),
        (1.0, [Delay(2**62)] * 3),
        (1.0, list(transfer(0, 1e30, 0))),
        (1.0, list(transfer(0, 1.0, 0, latency=2**62)) * 3),
    ],
    ids=["work", "slow device", "delay", "bytes", "latency"],
)
@pytest.mark.parametrize("executor", ["engine", "kernel"])
def test_what_the_clock_cannot_count_is_refused(executor: str, capacity: float, body: list[Instruction]) -> None:
    kind = "device" if isinstance(body[0], Work) else "link"
    programs = (program(*body),)
    plan = Plan(jobs=("job",), resources=(resource("r", kind, capacity),), counters=("c",), programs=programs)
    execute = CompiledPlan(plan).run if executor == "kernel" else partial(simulate, plan)
    with pytest.raises(SimulationError, match="more than 107 days"):
        execute(seed=0, replication=0)


def test_a_short_lack_of_capacity_is_outlasted() -> None:
    changes = (CapacityChange(tick=100, resource=0, capacity=1.0),)
    result = run([resource("d", "device", 1e-25)], 0, program(Work(resources=(0,), ticks=10)), changes=changes)
    assert ends(result) == [[110]]


def test_the_number_of_events_is_pinned() -> None:
    # Two ranks x three steps x (work, transfer, push of its counter): more means that the engine does needless work.
    programs = [program(Work(resources=(k,), ticks=5), *transfer(k, 9.0, 2), rank=k, n=3) for k in range(2)]
    result = run([resource("a", "device"), resource("b", "device"), resource("l")], 2, *programs)
    assert result.n_events == 18
