"""How stale gradients are, and what of the work is thrown away."""

from hetsim.metrics.clients import delays_of
from hetsim.model.result import JobRun


def staleness_mean(run: JobRun) -> float:
    """Updates by others between the pull and the push of a gradient, mean; of local steps those since the last average.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Updates.
    """
    delays = delays_of(run)
    return int(delays.sum()) / delays.size if delays.size else 0.0


def dropped_frac(run: JobRun) -> float:
    """Samples whose gradients were no part of an update, as a share of all that workers computed to the end of a step.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Between zero and one.
    """
    computed = run.n_computed
    return max(0.0, 1.0 - run.n_samples / computed) if computed else 0.0
