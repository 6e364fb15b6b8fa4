"""What an executor may take for granted of a plan, whoever made it."""

import math
from collections.abc import Iterator

from hetsim.errors import SimulationError
from hetsim.model.instructions import Ask, Choose, Collect, Delay, Every, Flow, Instruction, Take, Wait, Work, usage_of
from hetsim.model.plan import Plan, Program
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
    problems = [*_problems_of_jobs(plan), *_problems_of_instructions(plan), *_problems_of_counters(plan)]
    problems += [
        f"capacity change {index} is at tick {change.tick}"
        for index, change in enumerate(plan.changes)
        if not 0 <= change.tick <= MAX_TICKS
    ]
    if problems:
        raise SimulationError("this plan cannot be run: " + "; ".join(problems), 0.0)


def _problems_of_jobs(plan: Plan) -> Iterator[str]:
    has_asks = any(isinstance(entry, Ask) for program in plan.programs for entry in program.body)
    steps = {(program.job, program.rank): program.n_iterations for program in plan.programs if program.rank >= 0}
    for job, name in enumerate(plan.jobs):
        if not any(owner == job for owner, _ in steps):
            yield f"job {name} has no ranks"
    for program in plan.programs:
        if program.n_iterations < 1:
            yield f"{program.name} has {program.n_iterations} iterations"
        yield from _problems_of_jumps(program)
        deciders = {entry.decider for entry in program.body if isinstance(entry, Ask)}
        if len(deciders) > 1:
            yield f"{program.name} asks several deciders"
        if program.is_clock and (program.rank >= 0 or (program.is_background and not has_asks)):
            yield f"{program.name} is a clock, and a rank or in the background"
        if program.rank >= 0 and program.is_background and not program.take:
            yield f"{program.name} is a rank in the background, and takes no tokens"
        for rank in program.members:
            if program.n_iterations > steps.get((program.job, rank), 0):
                yield f"{program.name} is a collective of rank {rank}, which has fewer iterations"


def _problems_of_jumps(program: Program) -> Iterator[str]:
    """Yield what is wrong with how a program goes on."""
    take = program.take
    if take and program.n_iterations != take.n_tokens:
        yield f"{program.name} has {program.n_iterations} iterations, and {take.n_tokens} tokens"
    ends = [len(program.body) - 1]
    for position, instruction in enumerate(program.body):
        if not _is_plain(program, position, instruction):
            yield f"{program.name} cannot do at instruction {position}: {instruction}"
        n_passed = _n_passed(instruction)
        if n_passed:
            while len(ends) > 1 and ends[-1] < position:
                ends.pop()
            if position + n_passed > ends[-1]:
                yield f"{program.name} passes over more instructions than there are at {position}"
            ends.append(position + n_passed)


def _n_passed(instruction: Instruction) -> int:
    """Return over how many instructions one may pass."""
    if isinstance(instruction, Every):
        return instruction.n_instructions
    if isinstance(instruction, Ask):
        return instruction.n_instructions
    return len(instruction.shares) if isinstance(instruction, Choose) else 0


def _is_plain(program: Program, position: int, instruction: Instruction) -> bool:
    """Return whether what an instruction says of the way of its program makes sense."""
    match instruction:
        case Every():
            is_round = 0 <= instruction.phase < instruction.period and instruction.start >= 0
            return is_round and instruction.n_instructions > 0
        case Choose():
            chosen = program.body[position + 1 : position + 1 + len(instruction.shares)]
            return _are_shares(instruction.shares) and not any(isinstance(i, Every | Choose | Ask) for i in chosen)
        case Take():
            return position == 0 and instruction.n_each > 0 and instruction.n_first >= 0
        case Work():
            return 0.0 < instruction.success <= 1.0
        case Wait():
            return instruction.period >= 0 and instruction.start >= 0
    return True


def _are_shares(shares: tuple[float, ...]) -> bool:
    return len(shares) > 0 and min(shares) >= 0.0 and math.isclose(sum(shares), 1.0, rel_tol=1e-9)


def _problems_of_counters(plan: Plan) -> Iterator[str]:
    """Yield what is wrong with what programs share."""
    users: dict[int, list[Collect | Take]] = {}
    jobs: dict[Take, set[int]] = {}
    for program in plan.programs:
        for instruction in program.body:
            if isinstance(instruction, Collect | Take):
                users.setdefault(instruction.counter, []).append(instruction)
            if isinstance(instruction, Take):
                jobs.setdefault(instruction, set()).add(program.job)
            if isinstance(instruction, Collect) and instruction.n_gradients < 1:
                yield f"{program.name} collects {instruction.n_gradients} gradients"
    waited = {i.counter for program in plan.programs for i in program.body if isinstance(i, Wait)}
    for counter, instructions in users.items():
        kinds = set(instructions)
        is_alone = len(instructions) == 1 or (len(kinds) == 1 and isinstance(instructions[0], Take))
        if not is_alone or counter in waited:
            yield f"counter {plan.counters[counter]!r} is for several things: {kinds}"
    for take, owners in jobs.items():
        if len(owners) > 1:
            yield f"several jobs take tokens of {plan.counters[take.counter]!r}"


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
