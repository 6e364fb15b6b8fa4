"""Interpret the programs of a plan: the same batches of each tick as the SimPy engine, compiled.

What happens at one tick is settled in this order, that of `hetsim.engine.settle`: programs run until each waits; then
capacity changes, ends of activities and of latencies, pushes, grants, starts, and again from the ends on while anything
of zero time is left; programs that were woken run and lead to another settlement; else the components that changed are
solved again and time moves on.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels import fluid
from hetsim.kernels.draws import lognormal
from hetsim.kernels.jit import jit, jit_without_allocation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

WORK, FLOW, PUSH, WAIT, DELAY = 0, 1, 2, 3, 4
ITERATION_BITS = 31

DONE, DEADLOCK, FULL, TOO_LONG = 0, 1, 2, 3
"""Outcomes: all programs ended; nothing can happen any more; more room is needed; the clock cannot count so far."""

_NONE = -1
_ITERATION = 2**ITERATION_BITS - 1
# Rows of `Code.ints`, by instruction: what to do; usage of an activity (-1: no resource); resource where it queues;
# counter pushed or waited for; duration of work, latency or delay; threshold of a wait; key of the draws of work.
OP, KIND, HOME, COUNTER, TICKS, BASE, STRIDE, STREAM = 0, 1, 2, 3, 4, 5, 6, 7
# Flow i raises SIGNALS[SIGNAL_FIRST[i]:SIGNAL_FIRST[i + 1]].
SIGNAL_FIRST, SIGNALS = 8, 9
# By program: its first instruction, its iterations, where its trace begins (-1: none is kept).
PROGRAM_FIRST, N_ITERATIONS, TRACE_FIRST = 10, 11, 12
# By resource: whether it serves one activity at a time. By change of capacity, in order of time: when, and of what.
IS_EXCLUSIVE, CHANGE_TICK, CHANGE_RESOURCE, HEADER = 13, 14, 15, 16
N_CODE_ROWS = 17
N_PROGRAMS, N_RESOURCES, N_COUNTERS, N_CHANGES, MOST_SIGNALS = 0, 1, 2, 3, 4

# Rows of `Code.floats`: bytes of flows and jitter of work by instruction, and the capacity after each change.
N_BYTES, CV, CHANGE_CAPACITY = 0, 1, 2

# Rows of a trace, as in `hetsim.model.result.Trace`.
STEP_END, COMPUTE_END, COMPUTE, COMMUNICATION = 0, 1, 2, 3

# Rows of what changes, by program.
POSITION, ITERATION, THRESHOLD, REQUESTED, NEXT_WAITER, QUEUE_NEXT = 0, 1, 2, 3, 4, 5
N_TRANSFERS, BUSY_SINCE, BUSY_STEP, RUNNABLE = 6, 7, 8, 9
# By counter; by resource; by instruction.
FIRST_WAITER, VALUE, QUEUE_FIRST, SERVED, TOUCHED, IS_TOUCHED, PROGRAM_OF = 10, 11, 12, 13, 14, 15, 16
# Lists: heap of timers, requests and what they ask for, pushes, activities of no amount, free slots after their number.
TIMER_TICK, TIMER_ORDER, REQUESTS, IS_THROUGH, PUSHES, DONE_AT_ONCE, FREE, COUNTS = 17, 18, 19, 20, 21, 22, 23, 24
_N_RUN_ROWS = 25
_N_TIMERS, _N_REQUESTS, _N_PUSHES, _N_RUNNABLE, _N_DONE, _N_EVENTS, _N_TOUCHED, _N_ENDED = 0, 1, 2, 3, 4, 5, 6, 7
_CHANGE, _N_ACTIVE, _OUTCOME, _N_ROOM = 8, 9, 10, 11


class Code(NamedTuple):
    """A plan as two tables; instructions of all programs stand one after the other.

    Parameters
    ----------
    ints : IntArray, shape (17, size)
        Rows named above.
    floats : FloatArray, shape (3, size)
        Rows named above.
    """

    ints: IntArray
    floats: FloatArray


@jit_without_allocation
def _sift_timer_up(run: IntArray, i: int) -> None:
    tick, order = run[TIMER_TICK, i], run[TIMER_ORDER, i]
    while i > 0:
        parent = (i - 1) // 2
        above, other = run[TIMER_TICK, parent], run[TIMER_ORDER, parent]
        if above < tick or (above == tick and other <= order):
            break
        run[TIMER_TICK, i], run[TIMER_ORDER, i] = above, other
        i = parent
    run[TIMER_TICK, i], run[TIMER_ORDER, i] = tick, order


@jit_without_allocation
def _pop_timer(run: IntArray) -> int:
    """Take out the first timer and return its order."""
    first = run[TIMER_ORDER, 0]
    run[COUNTS, _N_TIMERS] -= 1
    n = run[COUNTS, _N_TIMERS]
    tick, order = run[TIMER_TICK, n], run[TIMER_ORDER, n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n:
            a, b = run[TIMER_TICK, child], run[TIMER_TICK, child + 1]
            if b < a or (b == a and run[TIMER_ORDER, child + 1] < run[TIMER_ORDER, child]):
                child += 1
        below, other = run[TIMER_TICK, child], run[TIMER_ORDER, child]
        if below > tick or (below == tick and other >= order):
            break
        run[TIMER_TICK, i], run[TIMER_ORDER, i] = below, other
        i = child
    run[TIMER_TICK, i], run[TIMER_ORDER, i] = tick, order
    return int(first)


@jit_without_allocation
def _ask(run: IntArray, order: int, is_through: int) -> None:
    """Leave a request for the next grant: a latency to begin (0) or an activity to admit (1)."""
    n = run[COUNTS, _N_REQUESTS]
    run[REQUESTS, n], run[IS_THROUGH, n] = order, is_through
    run[COUNTS, _N_REQUESTS] += 1


@jit_without_allocation
def _push(run: IntArray, counter: int) -> None:
    run[PUSHES, run[COUNTS, _N_PUSHES]] = counter
    run[COUNTS, _N_PUSHES] += 1


@jit_without_allocation
def _wake(run: IntArray, program: int) -> None:
    run[RUNNABLE, run[COUNTS, _N_RUNNABLE]] = program
    run[COUNTS, _N_RUNNABLE] += 1


@jit_without_allocation
def _begin_transfer(run: IntArray, program: int, now: int) -> None:
    if run[N_TRANSFERS, program] == 0:
        run[BUSY_SINCE, program], run[BUSY_STEP, program] = now, run[ITERATION, program]
    run[N_TRANSFERS, program] += 1


@jit_without_allocation
def _arrive(code: Code, run: IntArray, traces: IntArray, instruction: int, now: int) -> None:
    """End a flow: its sender's record, then its signals."""
    run[COUNTS, _N_ACTIVE] -= 1
    program = run[PROGRAM_OF, instruction]
    if code.ints[TRACE_FIRST, program] != _NONE:
        run[N_TRANSFERS, program] -= 1
        if run[N_TRANSFERS, program] == 0:
            index = code.ints[TRACE_FIRST, program] + run[BUSY_STEP, program]
            traces[COMMUNICATION, index] += now - run[BUSY_SINCE, program]
    for j in range(code.ints[SIGNAL_FIRST, instruction], code.ints[SIGNAL_FIRST, instruction + 1]):
        _push(run, code.ints[SIGNALS, j])


@jit_without_allocation
def _carry(code: Code, run: IntArray, traces: IntArray, order: int, now: int) -> None:
    """Let the bytes of a flow move after its latency."""
    instruction = order >> ITERATION_BITS
    if code.ints[KIND, instruction] == _NONE:
        _arrive(code, run, traces, instruction, now)
    else:
        _ask(run, order, 1)


@jit_without_allocation
def _send(code: Code, run: IntArray, traces: IntArray, program: int, order: int, now: int) -> None:
    instruction = order >> ITERATION_BITS
    if code.ints[TRACE_FIRST, program] != _NONE:
        _begin_transfer(run, program, now)
    if code.ints[TICKS, instruction] > 0:
        _ask(run, order, 0)
    else:
        _carry(code, run, traces, order, now)


@jit_without_allocation
def _has_room(run: IntArray, op: int) -> bool:
    """Return whether one more activity or push can be noted; if not, the run is given up."""
    n_room = run[COUNTS, _N_ROOM]
    # A flow within one node and without latency pushes at once.
    full = run[COUNTS, _N_PUSHES] >= n_room
    if op != PUSH:
        full = full or run[COUNTS, _N_ACTIVE] >= n_room
        run[COUNTS, _N_ACTIVE] += 1
    if full:
        run[COUNTS, _OUTCOME] = FULL
    return not full


@jit_without_allocation
def _may_pass(code: Code, run: IntArray, program: int, instruction: int) -> bool:
    """Return whether a wait is over; if not, note who waits."""
    counter = code.ints[COUNTER, instruction]
    threshold = code.ints[BASE, instruction] + code.ints[STRIDE, instruction] * run[ITERATION, program]
    if run[VALUE, counter] >= threshold:
        return True
    run[THRESHOLD, program] = threshold
    run[NEXT_WAITER, program] = run[FIRST_WAITER, counter]
    run[FIRST_WAITER, counter] = program
    return False


@jit_without_allocation
def _step(code: Code, run: IntArray, traces: IntArray, program: int, now: int) -> bool:
    """Do one instruction, and return whether the program goes on at once."""
    instruction = run[POSITION, program]
    order = instruction << ITERATION_BITS | run[ITERATION, program]
    op = code.ints[OP, instruction]
    run[POSITION, program] += 1
    if op == WAIT:
        return _may_pass(code, run, program, instruction)
    if not _has_room(run, op):
        return False
    if op == FLOW:
        _send(code, run, traces, program, order, now)
        return True
    if op == PUSH:
        _push(run, code.ints[COUNTER, instruction])
        return True
    run[REQUESTED, program] = now
    _ask(run, order, 1 if op == WORK else 0)
    return False


@jit_without_allocation
def _run_program(code: Code, run: IntArray, traces: IntArray, program: int, now: int) -> None:
    """Go on with a program until it waits or ends."""
    while run[ITERATION, program] < code.ints[N_ITERATIONS, program]:
        if run[POSITION, program] == code.ints[PROGRAM_FIRST, program + 1]:
            if code.ints[TRACE_FIRST, program] != _NONE:
                traces[STEP_END, code.ints[TRACE_FIRST, program] + run[ITERATION, program]] = now
            run[ITERATION, program] += 1
            run[POSITION, program] = code.ints[PROGRAM_FIRST, program]
        elif not _step(code, run, traces, program, now):
            return
    run[COUNTS, _N_ENDED] += 1


@jit_without_allocation
def _run_programs(code: Code, run: IntArray, traces: IntArray, now: int) -> None:
    n = run[COUNTS, _N_RUNNABLE]
    run[COUNTS, _N_RUNNABLE] = 0
    for i in range(n):
        _run_program(code, run, traces, run[RUNNABLE, i], now)


@jit_without_allocation
def _end_activity(code: Code, run: IntArray, traces: IntArray, order: int, now: int) -> None:
    instruction = order >> ITERATION_BITS
    home = code.ints[HOME, instruction]
    run[COUNTS, _N_EVENTS] += 1
    if code.ints[IS_EXCLUSIVE, home]:
        run[SERVED, home] = 0
        _touch(run, home)
    if code.ints[OP, instruction] == FLOW:
        _arrive(code, run, traces, instruction, now)
        return
    run[COUNTS, _N_ACTIVE] -= 1
    program = run[PROGRAM_OF, instruction]
    if code.ints[TRACE_FIRST, program] != _NONE:
        index = code.ints[TRACE_FIRST, program] + run[ITERATION, program]
        traces[COMPUTE, index] += now - run[REQUESTED, program]
        traces[COMPUTE_END, index] = now
    _wake(run, program)


@jit_without_allocation
def _touch(run: IntArray, resource: int) -> None:
    if run[QUEUE_FIRST, resource] != _NONE and not run[IS_TOUCHED, resource]:
        run[IS_TOUCHED, resource] = 1
        run[TOUCHED, run[COUNTS, _N_TOUCHED]] = resource
        run[COUNTS, _N_TOUCHED] += 1


@jit_without_allocation
def _complete(code: Code, run: IntArray, state: fluid.State, traces: IntArray, now: int) -> None:
    """End what is due: activities of no amount, activities in service, latencies and delays."""
    n = run[COUNTS, _N_DONE]
    run[COUNTS, _N_DONE] = 0
    for i in range(n):
        _end_activity(code, run, traces, run[DONE_AT_ONCE, i], now)
    slot = fluid.pop_end(state, now)
    while slot != _NONE:
        run[FREE, 0] += 1
        run[FREE, run[FREE, 0]] = slot
        _end_activity(code, run, traces, state.ints[fluid.IDENT, slot], now)
        slot = fluid.pop_end(state, now)
    while run[COUNTS, _N_TIMERS] > 0 and run[TIMER_TICK, 0] <= now:
        order = _pop_timer(run)
        run[COUNTS, _N_EVENTS] += 1
        if code.ints[OP, order >> ITERATION_BITS] == FLOW:
            _carry(code, run, traces, order, now)
        else:
            run[COUNTS, _N_ACTIVE] -= 1
            _wake(run, run[PROGRAM_OF, order >> ITERATION_BITS])


@jit_without_allocation
def _settle_pushes(run: IntArray) -> None:
    n = run[COUNTS, _N_PUSHES]
    run[COUNTS, _N_PUSHES] = 0
    run[COUNTS, _N_EVENTS] += n
    for i in range(n):
        run[VALUE, run[PUSHES, i]] += 1
    for i in range(n):
        counter = run[PUSHES, i]
        program, before = run[FIRST_WAITER, counter], _NONE
        while program != _NONE:
            following = run[NEXT_WAITER, program]
            if run[THRESHOLD, program] <= run[VALUE, counter]:
                if before == _NONE:
                    run[FIRST_WAITER, counter] = following
                else:
                    run[NEXT_WAITER, before] = following
                _wake(run, program)
            else:
                before = program
            program = following


@jit_without_allocation
def _enqueue(code: Code, run: IntArray, resource: int, order: int) -> None:
    """Put work into the queue of a device: first come first served, and by order within a tick."""
    program = run[PROGRAM_OF, order >> ITERATION_BITS]
    before, following = _NONE, run[QUEUE_FIRST, resource]
    while following != _NONE and (
        run[REQUESTED, following] < run[REQUESTED, program]
        or (run[REQUESTED, following] == run[REQUESTED, program] and following < program)
    ):
        before, following = following, run[QUEUE_NEXT, following]
    run[QUEUE_NEXT, program] = following
    if before == _NONE:
        run[QUEUE_FIRST, resource] = program
    else:
        run[QUEUE_NEXT, before] = program
    _touch(run, resource)


@jit_without_allocation
def _admit(code: Code, run: IntArray, state: fluid.State, order: int, amount: float, now: int) -> None:
    if amount > 0.0 and not fluid.has_room(state, code.ints[KIND, order >> ITERATION_BITS]):
        run[COUNTS, _OUTCOME] = FULL
    elif amount > 0.0:
        slot = run[FREE, run[FREE, 0]]
        run[FREE, 0] -= 1
        fluid.start(state, slot, order, code.ints[KIND, order >> ITERATION_BITS], amount, now)
    else:
        run[DONE_AT_ONCE, run[COUNTS, _N_DONE]] = order
        run[COUNTS, _N_DONE] += 1


@jit_without_allocation
def _amount(code: Code, order: int, key: np.uint64) -> float:
    """Return bytes of a flow, or ticks of work with its jitter."""
    instruction = order >> ITERATION_BITS
    if code.ints[OP, instruction] == FLOW:
        return float(code.floats[N_BYTES, instruction])
    ticks = float(code.ints[TICKS, instruction])
    if code.floats[CV, instruction] > 0.0:
        ticks = ticks * lognormal(
            key, np.uint64(code.ints[STREAM, instruction]), order & _ITERATION, code.floats[CV, instruction]
        )
    return float(math.ceil(ticks))


@jit_without_allocation
def _begin_latency(code: Code, run: IntArray, order: int, now: int) -> None:
    ticks = code.ints[TICKS, order >> ITERATION_BITS]
    if ticks >= fluid.END_OF_TIME - now:
        run[COUNTS, _OUTCOME] = TOO_LONG
        ticks = 0
    last = run[COUNTS, _N_TIMERS]
    run[TIMER_TICK, last], run[TIMER_ORDER, last] = now + ticks, order
    run[COUNTS, _N_TIMERS] += 1
    _sift_timer_up(run, last)


@jit_without_allocation
def _grant(code: Code, run: IntArray, state: fluid.State, key: np.uint64, now: int) -> None:
    """Begin latencies and admit activities."""
    n = run[COUNTS, _N_REQUESTS]
    run[COUNTS, _N_REQUESTS] = 0
    for i in range(n):
        order = run[REQUESTS, i]
        instruction = order >> ITERATION_BITS
        if not run[IS_THROUGH, i]:
            _begin_latency(code, run, order, now)
        elif code.ints[IS_EXCLUSIVE, code.ints[HOME, instruction]]:
            _enqueue(code, run, code.ints[HOME, instruction], order)
        else:
            _admit(code, run, state, order, _amount(code, order, key), now)
    n = run[COUNTS, _N_TOUCHED]
    run[COUNTS, _N_TOUCHED] = 0
    for i in range(n):
        resource = run[TOUCHED, i]
        run[IS_TOUCHED, resource] = 0
        program = run[QUEUE_FIRST, resource]
        if run[SERVED, resource] == 0 and program != _NONE:
            run[SERVED, resource] = 1
            run[QUEUE_FIRST, resource] = run[QUEUE_NEXT, program]
            order = (run[POSITION, program] - 1) << ITERATION_BITS | run[ITERATION, program]
            _admit(code, run, state, order, _amount(code, order, key), now)


@jit_without_allocation
def _settle(code: Code, run: IntArray, state: fluid.State, traces: IntArray, key: np.uint64, now: int) -> None:
    """Settle one batch of a tick."""
    while run[COUNTS, _CHANGE] < code.ints[HEADER, N_CHANGES] and code.ints[CHANGE_TICK, run[COUNTS, _CHANGE]] <= now:
        change = run[COUNTS, _CHANGE]
        fluid.set_capacity(state, code.ints[CHANGE_RESOURCE, change], code.floats[CHANGE_CAPACITY, change])
        run[COUNTS, _CHANGE] += 1
    _complete(code, run, state, traces, now)
    while run[COUNTS, _N_PUSHES] + run[COUNTS, _N_REQUESTS] + run[COUNTS, _N_TOUCHED] > 0:
        _settle_pushes(run)
        _grant(code, run, state, key, now)
        _complete(code, run, state, traces, now)


@jit_without_allocation
def _next_tick(code: Code, run: IntArray, state: fluid.State, now: int) -> int:
    """Solve again what changed, and return the tick of the next thing that happens."""
    tick = fluid.resolve(state, now)
    if run[COUNTS, _N_TIMERS] > 0 and (tick == fluid.NEVER or run[TIMER_TICK, 0] < tick):
        tick = run[TIMER_TICK, 0]
    change = run[COUNTS, _CHANGE]
    if change < code.ints[HEADER, N_CHANGES] and (tick == fluid.NEVER or code.ints[CHANGE_TICK, change] < tick):
        tick = code.ints[CHANGE_TICK, change]
    return int(tick)


@jit
def _new_run(code: Code, n_room: int) -> IntArray:
    """Allocate everything that changes."""
    header = code.ints[HEADER]
    n_programs, n_resources, n_counters = header[N_PROGRAMS], header[N_RESOURCES], header[N_COUNTERS]
    n_pushes = (n_room + 1) * (header[MOST_SIGNALS] + 2)
    n_instructions = code.ints[PROGRAM_FIRST, n_programs]
    run = np.zeros(
        (_N_RUN_ROWS, max(n_programs + 1, n_resources, n_counters, n_pushes, n_instructions)), dtype=np.int64
    )
    run[POSITION, :n_programs] = code.ints[PROGRAM_FIRST, :n_programs]
    for program in range(n_programs):
        run[PROGRAM_OF, code.ints[PROGRAM_FIRST, program] : code.ints[PROGRAM_FIRST, program + 1]] = program
        run[RUNNABLE, program] = program
    run[NEXT_WAITER] = _NONE
    run[FIRST_WAITER] = _NONE
    run[QUEUE_NEXT] = _NONE
    run[QUEUE_FIRST] = _NONE
    run[FREE, 0] = n_room
    for i in range(n_room):
        run[FREE, i + 1] = n_room - 1 - i
    run[COUNTS, _N_ROOM] = n_room
    return run


@jit
def run(code: Code, state: fluid.State, traces: IntArray, key: np.uint64, n_room: int) -> tuple[int, int, int]:
    """Run a plan to the end of all its programs and flows.

    Parameters
    ----------
    code : Code
        The plan.
    state : fluid.State
        Without activities, with `n_room` slots or more; changed.
    traces : IntArray, shape (4, n)
        Zeros; filled.
    key : uint64
        Of seed and replication.
    n_room : int
        Activities under way at most.

    Returns
    -------
    outcome : int
        `DONE`, `DEADLOCK`, `FULL` (try again with more room) or `TOO_LONG`.
    now : int
        Tick of the last settlement.
    n_events : int
        Activities, latencies and pushes that ended.
    """
    that = _new_run(code, n_room)
    n_programs = code.ints[HEADER, N_PROGRAMS]
    that[COUNTS, _N_RUNNABLE] = n_programs
    now = 0
    while True:
        _run_programs(code, that, traces, now)
        if that[COUNTS, _OUTCOME] != DONE:
            break
        _settle(code, that, state, traces, key, now)
        if that[COUNTS, _OUTCOME] != DONE:
            break
        if that[COUNTS, _N_RUNNABLE] > 0:
            continue
        # Flows that nobody waits for outlast the programs.
        if that[COUNTS, _N_ENDED] == n_programs and that[COUNTS, _N_ACTIVE] == 0:
            break
        tick = _next_tick(code, that, state, now)
        if tick == fluid.NEVER:
            that[COUNTS, _OUTCOME] = DONE if that[COUNTS, _N_ENDED] == n_programs else DEADLOCK
            break
        if tick == fluid.END_OF_TIME:
            that[COUNTS, _OUTCOME] = TOO_LONG
            break
        now = tick
    return that[COUNTS, _OUTCOME], now, that[COUNTS, _N_EVENTS]
