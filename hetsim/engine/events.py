"""Run a plan on the event kernel: the same ticks as the SimPy engine, without SimPy."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hetsim.engine.carried import Carried
from hetsim.engine.clock import too_long
from hetsim.engine.simulate import simulate
from hetsim.errors import DeadlockError, SimulationError
from hetsim.kernels import interpreter, memory
from hetsim.kernels.draws import stream_key
from hetsim.kernels.memory import Code
from hetsim.kernels.state import State, new_state
from hetsim.model.plan import Delay, Flow, Plan, Push, Wait, Work, usage_of
from hetsim.model.result import IntArray, PlanRun, Trace
from hetsim.units import to_seconds

_OPS = {Work: memory.WORK, Flow: memory.FLOW, Push: memory.PUSH, Wait: memory.WAIT}
_OPS |= {Delay: memory.DELAY}
_ROOM = 64
_MANY = 16


class EventPlan:
    """A plan as tables of instructions, ready to run any number of times.

    Parameters
    ----------
    plan : Plan
        What to run.

    Attributes
    ----------
    n_skipped : int
        Iterations of the last run that repeated the one before to the bit, and were not simulated.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.n_skipped = 0
        _check(plan)
        usages = dict.fromkeys(usage_of(instruction) for program in plan.programs for instruction in program.body)
        self._usages = [usage for usage in usages if usage]
        self._room = max(_ROOM, 2 * len(plan.programs))
        self._state = self._new_state()
        self._carried = Carried(plan)
        self._blocks = _blocks(plan)
        self._code = _encode(plan, {usage: kind for kind, usage in enumerate(self._usages)})

    def _new_state(self) -> State:
        capacity = [resource.capacity for resource in self.plan.resources]
        changing = {change.resource for change in self.plan.changes}
        return new_state(self._usages, capacity, self._room, changing=changing)

    def run(self, *, seed: int, replication: int) -> PlanRun:
        """Run the plan to the end of all its programs.

        Parameters
        ----------
        seed, replication : int
            Key of the random draws.

        Returns
        -------
        PlanRun
            Equal to that of `simulate` to the tick.

        Raises
        ------
        DeadlockError
            If nothing can happen any more but a program has not ended.
        SimulationError
            If the simulation would last longer than the clock can count.
        """
        key = np.uint64(stream_key(seed, replication))
        outcome = memory.FULL
        while outcome == memory.FULL:
            traces = np.zeros((4, self._code.size[memory.N_RECORDED]), dtype=np.int64)
            done = np.zeros(len(self._code.instruction), dtype=np.int64)
            outcome, now, n_events, self.n_skipped = interpreter.run(
                self._code, self._state, traces, done, key, self._room
            )
            if outcome == memory.FULL:
                self._room *= 2
                self._state = self._new_state()
        if outcome == memory.DEADLOCK:
            # The engine meets the same deadlock, and can tell who waits for whom.
            return simulate(self.plan, seed=seed, replication=replication)
        if outcome == memory.STUCK:
            # So can it without what goes on for ever.
            awaited = tuple(program for program in self.plan.programs if not program.is_background)
            simulate(replace(self.plan, programs=awaited), seed=seed, replication=replication)
            raise DeadlockError("nothing but what is in the background goes on", to_seconds(now))
        if outcome == memory.TOO_LONG:
            raise too_long(now)
        jobs = tuple(_trace(traces, *block) for block in self._blocks)
        end = max((int(trace.step_end.max(initial=0)) for trace in jobs), default=0)
        return PlanRun(jobs=jobs, carried=self._carried.amounts(done), end=end, n_events=n_events)


def _blocks(plan: Plan) -> list[tuple[int, int, int]]:
    """Return where the traces of each job begin, and how many ranks and steps it has."""
    blocks = []
    for job in range(len(plan.jobs)):
        ranks = [
            (start, program.n_iterations)
            for program, start in zip(plan.programs, _trace_starts(plan), strict=True)
            if program.job == job and start >= 0
        ]
        blocks.append((ranks[0][0], len(ranks), ranks[0][1]))
    return blocks


def _trace(traces: IntArray, first: int, n_ranks: int, n_steps: int) -> Trace:
    """Return the trace of one job; its ranks stand one after the other."""
    part = traces[:, first : first + n_ranks * n_steps].reshape(4, n_ranks, n_steps)
    step_end, compute_end, compute, communication = np.ascontiguousarray(part.transpose(0, 2, 1))
    return Trace(step_end=step_end, compute_end=compute_end, compute=compute, communication=communication)


def _check(plan: Plan) -> None:
    """Refuse by name what the kernel does not run: a flow through a device that serves one activity at a time."""
    for program in plan.programs:
        for instruction in program.body:
            if isinstance(instruction, Flow) and instruction.usage:
                home = plan.resources[instruction.usage[0][0]]
                if home.kind == "device":
                    raise SimulationError(f"the kernel runs no flow through a device: {program.name}, {home.name}", 0.0)


def _trace_starts(plan: Plan) -> list[int]:
    """Return where the trace of each program begins; -1 for a program that keeps none."""
    recorded = [program.n_iterations if program.rank >= 0 else 0 for program in plan.programs]
    starts = itertools.accumulate(recorded, initial=0)
    return [start if n else -1 for start, n in zip(starts, recorded, strict=False)]


def _encode(plan: Plan, kinds: dict[tuple[tuple[int, float], ...], int]) -> Code:
    """Write a plan as tables."""
    instructions = [instruction for program in plan.programs for instruction in program.body]
    owners = [index for index, program in enumerate(plan.programs) for _ in program.body]
    queued = _queues(plan)
    rows: list[tuple[int, ...]] = []
    work: list[tuple[int, ...]] = []
    signals: list[int] = []
    changes: list[tuple[int, int]] = []
    n_drawn = 0
    for owner, instruction in zip(owners, instructions, strict=True):
        usage = usage_of(instruction)
        raised = instruction.signals if isinstance(instruction, Flow) else ()
        counter = len(signals) if isinstance(instruction, Flow) else getattr(instruction, "counter", -1)
        ticks = getattr(instruction, "ticks", getattr(instruction, "latency_ticks", 0))
        threshold = getattr(instruction, "base", 0), getattr(instruction, "stride", 0)
        last = counter + len(raised)
        rows.append((_OPS[type(instruction)], kinds.get(usage, -1), counter, last, ticks, *threshold, owner))
        is_work = isinstance(instruction, Work)
        latency_changes = instruction.latency_changes if isinstance(instruction, Flow) else ()
        key = getattr(instruction, "stream", len(changes))
        changes += latency_changes
        work.append((usage[0][0] if is_work and usage[0][0] in queued else -1, key, n_drawn, len(changes)))
        n_drawn += getattr(instruction, "jitter_cv", 0.0) > 0.0
        signals += raised
    amounts = [(getattr(i, "n_bytes", 0.0), getattr(i, "jitter_cv", 0.0)) for i in instructions]
    firsts = list(itertools.accumulate((len(program.body) for program in plan.programs), initial=0))
    traces = _trace_starts(plan)
    programs_of = {(program.job, program.rank): index for index, program in enumerate(plan.programs)}
    senders = [[traces[programs_of[program.job, rank]] for rank in program.senders] for program in plan.programs]
    first_sender = list(itertools.accumulate(map(len, senders), initial=0))
    programs = [
        (
            firsts[index],
            firsts[index + 1],
            program.n_iterations,
            traces[index],
            first_sender[index],
            first_sender[index + 1],
            not program.is_background,
            0,
        )
        for index, program in enumerate(plan.programs)
    ]
    most_signals = max((len(i.signals) for i in instructions if isinstance(i, Flow)), default=0)
    sizes = np.zeros(memory.N_SIZES, dtype=np.int64)
    strides, may_repeat = _strides(plan)
    sizes[memory.N_PROGRAMS], sizes[memory.N_RESOURCES] = len(plan.programs), len(plan.resources)
    sizes[memory.N_COUNTERS], sizes[memory.N_CHANGES] = len(plan.counters), len(plan.changes)
    sizes[memory.MOST_SIGNALS], sizes[memory.N_DRAWN] = most_signals, n_drawn
    sizes[memory.PATIENCE] = memory.MOST_UNAWAITED
    sizes[memory.N_AWAITED] = sum(not program.is_background for program in plan.programs)
    sizes[memory.N_RECORDED] = sum(program.n_iterations for program in plan.programs if program.rank >= 0)
    sizes[memory.N_INSTRUCTIONS], sizes[memory.MAY_REPEAT] = (
        len(rows),
        (may_repeat and n_drawn == 0 and not changes and not plan.has_background),
    )
    return Code(
        size=sizes,
        instruction=np.array(rows, dtype=np.int64).reshape(-1, 8),
        work=_signed(work),
        amount=np.array(amounts, dtype=np.float64).reshape(-1, 2),
        program=np.array(programs, dtype=np.int64).reshape(-1, 8),
        sender=np.array([trace for group in senders for trace in group], dtype=np.int64),
        signal=np.array(signals, dtype=np.int64),
        stride=np.array(strides, dtype=np.int64),
        change=np.array([(c.tick, c.resource) for c in plan.changes], dtype=np.int64).reshape(-1, 2),
        change_capacity=np.array([c.capacity for c in plan.changes], dtype=np.float64),
        latency=np.array(changes, dtype=np.int64).reshape(-1, 2),
    )


def _signed(rows: Sequence[tuple[int, ...]]) -> IntArray:
    """Return unsigned 64-bit keys among other numbers as signed ones."""
    mask = 2**64 - 1
    return np.array([[x & mask for x in row] for row in rows], dtype=np.uint64).view(np.int64).reshape(-1, 4)


def _strides(plan: Plan) -> tuple[list[int], bool]:
    """Return by how much each counter rises in an iteration, -1 if nobody waits for it, and whether all agree on that.

    Only a plan of many iterations is worth a look at whether it repeats itself.
    """
    strides = [-1] * len(plan.counters)
    waits = [wait for program in plan.programs for wait in program.body if isinstance(wait, Wait)]
    for wait in waits:
        strides[wait.counter] = wait.stride
    agree = all(strides[wait.counter] == wait.stride for wait in waits)
    return strides, agree and plan.programs[0].n_iterations >= _MANY


def _queues(plan: Plan) -> set[int]:
    """Return the devices for which work may have to wait: those that several programs use."""
    users: dict[int, set[int]] = {}
    for index, program in enumerate(plan.programs):
        for instruction in program.body:
            if isinstance(instruction, Work) and plan.resources[instruction.resources[0]].kind == "device":
                users.setdefault(instruction.resources[0], set()).add(index)
    return {resource for resource, programs in users.items() if len(programs) > 1}
