"""Plans that no executor runs are refused by name, by both alike."""

from dataclasses import replace

import pytest

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.errors import SimulationError
from hetsim.model.instructions import Delay, Flow, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource

RANK = Program(name="job/rank 0", job=0, rank=0, body=(Delay(10),), n_iterations=3)
LINK = Resource(name="link", kind="link", capacity=1.0)
PLAN = Plan(jobs=("job",), resources=(LINK,), counters=(), programs=(RANK,))


def with_body(*body: Delay | Flow | Work) -> Plan:
    return replace(PLAN, programs=(replace(RANK, body=body),))


def sending(n_bytes: float, use: float = 1.0) -> Plan:
    return with_body(Flow(usage=((0, use),), n_bytes=n_bytes, latency_ticks=0, signals=()))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (replace(PLAN, programs=()), "job job has no ranks"),
        (replace(PLAN, programs=(replace(RANK, n_iterations=0),)), "job/rank 0 has 0 iterations"),
        (
            replace(PLAN, programs=(RANK, replace(RANK, name="job/ring 1", rank=-1, members=(0,), n_iterations=4))),
            "job/ring 1 is a collective of rank 0, which has fewer iterations",
        ),
        (
            replace(PLAN, programs=(RANK, replace(RANK, name="job/ring 1", rank=-1, members=(1,)))),
            "job/ring 1 is a collective of rank 1, which has fewer iterations",
        ),
        (with_body(Delay(2**63)), "job/rank 0 has a duration of 9223372036854775808 ticks"),
        (with_body(Work(resources=(0,), ticks=-1)), "job/rank 0 has a duration of -1 ticks"),
        (sending(float("nan")), "job/rank 0 sends nan bytes"),
        (sending(1.0, use=0.0), "job/rank 0 uses a resource 0.0 times"),
        (
            replace(PLAN, changes=(CapacityChange(tick=2**64, resource=0, capacity=1.0),)),
            "capacity change 0 is at tick 18446744073709551616",
        ),
    ],
)
def test_refused_by_name(plan: Plan, said: str) -> None:
    for run in (lambda: simulate(plan, seed=0, replication=0), lambda: CompiledPlan(plan)):
        with pytest.raises(SimulationError, match="this plan cannot be run: ") as caught:
            run()
        assert said in str(caught.value)
