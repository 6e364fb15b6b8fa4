"""The table of metrics: each is a column of ``jobs.csv`` and a choice of ``compare --metric``."""

from collections.abc import Mapping
from typing import Final

from hetsim.contracts import Metric
from hetsim.metrics.breakdown import communication_s, compute_s, exposed_s, wait_s
from hetsim.metrics.step_time import step_time_mean_s, step_time_p50_s, step_time_p95_s, train_time_s
from hetsim.metrics.throughput import samples_per_s, updates_per_s

METRICS: Final[Mapping[str, Metric]] = {
    "train_time_s": Metric(function=train_time_s, unit="s", better="lower"),
    "step_time_mean_s": Metric(function=step_time_mean_s, unit="s", better="lower"),
    "step_time_p50_s": Metric(function=step_time_p50_s, unit="s", better="lower"),
    "step_time_p95_s": Metric(function=step_time_p95_s, unit="s", better="lower"),
    "samples_per_s": Metric(function=samples_per_s, unit="samples/s", better="higher"),
    "updates_per_s": Metric(function=updates_per_s, unit="updates/s", better="higher"),
    "compute_s": Metric(function=compute_s, unit="s", better="lower"),
    "wait_s": Metric(function=wait_s, unit="s", better="lower"),
    "exposed_s": Metric(function=exposed_s, unit="s", better="lower"),
    "communication_s": Metric(function=communication_s, unit="s", better="lower"),
}
"""A new metric is a file in this folder and a line here; its name ends with its unit."""
