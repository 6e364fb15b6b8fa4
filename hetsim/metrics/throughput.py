"""How much training is done in a second."""

from hetsim.metrics.step_time import train_time_s
from hetsim.model.result import JobRun


def samples_per_s(run: JobRun) -> float:
    """Training samples of all workers together in each second; worker steps where the job states compute times.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Samples per second.
    """
    return run.batch * run.trace.step_end.size / train_time_s(run)


def updates_per_s(run: JobRun) -> float:
    """Updates of the parameters in each second: one for each synchronous step.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Updates per second.
    """
    return len(run.trace.step_end) / train_time_s(run)
