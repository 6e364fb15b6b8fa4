"""What a plan means, in exact arithmetic: a naive interpreter that shares no code with the executors.

Time is an integer number of ticks, everything else a fraction. At each tick programs run until each waits, leaving
requests; then one settlement applies capacity changes, ends, rises of counters, grants and starts, again from the ends
on while anything of no time is left; programs that it woke run at the same tick and lead to another one. Before time
moves on, the rates of all activities are found anew over all resources. Only the draws of jitter are taken as given.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hetsim.kernels.draws import lognormal_factors, uniforms
from hetsim.model.instructions import Choose, Collect, Delay, Every, Flow, Instruction, Push, Take, Wait, Work
from hetsim.model.plan import Plan, Program

_MOST_BITS = 40
"""A float holds 53: what is below this many stays exact in the sums and products of a solver."""

_MOST_DRAWN = 2000
"""More than any program in the background does while a small plan runs."""

Uses = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What happens when a plan is run: ticks by program, in the order of the plan.

    Parameters
    ----------
    step_end, compute_end : list of list of int, shape (n_programs, n_iterations)
        Tick at which each iteration, and its last work, ended; zero without work. Short where a program is stuck.
    counters : list of int, shape (n_counters,)
        Values at the end.
    carried : list of Fraction, shape (n_resources,)
        Amount moved by activities that ended.
    stuck : list of str
        Names of the programs that could not end.
    is_exact : bool
        Whether every rate and remainder was a float of few digits, so that an executor in floats has to agree.
    collected : list of list of int
        Gradients that each `Collect` took, in the order of the plan.
    n_dropped : list of int, shape (n_counters,)
        Gradients that came too late.
    """

    step_end: list[list[int]]
    compute_end: list[list[int]]
    counters: list[int]
    carried: list[Fraction]
    stuck: list[str]
    is_exact: bool
    collected: list[list[int]]
    n_dropped: list[int]


@dataclass(slots=True, eq=False, kw_only=True)
class _Actor:
    """A program in progress."""

    program: Program
    first: int
    ticks: dict[int, list[int]]
    chosen: dict[int, list[int]]
    position: int = 0
    skip: int = 0
    version: int = 0
    has_ended: bool = False
    step_end: list[int] = field(default_factory=list)
    compute_end: list[int] = field(default_factory=list)
    collected: dict[int, list[int]] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class _Activity:
    """Something that takes time: first its latency, then an amount on its resources."""

    actor: _Actor
    instruction: Instruction
    order: tuple[int, int]
    latency: int
    uses: Uses
    amount: Fraction
    asked: int = 0
    left: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)
    since: int = 0
    end: int | None = None


def interpret(plan: Plan, *, seed: int = 0, replication: int = 0) -> Meaning:
    """Run a plan until nothing can happen any more; `seed` and `replication` are the key of its jitter."""
    return _Run(plan, seed, replication).to_the_end()


class _Run:
    def __init__(self, plan: Plan, seed: int, replication: int) -> None:
        self.plan = plan
        self.now = 0
        self.actors: list[_Actor] = []
        for program in plan.programs:
            first = sum(len(actor.program.body) for actor in self.actors)
            ticks = _durations(program, seed, replication)
            chosen = _choices(program, seed, replication)
            self.actors.append(_Actor(program=program, first=first, ticks=ticks, chosen=chosen))
        self.runnable = list(self.actors)
        self.waiting: list[tuple[_Actor, int, int]] = []
        self.capacity = [Fraction(resource.capacity) for resource in plan.resources]
        self.changes = list(plan.changes)
        self.counters = [0] * len(plan.counters)
        self.rises: list[int] = []
        self.versions = [0] * len(plan.counters)
        self.dropped = [0] * len(plan.counters)
        self.taken = [0] * len(plan.counters)
        self.claims: list[tuple[int, _Actor]] = []
        self.n_batches = 0
        self.asking: list[_Activity] = []
        self.in_service: list[_Activity] = []
        self.carried = [Fraction(0)] * len(plan.resources)
        self.is_exact = True

    def to_the_end(self) -> Meaning:
        while True:
            runnable, self.runnable = self.runnable, []
            for actor in runnable:
                while self._go_on(actor):
                    pass
            self._settle()
            if self.runnable:
                continue
            awaited = [actor for actor in self.actors if not actor.program.is_background]
            has_ended = all(actor.has_ended for actor in awaited)
            if has_ended and len(awaited) < len(self.actors):
                break
            self._share()
            due = [activity.end for activity in self.in_service if activity.end is not None]
            due += [change.tick for change in self.changes]
            if not due:
                break
            self.now = max(self.now, min(due))
        return Meaning(
            step_end=[actor.step_end for actor in self.actors],
            compute_end=[actor.compute_end for actor in self.actors],
            counters=self.counters,
            carried=self.carried,
            stuck=[a.program.name for a in self.actors if not a.has_ended and not a.program.is_background],
            is_exact=self.is_exact,
            collected=[counts for actor in self.actors for _, counts in sorted(actor.collected.items())],
            n_dropped=self.dropped,
        )

    def _go_on(self, actor: _Actor) -> bool:
        """Do the next instruction of a program, and return whether it goes on at once."""
        iteration = len(actor.step_end)
        actor.has_ended = actor.has_ended or iteration == actor.program.n_iterations
        if actor.has_ended:
            return False
        if actor.position == 0 and len(actor.compute_end) == iteration and not actor.program.take:
            actor.compute_end.append(0)
        if actor.position == len(actor.program.body):
            actor.step_end.append(self.now)
            actor.position = 0
            return True
        instruction = actor.program.body[actor.position]
        activity = _activity(actor, instruction, iteration, self.now)
        actor.position, actor.skip = actor.position + 1 + actor.skip, 0
        match instruction:
            case Push():
                self._push(actor, instruction.counter)
            case Every() | Choose():
                self._jump(actor, instruction, iteration)
            case Collect() | Take():
                self.claims.append((self.n_batches, actor))
                return False
            case Wait():
                threshold = instruction.base + instruction.stride * _n_rounds(instruction, iteration)
                if self.counters[instruction.counter] < threshold:
                    self.waiting.append((actor, instruction.counter, threshold))
                    return False
            case Flow() if activity.latency == 0:
                self._move(activity)
            case _:
                self._ask(activity)
        return isinstance(instruction, Push | Wait | Flow | Every | Choose)

    @staticmethod
    def _jump(actor: _Actor, instruction: Every | Choose, iteration: int) -> None:
        """Go to what is due or chosen; what is left of a choice is skipped after that."""
        if isinstance(instruction, Every):
            actor.position += 0 if _is_due(instruction, iteration) else instruction.n_instructions
            return
        chosen = actor.chosen[actor.position - 1][iteration]
        actor.position += chosen
        actor.skip = len(instruction.shares) - 1 - chosen

    def _push(self, actor: _Actor, counter: int) -> None:
        """Let a counter rise, unless it is an accumulator that is at a later version."""
        if actor.version < self.versions[counter]:
            self.dropped[counter] += 1
        else:
            self.rises.append(counter)

    def _ask(self, activity: _Activity) -> None:
        activity.asked = self.now
        self.asking.append(activity)

    def _move(self, activity: _Activity) -> None:
        """Let an activity whose latency is over use its resources, if there are any."""
        activity.latency = 0
        if activity.uses:
            self._ask(activity)
        else:
            self._finish(activity)

    def _finish(self, activity: _Activity) -> None:
        if isinstance(activity.instruction, Flow) or not activity.actor.program.is_background:
            for resource, use in activity.uses:
                self.carried[resource] += use * activity.amount
        if isinstance(activity.instruction, Flow):
            for counter in activity.instruction.signals:
                self._push(activity.actor, counter)
            return
        self.runnable.append(activity.actor)
        if isinstance(activity.instruction, Work):
            activity.actor.compute_end[activity.order[1]] = self.now

    def _settle(self) -> None:
        while self.changes and self.changes[0].tick <= self.now:
            change = self.changes.pop(0)
            self.capacity[change.resource] = Fraction(change.capacity)
        self.n_batches += 1
        self._end()
        while self.rises or any(map(self._may_start, self.asking)) or any(map(self._may_claim, self.claims)):
            self._raise_counters()
            self._serve()
            self._grant()
            self._end()

    def _end(self) -> None:
        ended = [activity for activity in self.in_service if activity.end is not None and activity.end <= self.now]
        self.in_service = [activity for activity in self.in_service if activity not in ended]
        for activity in ended:
            if activity.latency and isinstance(activity.instruction, Flow):
                self._move(activity)
            else:
                self._finish(activity)

    def _raise_counters(self) -> None:
        for counter in self.rises:
            self.counters[counter] += 1
        self.rises = []
        waiting, self.waiting = self.waiting, []
        for actor, counter, threshold in waiting:
            if self.counters[counter] >= threshold:
                self.runnable.append(actor)
            else:
                self.waiting.append((actor, counter, threshold))

    def _may_claim(self, claim: tuple[int, _Actor]) -> bool:
        """Return whether what a program wants is there, whoever else wants it."""
        _, actor = claim
        instruction = _claimed(actor)
        if isinstance(instruction, Collect):
            return self.counters[instruction.counter] >= instruction.n_gradients
        token = self.taken[instruction.counter]
        return token >= instruction.n_tokens or token < instruction.n_first + self.counters[instruction.counter]

    def _serve(self) -> None:
        """Let those who came first have what is there; within a batch the order of programs counts."""
        for claim in sorted(self.claims, key=lambda claim: (claim[0], claim[1].first)):
            _, actor = claim
            instruction = _claimed(actor)
            if not self._may_claim(claim):
                continue
            self.claims.remove(claim)
            self.runnable.append(actor)
            if isinstance(instruction, Collect):
                actor.collected.setdefault(actor.position - 1, []).append(self.counters[instruction.counter])
                self.counters[instruction.counter] = 0
                self.versions[instruction.counter] += 1 if instruction.drops else 0
            elif self.taken[instruction.counter] >= instruction.n_tokens:
                actor.has_ended = True
            else:
                token = self.taken[instruction.counter]
                self.taken[instruction.counter] += 1
                actor.compute_end.append(0)
                later = token - instruction.n_first
                actor.version = 1 + later // instruction.n_each if later >= 0 else 0

    def _may_start(self, activity: _Activity) -> bool:
        """Return whether nobody is in the way: a device serves one activity at a time."""
        if activity.latency or not activity.uses:
            return True
        home = activity.uses[0][0]
        if self.plan.resources[home].kind != "device":
            return True
        return all(other.latency or not other.uses or other.uses[0][0] != home for other in self.in_service)

    def _grant(self) -> None:
        for activity in sorted(self.asking, key=lambda activity: (activity.asked, activity.order)):
            if not self._may_start(activity):
                continue
            self.asking.remove(activity)
            self.in_service.append(activity)
            activity.since = self.now
            activity.left = activity.amount
            activity.end = self.now + activity.latency if activity.latency or activity.amount == 0 else None

    def _share(self) -> None:
        """Find all rates anew; what is left of an activity is brought forward only where its own rate changes."""
        moving = [activity for activity in self.in_service if not activity.latency]
        for activity, rate in zip(moving, _fair_rates(self.capacity, [a.uses for a in moving]), strict=True):
            if rate == activity.rate:
                continue
            activity.left -= activity.rate * (self.now - activity.since)
            activity.since, activity.rate = self.now, rate
            activity.end = self.now + math.ceil(activity.left / rate) if rate else None
            self.is_exact = self.is_exact and _has_few_digits(activity.left) and _has_few_digits(rate)


def _activity(actor: _Actor, instruction: Instruction, iteration: int, now: int) -> _Activity:
    latency, amount = 0, Fraction(0)
    uses: Uses = ()
    match instruction:
        case Work():
            amount = Fraction(actor.ticks[actor.position][iteration])
            uses = tuple((resource, Fraction(1)) for resource in instruction.resources)
        case Flow():
            latency, amount = _latency(instruction, now), Fraction(instruction.n_bytes)
            uses = tuple((resource, Fraction(use)) for resource, use in instruction.usage)
        case Delay():
            latency = instruction.ticks
    order = (actor.first + actor.position, iteration)
    return _Activity(actor=actor, instruction=instruction, order=order, latency=latency, uses=uses, amount=amount)


def _latency(flow: Flow, now: int) -> int:
    """What is in force when a flow sets out."""
    latency = flow.latency_ticks
    for tick, ticks in flow.latency_changes:
        if tick <= now:
            latency = ticks
    return latency


def _durations(program: Program, seed: int, replication: int) -> dict[int, list[int]]:
    """Return the ticks of each work of each iteration: jitter is rounded up to a tick when it is drawn."""
    ticks = {}
    for position, work in enumerate(program.body):
        if isinstance(work, Work) and work.jitter_cv > 0.0:
            drawn = lognormal_factors(seed, replication, work.stream, _n_drawn(program), work.jitter_cv)
            tried = _attempts(work, seed, replication, _n_drawn(program))
            ticks[position] = [math.ceil(n * work.ticks * x) for n, x in zip(tried, drawn.tolist(), strict=True)]
        elif isinstance(work, Work):
            ticks[position] = [n * work.ticks for n in _attempts(work, seed, replication, _n_drawn(program))]
    return ticks


def _claimed(actor: _Actor) -> Collect | Take:
    """Return what a program wants: the instruction before its position."""
    instruction = actor.program.body[actor.position - 1]
    assert isinstance(instruction, Collect | Take)
    return instruction


def _is_due(every: Every, iteration: int) -> bool:
    """Whether the instructions of a round are done in an iteration: counted out, not computed."""
    phase = 0
    for i in range(iteration + 1):
        if i >= every.start:
            phase = (phase + 1) % every.period if i > every.start else 0
    return iteration < every.end and (iteration < every.start or phase == every.phase)


def _n_rounds(wait: Wait, iteration: int) -> int:
    """How many rounds ended before the one of an iteration, counted out."""
    n, length = 0, 0
    for i in range(iteration):
        length += 1
        if i < wait.start or length == wait.period:
            n, length = n + 1, 0
    return n


def _attempts(work: Work, seed: int, replication: int, n: int) -> list[int]:
    """Return how many attempts each iteration needs: the first k with a uniform number of (1 - success)**k or more."""
    if work.success == 1.0:
        return [1] * n
    fails = 1 - Fraction(work.success)
    return [
        next(k for k in range(1, 999) if u >= fails**k) for u in uniforms(seed, replication, work.success_stream, n)
    ]


def _choices(program: Program, seed: int, replication: int) -> dict[int, list[int]]:
    """Return what each choice of each iteration chooses."""
    chosen = {}
    for position, choose in enumerate(program.body):
        if isinstance(choose, Choose):
            bounds = np.cumsum(choose.shares)[:-1]
            drawn = uniforms(seed, replication, choose.stream, _n_drawn(program))
            chosen[position] = [int(np.sum(bounds <= u)) for u in drawn]
    return chosen


def _n_drawn(program: Program) -> int:
    """How many iterations a program has at most: what is in the background never comes to its end."""
    return min(program.n_iterations, _MOST_DRAWN)


def _fair_rates(capacity: list[Fraction], uses: list[Uses]) -> list[Fraction]:
    """Raise all rates together until a resource is full, which stops its activities; again with the rest."""
    rates: list[Fraction | None] = [None] * len(uses)
    while None in rates:
        left, load = list(capacity), [Fraction(0)] * len(capacity)
        for entries, rate in zip(uses, rates, strict=True):
            for resource, use in entries:
                if rate is None:
                    load[resource] += use
                else:
                    left[resource] -= use * rate
        levels = {r: left[r] / load[r] for r in range(len(capacity)) if load[r]}
        level = min(levels.values())
        full = {r for r, at in levels.items() if at == level}
        rates = [
            level if rate is None and any(r in full for r, _ in entries) else rate
            for entries, rate in zip(uses, rates, strict=True)
        ]
    return [rate for rate in rates if rate is not None]


def _has_few_digits(value: Fraction) -> bool:
    """Return whether a value is a fraction of a power of two with few significant bits."""
    denominator = value.denominator
    return denominator & (denominator - 1) == 0 and value.numerator.bit_length() <= _MOST_BITS
