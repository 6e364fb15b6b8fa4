"""The table of metrics: each is a column of ``jobs.csv`` and a choice of ``compare --metric``."""

from collections.abc import Mapping
from typing import Final

from hetsim.contracts import Metric
from hetsim.metrics.accuracy import time_to_accuracy_s
from hetsim.metrics.breakdown import communication_s, compute_s, exposed_s, wait_s
from hetsim.metrics.staleness import dropped_frac, staleness_mean
from hetsim.metrics.step_time import step_time_mean_s, step_time_p50_s, step_time_p95_s, train_time_s
from hetsim.metrics.throughput import samples_per_s, updates_per_s
from hetsim.model.result import JobRun

METRICS: Final[Mapping[str, Metric]] = {
    "train_time_s": Metric(function=train_time_s, unit="s", better="lower", is_of_work=True),
    "time_to_accuracy_s": Metric(function=time_to_accuracy_s, unit="s", better="lower"),
    "step_time_mean_s": Metric(function=step_time_mean_s, unit="s", better="lower", is_of_work=True),
    "step_time_p50_s": Metric(function=step_time_p50_s, unit="s", better="lower", is_of_work=True),
    "step_time_p95_s": Metric(function=step_time_p95_s, unit="s", better="lower", is_of_work=True),
    "samples_per_s": Metric(function=samples_per_s, unit="samples/s", better="higher", is_of_work=True),
    "updates_per_s": Metric(function=updates_per_s, unit="updates/s", better="higher", is_of_work=True),
    "staleness_mean": Metric(function=staleness_mean, unit="updates", better="lower"),
    "dropped_frac": Metric(function=dropped_frac, unit="of samples", better="lower"),
    "compute_s": Metric(function=compute_s, unit="s", better="lower"),
    "wait_s": Metric(function=wait_s, unit="s", better="lower"),
    "exposed_s": Metric(function=exposed_s, unit="s", better="lower"),
    "communication_s": Metric(function=communication_s, unit="s", better="lower"),
}
"""A new metric is a file in this folder and a line here; its name ends with its unit."""


def number_of(run: JobRun, metric: str) -> float:
    """Return a metric that every run has.

    Parameters
    ----------
    run : JobRun
        One replication.
    metric : str
        A name of `METRICS`.

    Returns
    -------
    float
        In its unit.

    Raises
    ------
    ValueError
        If it is not known of the run.
    """
    value = METRICS[metric].function(run)
    if value is None:
        raise ValueError(f"{metric} of {run.job} is not known")
    return float(value)
