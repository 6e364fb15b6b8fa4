"""Steps of a job as arrays of ticks: what the metrics and the tables of steps and ranks are computed from.

A step of a job lasts from the tick at which its slowest rank ended the step before to the tick at which its slowest
rank ended this one, so the steps of a job add up to its training time. Each rank's part of that time is compute,
straggler wait and what remains, and the three add up to the step.
"""

import numpy as np

from hetsim.model.result import IntArray, Trace


def end_ticks(trace: Trace) -> IntArray:
    """Return when each step of the job ended.

    Parameters
    ----------
    trace : Trace
        The recording of one job.

    Returns
    -------
    IntArray, shape (n_steps,)
        Tick at which the slowest rank ended the step.
    """
    ends: IntArray = trace.step_end.max(axis=1)
    return ends


def duration_ticks(trace: Trace) -> IntArray:
    """Return how long each step of the job took.

    Parameters
    ----------
    trace : Trace
        The recording of one job.

    Returns
    -------
    IntArray, shape (n_steps,)
        Ticks; their sum is the tick at which the job ended.
    """
    return np.diff(end_ticks(trace), prepend=np.int64(0))


def wait_ticks(trace: Trace) -> IntArray:
    """Return each rank's straggler wait in each step.

    Parameters
    ----------
    trace : Trace
        The recording of one job.

    Returns
    -------
    IntArray, shape (n_steps, n_ranks)
        Ticks from the end of the rank's own compute to the end of the slowest rank's.
    """
    waits: IntArray = trace.compute_end.max(axis=1, keepdims=True) - trace.compute_end
    return waits


def exposed_ticks(trace: Trace) -> IntArray:
    """Return the part of each step that is neither the rank's compute nor its straggler wait.

    Communication, latency and server time that no compute hides. Summed over the steps of a rank it is not negative in
    a synchronous job; in a single step it is, where the rank began before the slowest rank had ended the step before.

    Parameters
    ----------
    trace : Trace
        The recording of one job.

    Returns
    -------
    IntArray, shape (n_steps, n_ranks)
        Ticks.
    """
    return duration_ticks(trace)[:, np.newaxis] - trace.compute - wait_ticks(trace)
