"""What a comparison gives back: rows with intervals and paired speed-ups, tables, JSON and a results folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hetsim.experiment.folders import write_folder
from hetsim.experiment.inputs import Input
from hetsim.experiment.measured import MeasuredRow
from hetsim.experiment.points import ComparisonRow, label_text
from hetsim.experiment.result import Result, frame, placements, provenance, to_json
from hetsim.experiment.rows import Row, job_rows, to_csv
from hetsim.scenario.load import Scenario

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """One scenario that was run at several points.

    Parameters
    ----------
    scenario : Scenario
        The base of all points.
    metric : str
        What is compared.
    axes : mapping of str to tuple
        Values by field path; empty if the points are those of measurements.
    results : tuple of Result
        By point.
    rows : tuple of ComparisonRow
        By point, then job.
    fingerprint : str
        Names the comparison.
    points : tuple of dict
        Value by field path, by point.
    unread : tuple of str
        Fields that were written and never read at any point.
    source, scale : str
        Of the measurements, if there are any: where they come from, and the field that linear scaling goes by.
    measured : tuple of MeasuredRow
        Measured values beside simulated ones, by point; empty if the scenario measures nothing.
    measured_job : str
        The job that was measured.
    """

    scenario: Scenario
    metric: str
    axes: Mapping[str, tuple[object, ...]]
    points: tuple[Mapping[str, object], ...]
    results: tuple[Result, ...] = field(repr=False)
    rows: tuple[ComparisonRow, ...]
    fingerprint: str
    unread: tuple[str, ...] = ()
    source: str = ""
    scale: str = ""
    measured: tuple[MeasuredRow, ...] = ()
    measured_job: str = ""

    @property
    def folder_name(self) -> str:
        """Name of the results folder: scenario and fingerprint."""
        return f"{self.scenario.name}-{self.fingerprint}"

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the points, each once: one, unless they have seeds of their own."""
        return tuple(dict.fromkeys(result.setup.seed for result in self.results))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the points rest on, each input once."""
        return tuple(dict.fromkeys(item for result in self.results for item in result.inputs))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know, each once."""
        return tuple(dict.fromkeys(warning for result in self.results for warning in result.warnings))

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
        content: dict[str, object] = {
            "scenario": self.scenario.name,
            "metric": self.metric,
            "rows": [row.to_dict() for row in self.rows],
        }
        content["points"] = [
            {"labels": dict(labels), "fingerprint": result.fingerprint, "placements": placements(result.record)}
            for labels, result in zip(self.points, self.results, strict=True)
        ]
        if self.measured:
            content["measured"] = [{"labels": dict(row.labels)} | row.numbers() for row in self.measured]
        return content

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
            **({"measured_source": self.source} if self.measured else {}),
            **provenance(
                self.fingerprint, self.seeds[0] if len(self.seeds) == 1 else list(self.seeds), self.inputs, self.unread
            ),
            "points": [
                {
                    "labels": labels,
                    "fingerprint": result.fingerprint,
                    "engine": result.setup.executor,
                    "choices": list(result.choices),
                    **({"warnings": list(result.warnings)} if result.warnings else {}),
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
        if self.measured:
            files["measured.csv"] = to_csv([_cells(row.labels) | row.numbers() for row in self.measured])
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

    def __repr__(self) -> str:
        return (
            f"Comparison({self.scenario.name!r}, {len(self.rows)} rows, {self.metric}, fingerprint {self.fingerprint})"
        )

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


def _cells(labels: Mapping[str, object]) -> Row:
    return {path: label_text(value) for path, value in labels.items()}
