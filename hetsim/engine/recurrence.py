"""Run a plan without contention as a recurrence: the same recording as the event executors, without events."""

import itertools
from collections.abc import Sequence

import numpy as np

from hetsim.engine.carried import Carried
from hetsim.kernels import recurrence as kernel
from hetsim.kernels import works
from hetsim.kernels.draws import spread, stream_key
from hetsim.model.instructions import Delay, Flow, Push, Wait, Work
from hetsim.model.plan import Plan
from hetsim.model.result import FloatArray, IntArray, PlanRun, Trace
from hetsim.plan.recurrence import Action, Part, Recurrence
from hetsim.plan.synchronised import Synchronised, find_synchronised
from hetsim.units import MAX_TICKS


class RecurrencePlan:
    """A plan without contention as arrays, ready to run any number of times.

    Parameters
    ----------
    plan : Plan
        What to run.
    recurrence : Recurrence
        Of this plan.
    """

    def __init__(self, plan: Plan, recurrence: Recurrence) -> None:
        self._plan = plan
        self._recurrence = recurrence
        self._columns = _columns_of(plan)
        self._carried = Carried(plan)
        self._done = _done_without_draws(plan)
        self._shapes = _shapes_of(plan)
        self._runs = [self._run_of(part) for part in recurrence.parts]
        self._sending = {
            program.job
            for program in plan.programs
            if program.senders and any(isinstance(instruction, Flow) for instruction in program.body)
        }

    def run(self, *, seed: int, replication: int) -> PlanRun | None:
        """Run the plan to the end of all its programs.

        Parameters
        ----------
        seed, replication : int
            Key of the random draws.

        Returns
        -------
        PlanRun or None
            Equal to that of `simulate`; None if it would come near the end of the clock, or has a duration near 2**51
            ticks.
        """
        key = np.uint64(stream_key(seed, replication))
        jobs = [_empty_trace(shape, job in self._sending) for job, shape in enumerate(self._shapes)]
        done = self._done.copy()
        if not all(run.run(key, jobs, done) for run in self._runs):
            return None
        end = max((int(trace.step_end[-1].max()) for trace in jobs), default=0)
        carried = self._carried.amounts(done)
        return PlanRun(
            jobs=tuple(jobs),
            carried=carried,
            end=end,
            n_events=self._recurrence.n_events,
            collected=(),
            n_dropped=np.zeros(len(self._plan.counters), dtype=np.int64),
        )

    def _run_of(self, part: Part) -> "_SynchronisedRun | _StepsRun":
        constants = find_synchronised(self._plan, part)
        if constants is not None:
            places = [self._columns[rank] for rank in constants.ranks]
            first_job, first = places[0]
            if places == [(first_job, first + i) for i in range(len(places))]:
                return _SynchronisedRun(self._plan, part, constants, places[0])
        return _StepsRun(self._plan, part, self._recurrence.n_slots, self._columns)


class _SynchronisedRun:
    """Ranks side by side that meet once in each step."""

    def __init__(self, plan: Plan, part: Part, constants: Synchronised, place: tuple[int, int]) -> None:
        self._n_steps = part.n_iterations
        self._job, self._column = place
        self._works, self._streams = _works_of(constants.works)
        start = np.array(constants.start, dtype=np.int64)
        self._constants = kernel.Constants(
            lead=np.stack([constants.lead, constants.lead + start]),
            follow=np.stack([constants.follow, constants.follow + start]),
            start=start,
        )
        self._communication = np.array(constants.communication, dtype=np.int64)
        self._nodes = [work.node for work in constants.works]

    def run(self, key: np.uint64, jobs: Sequence[Trace], done: IntArray) -> bool:
        trace, n = jobs[self._job], self._streams.size
        amounts = np.zeros(n, dtype=np.int64)
        is_done = kernel.run_synchronised(
            key,
            self._works,
            self._streams,
            self._constants,
            trace.step_end,
            trace.compute_end,
            trace.compute,
            amounts,
            self._column,
        )
        if self._communication.any():
            trace.communication[:, self._column : self._column + n] = self._communication
        done[self._nodes] = amounts
        return bool(is_done)


class _StepsRun:
    """Any other part of a plan, one action after the other."""

    def __init__(self, plan: Plan, part: Part, n_slots: int, columns: dict[int, tuple[int, int]]) -> None:
        self._sizes = (len(plan.programs), n_slots, part.n_iterations)
        self._places = {program: columns[program] for program in part.programs if program in columns}
        drawn = [action for action in part.actions if getattr(action.instruction, "jitter_cv", 0.0) > 0.0]
        self._nodes = [action.node for action in drawn]
        self._works, self._streams = _works_of(drawn)
        self._actions = _encode(
            plan, part, {action.node: column for column, action in enumerate(drawn)}, list(self._places)
        )

    def run(self, key: np.uint64, jobs: Sequence[Trace], done: IntArray) -> bool:
        n_steps = self._sizes[2]
        traces = np.zeros((4, n_steps * len(self._places)), dtype=np.int64)
        amounts = np.zeros(self._streams.size, dtype=np.int64)
        is_done = kernel.run_steps(key, self._actions, self._works, self._streams, traces, amounts, self._sizes)
        done[self._nodes] = amounts[: len(self._nodes)]
        for index, (job, column) in enumerate(self._places.values()):
            rows = traces[:, index * n_steps : (index + 1) * n_steps]
            trace = jobs[job]
            tables = [trace.step_end, trace.compute_end, trace.compute]
            tables += [trace.communication] if trace.communication.flags.writeable else []
            for row, table in zip(rows, tables, strict=False):
                table[:, column] = row
        return bool(is_done)


def _columns_of(plan: Plan) -> dict[int, tuple[int, int]]:
    """Return job and column of the trace of each program that keeps one."""
    n_ranks = [0] * len(plan.jobs)
    columns = {}
    for index, program in enumerate(plan.programs):
        if program.rank >= 0:
            columns[index] = (program.job, n_ranks[program.job])
            n_ranks[program.job] += 1
    return columns


def _shapes_of(plan: Plan) -> list[tuple[int, int]]:
    """Return steps and ranks of each job."""
    steps: list[list[int]] = [[] for _ in plan.jobs]
    for program in plan.programs:
        if program.rank >= 0:
            steps[program.job].append(program.n_iterations)
    return [(each[0], len(each)) for each in steps]


def _empty_trace(shape: tuple[int, int], is_sending: bool) -> Trace:
    # One block and not three: the system hands out large ones in large pages, several times as fast.
    step_end, compute_end, compute = np.empty((3, *shape), dtype=np.int64)
    # One zero for all, where no rank sends anything itself: clearing a table took 8 % of a run.
    none = np.broadcast_to(np.int64(0), shape)
    communication = np.zeros(shape, dtype=np.int64) if is_sending else none
    return Trace(step_end=step_end, compute_end=compute_end, compute=compute, communication=communication)


def _works_of(actions: Sequence[Action]) -> tuple[FloatArray, "np.ndarray[tuple[int], np.dtype[np.uint64]]"]:
    """Return the table of works for the kernel; one of no time where there are none."""
    rows = np.zeros((4, max(1, len(actions))))
    rows[works.RATE] = 1.0
    streams = np.zeros(rows.shape[1], dtype=np.uint64)
    for column, action in enumerate(actions):
        work = action.instruction
        assert isinstance(work, Work)
        sigma, drift = spread(work.jitter_cv)
        rows[[works.TICKS, works.RATE, works.SIGMA, works.DRIFT], column] = work.ticks, action.rate, sigma, drift
        streams[column] = work.stream
    return rows, streams


def _done_without_draws(plan: Plan) -> IntArray:
    """Return the flows of each instruction, and the ticks of work without jitter."""
    done = []
    for program in plan.programs:
        for instruction in program.body:
            each = 1 if isinstance(instruction, Flow) else 0
            if isinstance(instruction, Work) and instruction.jitter_cv == 0.0:
                each = instruction.ticks
            # A run with more is given up at the end of the clock.
            done.append(min(each * program.n_iterations, MAX_TICKS))
    return np.array(done, dtype=np.int64)


_OPS = {Work: kernel.WORK, Flow: kernel.FLOW, Wait: kernel.WAIT, Push: kernel.GO_ON, Delay: kernel.GO_ON}


def _encode(plan: Plan, part: Part, columns: dict[int, int], traced: Sequence[int]) -> kernel.Actions:
    """Write the actions of a part as a table; the traces of its programs stand one after the other."""
    actions = part.actions
    trace_first = np.full(max(part.programs) + 1, -1)
    for index, program in enumerate(traced):
        trace_first[program] = index * part.n_iterations
    trace_of = {(plan.programs[program].job, plan.programs[program].rank): trace_first[program] for program in traced}
    senders: list[list[int]] = [[] for _ in range(max(part.programs) + 1)]
    for program in part.programs:
        senders[program] = [trace_of[plan.programs[program].job, rank] for rank in plan.programs[program].senders]
    rows: dict[int, Sequence[int] | IntArray] = {
        kernel.OP: [_OPS[type(action.instruction)] for action in actions],
        kernel.PROGRAM: [action.program for action in actions],
        kernel.SPAN: [action.ticks for action in actions],
        kernel.COLUMN: [columns.get(action.node, -1) for action in actions],
        kernel.RAISED_FIRST: [0, *itertools.accumulate(len(action.raised) for action in actions)],
        kernel.AWAITED: [action.awaited for action in actions],
        kernel.RAISED: [slot for action in actions for slot, _ in action.raised],
        kernel.RAISED_BEFORE: [before for action in actions for _, before in action.raised],
        kernel.TRACE_FIRST: trace_first,
        kernel.SENDER_FIRST: [0, *itertools.accumulate(map(len, senders))],
        kernel.SENDER: [trace for group in senders for trace in group],
    }
    ints = np.zeros((kernel.N_INT_ROWS, max(map(len, rows.values()))), dtype=np.int64)
    for row, values in rows.items():
        ints[row, : len(values)] = values
    return kernel.Actions(ints, len(actions), np.array(part.programs, dtype=np.int64))
