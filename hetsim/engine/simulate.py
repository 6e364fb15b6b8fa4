"""Run a plan on the SimPy engine."""

from collections.abc import Sequence
from typing import overload

import numpy as np

from hetsim.engine.carried import Carried
from hetsim.engine.clock import Clock, too_long
from hetsim.engine.fluid import Fluid
from hetsim.engine.interpreter import Interpreter, Machine
from hetsim.engine.recorder import RankRecorder, TransferRecorder, trace_of
from hetsim.engine.resources import Device, Latency, Link, Shared, SharedDevice, Usage
from hetsim.engine.settle import Settlement
from hetsim.errors import DeadlockError
from hetsim.kernels.draws import lognormal_factors
from hetsim.kernels.jit import compile_if_many
from hetsim.model.plan import Flow, Plan, Program, Push, Work, usage_of
from hetsim.model.result import PlanRun
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
    compile_if_many(sum(_n_expected(program) * len(program.body) for program in plan.programs))
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
        env=env, settlement=settlement, resources=resources, latency=Latency(env, settlement, "latency"), kinds=kinds
    )
    recorders = {
        (program.job, program.rank): RankRecorder(program.n_iterations)
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
                _work_ticks(program, seed, replication),
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
        trace_of([recorder for (owner, _), recorder in recorders.items() if owner == job])
        for job in range(len(plan.jobs))
    )
    return PlanRun(
        jobs=jobs,
        carried=Carried(plan).amounts(np.concatenate([interpreter.done for interpreter in interpreters])),
        end=max((int(trace.step_end.max(initial=0)) for trace in jobs), default=0),
        n_events=settlement.n_events,
    )


def _kinds_of(plan: Plan) -> dict[Usage, int]:
    """Number the usages of a plan's activities."""
    usages = (usage_of(instruction) for program in plan.programs for instruction in program.body)
    return {usage: index for index, usage in enumerate(dict.fromkeys(usage for usage in usages if usage))}


def _n_expected(program: Program) -> int:
    """Return how many iterations a program is likely to have."""
    return min(program.n_iterations, _N_TRANSFERS) if program.is_background else program.n_iterations


class _Endless(Sequence[float]):
    """Durations of a work that nobody waits for, drawn when they are asked for: most never are."""

    def __init__(self, work: Work, seed: int, replication: int) -> None:
        self._work, self._key = work, (seed, replication)
        self._drawn: list[float] = []

    def __len__(self) -> int:
        return len(self._drawn)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        assert isinstance(index, int), index
        if index >= len(self._drawn):
            work, n = self._work, 2 * (index + 1)
            factors = lognormal_factors(*self._key, work.stream, n, work.jitter_cv) if work.jitter_cv else np.ones(n)
            self._drawn = np.ceil(work.ticks * factors).tolist()
        return self._drawn[index]


def _work_ticks(program: Program, seed: int, replication: int) -> dict[int, Sequence[float]]:
    """Draw the duration of each work of each iteration, rounded up to a tick."""
    drawn: dict[int, Sequence[float]] = {}
    for position, work in enumerate(program.body):
        if not isinstance(work, Work):
            continue
        if program.is_background:
            drawn[position] = _Endless(work, seed, replication)
            continue
        factors = (
            lognormal_factors(seed, replication, work.stream, program.n_iterations, work.jitter_cv)
            if work.jitter_cv > 0.0
            else np.ones(program.n_iterations)
        )
        ticks = np.ceil(work.ticks * factors)
        if ticks.sum() >= MAX_TICKS:
            raise too_long(0)
        drawn[position] = ticks.tolist()
    return drawn


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
