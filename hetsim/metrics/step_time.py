"""How long training and its steps take."""

import numpy as np

from hetsim.metrics.steps import steps_of
from hetsim.model.result import JobRun
from hetsim.units import TICKS_PER_S, to_seconds


def train_time_s(run: JobRun) -> float:
    """Time from the start of the job to the end of its last step.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return to_seconds(int(steps_of(run).end[-1]))


def step_time_mean_s(run: JobRun) -> float:
    """Mean time of a step of the whole job: training time over steps.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    steps = steps_of(run)
    return to_seconds(int(steps.end[-1])) / steps.end.size


def step_time_p50_s(run: JobRun) -> float:
    """Median time of a step of the whole job.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds.
    """
    return _quantile_s(run, 0.5)


def step_time_p95_s(run: JobRun) -> float:
    """Time of a step of the whole job that 95 % of the steps keep within.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Seconds, interpolated linearly between the two nearest steps.
    """
    return _quantile_s(run, 0.95)


def _quantile_s(run: JobRun, quantile: float) -> float:
    return float(np.quantile(steps_of(run).duration, quantile)) / TICKS_PER_S
