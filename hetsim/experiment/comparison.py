"""What a comparison gives back: rows with intervals and paired speed-ups, tables, JSON and a results folder."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hetsim.experiment.folders import write_folder
from hetsim.experiment.inputs import Input
from hetsim.experiment.result import Result, frame, placements, provenance, to_json
from hetsim.experiment.rows import Row, job_rows, to_csv
from hetsim.experiment.statistics import mean_interval, speedup
from hetsim.metrics.table import METRICS
from hetsim.model.result import Record
from hetsim.scenario.load import Scenario

if TYPE_CHECKING:
    import pandas as pd

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
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One scenario that was run at several points.

    Parameters
    ----------
    scenario : Scenario
        The base of all points.
    metric : str
        What is compared.
    axes : mapping of str to tuple
        Values by field path.
    results : tuple of Result
        By point, the last axis fastest.
    rows : tuple of ComparisonRow
        By point, then job.
    fingerprint : str
        Names the comparison.
    unread : tuple of str
        Fields that were written and never read at any point.
    """

    scenario: Scenario
    metric: str
    axes: Mapping[str, tuple[object, ...]]
    results: tuple[Result, ...] = field(repr=False)
    rows: tuple[ComparisonRow, ...]
    fingerprint: str
    unread: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """Name of the results folder: scenario and fingerprint."""
        return f"{self.scenario.name}-{self.fingerprint}"

    @property
    def points(self) -> tuple[dict[str, object], ...]:
        """Value on each axis, by point."""
        return points_of(self.axes)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the points rest on, each input once."""
        return tuple(dict.fromkeys(item for result in self.results for item in result.inputs))

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each point and job.

        Returns
        -------
        pandas.DataFrame
            Tidy; the mean and its interval carry the metric's name, which ends with its unit.
        """
        return frame(self._table())

    def to_dict(self) -> dict[str, object]:
        """Return the object that ``hetsim compare --json`` prints.

        Returns
        -------
        dict
            JSON values only.
        """
        return {
            "scenario": self.scenario.name,
            "metric": self.metric,
            "rows": [row.to_dict() for row in self.rows],
        }

    def manifest(self) -> dict[str, object]:
        """Return what the comparison rests on and how to get it again.

        Returns
        -------
        dict
            JSON values only; the same on every run.
        """
        points = zip(self.points, self.results, strict=True)
        return {
            "scenario": self.scenario.resolved(),
            "metric": self.metric,
            "axes": {path: list(values) for path, values in self.axes.items()},
            **provenance(self.fingerprint, self.results[0].setup.seed, self.inputs, self.unread),
            "points": [
                {
                    "labels": labels,
                    "fingerprint": result.fingerprint,
                    "choices": list(result.choices),
                    "placements": placements(result.record),
                }
                for labels, result in points
            ],
        }

    def save(self, out: str | Path = "results", *, extra: Mapping[str, bytes] | None = None) -> Path:
        """Write the results folder ``<scenario>-<fingerprint>``, replacing one of the same name as a whole.

        Parameters
        ----------
        out : str or Path
            Folder that holds results folders.
        extra : mapping of str to bytes, optional
            More files by name, such as a plot.

        Returns
        -------
        Path
            The results folder.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        files = {
            "comparison.csv": to_csv(self._table()),
            "jobs.csv": to_csv(self._job_table()),
            "manifest.json": to_json(self.manifest()),
        }
        return write_folder(Path(out), self.folder_name, files | dict(extra or {}))

    def _table(self) -> list[Row]:
        with_unit = {name: f"{name}_{self.metric}" for name in ("mean", "ci_low", "ci_high")}
        return [
            _cells(row.labels) | {with_unit.get(name, name): value for name, value in row.numbers().items()}
            for row in self.rows
        ]

    def _job_table(self) -> list[Row]:
        points = zip(self.points, self.results, strict=True)
        return [_cells(labels) | row for labels, result in points for row in job_rows(result.record)]

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


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
    rows = []
    for labels, values in _values(points, records, metric):
        key = _condition(labels)
        is_baseline = key not in baselines
        baseline = baselines.setdefault(key, values)
        mean = mean_interval([values[replication] for replication in sorted(values)])
        ratio = speedup(baseline, values, better)
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
                significant=ratio.is_significant if ratio else None,
                is_baseline=is_baseline,
            )
        )
    return tuple(rows)


def _values(
    points: Sequence[Mapping[str, object]], records: Sequence[Record], metric: str
) -> Iterator[tuple[dict[str, object], dict[int, float]]]:
    function = METRICS[metric].function
    jobs_of = [tuple(dict.fromkeys(run.job for run in record.jobs)) for record in records]
    has_many = any(len(jobs) > 1 for jobs in jobs_of)
    for point, record, jobs in zip(points, records, jobs_of, strict=True):
        for job in jobs:
            values = {run.replication: float(function(run)) for run in record.jobs if run.job == job}
            yield dict(point) | ({JOB: job} if has_many else {}), values


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


def _cells(labels: Mapping[str, object]) -> Row:
    return {path: label_text(value) for path, value in labels.items()}
