"""Times of a plan without contention, step by step: maxima and sums over durations drawn for many steps at once."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import inlined, jit, jit_without_allocation
from hetsim.kernels.works import MOST_SPAN, SIGMA, draw, new_tile

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

MOST_TICK = 2**61
"""A recurrence stops at such a time: adding one more duration cannot leave the clock."""


@inlined
def _begin_step(
    spans: IntArray,
    amounts: IntArray,
    leads: tuple[IntArray, IntArray],
    now: int,
    compute_end: IntArray,
    compute: IntArray,
    done: IntArray,
) -> int:
    """Record the works of one step, and return how long it takes from the meeting before to the next one."""
    lead, follow = leads
    gap = 0
    for i in range(spans.size):
        span = spans[i]
        compute[i] = span
        compute_end[i] = now + lead[i] + span
        done[i] += amounts[i]
        gap = max(gap, follow[i] + span)
    return gap


@inlined
def _end_row(now: int, start: IntArray, step_end: IntArray) -> None:
    for i in range(start.size):
        step_end[i] = now + start[i]


class Constants(NamedTuple):
    """What is the same in each step of programs that meet once in it; see `hetsim.plan.synchronised`.

    Parameters
    ----------
    lead, follow : IntArray, shape (2, n)
        Ticks from the meeting before, in the first step and in all others: to the start of each work; to the next
        meeting, without the work.
    start : IntArray, shape (n,)
        Ticks from a meeting to the end of the step.
    """

    lead: IntArray
    follow: IntArray
    start: IntArray


@jit
def run_synchronised(
    key: np.uint64,
    works: FloatArray,
    streams: WordArray,
    constants: Constants,
    step_end: IntArray,
    compute_end: IntArray,
    compute: IntArray,
    done: IntArray,
    column: int,
) -> bool:
    """Run programs that meet once in each step.

    Parameters
    ----------
    key : uint64
        Of seed and replication.
    works : FloatArray, shape (4, n)
        As in `hetsim.kernels.works`.
    streams : WordArray, shape (n,)
        Keys of their draws.
    constants : Constants
        Of these programs.
    step_end, compute_end, compute : IntArray, shape (n_steps, n_ranks)
        Filled from `column` on.
    done : IntArray, shape (n,)
        Filled with the sum of the amounts of each work.
    column : int
        Where the first of these works stands.

    Returns
    -------
    bool
        False if the run would come near the end of the clock: nothing that was filled counts.
    """
    n_steps, n = step_end.shape[0], streams.size
    tile = new_tile(works, streams, n_steps)
    n_tile_steps = 2 * (tile.blocks.size // n)
    is_drawn = works[SIGMA].max() > 0.0
    meeting = 0
    done[:] = 0
    for first in range(0, n_steps, n_tile_steps):
        if is_drawn or first == 0:
            draw(tile, key, first // 2, n)
        for step in range(first, min(first + n_tile_steps, n_steps)):
            half, begin, later = step % 2, (step - first) // 2 * n, min(step, 1)
            gap = _begin_step(
                tile.span[half, begin : begin + n],
                tile.amount[half, begin : begin + n],
                (constants.lead[later], constants.follow[later]),
                meeting,
                compute_end[step, column : column + n],
                compute[step, column : column + n],
                done,
            )
            meeting += gap
            _end_row(meeting, constants.start, step_end[step, column : column + n])
            if gap > MOST_SPAN or meeting > MOST_TICK:
                return False
    return True


@jit_without_allocation
def step_ends(durations: IntArray, overhead: int, out: IntArray) -> None:
    """Fill in when each step ends whose workers begin together and wait for the last one.

    Parameters
    ----------
    durations : IntArray, shape (n_steps, n_workers)
        Ticks, not negative.
    overhead : int
        Ticks of each step after the last worker.
    out : IntArray, shape (n_steps,)
        Filled.
    """
    now = 0
    for step in range(out.size):
        longest = 0
        for worker in range(durations.shape[1]):
            longest = max(longest, durations[step, worker])
        now += longest + overhead
        out[step] = now


OP, PROGRAM, SPAN, COLUMN, RAISED_FIRST, AWAITED = 0, 1, 2, 3, 4, 5
"""Rows by action: what it is; whose; its ticks; its column among drawn works (-1: none); the first of its rises, up to
the first of the next action; the slot of the rise waited for."""

RAISED, RAISED_BEFORE = 6, 7
"""Rows by rise: its slot, and that of the rise before."""

TRACE_FIRST = 8
"""Row by program: where its trace begins; -1 if it keeps none."""

SENDER_FIRST, SENDER = 9, 10
"""Row by program: the first of the traces in which its transfers count, up to the first of the next program. Row of
where these begin."""

N_INT_ROWS = 11

GO_ON, WORK, FLOW, WAIT = 0, 1, 2, 3
"""What an action is: ticks of its program, work, a transfer that its program does not wait for, or a wait."""

STEP_END, COMPUTE_END, COMPUTE, COMMUNICATION = 0, 1, 2, 3
"""Rows of a trace, as in `hetsim.kernels.interpreter`."""

_NOW, _BUSY_SINCE, _BUSY_UNTIL, _BUSY_STEP = 0, 1, 2, 3


class Actions(NamedTuple):
    """The actions of one iteration as a table.

    Parameters
    ----------
    ints : IntArray, shape (11, size)
        Rows named above.
    n_actions : int
        How many.
    programs : IntArray, shape (n_programs,)
        Those that take part.
    """

    ints: IntArray
    n_actions: int
    programs: IntArray


@jit_without_allocation
def _send(actions: Actions, state: IntArray, traces: IntArray, program: int, step: int, end: int) -> None:
    """Note a transfer: what overlaps counts once, for the step in which the first of it set out."""
    now = state[_NOW, program]
    if now >= state[_BUSY_UNTIL, program]:
        _rest(actions, state, traces, program)
        state[_BUSY_SINCE, program], state[_BUSY_STEP, program] = now, step
    state[_BUSY_UNTIL, program] = max(state[_BUSY_UNTIL, program], end)


@jit_without_allocation
def _rest(actions: Actions, state: IntArray, traces: IntArray, program: int) -> None:
    """Record the time in which transfers of a program were under way, for all ranks whose they are."""
    busy = state[_BUSY_UNTIL, program] - state[_BUSY_SINCE, program]
    for i in range(actions.ints[SENDER_FIRST, program], actions.ints[SENDER_FIRST, program + 1]):
        traces[COMMUNICATION, actions.ints[SENDER, i] + state[_BUSY_STEP, program]] += busy
    state[_BUSY_SINCE, program] = state[_BUSY_UNTIL, program]


@jit_without_allocation
def _act(
    actions: Actions, state: IntArray, slots: IntArray, traces: IntArray, action: int, step: int, span: int
) -> None:
    """Do one action of one step."""
    ints = actions.ints
    program = ints[PROGRAM, action]
    trace = ints[TRACE_FIRST, program]
    op, now = ints[OP, action], state[_NOW, program]
    end = now + span
    if op == WAIT:
        end = max(now, slots[ints[AWAITED, action]])
    elif op == WORK and trace >= 0:
        traces[COMPUTE, trace + step] += span
        traces[COMPUTE_END, trace + step] = end
    if op == FLOW:
        if ints[SENDER_FIRST, program] < ints[SENDER_FIRST, program + 1]:
            _send(actions, state, traces, program, step, end)
    else:
        state[_NOW, program] = end
    for i in range(ints[RAISED_FIRST, action], ints[RAISED_FIRST, action + 1]):
        slots[ints[RAISED, i]] = max(slots[ints[RAISED_BEFORE, i]], end)


@jit
def run_steps(
    key: np.uint64,
    actions: Actions,
    works: FloatArray,
    streams: WordArray,
    traces: IntArray,
    done: IntArray,
    sizes: tuple[int, int, int],
) -> bool:
    """Run programs action by action, one iteration after the other.

    Parameters
    ----------
    key : uint64
        Of seed and replication.
    actions : Actions
        Of one iteration, each after all that it waits for.
    works : FloatArray, shape (4, n_works)
        Works with jitter, as in `hetsim.kernels.works`.
    streams : WordArray, shape (n_works,)
        Keys of their draws.
    traces : IntArray, shape (4, n)
        Zeros; filled.
    done : IntArray, shape (n_works,)
        Zeros; filled with the sum of the amounts of each work.
    sizes : tuple of (int, int, int)
        Programs of the plan, slots, and iterations.

    Returns
    -------
    bool
        False if the run would come near the end of the clock: nothing that was filled counts.
    """
    n_programs, n_slots, n_steps = sizes
    n_works = streams.size
    state, slots = np.zeros((4, n_programs), dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
    tile = new_tile(works, streams, n_steps)
    n_tile_steps = 2 * (tile.blocks.size // n_works)
    for step in range(n_steps):
        if step % n_tile_steps == 0:
            draw(tile, key, step // 2, n_works)
        half, begin = step % 2, step % n_tile_steps // 2 * n_works
        for action in range(actions.n_actions):
            span, column = actions.ints[SPAN, action], actions.ints[COLUMN, action]
            if column >= 0:
                span = tile.span[half, begin + column]
                done[column] += tile.amount[half, begin + column]
                if span > MOST_SPAN or state[_NOW, actions.ints[PROGRAM, action]] > MOST_TICK:
                    return False
            _act(actions, state, slots, traces, action, step, span)
        if not _end_step(actions, state, traces, step):
            return False
    for program in actions.programs:
        _rest(actions, state, traces, program)
    return True


@jit_without_allocation
def _end_step(actions: Actions, state: IntArray, traces: IntArray, step: int) -> bool:
    """Record the ends of a step, and return whether there is time for one more."""
    latest = 0
    for program in actions.programs:
        now = state[_NOW, program]
        latest = max(latest, now, state[_BUSY_UNTIL, program])
        if actions.ints[TRACE_FIRST, program] >= 0:
            traces[STEP_END, actions.ints[TRACE_FIRST, program] + step] = now
    return latest <= MOST_TICK
