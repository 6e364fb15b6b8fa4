"""What an executor may take for granted of a plan, whoever made it."""

import math
from collections.abc import Iterator

from hetsim.errors import SimulationError
from hetsim.model.plan import Delay, Flow, Instruction, Plan, Program, Work, usage_of
from hetsim.units import MAX_TICKS


def check_plan(plan: Plan) -> None:
    """Refuse a plan that no executor can run.

    Parameters
    ----------
    plan : Plan
        From the lowering, or made by hand.

    Raises
    ------
    SimulationError
        Naming every problem.
    """
    problems = [*_problems_of_jobs(plan), *_problems_of_instructions(plan)]
    problems += [
        f"capacity change {index} is at tick {change.tick}"
        for index, change in enumerate(plan.changes)
        if not 0 <= change.tick <= MAX_TICKS
    ]
    if problems:
        raise SimulationError("this plan cannot be run: " + "; ".join(problems), 0.0)


def _problems_of_jobs(plan: Plan) -> Iterator[str]:
    steps = {(program.job, program.rank): program.n_iterations for program in plan.programs if program.rank >= 0}
    for job, name in enumerate(plan.jobs):
        if not any(owner == job for owner, _ in steps):
            yield f"job {name} has no ranks"
    for program in plan.programs:
        if program.n_iterations < 1:
            yield f"{program.name} has {program.n_iterations} iterations"
        for rank in program.members:
            if program.n_iterations > steps.get((program.job, rank), 0):
                yield f"{program.name} is a collective of rank {rank}, which has fewer iterations"


def _problems_of_instructions(plan: Plan) -> Iterator[str]:
    seen: set[Instruction] = set()
    for program in plan.programs:
        for instruction in program.body:
            if instruction not in seen:
                seen.add(instruction)
                yield from _problems_of_one(program, instruction)


def _problems_of_one(program: Program, instruction: Instruction) -> Iterator[str]:
    ticks = 0
    if isinstance(instruction, Work | Delay):
        ticks = instruction.ticks
    elif isinstance(instruction, Flow):
        ticks = instruction.latency_ticks
        since = [tick for tick, _ in instruction.latency_changes]
        times = [n for change in instruction.latency_changes for n in change]
        if since != sorted(set(since)) or not all(0 <= n <= MAX_TICKS for n in times):
            yield f"{program.name} has a latency that changes at {since}"
        if math.isnan(instruction.n_bytes) or instruction.n_bytes < 0.0:
            yield f"{program.name} sends {instruction.n_bytes} bytes"
    if not 0 <= ticks <= MAX_TICKS:
        yield f"{program.name} has a duration of {ticks} ticks"
    if any(not (use > 0.0 and math.isfinite(use)) for _, use in usage_of(instruction)):
        yield f"{program.name} uses a resource {min(use for _, use in usage_of(instruction))} times"
