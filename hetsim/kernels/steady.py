"""Exact steady state: where a run repeats itself to the bit, the steps that are left are written down, not simulated.

A run without draws and without changes of capacity to come is a function of its state. Whenever the first program has
ended an iteration, the state is written down relative to the tick and to that iteration. If it is the same twice, all
that follows is what came before, one iteration and one period later.
"""

import math

from hetsim.kernels import memory, state
from hetsim.kernels.jit import inlined, part
from hetsim.kernels.memory import IntArray, Run
from hetsim.kernels.pointers import advanced

_N_AFTER = 4
"""Iterations simulated after two states were equal: what is then two iterations old was recorded since, from its start
to its end."""


@inlined
def _sort(keys: IntArray, others: IntArray, step: int, n: int) -> None:
    """Sort pairs, one every `step` numbers, in place: Shell's method, Ciura's gaps (doi:10.1007/3-540-44669-9_12)."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, n):
            key, other = keys[step * i], others[step * i]
            j = i - gap
            while j >= 0 and (keys[step * j] > key or (keys[step * j] == key and others[step * j] > other)):
                keys[step * (j + gap)], others[step * (j + gap)] = keys[step * j], others[step * j]
                j -= gap
            keys[step * (j + gap)], others[step * (j + gap)] = key, other


@inlined
def _has_ended(run: Run, program: int) -> bool:
    last = run.code.program[8 * program + memory.N_ITERATIONS]
    return bool(run.program[8 * program + memory.ITERATION_NOW] >= last)


@inlined
def _write_programs(run: Run, out: IntArray, now: int, iteration: int) -> int:
    """Write down where each program is; one that has ended stays where it is."""
    n = 0
    for program in range(run.code.size[memory.N_PROGRAMS]):
        row = advanced(run.program, 8 * program)
        ended = _has_ended(run, program)
        out[n] = row[memory.POSITION]
        out[n + 1] = -1 if ended else row[memory.ITERATION_NOW] - iteration
        # The request counts while its work lasts, the instruction before the position.
        is_working = not ended and run.code.instruction[8 * (row[memory.POSITION] - 1) + memory.OP] == memory.WORK
        out[n + 2] = now - row[memory.REQUESTED] if is_working else -1
        out[n + 3] = row[memory.N_TRANSFERS]
        is_busy = row[memory.N_TRANSFERS] > 0
        out[n + 4] = now - row[memory.BUSY_SINCE] if is_busy else -1
        out[n + 5] = row[memory.BUSY_STEP] - iteration if is_busy else -1
        n += 6
    return n


@inlined
def _write_shared(run: Run, out: IntArray, now: int, iteration: int) -> int:
    """Write down counters, queues and timers."""
    n = 0
    for counter in range(run.code.size[memory.N_COUNTERS]):
        stride = run.code.stride[counter]
        out[n] = run.counter[4 * counter + memory.VALUE] - stride * iteration if stride >= 0 else -1
        n += 1
    for resource in range(run.code.size[memory.N_RESOURCES]):
        out[n] = run.queue[4 * resource + memory.SERVED]
        n += 1
        program = run.queue[4 * resource + memory.QUEUE_FIRST]
        while program != memory.NONE:
            out[n] = program
            n += 1
            program = run.queue_next[program]
    first = n
    for i in range(run.counts[memory.N_TIMERS]):
        entry = run.timer[2 * i + memory.ENTRY]
        while entry != memory.NONE:
            out[n] = run.timer[2 * i + memory.TICK] - now
            out[n + 1] = run.entry[2 * entry + memory.ORDER] - iteration
            n += 2
            entry = run.entry[2 * entry + memory.NEXT]
    # What comes first of one tick does not matter.
    _sort(advanced(out, first), advanced(out, first + 1), 2, (n - first) >> 1)
    return n


@inlined
def _sort_ties(idents: IntArray, tags: state.FloatArray, n: int) -> None:
    """Sort the idents of members of a pool that end together; the tags are in order."""
    first = 0
    for i in range(1, n + 1):
        if i == n or tags[i] != tags[first]:
            _sort(advanced(idents, first), advanced(idents, first), 1, i - first)
            first = i


@inlined
def _write_fluid(run: Run, out: IntArray, exact: state.FloatArray, now: int, iteration: int) -> tuple[int, int]:
    """Write down the activities in service: whole numbers, and others to the bit."""
    tables = run.fluid
    n, m = 0, 0
    for resource in range(tables.counts[state.N_RESOURCES]):
        row = advanced(tables.resource, 8 * resource)
        out[n] = row[state.N_USERS]
        n += 1
        if row[state.N_USERS] == 0:
            continue
        if row[state.ROOM] > 0:
            floats = advanced(tables.resource_floats, 8 * resource)
            out[n] = now - row[state.SERVED_SINCE]
            exact[m], exact[m + 1] = floats[state.SHARE], floats[state.SERVED]
            n, m = n + 1, m + 2
            first = row[state.START] + row[state.HEAD]
            for i in range(first, first + row[state.N_USERS]):
                out[n], exact[m] = tables.place[i] - iteration, tables.tag[i]
                n, m = n + 1, m + 1
            _sort_ties(
                advanced(out, n - row[state.N_USERS]), advanced(exact, m - row[state.N_USERS]), row[state.N_USERS]
            )
            continue
        node = row[state.HEAD]
        while node != state.NONE:
            slot = tables.node[4 * node + state.SLOT]
            held = advanced(tables.slot, 8 * slot)
            out[n] = held[state.IDENT] - iteration
            out[n + 1] = now - held[state.SINCE]
            exact[m] = tables.slot_floats[4 * slot + state.REMAINING]
            exact[m + 1] = tables.slot_floats[4 * slot + state.RATE]
            if tables.fresh[slot] < math.inf:
                exact[m + 1] *= -1.0  # it may be kept: another way to the next rates, which may differ in a last bit
            n, m = n + 2, m + 2
            node = tables.node[4 * node + state.AFTER]
    return n, m


@inlined
def _exchange(now: IntArray, before: IntArray, n: int) -> bool:
    """Return whether two lists are equal, and keep the first as the second."""
    same = True
    for i in range(n):
        same = same and now[i] == before[i]
        before[i] = now[i]
    return same


@part
def _is_the_same(run: Run, now: int, iteration: int) -> bool:
    """Write down the state, and return whether it is that of the iteration before."""
    n = _write_programs(run, run.written, now, iteration)
    n += _write_shared(run, advanced(run.written, n), now, iteration)
    more, m = _write_fluid(run, advanced(run.written, n), run.exact, now, iteration)
    n += more
    half = run.steady[memory.HALF]
    same = bool(run.steady[memory.LENGTH] == n)
    run.steady[memory.LENGTH] = n
    same = _exchange(run.written, advanced(run.written, half), n) and same
    for i in range(m):
        same = same and run.exact[i] == run.exact[half + i]
        run.exact[half + i] = run.exact[i]
    return same


@part
def _keep_counts(run: Run) -> None:
    """Keep what was done so far, to know what one period does."""
    n = run.code.size[memory.N_INSTRUCTIONS]
    for i in range(n):
        run.done_before[i] = run.done[i]
    run.done_before[n] = run.counts[memory.N_EVENTS]


@part
def _n_steps_left(run: Run) -> int:
    """Return how many iterations every program has left, up to a few at its end.

    Zero where transfers lag behind, or a collective is not where its members are: what it records of them would not be
    in the iterations that are moved.
    """
    least, oldest, newest, has_collective = 2**62, 2**62, 0, False
    for program in range(run.code.size[memory.N_PROGRAMS]):
        bounds = advanced(run.code.program, 8 * program)
        is_sending = bounds[memory.FIRST_SENDER] < bounds[memory.LAST_SENDER]
        has_collective = has_collective or (is_sending and bounds[memory.TRACE_FIRST] == memory.NONE)
        if not _has_ended(run, program):
            iteration = run.program[8 * program + memory.ITERATION_NOW]
            least = min(least, bounds[memory.N_ITERATIONS] - iteration - 2)
            newest = max(newest, iteration)
            oldest = min(oldest, iteration) if is_sending else oldest
    if has_collective and newest - oldest > 1:
        return 0
    for program in range(run.code.size[memory.N_PROGRAMS]):
        row = advanced(run.program, 8 * program)
        if not _has_ended(run, program) and row[memory.N_TRANSFERS] > 0 and row[memory.BUSY_STEP] < newest - 1:
            return 0
    return max(least, 0)


@part
def _write_traces(run: Run, program: int, n_steps: int, period: int) -> None:
    """Move what was recorded of the last two iterations, and repeat the one before them in between."""
    first = run.code.program[8 * program + memory.TRACE_FIRST]
    if first == memory.NONE:
        return
    at = first + run.program[8 * program + memory.ITERATION_NOW]
    for row in range(4):
        trace = advanced(run.traces, row * run.n_recorded)
        is_tick = row in (memory.STEP_END, memory.COMPUTE_END)
        for j in (at, at - 1):
            value = trace[j]
            trace[j] = 0
            trace[j + n_steps] = value + n_steps * period if is_tick and value > 0 else value
        step = period if is_tick and trace[at - 2] > 0 else 0
        for j in range(at - 1, at - 1 + n_steps):
            trace[j] = trace[j - 1] + step


@inlined
def _move_fluid(run: Run, n_steps: int, shift: int) -> None:
    tables = run.fluid
    for i in range(tables.counts[state.N_HEAP]):
        tables.heap[2 * i + state.TICK] += shift
    for resource in range(tables.counts[state.N_RESOURCES]):
        row = advanced(tables.resource, 8 * resource)
        if row[state.ROOM] > 0 and row[state.N_USERS] > 0:
            row[state.SERVED_SINCE] += shift
            first = row[state.START] + row[state.HEAD]
            for i in range(first, first + row[state.N_USERS]):
                tables.place[i] += n_steps
    for slot in range(tables.counts[state.N_SLOTS]):
        held = advanced(tables.slot, 8 * slot)
        if held[state.KIND] != state.NONE:
            held[state.IDENT] += n_steps
            held[state.SINCE] += shift
            if held[state.END] != state.NEVER:
                held[state.END] += shift


@part
def _jump(run: Run, n_steps: int, period: int) -> None:
    """Be so many iterations later."""
    shift = n_steps * period
    for program in range(run.code.size[memory.N_PROGRAMS]):
        row = advanced(run.program, 8 * program)
        if _has_ended(run, program):
            continue
        _write_traces(run, program, n_steps, period)
        row[memory.ITERATION_NOW] += n_steps
        row[memory.REQUESTED] += shift
        row[memory.BUSY_SINCE] += shift
        row[memory.BUSY_STEP] += n_steps
        # Only counts while the program waits, for the counter of the instruction before its position.
        wait = run.code.instruction[8 * (row[memory.POSITION] - 1) + memory.STRIDE]
        row[memory.THRESHOLD] += n_steps * wait
    for counter in range(run.code.size[memory.N_COUNTERS]):
        run.counter[4 * counter + memory.VALUE] += n_steps * max(run.code.stride[counter], 0)
    run.counts[memory.LAST_TICK] += shift
    for i in range(run.counts[memory.N_TIMERS]):
        run.timer[2 * i + memory.TICK] += shift
        entry = run.timer[2 * i + memory.ENTRY]
        while entry != memory.NONE:
            run.entry[2 * entry + memory.ORDER] += n_steps
            entry = run.entry[2 * entry + memory.NEXT]
    _move_fluid(run, n_steps, shift)
    n = run.code.size[memory.N_INSTRUCTIONS]
    for i in range(n):
        run.done[i] += n_steps * (run.done[i] - run.done_before[i])
    run.counts[memory.N_EVENTS] += n_steps * (run.counts[memory.N_EVENTS] - run.done_before[n])


@inlined
def _gave_up(run: Run) -> bool:
    """Return whether a state may never repeat: a capacity will change, or the first program has ended."""
    return bool(run.counts[memory.CHANGE] < run.code.size[memory.N_CHANGES]) or _has_ended(run, 0)


@part
def shift_of(run: Run, now: int) -> int:
    """Jump over the iterations that repeat, once they are known to.

    Parameters
    ----------
    run : Run
        Solved, with nothing left to do at this tick; changed.
    now : int
        Tick.

    Returns
    -------
    int
        Ticks that were jumped over; zero if none.
    """
    steady, iteration = run.steady, run.program[memory.ITERATION_NOW]
    if iteration == steady[memory.SEEN_ITERATION] or _gave_up(run):
        return 0
    period = now - steady[memory.SEEN_TICK]
    is_next = bool(iteration == steady[memory.SEEN_ITERATION] + 1)
    same = _is_the_same(run, now, iteration) and is_next
    steady[memory.SEEN_ITERATION], steady[memory.SEEN_TICK] = iteration, now
    steady[memory.N_EQUAL] = steady[memory.N_EQUAL] + 1 if same else -1
    if steady[memory.N_EQUAL] < _N_AFTER:
        _keep_counts(run)
        return 0
    n_steps = _n_steps_left(run)
    steady[memory.SEEN_ITERATION] += n_steps
    steady[memory.N_EQUAL] = -1
    if n_steps == 0 or float(n_steps) * float(period) + float(now) > 2.0**62:
        return 0
    _jump(run, n_steps, period)
    run.counts[memory.N_SKIPPED] += n_steps
    steady[memory.SEEN_TICK] += n_steps * period
    return int(n_steps * period)
