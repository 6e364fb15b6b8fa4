"""Steps of a job: what the metrics and the tables of steps and ranks are computed from.

**In step**, as bulk-synchronous ranks are, a step of the job lasts from the tick at which its slowest rank ended the
step before to the tick at which its slowest rank ended this one; each rank's part of that time is compute, straggler
wait and what remains, and the three add up to the step. **Else** a step of the job is what makes as many gradients as
there are ranks, in the order in which they come, or one update where a quorum makes it; and the parts of a rank's own
step add up to its own step, with what it waits for others counted as straggler wait where it is known: at the end of a
round of local steps, and at the bound of stale synchronous ones. Either way the steps of a job add up to its training
time.
"""

from dataclasses import dataclass

import numpy as np

from hetsim.metrics.clients import round_period, started_ticks
from hetsim.model.aggregation import Group
from hetsim.model.result import IntArray, JobRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps of a job, and the parts of the steps that its ranks ended.

    Parameters
    ----------
    end : IntArray, shape (n_steps,)
        Tick at which each step of the job ended; does not fall.
    step, rank : IntArray, shape (n_ended,)
        To which step of the job each ended step of a rank belongs, and whose it is.
    compute, wait, exposed, communication : IntArray, shape (n_ended,)
        Its parts in ticks: in work, waiting for a busy device included; straggler wait; what is neither, communication,
        latency and server time that no compute hides; and, beside these, with a transfer of its own under way. Exposed
        time of one rank in one step in step may be negative, where it began before the slowest rank had ended the one
        before.
    """

    end: IntArray
    step: IntArray
    rank: IntArray
    compute: IntArray
    wait: IntArray
    exposed: IntArray
    communication: IntArray

    @property
    def duration(self) -> IntArray:
        """Ticks that each step of the job took, shape (n_steps,); their sum is the tick at which it ended."""
        return np.diff(self.end, prepend=np.int64(0))


def is_in_step(run: JobRun) -> bool:
    """Return whether all ranks wait for all others in every step.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    bool
        As the tree says.
    """
    tree = run.tree
    return not isinstance(tree, Group) or (tree.sync == "bsp" and tree.architecture != "gossip" and not tree.quorum)


def steps_of(run: JobRun) -> Steps:
    """Return the steps of a job.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    Steps
        Ranks' steps in the order of steps, then ranks.
    """
    trace = run.trace
    has_ended = trace.step_end >= 0
    step, rank = (part.astype(np.int64) for part in np.nonzero(has_ended))
    if is_in_step(run):
        end = trace.step_end.max(axis=1)
        waited = _until_slowest(run)
        duration = np.broadcast_to(np.diff(end, prepend=np.int64(0))[:, np.newaxis], trace.step_end.shape)
    else:
        end, step = _windows(run, has_ended, step)
        waited = _waits(run)
        duration = trace.step_end - _ends_before(trace.step_end)
    return Steps(
        end=end,
        step=step,
        rank=rank,
        compute=trace.compute[has_ended],
        wait=waited[has_ended],
        exposed=(duration - trace.compute - waited)[has_ended],
        communication=trace.communication[has_ended],
    )


def _windows(run: JobRun, has_ended: np.ndarray, step: IntArray) -> tuple[IntArray, IntArray]:
    """Return when the steps of a job end, and to which the ended steps of its ranks belong."""
    trace, n_ranks = run.trace, run.trace.step_end.shape[1]
    if trace.updates.size:
        known = trace.step_end if run.has_quorum else trace.compute_end
        return trace.updates, np.searchsorted(trace.updates[:-1], known[has_ended], side="left")
    if run.sync == "local" and has_ended.all():
        return np.maximum.accumulate(trace.step_end.max(axis=1)), step
    ends = trace.step_end[has_ended]
    place = np.empty(ends.size, dtype=np.int64)
    order = np.argsort(ends, kind="stable")
    place[order] = np.arange(ends.size)
    last = np.minimum(np.arange(n_ranks, ends.size + n_ranks, n_ranks), ends.size) - 1
    return ends[order][last], place // n_ranks


def _waits(run: JobRun) -> IntArray:
    """Return what ranks wait for others, in each step, where they are not in step."""
    trace, tree = run.trace, run.tree
    waits = np.zeros_like(trace.step_end)
    if not isinstance(tree, Group):
        return waits
    period = round_period(tree)
    if tree.sync == "local" and not isinstance(tree.period, tuple):
        first = min(tree.local_after, len(waits))
        last = np.array([*range(first), *range(first + period - 1, len(waits), period)], dtype=np.int64)
        waits[last] = _until_slowest(run)[last]
    elif tree.sync == "ssp" and period == 1:
        started = started_ticks(trace.step_end, tree.staleness)
        waits = np.where(trace.step_end >= 0, started - _ends_before(trace.step_end), 0)
    return waits


def _until_slowest(run: JobRun) -> IntArray:
    """Return the time from the end of each rank's work to that of the slowest one; none where it did no work."""
    trace = run.trace
    waits: IntArray = trace.compute_end.max(axis=1, keepdims=True) - trace.compute_end
    return np.where(trace.compute > 0, waits, 0) if run.skips else waits


def _ends_before(step_end: IntArray) -> IntArray:
    """Return when each rank ended the step before."""
    before = np.zeros_like(step_end)
    before[1:] = step_end[:-1]
    return before
