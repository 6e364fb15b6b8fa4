"""Run a plan on the event kernel: the same ticks as the SimPy engine, without SimPy."""

from dataclasses import replace

import numpy as np

from hetsim.engine.carried import Carried
from hetsim.engine.clock import too_long
from hetsim.engine.simulate import end_of, simulate
from hetsim.engine.tables import Jump, encode, expanded, places_of
from hetsim.errors import DeadlockError, SimulationError
from hetsim.kernels import interpreter, memory
from hetsim.kernels.draws import stream_key
from hetsim.kernels.state import State, new_state
from hetsim.model.instructions import Ask, Flow, usage_of
from hetsim.model.plan import Plan
from hetsim.model.result import IntArray, PlanRun, Trace
from hetsim.units import to_seconds

_ROOM = 64


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
        self._places = places_of(plan)
        bodies = [expanded(program.body) for program in plan.programs]
        # What the programs of the plan have, without jumps.
        self._n_tokens = {i: program.take.n_tokens for i, program in enumerate(plan.programs) if program.take}
        self._takers = list({self._places.takers[program]: program for program in self._n_tokens}.values())
        jobs = range(len(plan.jobs))
        programs = list(enumerate(plan.programs))
        self._ranks = [[i for i, program in programs if program.job == job and program.rank >= 0] for job in jobs]
        firsts = self._places.traces
        self._clocks = [
            [(firsts[i], firsts[i] + each.n_iterations) for i, each in programs if each.job == job and each.is_clock]
            for job in jobs
        ]
        own = np.array([not isinstance(i, Jump) for body in bodies for i in body], dtype=np.bool_)
        self._own = None if own.all() else own
        self._code = encode(plan, {usage: kind for kind, usage in enumerate(self._usages)}, self._places)

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
            written = self._nothing_written()
            done = np.zeros(len(self._code.instruction), dtype=np.int64)
            outcome, now, n_events, self.n_skipped = interpreter.run(
                self._code, self._state, written, done, key, self._room
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
        n = 4 * self._places.n_recorded
        traces, notes = written[:n].reshape(4, -1), written[n:]
        jobs = tuple(self._trace(job, traces, notes) for job in range(len(self.plan.jobs)))
        return PlanRun(
            jobs=jobs,
            carried=self._carried.amounts(done if self._own is None else done[self._own]),
            end=end_of(jobs),
            n_events=n_events,
            collected=tuple(notes[first : first + n] for first, n in self._places.collected),
            n_dropped=notes[self._places.first_dropped :],
        )

    def _nothing_written(self) -> IntArray:
        """Return traces, then notes, before a run: nobody has taken a token, and no step of one has ended."""
        places, n = self._places, 4 * self._places.n_recorded
        written = np.zeros(n + places.first_dropped + len(self.plan.counters), dtype=np.int64)
        for program in self._takers:
            trace, taker, n_tokens = places.traces[program], places.takers[program], self._n_tokens[program]
            first = memory.STEP_END * places.n_recorded + trace
            written[first : first + n_tokens] = -1
            written[n + taker : n + taker + n_tokens] = -1
        return written

    def _trace(self, job: int, traces: IntArray, notes: IntArray) -> Trace:
        """Return the trace of one job."""
        ranks, clocks = self._ranks[job], self._clocks[job]
        rows = [self._steps_of(program, notes) for program in ranks]
        n_steps = max(last - first if isinstance(steps, slice) else steps.size for first, last, steps in rows)
        first = rows[0][0]
        if all(start == first + i * n_steps and end == start + n_steps for i, (start, end, _) in enumerate(rows)):
            block = traces[:, first : first + len(rows) * n_steps].reshape(4, len(rows), n_steps)
            found = np.ascontiguousarray(block.transpose(0, 2, 1))
        else:
            found = np.zeros((4, n_steps, len(rows)), dtype=np.int64)
            found[memory.STEP_END] = -1
            for rank, (start, end, steps) in enumerate(rows):
                n = end - start if isinstance(steps, slice) else steps.size
                found[:, :n, rank] = traces[:, steps]
        step_end, compute_end, compute, communication = found
        updates = [traces[memory.STEP_END, first:last] for first, last in clocks]
        return Trace(
            step_end=step_end,
            compute_end=compute_end,
            compute=compute,
            communication=communication,
            updates=np.concatenate(updates) if updates else np.zeros(0, dtype=np.int64),
        )

    def _steps_of(self, program: int, notes: IntArray) -> tuple[int, int, IntArray | slice]:
        """Return where the steps of a program stand: without gaps from a first to before a last place, or anywhere."""
        first = self._places.traces[program]
        if program not in self._n_tokens:
            last = first + self.plan.programs[program].n_iterations
            return first, last, slice(first, last)
        taker = self._places.takers[program]
        taken = np.flatnonzero(notes[taker : taker + self._n_tokens[program]] == program)
        return -1, -1, first + taken


def _check(plan: Plan) -> None:
    """Refuse by name what the kernel does not run: a decision at run time, a flow through a device that serves one."""
    for program in plan.programs:
        for instruction in program.body:
            if isinstance(instruction, Ask):
                kind = type(instruction.decider).__name__
                raise SimulationError(f"the kernel asks nobody while it runs: {program.name} asks {kind}", 0.0)
            if isinstance(instruction, Flow) and instruction.usage:
                home = plan.resources[instruction.usage[0][0]]
                if home.kind == "device":
                    raise SimulationError(f"the kernel runs no flow through a device: {program.name}, {home.name}", 0.0)
