"""Interpret the programs of a plan: the same batches of each tick as the SimPy engine, compiled.

What happens at one tick is settled in this order, that of `hetsim.engine.settle`: programs run until each waits; then
capacity changes, ends of activities and of latencies, pushes, grants, starts, and again from the ends on while anything
of zero time is left; programs that were woken run and lead to another settlement; else the components that changed are
solved again and time moves on.

What can have no influence on the order of a tick is not queued for it: latencies, and activities on resources that
serve all at once, begin where their program asks for them.
"""

import numpy as np

from hetsim.kernels import fluid
from hetsim.kernels.draws import attempts, fill_pairs, spread, uniform
from hetsim.kernels.jit import inlined, jit, part
from hetsim.kernels.memory import (
    BASE,
    BLOCK,
    BUSY_SINCE,
    BUSY_STEP,
    CHANGE,
    CHOOSE,
    COMMUNICATION,
    COMPUTE,
    COMPUTE_END,
    COUNTER,
    CV,
    DEADLOCK,
    DELAY,
    DONE,
    DRAWN,
    ENTRY,
    EVERY,
    FIRST,
    FIRST_CHANGE,
    FIRST_DROPPED,
    FIRST_SENDER,
    FIRST_WAITER,
    FLOW,
    FREE_ENTRY,
    FULL,
    HOME,
    IS_AWAITED,
    IS_TOUCHED,
    ITERATION_BITS,
    ITERATION_MASK,
    ITERATION_NOW,
    KIND,
    LAST,
    LAST_CHANGE,
    LAST_ENTRY,
    LAST_N_EVENTS,
    LAST_N_ITERATIONS,
    LAST_SENDER,
    LAST_SIGNAL,
    LAST_TICK,
    LATENCY,
    LATEST,
    MAY_REPEAT,
    N_ACTIVE,
    N_ASKED,
    N_AWAITED,
    N_BATCHES,
    N_BYTES,
    N_CHANGES,
    N_COUNTERS,
    N_DONE,
    N_DRAWN,
    N_DROPPED,
    N_ENDED,
    N_EVENTS,
    N_GUARDED,
    N_ITERATIONS,
    N_PROGRAMS,
    N_PUSHES,
    N_RECORDED,
    N_REQUESTS,
    N_ROOM,
    N_RUNNABLE,
    N_SKIPPED,
    N_TIMERS,
    N_TOUCHED,
    N_TRANSFERS,
    NEXT,
    NEXT_WAITER,
    NONE,
    OP,
    ORDER,
    OUTCOME,
    PATIENCE,
    POSITION,
    PROGRAM,
    PUSH,
    QUEUE_FIRST,
    REQUESTED,
    ROW_OF_DRAWS,
    SERVED,
    SHARED,
    SHIFT,
    STEP_END,
    STREAM,
    STRIDE,
    STUCK,
    SUCCESS,
    SUCCESS_STREAM,
    THRESHOLD,
    TICK,
    TICKS,
    TOO_LONG,
    TRACE_FIRST,
    VALUE,
    VERSION,
    WAIT,
    WAIT_FOR_ROUND,
    WORK,
    Code,
    FloatArray,
    IntArray,
    Run,
    Scratch,
    begun,
    most_written,
    sizes,
)
from hetsim.kernels.normal import exp, fill_normal_quantiles
from hetsim.kernels.pointers import advanced
from hetsim.kernels.state import END_OF_TIME, NEVER, State
from hetsim.kernels.steady import shift_of
from hetsim.kernels.turns import ask, chosen, holds, rounds_before, serve, serve_asked, wake


@inlined
def _hold(run: Run, order: int, tick: int) -> None:
    """Let something happen at a later tick; what is for the tick of the timer before is kept with it."""
    counts, entry = run.counts, run.entry
    new = counts[FREE_ENTRY]
    counts[FREE_ENTRY] = entry[2 * new + NEXT]
    entry[2 * new + ORDER] = order
    if tick == counts[LAST_TICK]:
        last = counts[LAST_ENTRY]
        entry[2 * new + NEXT] = entry[2 * last + NEXT]
        entry[2 * last + NEXT] = new
        return
    entry[2 * new + NEXT] = NONE
    counts[LAST_TICK], counts[LAST_ENTRY] = tick, new
    i = counts[N_TIMERS]
    counts[N_TIMERS] += 1
    timer = run.timer
    while i > 0:
        parent = (i - 1) >> 1
        if timer[2 * parent + TICK] <= tick:
            break
        timer[2 * i + TICK], timer[2 * i + ENTRY] = timer[2 * parent + TICK], timer[2 * parent + ENTRY]
        i = parent
    timer[2 * i + TICK], timer[2 * i + ENTRY] = tick, new


@inlined
def _pop_timer(run: Run) -> int:
    """Take out the first timer and return its first entry."""
    counts, timer = run.counts, run.timer
    first = timer[ENTRY]
    counts[N_TIMERS] -= 1
    n = counts[N_TIMERS]
    tick, entry = timer[2 * n + TICK], timer[2 * n + ENTRY]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and timer[2 * child + 2 + TICK] < timer[2 * child + TICK]:
            child += 1
        if timer[2 * child + TICK] >= tick:
            break
        timer[2 * i + TICK], timer[2 * i + ENTRY] = timer[2 * child + TICK], timer[2 * child + ENTRY]
        i = child
    timer[2 * i + TICK], timer[2 * i + ENTRY] = tick, entry
    return int(first)


@inlined
def _shift(run: Run, program: int) -> int:
    """Return how far the steps of a program lie from where its trace begins, beyond its iterations."""
    return int(run.own[2 * program + SHIFT]) if run.n_shared > 0 else 0


@inlined
def _push(run: Run, program: int, counter: int) -> None:
    if run.n_shared > 0 and run.own[2 * program + VERSION] < run.counter[4 * counter + LATEST]:
        run.counter[4 * counter + N_DROPPED] += 1
        return
    run.pushes[run.counts[N_PUSHES]] = counter
    run.counts[N_PUSHES] += 1


@inlined
def _request(run: Run, order: int) -> None:
    """Leave a request for the next grant: work on a device that serves one at a time, or something of no amount."""
    run.requests[run.counts[N_REQUESTS]] = order
    run.counts[N_REQUESTS] += 1


@inlined
def _arrive(run: Run, instruction: int, now: int) -> None:
    """End a flow: its sender's record, then its signals."""
    run.counts[N_ACTIVE] -= 1
    run.done[instruction] += 1
    row = advanced(run.code.instruction, 8 * instruction)
    bounds, sender = advanced(run.code.program, 8 * row[PROGRAM]), advanced(run.program, 8 * row[PROGRAM])
    sender[N_TRANSFERS] -= 1
    if sender[N_TRANSFERS] == 0:
        traces = advanced(run.traces, COMMUNICATION * run.n_recorded + sender[BUSY_STEP])
        for j in range(bounds[FIRST_SENDER], bounds[LAST_SENDER]):
            traces[run.code.sender[j]] += now - sender[BUSY_SINCE]
    for j in range(row[COUNTER], row[LAST_SIGNAL]):
        _push(run, row[PROGRAM], run.code.signal[j])


@inlined
def _start(run: Run, order: int, kind: int, amount: float, now: int) -> None:
    if fluid.has_room(run.fluid, kind):
        fluid.start(run.fluid, order, kind, amount, now)
    else:
        run.counts[OUTCOME] = FULL


@part
def _carry(run: Run, order: int, now: int) -> None:
    """Let the bytes of a flow move after its latency."""
    instruction = order >> ITERATION_BITS
    kind = run.code.instruction[8 * instruction + KIND]
    n_bytes = run.code.amount[2 * instruction + N_BYTES]
    if kind == NONE:
        _arrive(run, instruction, now)
    elif n_bytes > 0.0:
        _start(run, order, kind, n_bytes, now)
    else:
        _request(run, order)


@inlined
def _latency(run: Run, instruction: int, ticks: int, now: int) -> int:
    """Return the latency of a flow that starts now, the first one where it never changes."""
    work = advanced(run.code.work, 4 * instruction)
    first, last = work[FIRST_CHANGE], work[LAST_CHANGE]
    while first < last:
        middle = (first + last) // 2
        if run.code.latency[2 * middle + TICK] <= now:
            ticks, first = run.code.latency[2 * middle + LATENCY], middle + 1
        else:
            last = middle
    return ticks


@inlined
def _send(run: Run, program: int, order: int, ticks: int, now: int) -> None:
    sender = advanced(run.program, 8 * program)
    if sender[N_TRANSFERS] == 0:
        sender[BUSY_SINCE], sender[BUSY_STEP] = now, sender[ITERATION_NOW] + _shift(run, program)
    sender[N_TRANSFERS] += 1
    if ticks > 0:
        _later(run, order, ticks, now)
    else:
        _carry(run, order, now)


@inlined
def _later(run: Run, order: int, ticks: int, now: int) -> None:
    if ticks >= END_OF_TIME - now:
        run.counts[OUTCOME] = TOO_LONG
    else:
        _hold(run, order, now + ticks)


@inlined
def _work_ticks(run: Run, instruction: int, iteration: int) -> float:
    """Return ticks of work with its jitter, rounded up."""
    cv = run.code.amount[2 * instruction + CV]
    ticks = np.float64(run.code.instruction[8 * instruction + TICKS])
    if run.code.amount[2 * instruction + SUCCESS] < 1.0:
        ticks *= _n_attempts(run, instruction, iteration)
    if cv == 0.0:
        return float(ticks)
    drawn = advanced(run.drawn, ROW_OF_DRAWS * run.code.work[4 * instruction + DRAWN])
    place = iteration & (BLOCK - 1)
    if drawn[BLOCK] != iteration - place + 1:
        drawn[BLOCK] = iteration - place + 1
        _draw(run, instruction, iteration - place, cv, drawn)
    return float(np.ceil(ticks * drawn[place]))


@part
def _n_attempts(run: Run, instruction: int, iteration: int) -> float:
    stream = np.uint64(run.code.work[4 * instruction + SUCCESS_STREAM])
    return float(attempts(uniform(run.key, stream, iteration), run.code.amount[2 * instruction + SUCCESS]))


@part
def _draw(run: Run, instruction: int, iteration: int, cv: float, drawn: FloatArray) -> None:
    """Draw a block of factors; the iterations of a program come one after the other."""
    scratch, half = run.scratch, BLOCK // 2
    for i in range(half):
        scratch.blocks[i] = np.uint64((iteration >> 1) + i)
        scratch.streams[i] = np.uint64(run.code.work[4 * instruction + STREAM])
    fill_pairs(run.key, scratch.blocks, scratch.streams, scratch.uniform)
    sigma, drift = spread(cv)
    for odd in range(2):
        normal = scratch.normal[odd]
        fill_normal_quantiles(scratch.uniform[odd], normal)
        for i in range(half):
            normal[i] = exp(sigma * normal[i] + drift)
        for i in range(half):
            drawn[2 * i + odd] = normal[i]


@inlined
def _begin_work(run: Run, order: int, now: int) -> None:
    instruction = order >> ITERATION_BITS
    amount = _work_ticks(run, instruction, order & ITERATION_MASK)
    run.done[instruction] += np.int64(amount)
    if amount > 0.0:
        _start(run, order, run.code.instruction[8 * instruction + KIND], amount, now)
    else:
        run.at_once[run.counts[N_DONE]] = order
        run.counts[N_DONE] += 1


@inlined
def _occupy(run: Run, program: int, order: int, row: IntArray, now: int) -> None:
    """Begin work or a delay, which the program waits for, or request it."""
    if row[OP] == DELAY:
        if row[TICKS] > 0:
            _later(run, order, row[TICKS], now)
        else:
            _request(run, order)
        return
    run.program[8 * program + REQUESTED] = now
    if run.code.work[4 * (order >> ITERATION_BITS) + HOME] != NONE or row[TICKS] == 0:
        _request(run, order)
    else:
        _begin_work(run, order, now)


@inlined
def _may_pass(run: Run, program: int, row: IntArray, n_before: int) -> bool:
    """Return whether a wait with so many rounds before it is over; if not, note who waits."""
    counter, threshold = advanced(run.counter, 4 * row[COUNTER]), row[BASE] + row[STRIDE] * n_before
    if counter[VALUE] >= threshold:
        return True
    waiter = advanced(run.program, 8 * program)
    waiter[THRESHOLD], waiter[NEXT_WAITER] = threshold, counter[FIRST_WAITER]
    counter[FIRST_WAITER] = program
    return False


@inlined
def _is_full(run: Run, op: int) -> bool:
    """Return whether one more activity or push cannot be noted; then the run is given up."""
    counts = run.counts
    # A flow within one node and without latency pushes at once.
    full = counts[N_PUSHES] >= counts[N_ROOM]
    if op != PUSH:
        full = full or counts[N_ACTIVE] >= counts[N_ROOM]
        counts[N_ACTIVE] += 1
    if full:
        counts[OUTCOME] = FULL
    return bool(full)


@part
def _turn(run: Run, program: int, row: IntArray, position: int, iteration: int) -> tuple[bool, int]:
    """Return whether a program goes on, and with which instruction."""
    if row[OP] == WAIT_FOR_ROUND:
        return _may_pass(run, program, row, rounds_before(row, iteration)), position
    if row[OP] == EVERY:
        return True, position if holds(row, iteration) else position + row[N_GUARDED]
    if row[OP] == CHOOSE:
        return True, position + 2 * chosen(run, position - 1, iteration)
    ask(run, program, row[COUNTER])
    return False, position


@part
def _run_program(run: Run, program: int, now: int) -> None:
    """Go on with a program until it waits or ends."""
    bounds, state = advanced(run.code.program, 8 * program), advanced(run.program, 8 * program)
    position, iteration = state[POSITION], state[ITERATION_NOW]
    first, last, n_iterations, trace = bounds[FIRST], bounds[LAST], bounds[N_ITERATIONS], bounds[TRACE_FIRST]
    goes_on = True
    while goes_on:
        if iteration >= n_iterations:
            run.counts[N_ENDED] += bounds[IS_AWAITED]
            break
        if position == last:
            if trace != NONE:
                run.traces[STEP_END * run.n_recorded + trace + iteration + _shift(run, program)] = now
            iteration += 1
            state[ITERATION_NOW] = iteration
            position = first
            continue
        row = advanced(run.code.instruction, 8 * position)
        op = row[OP]
        order = position << ITERATION_BITS | iteration
        position += 1
        if op == WAIT:
            goes_on = _may_pass(run, program, row, iteration)
        elif op > DELAY:
            goes_on, position = _turn(run, program, row, position, iteration)
        elif _is_full(run, op):
            goes_on = False
        elif op == FLOW:
            _send(run, program, order, _latency(run, order >> ITERATION_BITS, row[TICKS], now), now)
        elif op == PUSH:
            _push(run, program, row[COUNTER])
        else:
            goes_on = False
            _occupy(run, program, order, row, now)
    state[POSITION] = position


@inlined
def _run_programs(run: Run, now: int) -> None:
    n = run.counts[N_RUNNABLE]
    run.counts[N_RUNNABLE] = 0
    for i in range(n):
        # A program that is woken in this loop is none: they wake only while a tick is settled.
        _run_program(run, run.runnable[i], now)


@inlined
def _end(run: Run, order: int, now: int) -> None:
    """End an activity, or a delay of no time."""
    instruction = order >> ITERATION_BITS
    row = advanced(run.code.instruction, 8 * instruction)
    run.counts[N_EVENTS] += 1
    if row[OP] == FLOW:
        _arrive(run, instruction, now)
        return
    run.counts[N_ACTIVE] -= 1
    program = row[PROGRAM]
    if row[OP] == WORK:
        home = run.code.work[4 * instruction + HOME]
        if home != NONE:
            run.queue[4 * home + SERVED] = 0
            _touch(run, home)
        trace = run.code.program[8 * program + TRACE_FIRST]
        if trace != NONE:
            index = trace + run.program[8 * program + ITERATION_NOW] + _shift(run, program)
            run.traces[COMPUTE * run.n_recorded + index] += now - run.program[8 * program + REQUESTED]
            run.traces[COMPUTE_END * run.n_recorded + index] = now
    wake(run, program)


@inlined
def _touch(run: Run, resource: int) -> None:
    queue = advanced(run.queue, 4 * resource)
    if queue[QUEUE_FIRST] != NONE and queue[IS_TOUCHED] == 0:
        queue[IS_TOUCHED] = 1
        run.touched[run.counts[N_TOUCHED]] = resource
        run.counts[N_TOUCHED] += 1


@part
def _complete(run: Run, now: int) -> None:
    """End what is due: what has no amount, activities in service, latencies and delays."""
    counts = run.counts
    n = counts[N_DONE]
    counts[N_DONE] = 0
    ident = fluid.pop_end(run.fluid, now)
    i = 0
    while i < n or ident != NONE:
        if i < n:
            order = run.at_once[i]
            i += 1
        else:
            order = ident
            ident = fluid.pop_end(run.fluid, now)
        _end(run, order, now)
    while counts[N_TIMERS] > 0 and run.timer[TICK] <= now:
        entry = _pop_timer(run)
        while entry != NONE:
            order, following = run.entry[2 * entry + ORDER], run.entry[2 * entry + NEXT]
            run.entry[2 * entry + NEXT] = counts[FREE_ENTRY]
            counts[FREE_ENTRY] = entry
            entry = following
            counts[N_EVENTS] += 1
            row = advanced(run.code.instruction, 8 * (order >> ITERATION_BITS))
            if row[OP] == FLOW:
                _carry(run, order, now)
            else:
                counts[N_ACTIVE] -= 1
                wake(run, row[PROGRAM])


@inlined
def _settle_pushes(run: Run) -> None:
    n = run.counts[N_PUSHES]
    run.counts[N_PUSHES] = 0
    run.counts[N_EVENTS] += n
    for i in range(n):
        run.counter[4 * run.pushes[i] + VALUE] += 1
    for i in range(n):
        if run.counter[4 * run.pushes[i] + FIRST_WAITER] != NONE:
            if run.n_shared > 0 and run.code.stride[run.pushes[i]] == SHARED:
                serve(run, run.pushes[i])
            else:
                _wake_waiters(run, advanced(run.counter, 4 * run.pushes[i]))
    if run.n_shared > 0:
        serve_asked(run)


@inlined
def _wake_waiters(run: Run, counter: IntArray) -> None:
    program, before = counter[FIRST_WAITER], NONE
    while program != NONE:
        following = run.program[8 * program + NEXT_WAITER]
        if run.program[8 * program + THRESHOLD] <= counter[VALUE]:
            if before == NONE:
                counter[FIRST_WAITER] = following
            else:
                run.program[8 * before + NEXT_WAITER] = following
            wake(run, program)
        else:
            before = program
        program = following


@inlined
def _enqueue(run: Run, resource: int, order: int) -> None:
    """Put work into the queue of a device: first come first served, and by order within a tick."""
    program = run.code.instruction[8 * (order >> ITERATION_BITS) + PROGRAM]
    requested = run.program[8 * program + REQUESTED]
    before, following = NONE, run.queue[4 * resource + QUEUE_FIRST]
    while following != NONE and (
        run.program[8 * following + REQUESTED] < requested
        or (run.program[8 * following + REQUESTED] == requested and following < program)
    ):
        before, following = following, run.queue_next[following]
    run.queue_next[program] = following
    if before == NONE:
        run.queue[4 * resource + QUEUE_FIRST] = program
    else:
        run.queue_next[before] = program
    _touch(run, resource)


@part
def _grant(run: Run, now: int) -> None:
    """Admit what was requested."""
    counts = run.counts
    n = counts[N_REQUESTS]
    counts[N_REQUESTS] = 0
    for i in range(n):
        order = run.requests[i]
        instruction = order >> ITERATION_BITS
        if run.code.instruction[8 * instruction + OP] == WORK and run.code.work[4 * instruction + HOME] != NONE:
            _enqueue(run, run.code.work[4 * instruction + HOME], order)
        else:
            run.at_once[counts[N_DONE]] = order
            counts[N_DONE] += 1
    n = counts[N_TOUCHED]
    counts[N_TOUCHED] = 0
    for i in range(n):
        queue = advanced(run.queue, 4 * run.touched[i])
        queue[IS_TOUCHED] = 0
        program = queue[QUEUE_FIRST]
        if queue[SERVED] == 0 and program != NONE:
            queue[SERVED] = 1
            queue[QUEUE_FIRST] = run.queue_next[program]
            position, iteration = run.program[8 * program + POSITION] - 1, run.program[8 * program + ITERATION_NOW]
            _begin_work(run, position << ITERATION_BITS | iteration, now)


@inlined
def _settle(run: Run, now: int) -> None:
    """Settle one batch of a tick."""
    counts, change = run.counts, run.code.change
    while counts[CHANGE] < run.code.size[N_CHANGES] and change[2 * counts[CHANGE]] <= now:
        i = counts[CHANGE]
        fluid.set_capacity(run.fluid, change[2 * i + 1], run.code.change_capacity[i])
        counts[CHANGE] += 1
    counts[N_BATCHES] += 1
    _complete(run, now)
    while counts[N_PUSHES] + counts[N_ASKED] + counts[N_REQUESTS] + counts[N_TOUCHED] > 0:
        _settle_pushes(run)
        if counts[N_REQUESTS] + counts[N_TOUCHED] > 0:
            _grant(run, now)
        if counts[N_DONE] > 0:
            _complete(run, now)


@inlined
def _next_tick(run: Run, now: int) -> int:
    """Solve again what changed, and return the tick of the next thing that happens."""
    counts, change = run.counts, run.code.change
    tick = fluid.resolve(run.fluid, now)
    if counts[N_TIMERS] > 0 and (tick == NEVER or run.timer[TICK] < tick):
        tick = run.timer[TICK]
    i = counts[CHANGE]
    if i < run.code.size[N_CHANGES] and (tick == NEVER or change[2 * i] < tick):
        tick = change[2 * i]
    return int(tick)


@part
def _is_stuck(run: Run) -> bool:
    """Return whether only what is in the background has gone on for long, as the outcome says then."""
    counts = run.counts
    if counts[N_EVENTS] - counts[LAST_N_EVENTS] <= run.code.size[PATIENCE]:
        return False
    n = 0
    for program in range(run.code.size[N_PROGRAMS]):
        n += run.code.program[8 * program + IS_AWAITED] * run.program[8 * program + ITERATION_NOW]
    n_before = counts[LAST_N_ITERATIONS]
    counts[LAST_N_EVENTS], counts[LAST_N_ITERATIONS] = counts[N_EVENTS], n + 1
    if n + 1 == n_before:
        counts[OUTCOME] = STUCK
    return bool(n + 1 == n_before)


@part
def _loop(
    code: Code,
    held: State,
    traces: IntArray,
    done: IntArray,
    key: np.uint64,
    whole: IntArray,
    scratch: Scratch,
    drawn: FloatArray,
    exact: FloatArray,
) -> int:
    """Run until all ended or nothing can happen any more, and return the tick."""
    run = begun(code, held, traces, done, key, whole, scratch, drawn, exact)
    counts = run.counts
    n_awaited = run.code.size[N_AWAITED]
    has_background = n_awaited < run.code.size[N_PROGRAMS]
    now = 0
    while True:
        _run_programs(run, now)
        if counts[OUTCOME] != DONE:
            break
        _settle(run, now)
        if counts[OUTCOME] != DONE:
            break
        if counts[N_RUNNABLE] > 0:
            continue
        # Flows that nobody waits for outlast the programs.
        if counts[N_ENDED] == n_awaited and (has_background or counts[N_ACTIVE] == 0):
            break
        tick = _next_tick(run, now)
        if has_background and _is_stuck(run):
            break
        if tick == NEVER:
            counts[OUTCOME] = DONE if counts[N_ENDED] == n_awaited else DEADLOCK
            break
        if tick == END_OF_TIME:
            counts[OUTCOME] = TOO_LONG
            break
        if run.code.size[MAY_REPEAT] == 1:
            tick += shift_of(run, now)
        now = tick
    return now


@jit
def run(
    code: Code, state: State, traces: IntArray, done: IntArray, key: np.uint64, n_room: int
) -> tuple[int, int, int, int]:
    """Run a plan to the end of all its programs and flows.

    Parameters
    ----------
    code : Code
        The plan.
    state : State
        Without activities, with `n_room` slots or more; not changed.
    traces : IntArray, shape (4 * n_recorded + n_notes,)
        Four rows of zeros, filled; then notes, filled with the gradients of each collection, who took each token, and
        the pushes that were dropped, by counter.
    done : IntArray, shape (n_instructions,)
        Zeros; filled with the flows that ended, and the ticks of work that began.
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
    n_skipped : int
        Iterations that repeat those before, and were written down without simulation.
    """
    n_written = most_written(code.size, n_room, state.ints)
    n = 0
    for size in sizes(code.size, n_room, n_written):
        n += size
    whole = np.zeros(n, dtype=np.int64)
    whole[0], whole[1] = n_room, n_written
    drawn = np.zeros(code.size[N_DRAWN] * ROW_OF_DRAWS)
    exact = np.zeros(2 * n_written)
    words, floats = np.empty((2, BLOCK // 2), dtype=np.uint64), np.empty((4, BLOCK // 2))
    scratch = Scratch(words[0], words[1], floats[:2], floats[2:])
    copied = State(state.ints.copy(), state.floats.copy())
    now = _loop(code, copied, traces, done, key, whole, scratch, drawn, exact)
    first = 4 * code.size[N_RECORDED] + code.size[FIRST_DROPPED]
    counters = sizes(code.size, n_room, n_written)
    begin = counters[0] + counters[1] + counters[2]
    for i in range(code.size[N_COUNTERS]):
        if whole[begin + 4 * i + LATEST] > 0:
            traces[first + i] = whole[begin + 4 * i + N_DROPPED]
    return whole[OUTCOME], now, whole[N_EVENTS], whole[N_SKIPPED]
