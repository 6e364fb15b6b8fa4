"""How much training is done in a second."""

import numpy as np

from hetsim.metrics.clients import domains_of, round_period
from hetsim.metrics.step_time import train_time_s
from hetsim.model.aggregation import Group
from hetsim.model.result import JobRun


def n_updates(run: JobRun) -> int:
    """Return how often the parameters were updated.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    int
        Synchronous steps, also with some neighbours only; averages of local steps; single gradients of asynchronous
        workers.
    """
    trace, tree = run.trace, run.tree
    if trace.updates.size:
        return trace.updates.size
    has_ended = trace.step_end >= 0
    if not isinstance(tree, Group):
        return len(trace.step_end)
    domains = list(domains_of(tree))
    if domains:
        rounds = [np.sum(has_ended[d.period - 1 :: d.period, list(d.ranks)]) for d in domains]
        return int(sum(rounds))
    if isinstance(tree.period, tuple):
        return len(trace.step_end) // max(tree.period)
    n, first = len(trace.step_end), tree.local_after if tree.sync == "local" else 0
    return n if n <= first else first + (n - first) // round_period(tree)


def samples_per_s(run: JobRun) -> float:
    """Training samples that became part of an update in each second; worker steps where compute times are given.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Samples per second.
    """
    return run.n_samples / train_time_s(run)


def updates_per_s(run: JobRun) -> float:
    """Updates of the parameters in each second: synchronous steps, averages of local ones, or single gradients.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    float
        Updates per second.
    """
    return n_updates(run) / train_time_s(run)
