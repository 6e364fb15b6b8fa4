"""Run a plan on the compiled step-time kernel: the same ticks as the SimPy engine, without SimPy."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsim.engine.clock import too_long
from hetsim.engine.simulate import simulate
from hetsim.errors import SimulationError
from hetsim.kernels import fluid, interpreter
from hetsim.kernels.draws import stream_key
from hetsim.kernels.interpreter import Code
from hetsim.model.plan import Delay, Flow, Plan, Push, Wait, Work, usage_of
from hetsim.model.result import IntArray, PlanRun, Trace

_OPS = {Work: interpreter.WORK, Flow: interpreter.FLOW, Push: interpreter.PUSH, Wait: interpreter.WAIT}
_OPS |= {Delay: interpreter.DELAY}
_ROOM = 64


class CompiledPlan:
    """A plan as arrays, ready to run any number of times.

    Parameters
    ----------
    plan : Plan
        What to run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        _check(plan)
        usages = dict.fromkeys(usage_of(instruction) for program in plan.programs for instruction in program.body)
        self._usages = [usage for usage in usages if usage]
        self._capacity = [resource.capacity for resource in plan.resources]
        self._room = max(_ROOM, 2 * len(plan.programs))
        self._code = _encode(plan, {usage: kind for kind, usage in enumerate(self._usages)})

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
        outcome = interpreter.FULL
        while outcome == interpreter.FULL:
            state = fluid.new_state(self._usages, self._capacity, self._room)
            traces = np.zeros((4, self._n_recorded), dtype=np.int64)
            outcome, now, n_events = interpreter.run(self._code, state, traces, key, self._room)
            self._room *= 2 if outcome == interpreter.FULL else 1
        if outcome == interpreter.DEADLOCK:
            # The engine meets the same deadlock, and can tell who waits for whom.
            return simulate(self.plan, seed=seed, replication=replication)
        if outcome == interpreter.TOO_LONG:
            raise too_long(now)
        jobs = tuple(self._trace_of(traces, job) for job in range(len(self.plan.jobs)))
        end = max((int(trace.step_end.max(initial=0)) for trace in jobs), default=0)
        carried = state.row(fluid.CARRIED, is_float=True).copy()
        return PlanRun(jobs=jobs, carried=carried, end=end, n_events=n_events)

    @property
    def _n_recorded(self) -> int:
        return sum(program.n_iterations for program in self.plan.programs if program.rank >= 0)

    def _trace_of(self, traces: IntArray, job: int) -> Trace:
        columns = []
        for program, first in zip(self.plan.programs, _trace_starts(self.plan), strict=True):
            if program.job == job and program.rank >= 0:
                columns.append(traces[:, first : first + program.n_iterations])
        step_end, compute_end, compute, communication = np.stack(columns, axis=2)
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
    """Write a plan as two tables."""
    instructions = [instruction for program in plan.programs for instruction in program.body]
    usages = [usage_of(instruction) for instruction in instructions]
    signals = [instruction.signals if isinstance(instruction, Flow) else () for instruction in instructions]
    ints: dict[int, Sequence[Any] | IntArray] = {
        interpreter.OP: [_OPS[type(instruction)] for instruction in instructions],
        interpreter.KIND: [kinds.get(usage, -1) for usage in usages],
        interpreter.HOME: [usage[0][0] if usage else -1 for usage in usages],
        interpreter.COUNTER: [getattr(instruction, "counter", -1) for instruction in instructions],
        interpreter.TICKS: [getattr(i, "ticks", getattr(i, "latency_ticks", 0)) for i in instructions],
        interpreter.BASE: [getattr(instruction, "base", 0) for instruction in instructions],
        interpreter.STRIDE: [getattr(instruction, "stride", 0) for instruction in instructions],
        interpreter.STREAM: np.array([getattr(i, "stream", 0) for i in instructions], dtype=np.uint64).view(np.int64),
        interpreter.SIGNAL_FIRST: [0, *itertools.accumulate(map(len, signals))],
        interpreter.SIGNALS: [counter for group in signals for counter in group],
        interpreter.PROGRAM_FIRST: [0, *itertools.accumulate(len(program.body) for program in plan.programs)],
        interpreter.N_ITERATIONS: [program.n_iterations for program in plan.programs],
        interpreter.TRACE_FIRST: _trace_starts(plan),
        interpreter.IS_EXCLUSIVE: [resource.kind == "device" for resource in plan.resources],
        interpreter.CHANGE_TICK: [change.tick for change in plan.changes],
        interpreter.CHANGE_RESOURCE: [change.resource for change in plan.changes],
        interpreter.HEADER: [
            len(plan.programs),
            len(plan.resources),
            len(plan.counters),
            len(plan.changes),
            max(map(len, signals), default=0),
        ],
    }
    floats = {
        interpreter.N_BYTES: [getattr(instruction, "n_bytes", 0.0) for instruction in instructions],
        interpreter.CV: [getattr(instruction, "jitter_cv", 0.0) for instruction in instructions],
        interpreter.CHANGE_CAPACITY: [change.capacity for change in plan.changes],
    }
    return Code(_table(ints, np.int64), _table(floats, np.float64))


def _table(rows: Mapping[int, Sequence[Any] | IntArray], dtype: type[Any]) -> npt.NDArray[Any]:
    """Return rows of unequal length as one table."""
    table = np.zeros((len(rows), max(map(len, rows.values()))), dtype=dtype)
    for row, values in rows.items():
        table[row, : len(values)] = values
    return table
