"""Plans without contention as recurrences: which plans are, and that nothing shows which way a run was made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from both import REPLICATION, SEED, assert_equal
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TIES, UNEVEN, Palette, plans

from hetsim.engine import events
from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.recurrence import RecurrencePlan
from hetsim.engine.simulate import simulate
from hetsim.errors import SimulationError
from hetsim.kernels import recurrence as kernel
from hetsim.model.aggregation import Architecture, Group, Messages, Rank
from hetsim.model.instructions import Delay, Flow, Instruction, Push, Wait, Work
from hetsim.model.plan import CapacityChange, Plan, Program, Resource
from hetsim.model.result import PlanRun
from hetsim.plan.recurrence import find_recurrence
from hetsim.plan.synchronised import find_synchronised

RATES = (1e9, 1.3e9, 0.7e9, 2e9, 1.1e9, 0.9e9, 1.7e9, 1.5e9)


def equal_run(plan: Plan) -> PlanRun | None:
    """Run a recurrence in all three ways, see that they agree to the last bit, and return the run; else None."""
    found = find_recurrence(plan)
    if found is None:
        return None
    run = RecurrencePlan(plan, found).run(seed=SEED, replication=REPLICATION)
    assert run is not None
    assert_equal(run, simulate(plan, seed=SEED, replication=REPLICATION))
    assert_equal(run, CompiledPlan(plan, events_only=True).run(seed=SEED, replication=REPLICATION))
    return run


def runs_of(strategy: st.SearchStrategy[Plan], n: int) -> list[PlanRun | None]:
    """Return what becomes of `n` random plans."""
    runs = []

    @settings(max_examples=n, deadline=None, derandomize=True, database=None)
    @given(strategy)
    def run_one(plan: Plan) -> None:
        runs.append(equal_run(plan))

    run_one()
    return runs


def is_synchronised(plan: Plan) -> bool:
    found = find_recurrence(plan)
    assert found is not None
    return all(find_synchronised(plan, part) is not None for part in found.parts)


def trained(
    architecture: Architecture,
    n: int,
    *,
    servers: Sequence[str] = (),
    messages: Messages = "auto",
    jitter_cv: float = 0.2,
    tree: Group | None = None,
) -> Plan:
    """Five steps of unequal workers on a star, each link of its own speed."""
    compute_s = [1e-4 * (1.0 + 0.1 * rank) for rank in range(n)]
    job = known_job(
        compute_s, [4000 * n], n_servers=len(servers), n_steps=5, jitter_cv=jitter_cv, update_s=3e-5 * len(servers)
    )
    flat = placed(job, [f"h{rank}/gpu0" for rank in range(n)], servers, architecture=architecture)
    if tree is None:
        assert isinstance(flat.tree, Group)
        tree = replace(flat.tree, messages=messages)
    rates = [RATES[rank % len(RATES)] for rank in range(n + len(servers))]
    plan: Plan = plan_of(star(rates, latency_s=2e-6), replace(flat, tree=tree))
    return plan


def nested(messages: Messages) -> Group:
    groups = [Group(members=(Rank(i), Rank(i + 1)), architecture="ring", messages=messages) for i in (0, 2, 4)]
    return Group(members=tuple(groups), architecture="ring", messages=messages)


def raw(
    *bodies: Sequence[Instruction],
    resources: Sequence[Resource] = (),
    n: int = 3,
    n_ranks: int | None = None,
    changes: Sequence[CapacityChange] = (),
) -> Plan:
    programs = tuple(
        Program(
            name=f"program {i}",
            job=0,
            rank=i if n_ranks is None or i < n_ranks else -1,
            body=tuple(body),
            n_iterations=n,
        )
        for i, body in enumerate(bodies)
    )
    counters = tuple(f"counter {i}" for i in range(8))
    return Plan(jobs=("job",), resources=tuple(resources), counters=counters, programs=programs, changes=tuple(changes))


def device(capacity: float = 1.0) -> Resource:
    return Resource(name="device", kind="device", capacity=capacity)


def link(capacity: float = 2.0) -> Resource:
    return Resource(name="link", kind="link", capacity=capacity)


def flow(n_bytes: float, *links: int, latency: int = 0, signals: tuple[int, ...] = (0,)) -> Flow:
    usage = tuple((index, 1.0) for index in links)
    return Flow(usage=usage, n_bytes=n_bytes, latency_ticks=latency, signals=signals)


def whole(counter: int, n: int = 1) -> Wait:
    return Wait(counter=counter, base=n, stride=n)


def work(resource: int, ticks: int = 1000, cv: float = 0.3) -> Work:
    return Work(resources=(resource,), ticks=ticks, jitter_cv=cv, stream=resource + 7)


NAMED = {
    "ring as one flow": (trained("ring", 5, messages="composite"), True),
    "ring as one flow, no jitter": (trained("ring", 5, messages="composite", jitter_cv=0.0), True),
    "nested rings as one flow each": (trained("ring", 6, tree=nested("composite")), True),
    "ring message by message": (trained("ring", 5, messages="rounds"), False),
    "two exchange halves": (trained("halving-doubling", 2), True),
    "one worker, one server": (trained("parameter-server", 1, servers=["h1"]), True),
    "no network": (raw([work(0)], [work(1), work(1, 50)], [work(2, cv=0.0)], resources=[device()] * 3), False),
    "one work each, no network": (raw([work(0)], [work(1)], resources=[device(0.7)] * 2, n=2000), True),
    "nothing at all": (raw([], []), False),
    "a device for two, in turn": (
        raw(
            [work(0), Push(0), whole(1)],
            [whole(0), work(0), Push(1), Delay(5)],
            resources=[device()],
        ),
        False,
    ),
    "transfers that overlap, each on its link": (
        raw([flow(99.0, 1, latency=3), flow(55.0, 2), work(0, 20), whole(0, 2)], resources=[device(), link(), link()]),
        False,
    ),
    "a transfer that outlasts its program": (
        raw([work(0, 9), flow(99.0, 1, latency=3)], resources=[device(), link()], n=1),
        False,
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_plan_without_contention_is_found_and_runs_the_same(name: str) -> None:
    plan, synchronised = NAMED[name]
    assert CompiledPlan(plan).path == "recurrence"
    assert equal_run(plan) is not None
    assert is_synchronised(plan) is synchronised


REFUSED = {
    "two transfers on one link": raw([flow(9.0, 0), flow(9.0, 0), whole(0, 2)], resources=[link()]),
    "two programs on one link": raw(
        [flow(9.0, 0), whole(0)], [flow(9.0, 0, signals=(1,)), whole(1)], resources=[link()]
    ),
    "a transfer that the next one may meet": raw([flow(9.0, 0), work(1)], resources=[link(), device()]),
    "a device for two": raw([work(0)], [work(0)], resources=[device()]),
    "a device for two, in turn but for the next step": raw(
        [work(0), Push(0)], [whole(0), work(0)], resources=[device()]
    ),
    "a change of capacity": raw(
        [work(0)], resources=[device()], changes=[CapacityChange(tick=5, resource=0, capacity=0.5)]
    ),
    "a device without capacity": raw([work(0)], resources=[device(0.0)]),
    "a wait that any of two may end": raw([Delay(1), Push(0)], [Push(0)], [Wait(counter=0, base=1, stride=2)]),
    "rises that may overtake others": raw([Delay(9), Push(0)], [Delay(1), Push(0)], [whole(0, 2)]),
    "a wait that falls behind": raw([Push(0), Push(0), Wait(counter=0, base=1, stride=1)]),
    "a wait for the step before": raw([Push(0), Delay(3), Wait(counter=0, base=0, stride=1)]),
    "a wait for a part that may end later than the rest": raw(
        [flow(9.0, 0), flow(1.0, 1), Wait(counter=0, base=1, stride=2), whole(0, 2)], resources=[link(), link()]
    ),
    "programs of unequal steps": replace(
        raw([Push(0)], [whole(0)]),
        programs=(
            replace(raw([Push(0)]).programs[0], n_iterations=3),
            replace(raw([], [whole(0)]).programs[1], n_iterations=2),
        ),
    ),
    "programs that wait for each other": raw([whole(0), Push(1)], [whole(1), Push(0)]),
    "a rank with transfers of no time and others": raw([flow(9.0, 0), flow(1.0), whole(0, 2)], resources=[link()]),
    "a delay of half an hour": raw([Delay(2 * 10**15)]),
    "two workers, one server": trained("parameter-server", 2, servers=["h2"]),
    "unequal halves that may overtake": trained("halving-doubling", 4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_meet_is_refused(name: str) -> None:
    assert find_recurrence(REFUSED[name]) is None
    assert CompiledPlan(REFUSED[name]).path == "events"


def _body_entries(
    draw: st.DrawFn, palette: Palette, n: int, entries: list[list[Instruction]], state: Counter[str]
) -> None:
    """Add one thing that actors do, to a sequence in which nobody waits for what comes later."""
    kind = draw(st.sampled_from(["work", "message", "message", "message", "barrier", "delay"]))
    actor = draw(st.integers(0, n - 1))
    if kind == "work":
        jitter_cv = draw(palette.jitter_cv)
        entries[actor].append(Work(resources=(actor,), ticks=draw(palette.ticks), jitter_cv=jitter_cv, stream=actor))
    elif kind == "delay":
        entries[actor].append(Delay(draw(palette.ticks)))
    elif kind == "barrier":
        members = sorted(draw(st.sets(st.integers(0, n - 1), min_size=2)) | {actor})
        counter = state["counters"] = state["counters"] + 1
        for member in members:
            entries[member].append(Push(counter))
        for member in members:
            entries[member].append(whole(counter, len(members)))
    else:
        _message(draw, palette, entries, state, actor)


def _message(
    draw: st.DrawFn, palette: Palette, entries: list[list[Instruction]], state: Counter[str], actor: int
) -> None:
    """Bytes from one actor to another, over a link of the two or of another pair; often both wait for the end."""
    n = len(entries)
    other = draw(st.integers(0, n - 1).filter(lambda each: each != actor))
    owner = actor if draw(st.integers(0, 9)) else draw(st.integers(0, n - 1))
    way, channel = n + n * owner + other, 100 + n * actor + other
    number = state[f"sent {channel}"] = state[f"sent {channel}"] + 1
    if number > 1 and draw(st.integers(0, 5)):
        entries[actor].append(Wait(counter=channel, base=number - 1, stride=-1))
    n_bytes = draw(palette.n_bytes.filter(bool))
    usage = ((way, draw(palette.use)),)
    entries[actor].append(Flow(usage=usage, n_bytes=n_bytes, latency_ticks=draw(palette.ticks), signals=(channel,)))
    if draw(st.integers(0, 5)):
        entries[other].append(Wait(counter=channel, base=number, stride=-1))


@st.composite
def exchanges(draw: st.DrawFn, palette: Palette) -> Plan:
    """Programs that work, send, and wait for each other; many without contention, all of which end."""
    n = draw(st.integers(2, 4))
    entries: list[list[Instruction]] = [[] for _ in range(n)]
    state: Counter[str] = Counter()
    for _ in range(draw(st.integers(1, 10))):
        _body_entries(draw, palette, n, entries, state)
    n_ranks = draw(st.integers(1, n))
    bodies = []
    for actor, body in enumerate(entries):
        sent = [100 + n * actor + other for other in range(n) if state[f"sent {100 + n * actor + other}"]]
        last = [Wait(counter=channel, base=state[f"sent {channel}"], stride=-1) for channel in sent]
        bodies.append([*body, *(last if draw(st.integers(0, 5)) else [])])
    numbered = {
        counter: index for index, counter in enumerate(sorted({c for body in bodies for i in body for c in _of(i)}))
    }
    programs = [
        Program(
            name=f"program {actor}",
            job=0,
            rank=actor if actor < n_ranks else -1,
            body=tuple(_renumbered(instruction, numbered, state) for instruction in body),
            n_iterations=3,
        )
        for actor, body in enumerate(bodies)
    ]
    devices = [Resource(name=f"device {i}", kind="device", capacity=draw(palette.device_capacity)) for i in range(n)]
    links = [Resource(name=f"link {i}", kind="link", capacity=draw(palette.capacity)) for i in range(n * n)]
    names = tuple(str(counter) for counter in numbered)
    return Plan(jobs=("job",), resources=(*devices, *links), counters=names, programs=tuple(programs))


def _of(instruction: Instruction) -> tuple[int, ...]:
    if isinstance(instruction, Flow):
        return instruction.signals
    return (instruction.counter,) if isinstance(instruction, Push | Wait) else ()


def _renumbered(instruction: Instruction, numbered: dict[int, int], state: Counter[str]) -> Instruction:
    """Return an instruction with counters from zero, and the strides that are known only at the end."""
    if isinstance(instruction, Flow):
        return replace(instruction, signals=tuple(numbered[counter] for counter in instruction.signals))
    if isinstance(instruction, Push):
        return Push(numbered[instruction.counter])
    if isinstance(instruction, Wait):
        stride = state[f"sent {instruction.counter}"] if instruction.stride < 0 else instruction.stride
        return replace(instruction, counter=numbered[instruction.counter], stride=stride)
    return instruction


def test_random_exchanges_without_contention_run_the_same() -> None:
    runs = runs_of(st.one_of(exchanges(UNEVEN), exchanges(TIES)), 150)
    found = [run for run in runs if run is not None]
    assert 20 < len(found) < len(runs)
    assert sum(bool(run.jobs[0].communication.any()) for run in found) > 10


def _ring_of(draw: st.DrawFn, ranks: Sequence[int], n_levels: int) -> Group:
    """Composite rings of composite rings."""
    members: list[Group | Rank] = [Rank(rank) for rank in ranks]
    if n_levels > 1 and len(ranks) > 2 and draw(st.booleans()):
        cuts = sorted(draw(st.sets(st.integers(1, len(ranks) - 1), min_size=1, max_size=3)))
        parts = [ranks[a:b] for a, b in pairwise([0, *cuts, len(ranks)])]
        members = [_ring_of(draw, part, n_levels - 1) if len(part) > 1 else Rank(part[0]) for part in parts]
    return Group(members=tuple(members), architecture="ring", messages="composite")


@st.composite
def composite_rings(draw: st.DrawFn) -> Plan:
    n = draw(st.integers(2, 9))
    tree = _ring_of(draw, draw(st.permutations(range(n))), 3)
    return trained("ring", n, tree=tree, jitter_cv=draw(st.sampled_from([0.0, 0.1, 1.5])))


def test_rings_of_rings_are_found_and_run_the_same() -> None:
    runs = runs_of(composite_rings(), 40)
    assert sum(run is not None for run in runs) > 20


@pytest.mark.slow
def test_many_random_plans_without_contention_run_the_same() -> None:
    runs = runs_of(st.one_of(exchanges(UNEVEN), exchanges(TIES)), 1500)
    assert sum(run is not None for run in runs) > 200
    runs_of(st.one_of(plans(UNEVEN), plans(TIES)), 500)


def test_the_event_kernel_is_not_asked_for_a_recurrence() -> None:
    plan, _ = NAMED["ring as one flow"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events.interpreter, "run", None)
        CompiledPlan(plan).run(seed=0, replication=0)
        with pytest.raises(TypeError):
            CompiledPlan(plan, events_only=True).run(seed=0, replication=0)


def test_a_step_is_the_slowest_draw_and_the_exchange() -> None:
    # Bulk-synchronous: S_(i+1) = S_i + max(d) + constant, here 2 (n - 1) (latency + S / (n B)) of one composite ring.
    plan, _ = NAMED["ring as one flow"]
    trace = CompiledPlan(plan).run(seed=SEED, replication=REPLICATION).jobs[0]
    gaps = np.diff(trace.step_end[:, 0], prepend=0) - trace.compute.max(axis=1)
    assert len(set(gaps.tolist())) == 1
    assert gaps[0] == pytest.approx(8 * (4e-6 + 4000 / 0.7e9) * 1e12, abs=1.0)
    assert np.ptp(trace.step_end, axis=1).max() == 0


def test_a_run_beyond_the_clock_fails_as_with_events() -> None:
    plan = raw([work(0, 10**15)], resources=[device()], n=20_000)
    assert CompiledPlan(plan).path == "recurrence"
    with pytest.raises(SimulationError, match=r"more than 10\d days"):
        CompiledPlan(plan).run(seed=0, replication=0)


@pytest.mark.parametrize("body", [[work(0, 10**15)], [work(0, 10**15), Delay(0), work(0, 1)]])
def test_a_long_run_within_the_clock_is_left_to_events(body: list[Instruction]) -> None:
    plan = raw(body, resources=[device()], n=3000)
    found = find_recurrence(plan)
    assert found is not None
    assert RecurrencePlan(plan, found).run(seed=0, replication=0) is None
    assert_equal(CompiledPlan(plan).run(seed=0, replication=0), simulate(plan, seed=0, replication=0))


@pytest.mark.parametrize(("n_steps", "n_workers"), [(1, 1), (7, 3), (40, 64)])
def test_ready_draws_give_the_sums_of_the_slowest(n_steps: int, n_workers: int) -> None:
    durations = np.random.default_rng(1).integers(0, 2**50, (n_steps, n_workers))
    out = np.empty(n_steps, dtype=np.int64)
    kernel.step_ends(durations, 17, out)
    np.testing.assert_array_equal(out, np.cumsum(durations.max(axis=1) + 17))
