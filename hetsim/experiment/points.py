"""The points of a comparison, which of them is compared to which, and what the differences are worth."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.errors import Issue, ScenarioError
from hetsim.experiment.statistics import Estimate, mean_interval, speedup
from hetsim.metrics.clients import round_period
from hetsim.metrics.steps import is_in_step
from hetsim.metrics.table import METRICS
from hetsim.model.aggregation import Group
from hetsim.model.result import JobRun, Record

_DECISIONS: Final = (".placement", ".aggregation")
"""Axes below these fields are decisions; all others are the conditions under which decisions are compared."""

JOB: Final = "job"
"""The label that tells the jobs of one scenario apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One point of a comparison, for one job.

    Parameters
    ----------
    labels : mapping
        Value on each axis by field path, and the job where the scenario has several.
    n : int
        Replications.
    mean : float
        Of the metric, in its unit.
    ci_low, ci_high : float or None
        95 % interval of the mean; None with one replication.
    speedup : float or None
        How many times better than the baseline, paired by replication; None where there is no ratio.
    speedup_ci_low, speedup_ci_high : float or None
        95 % interval of the speed-up.
    significant : bool or None
        Whether that interval excludes one; None without an interval.
    is_baseline : bool
        Whether other rows are compared to this one.
    is_comparable : bool
        Whether the metric says which of this row and its baseline is better: one of work does not where the two differ
        in synchronization.
    """

    labels: Mapping[str, object]
    n: int
    mean: float
    ci_low: float | None
    ci_high: float | None
    speedup: float | None
    speedup_ci_low: float | None
    speedup_ci_high: float | None
    significant: bool | None
    is_baseline: bool
    is_comparable: bool = True

    def to_dict(self) -> dict[str, object]:
        """Return the row as ``hetsim compare --json`` prints it.

        Returns
        -------
        dict
            JSON values only.
        """
        return {"labels": dict(self.labels)} | self.numbers()

    def numbers(self) -> dict[str, object]:
        """Return all but the labels.

        Returns
        -------
        dict
            By name.
        """
        return {
            "n": self.n,
            "mean": self.mean,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "speedup": self.speedup,
            "speedup_ci_low": self.speedup_ci_low,
            "speedup_ci_high": self.speedup_ci_high,
            "significant": self.significant,
            **({} if self.is_comparable else {"comparable": False}),
        }


def points_of(axes: Mapping[str, Sequence[object]]) -> tuple[dict[str, object], ...]:
    """Return every combination of the values of axes.

    Parameters
    ----------
    axes : mapping of str to sequence
        Values by field path.

    Returns
    -------
    tuple of dict
        Value by field path; the last axis changes fastest.
    """
    points: list[dict[str, object]] = [{}]
    for path, values in axes.items():
        points = [point | {path: value} for point in points for value in values]
    return tuple(points)


def is_decision(path: str) -> bool:
    """Return whether an axis is a decision, and not a condition under which decisions are compared.

    Parameters
    ----------
    path : str
        Field path.

    Returns
    -------
    bool
        True below a job's placement or aggregation.

    Examples
    --------
    >>> is_decision("jobs[train].placement.policy"), is_decision("jobs[train].batch")
    (True, False)
    """
    return any(mark in path for mark in _DECISIONS)


def compare_rows(
    points: Sequence[Mapping[str, object]], records: Sequence[Record], metric: str
) -> tuple[ComparisonRow, ...]:
    """Return the rows of a comparison.

    The baseline of a row is the first row with the same job and conditions, that is with the first decision; where no
    axis is a decision, it is the first row of the job.

    Parameters
    ----------
    points : sequence of mapping
        Value on each axis.
    records : sequence of Record
        What each point recorded.
    metric : str
        A name of `hetsim.metrics.table.METRICS`.

    Returns
    -------
    tuple of ComparisonRow
        By point, then job.
    """
    better = METRICS[metric].better
    baselines: dict[str, dict[int, float]] = {}
    synchronizations: dict[str, str] = {}
    rows = []
    for labels, values, synchronization in _values(points, records, metric):
        key = _condition(labels)
        is_baseline = key not in baselines
        baseline = baselines.setdefault(key, values)
        is_comparable = not METRICS[metric].is_of_work or (
            synchronizations.setdefault(key, synchronization) == synchronization
        )
        mean = mean_of(values)
        ratio = speedup(baseline, values, better) if is_comparable else None
        rows.append(
            ComparisonRow(
                labels=labels,
                n=mean.n,
                mean=mean.value,
                ci_low=mean.low,
                ci_high=mean.high,
                speedup=ratio.value if ratio else None,
                speedup_ci_low=ratio.low if ratio else None,
                speedup_ci_high=ratio.high if ratio else None,
                significant=ratio.is_significant if ratio and not is_baseline else None,
                is_baseline=is_baseline,
                is_comparable=is_comparable,
            )
        )
    return tuple(rows)


def values_of(record: Record, job: str, metric: str) -> dict[int, float]:
    """Return a metric of one job.

    Parameters
    ----------
    record : Record
        What a point recorded.
    job : str
        Its name.
    metric : str
        A name of `hetsim.metrics.table.METRICS`.

    Returns
    -------
    dict of int to float
        By replication.
    """
    function = METRICS[metric].function
    values = {run.replication: function(run) for run in record.jobs if run.job == job}
    if any(value is None for value in values.values()):
        path = f"jobs[{job}].convergence"
        message = f"{metric} is not known: say how many updates the job takes to its target, as in {{min_steps: 5000, "
        raise ScenarioError([Issue(path=path, message=message + "noise_batch: 16000}")])
    return {replication: float(value) for replication, value in values.items() if value is not None}


def synchronization_of(run: JobRun) -> str:
    """Return what makes a gradient of one run worth as much as one of another run.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    str
        The same where all workers wait for all others in every step, whatever the way of their bytes.
    """
    tree = run.tree
    parts: list[object] = [run.skips, run.compression]
    if isinstance(tree, Group) and not is_in_step(run) and (tree.sync, tree.period) != ("local", 1):
        parts += [tree.sync, tree.staleness, tree.quorum, tree.late, tree.steps, tree.graph, tree.group_size]
        parts += [round_period(tree), tree.period, tree.local_after, tree.architecture == "gossip"]
    return repr(parts)


def mean_of(values: Mapping[int, float]) -> Estimate:
    """Return the mean of a metric; no metric is negative, and neither is an end of the interval.

    Parameters
    ----------
    values : mapping of int to float
        By replication.

    Returns
    -------
    Estimate
        With its interval.
    """
    return mean_interval([values[replication] for replication in sorted(values)], least=0.0)


def _values(
    points: Sequence[Mapping[str, object]], records: Sequence[Record], metric: str
) -> Iterator[tuple[dict[str, object], dict[int, float], str]]:
    jobs_of = [tuple(dict.fromkeys(run.job for run in record.jobs)) for record in records]
    has_many = any(len(jobs) > 1 for jobs in jobs_of)
    for point, record, jobs in zip(points, records, jobs_of, strict=True):
        for job in jobs:
            labels = dict(point) | ({JOB: job} if has_many else {})
            first = next(run for run in record.jobs if run.job == job)
            yield labels, values_of(record, job, metric), synchronization_of(first)


def _condition(labels: Mapping[str, object]) -> str:
    has_decision = any(is_decision(path) for path in labels)
    kept = {path: value for path, value in labels.items() if path == JOB or (has_decision and not is_decision(path))}
    return json.dumps(kept, sort_keys=True, default=str)


def label_text(value: object) -> str:
    """Return a value of an axis for tables: text as it is, all else as JSON.

    Parameters
    ----------
    value : object
        A JSON value.

    Returns
    -------
    str
        One line.
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
