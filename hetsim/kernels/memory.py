"""What the interpreter works on: a plan as tables, and everything that changes while it runs."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels import state
from hetsim.kernels.jit import inlined
from hetsim.kernels.pointers import pointer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

WORK, FLOW, PUSH, WAIT, DELAY, WAIT_FOR_ROUND, EVERY, CHOOSE, COLLECT, TAKE = range(10)
ITERATION_BITS = 31

MOST_UNAWAITED = 5_000_000
"""After so many events in which no program that is awaited ends an iteration, what the others do is taken to be all."""

DONE, DEADLOCK, FULL, TOO_LONG, STUCK = 0, 1, 2, 3, 4
"""Outcomes: all programs ended; nothing can happen any more; more room is needed; the clock cannot count so far; only
what is not awaited goes on."""

NONE = -1
ITERATION_MASK = 2**ITERATION_BITS - 1
BLOCK = 64
"""Draws made at a time."""

ROW_OF_DRAWS = BLOCK + 8
"""They stand together with the number of the first of them, counted from one, in a place that is as well aligned."""

# Columns of `Code.instruction`: what to do; usage of an activity (-1: no resource); counter that is pushed or waited
# for, or the first of the signals of a flow, and the one after the last; duration of work, latency or delay; threshold
# of a wait; program.
OP, KIND, COUNTER, LAST_SIGNAL, TICKS, BASE, STRIDE, PROGRAM = 0, 1, 2, 3, 4, 5, 6, 7
# The same columns of waits for rounds, and of what is done once a round: its iterations, those before the first round,
# and, of the latter, how many instructions, in which iteration of the round, and from which iteration on never.
PERIOD, START, N_GUARDED, PHASE, ROUNDS_END = TICKS, LAST_SIGNAL, BASE, STRIDE, COUNTER
# Of choices: the first of their bounds, and how many instructions; of what collects or takes: where its notes begin;
# gradients that are needed, and whether later ones are dropped; tokens of the start, of each later version, in all.
FIRST_BOUND, N_CHOICES, FIRST_NOTE, N_NEEDED, DROPS = COUNTER, BASE, LAST_SIGNAL, BASE, STRIDE
N_FIRST, N_EACH, N_TOKENS = BASE, STRIDE, TICKS
# Columns of `Code.work`, by instruction: resource where it queues (-1: none); key of its draws; which row of draws; of
# a flow, the first of the changes of its latency in the place of the key, and the one after the last; of work, the key
# of its attempts in that place.
HOME, STREAM, DRAWN, LAST_CHANGE = 0, 1, 2, 3
FIRST_CHANGE, SUCCESS_STREAM = STREAM, LAST_CHANGE
# Columns of `Code.amount`, by instruction: bytes of flows, or the probability that one attempt of work is enough; its
# jitter.
N_BYTES, CV = 0, 1
SUCCESS = N_BYTES
# Columns of `Code.program`: first instruction, and the one after the last; iterations; where its trace begins (-1: it
# has none); the first of the traces in which its flows count, and the one after the last; whether it is waited for.
FIRST, LAST, N_ITERATIONS, TRACE_FIRST, FIRST_SENDER, LAST_SENDER, IS_AWAITED = 0, 1, 2, 3, 4, 5, 6
# Places in `Code.size`.
N_PROGRAMS, N_RESOURCES, N_COUNTERS, N_CHANGES, MOST_SIGNALS, N_DRAWN, N_RECORDED = 0, 1, 2, 3, 4, 5, 6
N_INSTRUCTIONS, MAY_REPEAT, N_AWAITED, PATIENCE, FIRST_DROPPED, N_SHARED, N_SIZES = 7, 8, 9, 10, 11, 12, 13

SHARED = -2
"""In `Code.stride`, of a counter from which programs collect or take."""

# Rows of a trace, as in `hetsim.model.result.Trace`.
STEP_END, COMPUTE_END, COMPUTE, COMMUNICATION = 0, 1, 2, 3

# Columns of `Run.program`.
POSITION, ITERATION_NOW, REQUESTED, THRESHOLD, NEXT_WAITER, N_TRANSFERS, BUSY_SINCE, BUSY_STEP = range(8)
# Columns of `Run.counter`, with the version of an accumulator and what it dropped, or how many tokens are gone; of
# `Run.own`, by program: the version of its gradients, and how far its steps lie from where its trace begins, beyond its
# iterations; of `Run.queue`, by resource; of `Run.timer`, a heap, and of `Code.latency`; of `Run.entry`, what a timer
# is for and what else it is for.
VALUE, FIRST_WAITER, LATEST, N_DROPPED = 0, 1, 2, 3
N_TAKEN = N_DROPPED
VERSION, SHIFT = 0, 1
QUEUE_FIRST, SERVED, IS_TOUCHED = 0, 1, 2
TICK, ENTRY = 0, 1
LATENCY = 1
ORDER, NEXT = 0, 1
# Places in `Run.counts`.
N_TIMERS, N_REQUESTS, N_PUSHES, N_RUNNABLE, N_DONE, N_EVENTS, N_TOUCHED, N_ENDED = 0, 1, 2, 3, 4, 5, 6, 7
CHANGE, N_ACTIVE, OUTCOME, N_ROOM, FREE_ENTRY, LAST_TICK, LAST_ENTRY, N_SKIPPED = 8, 9, 10, 11, 12, 13, 14, 15
LAST_N_EVENTS, LAST_N_ITERATIONS, N_ASKED, N_BATCHES = 16, 17, 18, 19
N_COUNTS = 20
# Places in `Run.steady`: the iteration of the first program when the state was told last, and its tick; iterations
# since two states were equal (-1: they were not); numbers told, and room for them.
SEEN_ITERATION, SEEN_TICK, N_EQUAL, LENGTH, HALF = 0, 1, 2, 3, 4
N_STEADY = 8


class Code(NamedTuple):
    """A plan as tables; instructions of all programs stand one after the other.

    Parameters
    ----------
    size : IntArray, shape (13,)
        Places named above.
    instruction : IntArray, shape (n_instructions, 8)
        Columns named above.
    work : IntArray, shape (n_instructions, 4)
        Columns named above.
    amount : FloatArray, shape (n_instructions, 2)
        Columns named above.
    program : IntArray, shape (n_programs, 8)
        Columns named above.
    sender : IntArray, shape (n_senders,)
        Where the traces begin in which flows count.
    signal : IntArray, shape (n_signals,)
        Counters that flows raise.
    stride : IntArray, shape (n_counters,)
        How much each counter rises in an iteration for those who wait for it; -1 if nobody does, `SHARED` if programs
        collect or take from it.
    change : IntArray, shape (n_changes, 2)
        Tick and resource of each change of capacity, in order of time.
    change_capacity : FloatArray, shape (n_changes,)
        The capacity from then on.
    latency : IntArray, shape (n_latency_changes, 2)
        Tick of each change of a flow's latency, in order of time for each flow, and the latency from then on.
    bound : FloatArray, shape (n_bounds,)
        Uniform numbers from which on each instruction of a choice but the first is chosen.
    """

    size: IntArray
    instruction: IntArray
    work: IntArray
    amount: FloatArray
    program: IntArray
    sender: IntArray
    signal: IntArray
    stride: IntArray
    change: IntArray
    change_capacity: FloatArray
    latency: IntArray
    bound: FloatArray


class Scratch(NamedTuple):
    """Where a block of draws is made, even steps and odd ones apart."""

    blocks: npt.NDArray[np.uint64]
    streams: npt.NDArray[np.uint64]
    uniform: FloatArray
    normal: FloatArray


class Run(NamedTuple):
    """Everything; made inside compiled code that counts no references, as views must be.

    After the traces stand notes: gradients of each collection, who took each token, dropped pushes by counter. After
    what is `own` to programs stand the counters that they asked. Few fields, as each call passes all of them.
    """

    code: Code
    fluid: state.Tables
    n_recorded: int
    n_shared: int
    traces: IntArray
    done: IntArray
    key: np.uint64
    counts: IntArray
    program: IntArray
    queue_next: IntArray
    counter: IntArray
    queue: IntArray
    timer: IntArray
    entry: IntArray
    requests: IntArray
    at_once: IntArray
    pushes: IntArray
    runnable: IntArray
    touched: IntArray
    steady: IntArray
    done_before: IntArray
    written: IntArray
    scratch: Scratch
    drawn: FloatArray
    exact: FloatArray
    own: IntArray


@inlined
def _pointed(code: Code) -> Code:
    """Return the tables of a plan as pointers."""
    return Code(
        pointer(code.size),
        pointer(code.instruction),
        pointer(code.work),
        pointer(code.amount),
        pointer(code.program),
        pointer(code.sender),
        pointer(code.signal),
        pointer(code.stride),
        pointer(code.change),
        pointer(code.change_capacity),
        pointer(code.latency),
        pointer(code.bound),
    )


@inlined
def sizes(size: IntArray, n_room: int, n_written: int) -> tuple[int, ...]:
    """Return how many numbers each table of a run needs, in the order of `Run`."""
    n_programs, n_resources, n_some = size[N_PROGRAMS], size[N_RESOURCES], n_room + 1
    n_pushes = n_some * (size[MOST_SIGNALS] + 2)
    return (
        N_COUNTS,
        8 * n_programs,
        n_programs,
        4 * size[N_COUNTERS],
        4 * n_resources,
        2 * n_some,
        2 * n_some,
        n_some,
        n_some,
        n_pushes,
        n_programs,
        n_resources + 1,
        N_STEADY,
        (size[N_INSTRUCTIONS] + 1) * size[MAY_REPEAT],
        2 * n_written,
        3 * n_programs,
    )


@inlined
def most_written(size: IntArray, n_room: int, whole: IntArray) -> int:
    """Return how many numbers tell the state of a run, at most; zero for a run whose state is never told."""
    by_program = 7 * size[N_PROGRAMS] + size[N_COUNTERS] + 4 * size[N_RESOURCES] + 1
    in_service = 2 * whole[state.N_NODES] + whole[state.N_PLACES] + 2 * size[N_RESOURCES]
    return int((by_program + 2 * n_room + in_service) * size[MAY_REPEAT])


@inlined
def begun(
    code: Code,
    held: state.State,
    traces: IntArray,
    done: IntArray,
    key: np.uint64,
    whole: IntArray,
    scratch: Scratch,
    drawn: FloatArray,
    exact: FloatArray,
) -> Run:
    """Return a run at its beginning."""
    size = code.size
    n_room, n_written = whole[0], whole[1]
    n = sizes(size, n_room, n_written)
    program = n[0]
    queue_next = program + n[1]
    counter = queue_next + n[2]
    queue = counter + n[3]
    timer = queue + n[4]
    entry = timer + n[5]
    requests = entry + n[6]
    at_once = requests + n[7]
    pushes = at_once + n[8]
    runnable = pushes + n[9]
    touched = runnable + n[10]
    steady = touched + n[11]
    done_before = steady + n[12]
    written = done_before + n[13]
    own = written + n[14]
    run = Run(
        _pointed(code),
        state.opened(held),
        size[N_RECORDED],
        size[N_SHARED],
        pointer(traces),
        pointer(done),
        key,
        pointer(whole),
        pointer(whole[program:]),
        pointer(whole[queue_next:]),
        pointer(whole[counter:]),
        pointer(whole[queue:]),
        pointer(whole[timer:]),
        pointer(whole[entry:]),
        pointer(whole[requests:]),
        pointer(whole[at_once:]),
        pointer(whole[pushes:]),
        pointer(whole[runnable:]),
        pointer(whole[touched:]),
        pointer(whole[steady:]),
        pointer(whole[done_before:]),
        pointer(whole[written:]),
        scratch,
        pointer(drawn),
        pointer(exact),
        pointer(whole[own:]),
    )
    _begin(run, n_room)
    run.steady[N_EQUAL], run.steady[HALF] = -1, n_written
    return run


@inlined
def _begin(run: Run, n_room: int) -> None:
    size = run.code.size
    for i in range(size[N_PROGRAMS]):
        run.program[8 * i + POSITION] = run.code.program[8 * i + FIRST]
        run.runnable[i] = i
    for i in range(size[N_COUNTERS]):
        run.counter[4 * i + FIRST_WAITER] = NONE
    for i in range(size[N_RESOURCES]):
        run.queue[4 * i + QUEUE_FIRST] = NONE
    for i in range(n_room):
        run.entry[2 * i + NEXT] = i + 1
    run.counts[0], run.counts[1] = 0, 0
    run.counts[N_ROOM], run.counts[N_RUNNABLE], run.counts[LAST_TICK] = n_room, size[N_PROGRAMS], NONE
