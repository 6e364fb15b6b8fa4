"""Steps that repeat are written down, not simulated: the recording is that of all steps simulated."""

from dataclasses import replace

import pytest
from both import equal_run
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from strategies import TIES, UNEVEN, plans

from hetsim.engine.compiled import CompiledPlan
from hetsim.model.instructions import Delay, Flow, Push, Wait, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource


def skipped(plan: Plan) -> int:
    """Return how many steps were not simulated, of a run that is equal to the engine's."""
    equal_run(plan)
    compiled = CompiledPlan(plan, events_only=True)
    compiled.run(seed=0, replication=0)
    return compiled.n_skipped


def parameter_server(n_workers: int, n_steps: int, *, colocated: bool = False, spread: float = 0.0301) -> Plan:
    """Unequal workers and links; one server apart, or one beside each worker."""
    compute_s = [0.1 * (1.0 + spread * rank) for rank in range(n_workers)]
    n_servers = n_workers if colocated else 1
    job = known_job(compute_s, [4_000_000] * n_servers, n_servers=n_servers, n_steps=n_steps, update_s=0.02)
    rates = [1.25e9 * (1.0 + 0.1 * rank) for rank in range(n_workers)]
    hosts = [f"h{rank}" for rank in range(n_workers)] if colocated else [f"h{n_workers}"]
    return plan_of(
        star([*rates, 1.25e9], latency_s=25e-6), placed(job, [f"h{i}/gpu0" for i in range(n_workers)], hosts)
    )


@pytest.mark.parametrize("n_workers", [1, 4, 16])
@pytest.mark.parametrize("spread", [0.0, 0.0301])
def test_a_parameter_server_repeats_itself_after_few_steps(n_workers: int, spread: float) -> None:
    assert skipped(parameter_server(n_workers, 60, spread=spread)) >= 40


def test_so_do_servers_beside_the_workers() -> None:
    assert skipped(parameter_server(5, 60, colocated=True)) >= 40


def long(plan: Plan, n: int) -> Plan:
    """Return a plan with as many iterations for all, and without jitter."""
    programs = [
        replace(
            program,
            n_iterations=n,
            body=tuple(replace(entry, jitter_cv=0.0) if isinstance(entry, Work) else entry for entry in program.body),
        )
        for program in plan.programs
    ]
    return replace(plan, programs=tuple(programs))


def steady(plan: Plan) -> Plan:
    """The plan with latencies that stay and nothing in the background, which no steady state is looked for beside."""
    programs = [
        replace(
            program,
            is_background=False,
            body=tuple(replace(i, latency_changes=()) if isinstance(i, Flow) else i for i in program.body),
        )
        for program in plan.programs
    ]
    return replace(plan, programs=tuple(programs))


def test_random_plans_are_the_same_with_their_steps_left_out() -> None:
    found = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(plans(UNEVEN, is_straight=True) | plans(TIES, is_straight=True))
    def check(plan: Plan) -> None:
        skipped(long(plan, 24))
        found.append(skipped(long(steady(plan), 24)))

    check()
    assert sum(n > 0 for n in found) > 8


def test_nothing_is_left_out_before_the_last_change_of_capacity() -> None:
    plan = parameter_server(3, 40)
    late = equal_run(plan).jobs[0].step_end[30].min()
    index = next(i for i, resource in enumerate(plan.resources) if resource.kind == "link")
    change = CapacityChange(tick=int(late), resource=index, capacity=plan.resources[index].capacity / 7)
    assert skipped(replace(plan, changes=(change,))) < 10


def test_a_transfer_that_is_under_way_for_several_steps() -> None:
    # Each transfer takes two and a half steps; three are under way at any time, and the sender is never idle.
    link = Resource(name="link", kind="link", capacity=3.0)
    body = (Flow(usage=((0, 1.0),), n_bytes=25.0, latency_ticks=1, signals=(0,)), Delay(10))
    program = Program(name="job/rank 0", job=0, rank=0, body=body, n_iterations=200)
    plan = Plan(jobs=("job",), resources=(link,), counters=("counter",), programs=(program,))
    skipped(plan)


def test_jobs_of_other_lengths_and_counters_that_nobody_waits_for() -> None:
    device = Resource(name="device", kind="device", capacity=1.0)
    pushed = Program(name="a/rank 0", job=0, rank=0, n_iterations=90, body=(Work(resources=(0,), ticks=7), Push(0)))
    waits = Program(
        name="b/rank 0",
        job=1,
        rank=0,
        n_iterations=30,
        body=(Wait(counter=1, base=0, stride=0), Work(resources=(0,), ticks=5)),
    )
    plan = Plan(jobs=("a", "b"), resources=(device,), counters=("c", "d"), programs=(pushed, waits))
    assert skipped(plan) > 60


@pytest.mark.parametrize("base", [2, 1, 0, -1, -3])
def test_a_collective_that_is_not_where_its_members_are(base: int) -> None:
    # It lags behind its member by `base` iterations, or runs ahead of it.
    n = 100
    rank = Program(name="r", job=0, rank=0, n_iterations=n, body=(Delay(10), Push(0)))
    flow = Flow(usage=(), n_bytes=1.0, latency_ticks=3, signals=())
    body = (Wait(counter=0, base=base, stride=1), Delay(2), flow)
    ring = Program(name="c", job=0, rank=-1, n_iterations=n - max(base - 1, 0), members=(0,), body=body)
    link = Resource(name="l", kind="link", capacity=1.0)
    run = equal_run(Plan(jobs=("j",), resources=(link,), counters=("c0",), programs=(rank, ring)))
    assert run.jobs[0].communication[50:60].tolist() == [[3]] * 10
