"""Run a plan on the SimPy engine."""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import overload

import numpy as np

from hetsim.engine.actions import Machine
from hetsim.engine.carried import Carried
from hetsim.engine.clock import Clock, too_long
from hetsim.engine.fluid import Fluid
from hetsim.engine.interpreter import Interpreter
from hetsim.engine.recorder import RankRecorder, TransferRecorder, trace_of
from hetsim.engine.resources import Device, Latency, Link, Shared, SharedDevice, Usage
from hetsim.engine.settle import Settlement
from hetsim.errors import DeadlockError
from hetsim.kernels.draws import attempts, lognormal_factors, uniforms
from hetsim.kernels.jit import compile_if_many
from hetsim.model.instructions import Ask, Choose, Decider, Decisions, Flow, Push, Work, usage_of
from hetsim.model.plan import Plan, Program
from hetsim.model.result import PlanRun, Trace
from hetsim.plan.checks import check_plan
from hetsim.units import MAX_TICKS, to_seconds

_KINDS: dict[str, type[Shared]] = {"device": Device, "shared-device": SharedDevice, "link": Link, "stream": Link}
_SLOTS = 64
"""Room for so many activities in service at first, where the programs are few."""

_N_TRANSFERS = 1000
"""What others are taken to send while jobs run, as nobody knows before."""

_SHOWN = 8
"""A deadlock message names this many programs at most."""


def simulate(plan: Plan, *, seed: int, replication: int) -> PlanRun:
    """Run a plan to the end of all its programs.

    Parameters
    ----------
    plan : Plan
        What to run.
    seed, replication : int
        Key of the random draws.

    Returns
    -------
    PlanRun
        The recording; the same for the same plan, seed and replication in any process.

    Raises
    ------
    DeadlockError
        If nothing can happen any more but a program has not ended.
    SimulationError
        If the simulation would last longer than the clock can count.
    """
    check_plan(plan)
    takers = Counter(program.take for program in plan.programs)
    n_expected = sum(_n_expected(program, takers[program.take]) * len(program.body) for program in plan.programs)
    compile_if_many(n_expected)
    env = Clock()
    kinds = _kinds_of(plan)
    fluid = Fluid(
        list(kinds),
        [resource.capacity for resource in plan.resources],
        max(_SLOTS, 2 * len(plan.programs)),
        {change.resource for change in plan.changes},
    )
    settlement = Settlement(env, fluid, plan.counters, plan.changes)
    resources = tuple(_KINDS[resource.kind](env, settlement, resource.name) for resource in plan.resources)
    machine = Machine(
        env=env,
        settlement=settlement,
        resources=resources,
        latency=Latency(env, settlement, "latency"),
        kinds=kinds,
        decisions=_decisions_of(plan),
    )
    recorders = {
        (program.job, program.rank): RankRecorder(0 if program.is_open else program.n_iterations)
        for program in plan.programs
        if program.rank >= 0
    }
    interpreters = []
    first = 0
    for program in plan.programs:
        counted = [recorders[program.job, rank] for rank in program.senders]
        interpreters.append(
            Interpreter(
                machine,
                program,
                first,
                _draws_of(program, seed, replication),
                recorder=recorders.get((program.job, program.rank)),
                transfers=TransferRecorder(counted) if counted else None,
            )
        )
        first += len(program.body)
    if plan.has_background:
        settlement.n_awaited = sum(not program.is_background for program in plan.programs)
    settlement.start()
    env.run()
    _check_ended(interpreters, plan, fluid, env.tick)
    jobs = tuple(
        trace_of(
            [recorder for (owner, _), recorder in recorders.items() if owner == job],
            [tick for interpreter in interpreters if interpreter.program.job == job for tick in interpreter.updates],
        )
        for job in range(len(plan.jobs))
    )
    return PlanRun(
        jobs=jobs,
        carried=Carried(plan).amounts(np.concatenate([interpreter.done for interpreter in interpreters])),
        end=end_of(jobs),
        n_events=settlement.n_events,
        collected=tuple(
            np.array(counts, dtype=np.int64) for interpreter in interpreters for counts in interpreter.collected
        ),
        n_dropped=np.array([counter.n_dropped for counter in settlement.counters], dtype=np.int64),
    )


def end_of(jobs: Sequence[Trace]) -> int:
    """Return when the last job ended.

    Parameters
    ----------
    jobs : sequence of Trace
        Of one run.

    Returns
    -------
    int
        Tick of the last end of a step, or of the last update.
    """
    ends = [max(int(trace.step_end.max(initial=0)), int(trace.updates.max(initial=0))) for trace in jobs]
    return max(ends, default=0)


def _decisions_of(plan: Plan) -> dict[Decider, Decisions]:
    """Let each decider of a plan begin."""
    asks = (entry for program in plan.programs for entry in program.body if isinstance(entry, Ask))
    return {decider: decider.begin() for decider in dict.fromkeys(ask.decider for ask in asks)}


def _kinds_of(plan: Plan) -> dict[Usage, int]:
    """Number the usages of a plan's activities."""
    usages = (usage_of(instruction) for program in plan.programs for instruction in program.body)
    return {usage: index for index, usage in enumerate(dict.fromkeys(usage for usage in usages if usage))}


def _n_expected(program: Program, n_alike: int) -> int:
    """Return how many iterations a program is likely to have, with so many that take the same tokens."""
    if program.take:
        return program.n_iterations // n_alike
    return min(program.n_iterations, _N_TRANSFERS) if program.is_background or program.is_open else program.n_iterations


class _Endless(Sequence[float]):
    """Draws of a program of which nobody knows how many iterations it will have, made when they are asked for."""

    def __init__(self, draw: Callable[[int], Sequence[float]]) -> None:
        self._draw = draw
        self._drawn: Sequence[float] = []

    def __len__(self) -> int:
        return len(self._drawn)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        assert isinstance(index, int), index
        if index >= len(self._drawn):
            self._drawn = self._draw(2 * (index + 1))
        return self._drawn[index]


def _draws_of(program: Program, seed: int, replication: int) -> dict[int, Sequence[float]]:
    """Draw the duration of each work of each iteration, rounded up to a tick, and what is chosen."""
    drawn: dict[int, Sequence[float]] = {}
    for position, instruction in enumerate(program.body):
        if not isinstance(instruction, Work | Choose):
            continue
        draw = functools.partial(_drawn, instruction, seed, replication)
        if program.is_background or program.is_open:
            drawn[position] = _Endless(draw)
            continue
        drawn[position] = draw(program.n_iterations)
        if isinstance(instruction, Work) and sum(drawn[position]) >= MAX_TICKS:
            raise too_long(0)
    return drawn


def _drawn(instruction: Work | Choose, seed: int, replication: int, n: int) -> list[float]:
    """Return the first n draws: ticks of work, or numbers of what is chosen."""
    if isinstance(instruction, Choose):
        chosen = np.zeros(n)
        uniform = uniforms(seed, replication, instruction.stream, n)
        for bound in bounds_of(instruction):
            chosen += uniform >= bound
        return list(chosen.tolist())
    work = instruction
    factors = lognormal_factors(seed, replication, work.stream, n, work.jitter_cv) if work.jitter_cv > 0.0 else 1.0
    ticks = np.broadcast_to(np.float64(work.ticks), n)
    if work.success < 1.0:
        uniform = uniforms(seed, replication, work.success_stream, n).tolist()
        ticks = ticks * np.array([float(attempts(p, work.success)) for p in uniform])
    return list(np.broadcast_to(np.ceil(ticks * factors), n).tolist())


def bounds_of(choose: Choose) -> list[float]:
    """Return from which uniform number on each instruction but the first is chosen.

    Parameters
    ----------
    choose : Choose
        Of n instructions.

    Returns
    -------
    list of float, shape (n - 1,)
        Ascending.
    """
    return list(itertools.accumulate(choose.shares[:-1]))


def _check_ended(interpreters: list[Interpreter], plan: Plan, fluid: Fluid, now: int) -> None:
    awaited = [interpreter for interpreter in interpreters if not interpreter.program.is_background]
    waiting = [interpreter for interpreter in awaited if interpreter.process.is_alive]
    if not waiting:
        return
    raised_by: dict[str, list[str]] = {}
    for program in plan.programs:
        for counter in sorted(_raises(program)):
            raised_by.setdefault(f"counter {plan.counters[counter]!r}", []).append(program.name)
    lines = []
    for interpreter in waiting[:_SHOWN]:
        by = raised_by.get(interpreter.waits_for.split(" >= ")[0])
        lines.append(
            f"{interpreter.program.name} waits for {interpreter.waits_for}" + (f", raised by {_some(by)}" if by else "")
        )
    if len(waiting) > _SHOWN:
        lines.append(f"and {len(waiting) - _SHOWN} more")
    lines += [
        f"{plan.resources[resource].name} has no capacity left for what is on it"
        for resource in fluid.empty_resources()
    ]
    raise DeadlockError("nothing can happen any more: " + "; ".join(lines), to_seconds(now))


def _raises(program: Program) -> set[int]:
    """Return the counters that a program raises."""
    return {
        counter
        for instruction in program.body
        if isinstance(instruction, Flow | Push)
        for counter in (instruction.signals if isinstance(instruction, Flow) else (instruction.counter,))
    }


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
