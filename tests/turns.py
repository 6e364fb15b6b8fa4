"""Parts of random plans in which an iteration does not do all of its instructions, or depends on who comes first."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from hetsim.model.instructions import (
    MOST_ITERATIONS,
    Choose,
    Collect,
    Delay,
    Every,
    Flow,
    Instruction,
    Push,
    Take,
    Wait,
    Work,
)
from hetsim.model.plan import Program

MOST_STEPS = 4

Activity = Callable[[], Work | Delay]
"""Draws something that takes time and raises nothing."""

Transfer = Callable[[tuple[int, ...]], Flow]
"""Draws a transfer with these signals."""


def _inserted(draw: st.DrawFn, body: Sequence[Instruction], more: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Put instructions anywhere into a body."""
    at = draw(st.integers(0, len(body)))
    return (*body[:at], *more, *body[at:])


def with_choices(draw: st.DrawFn, programs: Sequence[Program], activity: Activity) -> list[Program]:
    """Let programs choose among activities, and do others once a round."""
    changed = []
    for program in programs:
        body = program.body
        if draw(st.booleans()):
            n = draw(st.integers(1, 3))
            shares = draw(st.sampled_from([(1.0, 0.0, 0.0), (0.25, 0.75), (0.5, 0.25, 0.25)]))
            body = _inserted(draw, body, [activity() for _ in range(n)])
            chosen = Choose(shares=shares, stream=draw(st.integers(0, 3)))
            every = _every(draw, len(shares) + 1)
            body = _inserted(draw, body, [every, chosen, *(activity() for _ in shares)])
        changed.append(replace(program, body=body))
    return changed


def _every(draw: st.DrawFn, n: int) -> Every:
    period = draw(st.integers(1, 3))
    return Every(
        n_instructions=n,
        period=period,
        phase=draw(st.integers(0, period - 1)),
        start=draw(st.integers(0, 2)),
        end=draw(st.sampled_from([MOST_ITERATIONS, 0, 2, 3])),
    )


def with_meetings(draw: st.DrawFn, programs: Sequence[Program], counter: int) -> list[Program]:
    """Let programs wait for each other at the end of one iteration of each round, when each has risen a counter once.

    The waits come after all else of the iteration, so nobody waits for ever.
    """
    guard = _every(draw, 1)
    return [
        replace(
            program,
            body=(
                *(
                    (guard, Push(counter), *program.body)
                    if draw(st.booleans())
                    else (*program.body, guard, Push(counter))
                ),
                guard,
                Wait(counter=counter, base=len(programs), stride=len(programs), period=guard.period, start=guard.start),
            ),
        )
        for program in programs
    ]


def token_programs(
    draw: st.DrawFn, job: int, first_counter: int, activity: Activity, transfer: Transfer, *, is_sound: bool
) -> tuple[list[Program], int]:
    """Programs of a job that take tokens, and how many counters they need.

    Either all tokens are there from the start, or a clock puts some more whenever it has collected enough gradients.
    As many tokens of each version as gradients are needed let every collection come to its end.
    """
    n_takers = draw(st.integers(1, 4))
    tokens, accumulators = first_counter, range(first_counter + 1, first_counter + 1 + draw(st.integers(0, 2)))
    n_updates = draw(st.integers(1, MOST_STEPS))
    needed = draw(st.integers(1, 4))
    spare = draw(st.integers(0, 2)) - (0 if is_sound else draw(st.sampled_from([0, 0, 1])))
    n_each = max(needed + spare, 1)
    n_first = max(needed + draw(st.integers(0, 2)) + min(spare, 0), 0)
    if not accumulators:
        n_first = draw(st.integers(1, 8))
    n_tokens = n_first + n_each * n_updates if accumulators else n_first
    take = Take(counter=tokens, n_tokens=n_tokens, n_first=n_first, n_each=n_each)
    programs = []
    for rank in range(n_takers):
        arrived = first_counter + 1 + len(accumulators) + rank
        body: list[Instruction] = [take, activity()]
        sent = draw(st.booleans())
        for accumulator in accumulators:
            if sent:
                body.append(transfer((accumulator, arrived)))
            else:
                body += [Push(accumulator), activity()]
        if sent and accumulators:
            body.append(Wait(counter=arrived, base=len(accumulators), stride=len(accumulators)))
        programs.append(
            Program(
                name=f"job{job}/taker {rank}",
                job=job,
                rank=rank,
                body=tuple(body),
                n_iterations=n_tokens,
                is_background=bool(accumulators),
            )
        )
    if accumulators:
        drops = draw(st.booleans())
        collects = [Collect(counter=accumulator, n_gradients=needed, drops=drops) for accumulator in accumulators]
        puts = [Push(tokens)] * n_each
        clock = Program(
            name=f"job{job}/clock",
            job=job,
            rank=-1,
            body=(*collects, activity(), *puts),
            n_iterations=n_updates,
            is_clock=True,
        )
        programs.append(clock)
    return programs, 1 + len(accumulators) + n_takers
