"""What a program does once a round or by a draw, and what it shares with others: accumulators and tokens."""

import numpy as np

from hetsim.kernels.draws import uniform
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.memory import (
    COLLECT,
    DROPS,
    FIRST_BOUND,
    FIRST_NOTE,
    FIRST_WAITER,
    ITERATION_NOW,
    LATEST,
    N_ASKED,
    N_BATCHES,
    N_CHOICES,
    N_EACH,
    N_FIRST,
    N_ITERATIONS,
    N_NEEDED,
    N_PROGRAMS,
    N_RUNNABLE,
    N_TAKEN,
    N_TOKENS,
    NEXT_WAITER,
    NONE,
    OP,
    PERIOD,
    PHASE,
    POSITION,
    ROUNDS_END,
    SHIFT,
    START,
    STREAM,
    THRESHOLD,
    VALUE,
    VERSION,
    IntArray,
    Run,
)
from hetsim.kernels.pointers import advanced


@inlined
def wake(run: Run, program: int) -> None:
    """Let a program go on at this tick."""
    run.runnable[run.counts[N_RUNNABLE]] = program
    run.counts[N_RUNNABLE] += 1


@inlined
def rounds_before(row: IntArray, iteration: int) -> int:
    """As `hetsim.model.instructions.rounds_before`."""
    since = iteration - row[START]
    return int(iteration if since < 0 else row[START] + since // row[PERIOD])


@inlined
def holds(row: IntArray, iteration: int) -> bool:
    """As `hetsim.model.instructions.Every.holds`."""
    since = iteration - row[START]
    return bool(iteration < row[ROUNDS_END] and (since < 0 or since % row[PERIOD] == row[PHASE]))


@part
def chosen(run: Run, position: int, iteration: int) -> int:
    """Return which instruction is chosen, counted from zero."""
    row = advanced(run.code.instruction, 8 * position)
    drawn = uniform(run.key, np.uint64(run.code.work[4 * position + STREAM]), iteration)
    chosen = 0
    while chosen < row[N_CHOICES] - 1 and drawn >= run.code.bound[row[FIRST_BOUND] + chosen]:
        chosen += 1
    return int(chosen)


@inlined
def ask(run: Run, program: int, counter: int) -> None:
    """Want something of a counter that others want too, in the next settlement or later."""
    waiter, row = advanced(run.program, 8 * program), advanced(run.counter, 4 * counter)
    waiter[THRESHOLD], waiter[NEXT_WAITER] = run.counts[N_BATCHES], row[FIRST_WAITER]
    row[FIRST_WAITER] = program
    run.own[2 * run.code.size[N_PROGRAMS] + run.counts[N_ASKED]] = counter
    run.counts[N_ASKED] += 1


@part
def serve_asked(run: Run) -> None:
    """Serve those who asked since the last settlement, of any counter."""
    n = run.counts[N_ASKED]
    run.counts[N_ASKED] = 0
    for i in range(n):
        serve(run, run.own[2 * run.code.size[N_PROGRAMS] + i])


@part
def serve(run: Run, counter: int) -> None:
    """Give those who ask what there is for them, who asked first and by order within a batch first."""
    row = advanced(run.counter, 4 * counter)
    while row[FIRST_WAITER] != NONE:
        before, first, before_first = NONE, row[FIRST_WAITER], NONE
        program = first
        while program != NONE:
            since, first_since = run.program[8 * program + THRESHOLD], run.program[8 * first + THRESHOLD]
            if since < first_since or (since == first_since and program < first):
                first, before_first = program, before
            before, program = program, run.program[8 * program + NEXT_WAITER]
        if not _gets(run, first, row):
            return
        if before_first == NONE:
            row[FIRST_WAITER] = run.program[8 * first + NEXT_WAITER]
        else:
            run.program[8 * before_first + NEXT_WAITER] = run.program[8 * first + NEXT_WAITER]
        wake(run, first)


@inlined
def _gets(run: Run, program: int, counter: IntArray) -> bool:
    """Collect or take what a program asks for, if it is there; one for which no more tokens will come is at its end."""
    state, own = advanced(run.program, 8 * program), advanced(run.own, 2 * program)
    row = advanced(run.code.instruction, 8 * (state[POSITION] - 1))
    if row[OP] == COLLECT:
        if counter[VALUE] < row[N_NEEDED]:
            return False
        run.traces[4 * run.n_recorded + row[FIRST_NOTE] + state[ITERATION_NOW]] = counter[VALUE]
        counter[VALUE] = 0
        counter[LATEST] += row[DROPS]
        return True
    token = counter[N_TAKEN]
    if token >= row[N_TOKENS]:
        state[ITERATION_NOW] = run.code.program[8 * program + N_ITERATIONS]
        return True
    if token >= row[N_FIRST] + counter[VALUE]:
        return False
    counter[N_TAKEN] += 1
    own[VERSION] = 0 if token < row[N_FIRST] else 1 + (token - row[N_FIRST]) // row[N_EACH]
    own[SHIFT] = token - state[ITERATION_NOW]
    run.traces[4 * run.n_recorded + row[FIRST_NOTE] + token] = program
    return True
