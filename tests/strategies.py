"""Random plans: lowered from random clusters and jobs, and raw programs over random resources.

Numbers come from a palette. `UNEVEN` holds rough ones. `TIES` makes things end together: few values, and rates that are
27720 times a power of two, so that a fair share among up to 12 is a float and sums and products are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar, get_args

from clusters import CPU, GPU, known_job, placed, plan_of
from hypothesis import strategies as st
from schemes import scheme_trees
from turns import token_programs, with_choices, with_meetings

from hetsim.model.aggregation import Architecture, Group, Messages, Rank
from hetsim.model.cluster import Background, Cluster, Device, Host, Link, Schedule
from hetsim.model.instructions import Choose, Collect, Delay, Every, Flow, Instruction, Push, Take, Wait, Work
from hetsim.model.job import Compression, Slots
from hetsim.model.plan import CapacityChange, Plan, Program, Resource
from hetsim.plan.placed import PlacedJob

T = TypeVar("T")

SHARED_BY_ALL = 27720
"""Least common multiple of 1 to 12: whole shares for up to 12 activities."""

MOST_LEVELS = 3
"""Of a tree of groups."""

_TICK_S = 1e-12
_BEAT_S = 2**20 * _TICK_S
"""A transfer of `SHARED_BY_ALL` bytes at that many bytes for 2**20 ticks."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Palette:
    """Where the numbers of a random plan come from; times in seconds for clusters, in ticks for raw programs."""

    name: str
    nic_bytes_per_s: st.SearchStrategy[float]
    compute_s: st.SearchStrategy[float]
    change_s: st.SearchStrategy[float]
    variable_bytes: st.SearchStrategy[int]
    latency_s: st.SearchStrategy[float]
    queue_bytes: st.SearchStrategy[float]
    share: st.SearchStrategy[float]
    jitter_cv: st.SearchStrategy[float]
    card_capacity: float
    capacity: st.SearchStrategy[float]
    device_capacity: st.SearchStrategy[float]
    n_bytes: st.SearchStrategy[float]
    ticks: st.SearchStrategy[int]
    use: st.SearchStrategy[float]

    def __repr__(self) -> str:
        return self.name


UNEVEN = Palette(
    name="UNEVEN",
    nic_bytes_per_s=st.floats(1e8, 1e11),
    compute_s=st.one_of(st.just(0.0), st.floats(1e-6, 1e-2)),
    change_s=st.floats(1e-6, 1e-2),
    variable_bytes=st.integers(1, 2_000_000).map(lambda n: 4 * n),
    latency_s=st.one_of(st.just(0.0), st.floats(1e-7, 1e-4)),
    queue_bytes=st.one_of(st.just(0.0), st.floats(1.0, 4e5), st.just(1e9)),
    share=st.floats(0.0, 0.95),
    jitter_cv=st.sampled_from([0.0, 0.05, 0.3]),
    card_capacity=1.6,
    capacity=st.floats(0.1, 1e3),
    device_capacity=st.floats(0.05, 2.0),
    n_bytes=st.one_of(st.just(0.0), st.floats(1e-3, 1e6)),
    ticks=st.one_of(st.just(0), st.integers(1, 5000)),
    use=st.floats(0.1, 3.0),
)

TIES = Palette(
    name="TIES",
    nic_bytes_per_s=st.sampled_from([SHARED_BY_ALL * 2.0**k / _BEAT_S for k in (0, 1, 2)]),
    compute_s=st.sampled_from([n * _BEAT_S for n in (0, 1, 2, 4, 8)]),
    change_s=st.sampled_from([n * _BEAT_S for n in (0.5, 1, 2, 3, 4, 8, 12)]),
    variable_bytes=st.sampled_from([1, 2, 4]).map(lambda n: 4 * SHARED_BY_ALL * n),
    latency_s=st.sampled_from([0.0, 0.0, _BEAT_S / 4, _BEAT_S]),
    queue_bytes=st.sampled_from([0.0, 0.25, 1.0, 16.0]).map(lambda x: SHARED_BY_ALL * x),
    share=st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    jitter_cv=st.sampled_from([0.0, 0.0, 0.05]),
    card_capacity=1.5,
    capacity=st.sampled_from([0.5, 1.0, 2.0]).map(lambda x: SHARED_BY_ALL * x),
    device_capacity=st.sampled_from([0.5, 1.0, SHARED_BY_ALL / 2**15]),
    n_bytes=st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 6.0]).map(lambda x: SHARED_BY_ALL * x),
    ticks=st.sampled_from([0, 1, 2, 3, 4, 6, 8]),
    use=st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5]),
)


COMPRESSIONS = st.sampled_from(
    [None, None, *(Compression(kind="quantized", sent_frac=0.25, bytes_per_s=rate) for rate in (0.0, 1e9))]
)
"""Quarters keep amounts of bytes whole."""


def some(draw: st.DrawFn, values: st.SearchStrategy[T], least: int, most: int) -> list[T]:
    """Draw a list, long ones as likely as short ones."""
    return [draw(values) for _ in range(draw(st.integers(least, most)))]


def several(draw: st.DrawFn, values: st.SearchStrategy[T], n: int) -> list[T]:
    """Draw a list of that length, often with equal entries."""
    return [draw(values)] * n if draw(st.booleans()) else [draw(values) for _ in range(n)]


def _schedule(draw: st.DrawFn, palette: Palette) -> Schedule:
    """A background load that changes at times at which computes of the palette end, among others."""
    times = sorted(set(some(draw, palette.change_s, 0, 3)))
    return tuple((at_s, draw(palette.share)) for at_s in (0.0, *times))


def _background(draw: st.DrawFn, palette: Palette) -> Background:
    if draw(st.booleans()):
        return Background()
    return Background(gpu=_schedule(draw, palette), cpu=_schedule(draw, palette), nic=_schedule(draw, palette))


def _cluster(draw: st.DrawFn, palette: Palette, n_hosts: int) -> Cluster:
    """Hosts with a GPU, two dies of one card, or a CPU worker beside a GPU, behind one switch or two."""
    die = replace(GPU, name="die", dies_per_card=2, card_capacity=palette.card_capacity)
    rates = several(draw, palette.nic_bytes_per_s, n_hosts)
    latencies = several(draw, palette.latency_s, n_hosts)
    queues = several(draw, palette.queue_bytes, n_hosts)
    switches = draw(st.sampled_from([("switch",), ("switch", "far switch")]))
    hosts, links = [], []
    for i in range(n_hosts):
        name, load = f"h{i}", _background(draw, palette)
        specs = draw(st.sampled_from([(GPU,), (die, die), (GPU, CPU)]))
        devices = tuple(Device(name=f"{name}/d{j}", host=name, card=f"{name}/c", spec=s) for j, s in enumerate(specs))
        hosts.append(Host(name=name, devices=devices, cpu=CPU, n_cores=16, memory_bytes=64e9, background=load))
        bus = 4.0 * draw(palette.nic_bytes_per_s)
        links += [Link(a=device.name, b=name, bytes_per_s=bus, latency_s=0.0) for device in devices]
        switch = switches[i % len(switches)]
        nic = Link(a=name, b=switch, bytes_per_s=rates[i], latency_s=latencies[i], background=load.nic)
        links.append(replace(nic, queue_bytes=queues[i]))
    if len(switches) > 1:
        links.append(Link(a=switches[0], b=switches[1], bytes_per_s=rates[0], latency_s=latencies[0]))
    return Cluster(hosts=tuple(hosts), switches=switches, links=tuple(links))


def _tree(draw: st.DrawFn, ranks: Sequence[int], hosts: Sequence[str], n_levels: int) -> Group:
    """Groups of groups of any architectures, down to ranks."""
    members: list[Group | Rank] = [Rank(rank) for rank in ranks]
    if n_levels > 1 and draw(st.booleans()):
        size = draw(st.integers(1, len(ranks)))
        first = draw(st.integers(1, size))
        parts = [ranks[a:b] for a, b in pairwise([0, *range(first, len(ranks), size), len(ranks)])]
        members = [
            _tree(draw, part, hosts, n_levels - 1) if len(part) > 1 or draw(st.booleans()) else Rank(part[0])
            for part in parts
        ]
    architecture = draw(st.sampled_from([kind for kind in get_args(Architecture) if kind != "gossip"]))
    if architecture != "parameter-server":
        messages: Messages = draw(st.sampled_from(get_args(Messages))) if architecture == "ring" else "auto"
        return Group(members=tuple(members), architecture=architecture, messages=messages)
    servers = some(draw, st.sampled_from(hosts), 1, 3)
    given = {1: (1.0,), 2: (0.25, 0.75), 3: (0.5, 0.25, 0.25)}[len(servers)]
    return Group(
        members=tuple(members),
        architecture=architecture,
        servers=tuple(servers),
        sharding=draw(st.sampled_from(["round-robin", "even", given])),
        partition_bytes=draw(st.sampled_from([0.0, 4.0 * SHARED_BY_ALL])) if n_levels == MOST_LEVELS else 0.0,
    )


def _placed_job(
    draw: st.DrawFn, palette: Palette, cluster: Cluster, name: str, workers: Sequence[str], *, is_straight: bool
) -> PlacedJob:
    """A job on given devices with any tree of synchronous groups, or of any scheme."""
    n, hosts = len(workers), [host.name for host in cluster.hosts]
    ranks = draw(st.permutations(range(n)))
    is_plain = is_straight or draw(st.booleans())
    tree = _tree(draw, ranks, hosts, MOST_LEVELS) if is_plain else draw(scheme_trees(ranks, hosts))
    job = known_job(
        several(draw, palette.compute_s, n),
        some(draw, palette.variable_bytes, 1, 4),
        name=name,
        n_servers=len(tree.servers),
        n_steps=draw(st.integers(1, 3 if is_plain else 7)),
        jitter_cv=draw(palette.jitter_cv),
        update_s=draw(palette.compute_s),
    )
    if not is_plain:
        job = replace(job, accumulate=draw(st.integers(1, 2)), slots=draw(_slots(n)), compression=draw(COMPRESSIONS))
    return replace(placed(job, workers, tree.servers), tree=tree)


def _slots(n: int) -> st.SearchStrategy[Slots | None]:
    probability = st.lists(st.sampled_from([1.0, 0.75, 0.5]), min_size=n, max_size=n).map(tuple)
    unfinished: st.SearchStrategy[Any] = st.sampled_from(["skip", "repeat"])
    return st.none() | st.builds(Slots, probability=probability, unfinished=unfinished)


@st.composite
def lowered_plans(draw: st.DrawFn, palette: Palette, most_ranks: int = 12, *, is_straight: bool = False) -> Plan:
    """One or two jobs on one cluster, lowered; synchronous ones where `is_straight`."""
    n_hosts = draw(st.integers(1, most_ranks))
    cluster = _cluster(draw, palette, n_hosts)
    devices = draw(st.permutations([device.name for device in cluster.devices]))
    n_ranks = draw(st.integers(1, min(most_ranks, len(devices))))
    n_first = draw(st.one_of(st.just(n_ranks), st.integers(1, n_ranks)))
    groups = [group for group in (devices[:n_first], devices[n_first:n_ranks]) if group]
    jobs = [
        _placed_job(draw, palette, cluster, f"job{i}", group, is_straight=is_straight) for i, group in enumerate(groups)
    ]
    plan: Plan = plan_of(cluster, *jobs)
    return plan


@st.composite
def raw_plans(draw: st.DrawFn, palette: Palette, *, is_sound: bool = True, is_straight: bool = False) -> Plan:
    """Programs over random resources that all end; where not `is_sound`, some may wait for what never happens.

    All iterations of `is_straight` ones do the same.
    """
    resources = _resources(draw, palette, is_sound=is_sound)
    changes = _changes(draw, palette, resources, is_sound=is_sound)
    counters: list[str] = []
    programs: list[Program] = []
    jobs = [f"job{job}" for job in range(draw(st.integers(1, 2)))]

    def activity() -> Work | Delay:
        return Delay(draw(palette.ticks)) if draw(st.booleans()) else _work(draw, palette, resources)

    def transfer(signals: tuple[int, ...]) -> Flow:
        return Flow(
            usage=((0, 1.0),), n_bytes=draw(palette.n_bytes), latency_ticks=draw(palette.ticks), signals=signals
        )

    for job, name in enumerate(jobs):
        first, n = len(counters), draw(st.integers(1, 3))
        counters += [f"{name}/counter {i}" for i in range(n)]
        more = _programs(draw, palette, resources, job, range(first, first + n), is_sound=is_sound)
        if not is_straight and draw(st.booleans()):
            more = with_meetings(draw, with_choices(draw, more, activity), len(counters))
            counters.append(f"{name}/met")
        programs += more
    if not is_straight and draw(st.booleans()):
        takers, n = token_programs(draw, len(jobs), len(counters), activity, transfer, is_sound=is_sound)
        programs += takers
        counters += [f"job{len(jobs)}/counter {i}" for i in range(n)]
        jobs.append(f"job{len(jobs)}")
    if is_straight:
        programs = [replace(program, body=tuple(map(_at_once, program.body))) for program in programs]
    return Plan(
        jobs=tuple(jobs),
        resources=tuple(resources),
        counters=tuple(counters),
        programs=tuple(programs),
        changes=tuple(changes),
    )


def _at_once(instruction: Instruction) -> Instruction:
    """Let work end with its first attempt."""
    return replace(instruction, success=1.0) if isinstance(instruction, Work) else instruction


def _resources(draw: st.DrawFn, palette: Palette, *, is_sound: bool) -> list[Resource]:
    kinds = some(draw, st.sampled_from(["device", "device", "shared-device", "link"]), 0, 5)
    resources = []
    for i, kind in enumerate(["link", *kinds]):
        capacity = draw(palette.capacity if kind == "link" else palette.device_capacity)
        if not is_sound and draw(st.integers(0, 3)) == 0:
            capacity = 0.0
        resources.append(Resource(name=f"{kind} {i}", kind=kind, capacity=capacity))  # type: ignore[arg-type]
    return resources


def _changes(
    draw: st.DrawFn, palette: Palette, resources: Sequence[Resource], *, is_sound: bool
) -> list[CapacityChange]:
    """Changes in order of time; where all must end, a resource without capacity gets some back."""
    changes = []
    for index, resource in enumerate(resources):
        capacities = palette.capacity if resource.kind == "link" else palette.device_capacity
        tick = 0
        for capacity in some(draw, st.one_of(capacities, st.just(0.0)), 0, 2):
            tick += draw(palette.ticks)
            changes.append(CapacityChange(tick=tick, resource=index, capacity=capacity))
        if is_sound and changes and changes[-1].resource == index and changes[-1].capacity == 0.0:
            changes.append(CapacityChange(tick=tick + draw(palette.ticks), resource=index, capacity=draw(capacities)))
    return sorted(changes, key=lambda change: (change.tick, change.resource))


def _programs(
    draw: st.DrawFn,
    palette: Palette,
    resources: Sequence[Resource],
    job: int,
    counters: range,
    *,
    is_sound: bool,
) -> list[Program]:
    """Programs of one job.

    Their instructions are drawn in one sequence. A wait asks for no more than what stands before it in the sequence and
    what earlier iterations raise, so none waits for ever.
    """
    n = draw(st.integers(1, 5))
    owners = some(draw, st.integers(0, n - 1), 1, 20)
    drawn = [(owner, _instruction(draw, palette, resources, counters)) for owner in owners]
    raised = {counter: sum(_raises(entry).count(counter) for _, entry in drawn) for counter in counters}
    before = dict.fromkeys(counters, 0)
    bodies: list[list[Instruction]] = [[] for _ in range(n)]
    for program, entry in drawn:
        instruction = entry
        if isinstance(entry, Wait):
            base = min(entry.base, before[entry.counter]) + (0 if is_sound else draw(st.sampled_from([0, 0, 0, 1])))
            stride = max(raised[entry.counter] - entry.stride, 0)
            instruction = Wait(counter=entry.counter, base=base, stride=stride)
        for counter in _raises(entry):
            before[counter] += 1
        bodies[program].append(instruction)
    n_ranks, n_iterations = draw(st.integers(1, n)), draw(st.integers(1, 4))
    unawaited = draw(st.sets(st.integers(n_ranks, n))) if draw(st.booleans()) else set()
    return [
        Program(
            name=f"job{job}/program {i}",
            job=job,
            rank=i if i < n_ranks else -1,
            body=tuple(body),
            n_iterations=n_iterations,
            is_background=i in unawaited,
        )
        for i, body in enumerate(bodies)
    ]


def _instruction(draw: st.DrawFn, palette: Palette, resources: Sequence[Resource], counters: range) -> Instruction:
    kind = draw(st.sampled_from([Work, Work, Flow, Push, Wait, Delay]))
    counter = draw(st.sampled_from(counters))
    open_to_all = [i for i, resource in enumerate(resources) if resource.kind != "device"]
    if kind is Push:
        return Push(counter)
    if kind is Delay:
        return Delay(draw(palette.ticks))
    if kind is Wait:
        # How far to the front of what can be asked for; `_programs` knows how much that is.
        return Wait(
            counter=counter, base=draw(st.sampled_from([99, 99, 1, 0])), stride=draw(st.sampled_from([0, 0, 1]))
        )
    if kind is Flow:
        way = draw(st.lists(st.sampled_from(open_to_all), max_size=4, unique=True))
        return Flow(
            usage=tuple((link, draw(palette.use)) for link in way),
            n_bytes=draw(palette.n_bytes),
            latency_ticks=draw(palette.ticks),
            signals=tuple(draw(st.lists(st.sampled_from(counters), max_size=2))),
            latency_changes=draw(st.one_of(st.just(()), _latency_changes(palette))),
        )
    return _work(draw, palette, resources)


def _work(draw: st.DrawFn, palette: Palette, resources: Sequence[Resource]) -> Work:
    open_to_all = [i for i, resource in enumerate(resources) if resource.kind != "device"]
    # Half of all work goes to the last resource, so that programs meet in the queue of a device.
    home = draw(st.one_of(st.just(len(resources) - 1), st.sampled_from(range(len(resources)))))
    others = draw(st.lists(st.sampled_from(open_to_all), max_size=2, unique=True))
    return Work(
        resources=(home, *(other for other in others if other != home)),
        ticks=draw(palette.ticks),
        jitter_cv=draw(palette.jitter_cv),
        stream=draw(st.integers(0, 2**64 - 1)),
        success=draw(st.sampled_from([1.0, 1.0, 1.0, 0.5])),
        success_stream=draw(st.integers(0, 3)),
    )


@st.composite
def _latency_changes(draw: st.DrawFn, palette: Palette) -> tuple[tuple[int, int], ...]:
    ticks = sorted(draw(st.lists(palette.ticks, max_size=3, unique=True)))
    return tuple((tick, draw(palette.ticks)) for tick in ticks)


def _raises(instruction: Instruction) -> tuple[int, ...]:
    """Return the counters that an instruction raises, one that it raises twice twice."""
    if isinstance(instruction, Flow):
        return instruction.signals
    return (instruction.counter,) if isinstance(instruction, Push) else ()


def watched(plan: Plan) -> Plan:
    """Return the plan with a counter of each transfer's ends, and for each counter a job that ends a step at each rise.

    So the traces of a run hold every end of a transfer and the whole history of every counter, but of those for which
    nobody knows how often they will rise.
    """
    counters, programs = list(plan.counters), []
    unknown = {i.counter for program in plan.programs for i in program.body if isinstance(i, Collect | Take)}
    for program in plan.programs:
        jumps = any(isinstance(instruction, Every | Choose | Collect | Take) for instruction in program.body)
        if jumps or program.is_background:
            unknown.update(counter for instruction in program.body for counter in _raises(instruction))
            programs.append(program)
            continue
        body: list[Instruction] = []
        for position, instruction in enumerate(program.body):
            if isinstance(instruction, Flow):
                counters.append(f"{program.name}/ends of {position}")
                body.append(replace(instruction, signals=(*instruction.signals, len(counters) - 1)))
            else:
                body.append(instruction)
        programs.append(replace(program, body=tuple(body)))
    n_rises = [0] * len(counters)
    for program in programs:
        for instruction in program.body:
            for counter in _raises(instruction):
                n_rises[counter] += program.n_iterations
    jobs = list(plan.jobs)
    for counter, n in enumerate(n_rises):
        if n and counter not in unknown:
            wait = Wait(counter=counter, base=1, stride=1)
            name = f"watch {counters[counter]}"
            programs.append(Program(name=name, job=len(jobs), rank=0, body=(wait,), n_iterations=n))
            jobs.append(name)
    return replace(plan, jobs=tuple(jobs), counters=tuple(counters), programs=tuple(programs))


def plans(palette: Palette, most_ranks: int = 12, *, is_straight: bool = False) -> st.SearchStrategy[Plan]:
    """Plans of all kinds that end, some of them watched."""
    any_plan = st.one_of(
        lowered_plans(palette, most_ranks, is_straight=is_straight), raw_plans(palette, is_straight=is_straight)
    )
    return st.one_of(any_plan, any_plan.map(watched))
