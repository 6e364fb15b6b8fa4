"""Where the time of a step goes: compute, straggler wait and exposed time add up to the mean step time."""

import numpy as np

from hetsim.metrics.steps import steps_of
from hetsim.model.result import IntArray, JobRun
from hetsim.units import TICKS_PER_S


def compute_s(run: JobRun) -> float:
    """Compute of a step, mean over ranks and steps, waiting for a busy device included.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return _mean_s(steps_of(run).compute)


def wait_s(run: JobRun) -> float:
    """Straggler wait: from the end of a rank's own compute to the end of the slowest rank's, mean over ranks and steps.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return _mean_s(steps_of(run).wait)


def exposed_s(run: JobRun) -> float:
    """Communication, latency and server time that no compute hides: step time less compute less straggler wait, mean.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return _mean_s(steps_of(run).exposed)


def communication_s(run: JobRun) -> float:
    """Time of a step with a transfer of the rank under way, hidden or not, mean over ranks and steps.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return _mean_s(steps_of(run).communication)


def _mean_s(ticks: IntArray) -> float:
    # The sum of integers is exact, so the order of ranks cannot change a digit.
    return int(np.sum(ticks)) / max(ticks.size, 1) / TICKS_PER_S
