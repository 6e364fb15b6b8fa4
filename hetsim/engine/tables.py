"""A plan as the tables of the event kernel, and where a run of them writes what."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hetsim.engine.simulate import bounds_of
from hetsim.kernels import memory
from hetsim.kernels.memory import Code
from hetsim.model.instructions import Choose, Collect, Delay, Every, Flow, Instruction, Push, Take, Wait, Work, usage_of
from hetsim.model.plan import Plan
from hetsim.model.result import IntArray

_OP = {Work: memory.WORK, Flow: memory.FLOW, Push: memory.PUSH, Wait: memory.WAIT, Delay: memory.DELAY}
_OP |= {Every: memory.EVERY, Choose: memory.CHOOSE, Collect: memory.COLLECT, Take: memory.TAKE}
_MANY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a run writes what.

    Parameters
    ----------
    traces : tuple of int, shape (n_programs,)
        Where the trace of each program begins; -1 for one that keeps none. Programs that take the same tokens share
        one, with a place for each token.
    n_recorded : int
        Places of all traces.
    takers : tuple of int, shape (n_programs,)
        Where it is noted who took the tokens that each program takes; -1 for one that takes none.
    collected : tuple of (int, int)
        Where the notes of each `Collect` begin, and how many there are.
    first_dropped : int
        Where the counters' dropped pushes begin.
    """

    traces: tuple[int, ...]
    n_recorded: int
    takers: tuple[int, ...]
    collected: tuple[tuple[int, int], ...]
    first_dropped: int


def places_of(plan: Plan) -> Places:
    """Return where a run of a plan writes what.

    Parameters
    ----------
    plan : Plan
        Any.

    Returns
    -------
    Places
        Traces of a job's ranks stand one after the other.
    """
    traces, takers = [], []
    collected: list[tuple[int, int]] = []
    shared: dict[Take, tuple[int, int]] = {}
    n_recorded = n_notes = 0
    for program in plan.programs:
        take = program.take
        trace = taker = -1
        if take in shared:
            trace, taker = shared[take]
        elif take is not None:
            trace, taker = shared[take] = n_recorded, n_notes
            n_recorded, n_notes = n_recorded + take.n_tokens, n_notes + take.n_tokens
        elif program.rank >= 0 or program.is_clock:
            trace = n_recorded
            n_recorded += program.n_iterations
        traces.append(trace)
        takers.append(taker)
        for instruction in program.body:
            if isinstance(instruction, Collect):
                collected.append((n_notes, program.n_iterations))
                n_notes += program.n_iterations
    return Places(
        traces=tuple(traces),
        n_recorded=n_recorded,
        takers=tuple(takers),
        collected=tuple(collected),
        first_dropped=n_notes,
    )


def encode(plan: Plan, kinds: dict[tuple[tuple[int, float], ...], int], places: Places) -> Code:
    """Write a plan as tables.

    Parameters
    ----------
    plan : Plan
        To be run.
    kinds : dict
        Number of each usage.
    places : Places
        From `places_of`.

    Returns
    -------
    Code
        For the kernel.
    """
    bodies = [expanded(program.body) for program in plan.programs]
    instructions = [instruction for body in bodies for instruction in body]
    rows = _Rows(plan, kinds, places)
    for owner, body in enumerate(bodies):
        for instruction in body:
            rows.add(owner, instruction)
    amounts = [(getattr(i, "success", getattr(i, "n_bytes", 0.0)), getattr(i, "jitter_cv", 0.0)) for i in instructions]
    programs, senders = _programs(plan, places, list(map(len, bodies)))
    sizes = np.zeros(memory.N_SIZES, dtype=np.int64)
    strides, may_repeat = _strides(plan)
    sizes[memory.N_PROGRAMS], sizes[memory.N_RESOURCES] = len(plan.programs), len(plan.resources)
    sizes[memory.N_COUNTERS], sizes[memory.N_CHANGES] = len(plan.counters), len(plan.changes)
    sizes[memory.MOST_SIGNALS] = max((len(i.signals) for i in instructions if isinstance(i, Flow)), default=0)
    sizes[memory.N_DRAWN] = rows.n_drawn
    sizes[memory.PATIENCE] = memory.MOST_UNAWAITED
    sizes[memory.N_AWAITED] = sum(not program.is_background for program in plan.programs)
    sizes[memory.N_RECORDED] = places.n_recorded
    sizes[memory.FIRST_DROPPED] = places.first_dropped
    sizes[memory.N_SHARED] = strides.count(memory.SHARED)
    sizes[memory.N_INSTRUCTIONS] = len(instructions)
    sizes[memory.MAY_REPEAT] = (
        may_repeat and rows.n_drawn == 0 and not rows.latency and not plan.has_background and plan.is_straight
    )
    return Code(
        size=sizes,
        instruction=np.array(rows.instruction, dtype=np.int64).reshape(-1, 8),
        work=_signed(rows.work),
        amount=np.array(amounts, dtype=np.float64).reshape(-1, 2),
        program=np.array(programs, dtype=np.int64).reshape(-1, 8),
        sender=np.array(senders, dtype=np.int64),
        signal=np.array(rows.signals, dtype=np.int64),
        stride=np.array(strides, dtype=np.int64),
        change=np.array([(c.tick, c.resource) for c in plan.changes], dtype=np.int64).reshape(-1, 2),
        change_capacity=np.array([c.capacity for c in plan.changes], dtype=np.float64),
        latency=np.array(rows.latency, dtype=np.int64).reshape(-1, 2),
        bound=np.array(rows.bounds, dtype=np.float64),
    )


class Jump(Every):
    """Pass over instructions in every iteration: from the end of one that was chosen to the end of the choice."""


def expanded(body: Sequence[Instruction]) -> list[Instruction]:
    """Return a body in which each choice but the last is followed by a jump to the end of its choice.

    Parameters
    ----------
    body : sequence of Instruction
        Of a program.

    Returns
    -------
    list of Instruction
        With the same instructions in the same order beside the jumps.
    """
    has_jump = [False] * len(body)
    ends = [0] * len(body)
    for position, instruction in enumerate(body):
        if isinstance(instruction, Choose):
            end = position + len(instruction.shares)
            has_jump[position + 1 : end] = [True] * (end - position - 1)
            ends[position + 1 : end] = [end] * (end - position - 1)

    def n_rows(first: int, last: int) -> int:
        return last - first + 1 + sum(has_jump[first : last + 1])

    found: list[Instruction] = []
    for position, instruction in enumerate(body):
        if isinstance(instruction, Every):
            n = n_rows(position + 1, position + instruction.n_instructions)
            found.append(replace(instruction, n_instructions=n))
        else:
            found.append(instruction)
        if has_jump[position]:
            found.append(Jump(n_instructions=n_rows(position + 1, ends[position]), period=1, phase=1))
    return found


class _Rows:
    """The tables of instructions under construction."""

    def __init__(self, plan: Plan, kinds: dict[tuple[tuple[int, float], ...], int], places: Places) -> None:
        self.instruction: list[list[int]] = []
        self.work: list[tuple[int, ...]] = []
        self.signals: list[int] = []
        self.latency: list[tuple[int, int]] = []
        self.bounds: list[float] = []
        self.n_drawn = 0
        self._kinds = kinds
        self._queued = _queues(plan)
        self._takers = places.takers
        self._collected = iter(places.collected)

    def add(self, owner: int, instruction: Instruction) -> None:
        """Append an instruction of a program."""
        usage = usage_of(instruction)
        row = [0] * 8
        kind = Every if isinstance(instruction, Jump) else type(instruction)
        row[memory.OP], row[memory.PROGRAM] = _OP[kind], owner
        row[memory.KIND] = self._kinds.get(usage, -1)
        row[memory.COUNTER] = getattr(instruction, "counter", -1)
        row[memory.TICKS] = getattr(instruction, "ticks", 0)
        home, key = -1, getattr(instruction, "stream", 0)
        match instruction:
            case Work():
                home = usage[0][0] if usage[0][0] in self._queued else -1
            case Flow():
                row[memory.TICKS] = instruction.latency_ticks
                row[memory.COUNTER] = len(self.signals)
                row[memory.LAST_SIGNAL] = len(self.signals) + len(instruction.signals)
                key = len(self.latency)
                self.signals += instruction.signals
                self.latency += instruction.latency_changes
            case Wait():
                row[memory.BASE], row[memory.STRIDE] = instruction.base, instruction.stride
                if (instruction.period, instruction.start) != (1, 0):
                    row[memory.OP] = memory.WAIT_FOR_ROUND
                    row[memory.PERIOD], row[memory.START] = instruction.period, instruction.start
            case Every():
                row[memory.N_GUARDED], row[memory.PHASE] = instruction.n_instructions, instruction.phase
                row[memory.PERIOD], row[memory.START] = instruction.period, instruction.start
                row[memory.ROUNDS_END] = instruction.end
            case Choose():
                row[memory.FIRST_BOUND], row[memory.N_CHOICES] = len(self.bounds), len(instruction.shares)
                self.bounds += bounds_of(instruction)
            case Collect():
                row[memory.N_NEEDED], row[memory.FIRST_NOTE] = instruction.n_gradients, next(self._collected)[0]
                row[memory.DROPS] = instruction.drops
            case Take():
                row[memory.N_FIRST], row[memory.N_EACH] = instruction.n_first, instruction.n_each
                row[memory.N_TOKENS], row[memory.FIRST_NOTE] = instruction.n_tokens, self._takers[owner]
        self.instruction.append(row)
        self.work.append((home, key, self.n_drawn, getattr(instruction, "success_stream", len(self.latency))))
        self.n_drawn += getattr(instruction, "jitter_cv", 0.0) > 0.0


def _programs(plan: Plan, places: Places, lengths: Sequence[int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the table of programs, and where the traces begin in which their flows count."""
    firsts = list(itertools.accumulate(lengths, initial=0))
    programs_of = {(program.job, program.rank): index for index, program in enumerate(plan.programs)}
    senders = [[places.traces[programs_of[program.job, rank]] for rank in program.senders] for program in plan.programs]
    first_sender = list(itertools.accumulate(map(len, senders), initial=0))
    rows: list[tuple[int, ...]] = [
        (
            firsts[index],
            firsts[index + 1],
            program.n_iterations,
            places.traces[index],
            first_sender[index],
            first_sender[index + 1],
            not program.is_background,
            0,
        )
        for index, program in enumerate(plan.programs)
    ]
    return rows, [trace for group in senders for trace in group]


def _signed(rows: Sequence[tuple[int, ...]]) -> IntArray:
    """Return unsigned 64-bit keys among other numbers as signed ones."""
    mask = 2**64 - 1
    return np.array([[x & mask for x in row] for row in rows], dtype=np.uint64).view(np.int64).reshape(-1, 4)


def _strides(plan: Plan) -> tuple[list[int], bool]:
    """Return the column of `Code.stride`, and whether all who wait for a counter agree on it.

    Only a plan of many iterations is worth a look at whether it repeats itself.
    """
    strides = [-1] * len(plan.counters)
    waits = [wait for program in plan.programs for wait in program.body if isinstance(wait, Wait)]
    for wait in waits:
        strides[wait.counter] = wait.stride
    for program in plan.programs:
        for instruction in program.body:
            if isinstance(instruction, Collect | Take):
                strides[instruction.counter] = memory.SHARED
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
