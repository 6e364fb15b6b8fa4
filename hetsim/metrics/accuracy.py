"""How long training takes to its target accuracy, by a stated model of statistical efficiency."""

from hetsim.metrics.efficiency import samples_to_target
from hetsim.metrics.staleness import staleness_mean
from hetsim.metrics.steps import is_in_step
from hetsim.metrics.throughput import n_updates, samples_per_s
from hetsim.model.result import JobRun


def time_to_accuracy_s(run: JobRun) -> float | None:
    """Time to the target accuracy: the samples that training takes at its batch and staleness, over samples per second.

    Local steps count as updates of all workers together, each as old as the last average is. An update of synchronous
    workers, and of those that average with neighbours or a few at a time, averages the gradients of all; one of
    asynchronous workers those of one; one of a quorum those that it waited for. How far the models of workers are apart
    is left out.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float or None
        Seconds; None where nobody knows how much an update is worth.
    """
    if run.efficiency is None:
        return None
    needed = samples_to_target(run.efficiency, _batch(run), staleness_mean(run))
    return needed / samples_per_s(run)


def _batch(run: JobRun) -> float:
    """Return how many samples one update averages, mean."""
    if run.has_quorum or run.sync in ("async", "ssp"):
        return run.n_samples / n_updates(run)
    return run.n_samples / len(run.trace.step_end) if is_in_step(run) or run.skips else float(sum(run.batches))
