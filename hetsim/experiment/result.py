"""What a run gives back: the record, tidy tables, JSON and a results folder."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hetsim
from hetsim.experiment.execute import Setup
from hetsim.experiment.fingerprint import MODEL_VERSION
from hetsim.experiment.folders import write_folder
from hetsim.experiment.inputs import Input
from hetsim.experiment.rows import Row, job_rows, link_rows, rank_rows, staleness_rows, step_rows, to_csv
from hetsim.metrics.table import number_of
from hetsim.model.result import JobRun, Record
from hetsim.scenario.load import Scenario

if TYPE_CHECKING:
    import pandas as pd

_PACKAGES: Final = ("numpy", "simpy", "numba", "networkx", "scipy", "pydantic")
_IN_JSON: Final = (
    "samples_per_s",
    "compute_s",
    "communication_s",
    "exposed_s",
    "wait_s",
    "updates_per_s",
    "staleness_mean",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """One scenario that was run.

    Parameters
    ----------
    scenario : Scenario
        As loaded, overrides included.
    setup : Setup
        What was built of it.
    record : Record
        What its replications recorded.
    fingerprint : str
        Names the result.
    choices : tuple of str
        What the lowering decided.
    warnings : tuple of str
        What a user should know, such as a transport outside of where it was measured.
    inputs : tuple of Input
        What the result rests on.
    unread : tuple of str
        Fields that were written and never read.
    """

    scenario: Scenario
    setup: Setup = field(repr=False)
    record: Record = field(repr=False)
    fingerprint: str
    choices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = field(default=(), repr=False)
    unread: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """Name of the results folder: scenario and fingerprint."""
        return f"{self.scenario.name}-{self.fingerprint}"

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each job and replication, with every metric.

        Returns
        -------
        pandas.DataFrame
            Tidy; the unit is part of each column's name.
        """
        return frame(job_rows(self.record))

    def steps_frame(self) -> "pd.DataFrame":
        """Return one row for each job, replication and step.

        Returns
        -------
        pandas.DataFrame
            Tidy; the unit is part of each column's name.
        """
        return frame(list(step_rows(self.record)))

    def ranks_frame(self) -> "pd.DataFrame":
        """Return one row for each job, replication and rank.

        Returns
        -------
        pandas.DataFrame
            Tidy; the unit is part of each column's name.
        """
        return frame(rank_rows(self.record))

    def links_frame(self) -> "pd.DataFrame":
        """Return one row for each replication and direction of a link that carried something.

        Returns
        -------
        pandas.DataFrame
            Tidy; the unit is part of each column's name.
        """
        return frame(link_rows(self.record))

    def to_dict(self) -> dict[str, object]:
        """Return the object that ``hetsim run --json`` prints.

        Returns
        -------
        dict
            JSON values only.
        """
        return {
            "scenario": self.scenario.name,
            "fingerprint": self.fingerprint,
            "engine": self.setup.executor,
            "jobs": [_job_json(run) for run in self.record.jobs],
        }

    def manifest(self) -> dict[str, object]:
        """Return what the result rests on and how to get it again.

        Returns
        -------
        dict
            JSON values only; the same on every run.
        """
        return {
            "scenario": point_content(self.scenario),
            **provenance(self.fingerprint, self.setup.seed, self.inputs, self.unread),
            "engine": self.setup.executor,
            "choices": list(self.choices),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "placements": placements(self.record),
        }

    def save(self, out: str | Path = "results") -> Path:
        """Write the results folder ``<scenario>-<fingerprint>``, replacing one of the same name as a whole.

        Parameters
        ----------
        out : str or Path
            Folder that holds results folders.

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
            "jobs.csv": to_csv(job_rows(self.record)),
            "steps.csv": to_csv(step_rows(self.record)),
            "ranks.csv": to_csv(rank_rows(self.record)),
            "links.csv": to_csv(link_rows(self.record)),
            **({"staleness.csv": table} if (table := to_csv(staleness_rows(self.record))) else {}),
            "manifest.json": to_json(self.manifest()),
        }
        return write_folder(Path(out), self.folder_name, files)

    def __repr__(self) -> str:
        n = self.setup.n_replications
        return f"Result({self.scenario.name!r}, {n} replication{'s' if n > 1 else ''}, fingerprint {self.fingerprint})"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


def point_content(scenario: Scenario) -> dict[str, object]:
    """Return the resolved scenario without its comparison, which no single run reads.

    Parameters
    ----------
    scenario : Scenario
        One point.

    Returns
    -------
    dict
        JSON values only.
    """
    return {key: value for key, value in scenario.resolved().items() if key != "compare"}


def provenance(mark: str, seed: int | list[int], found: Sequence[Input], unread: Sequence[str]) -> dict[str, object]:
    """Return the part of a manifest that runs and comparisons share.

    Parameters
    ----------
    mark : str
        Fingerprint.
    seed : int or list of int
        Of all draws; several where points have their own.
    found : sequence of Input
        What the result rests on.
    unread : sequence of str
        Fields never read.

    Returns
    -------
    dict
        JSON values only.
    """
    versions = {"hetsim": hetsim.__version__, "model": str(MODEL_VERSION), "python": platform.python_version()}
    return {
        "fingerprint": mark,
        "seed": seed,
        "versions": versions | {package: version(package) for package in _PACKAGES},
        "inputs": [asdict(item) for item in found],
        "unread": list(unread),
    }


def placements(record: Record) -> list[dict[str, object]]:
    """Return where each replication of each job ran.

    Parameters
    ----------
    record : Record
        What was recorded.

    Returns
    -------
    list of dict
        Job, workers, servers and the replications that ran there, in the order they came up.
    """
    where: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for run in record.jobs:
        where.setdefault((run.job, run.placement.workers, run.placement.servers), []).append(run.replication)
    return [
        {"job": job, "workers": list(workers), "servers": list(servers), "replications": replications}
        for (job, workers, servers), replications in where.items()
    ]


def frame(rows: Sequence[Row]) -> "pd.DataFrame":
    """Return rows as a table.

    Parameters
    ----------
    rows : sequence of Row
        With the same keys.

    Returns
    -------
    pandas.DataFrame
        Columns in the order of the keys.
    """
    import pandas as pd

    return pd.DataFrame(list(rows))


def to_json(content: Mapping[str, object]) -> bytes:
    """Return JSON for people and machines, the same bytes on every run.

    Parameters
    ----------
    content : mapping
        JSON values only.

    Returns
    -------
    bytes
        UTF-8, indented, with a final newline.
    """
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _job_json(run: JobRun) -> dict[str, object]:
    def value(metric: str) -> float:
        return number_of(run, metric)

    step_time = {name: value(f"step_time_{name}_s") for name in ("mean", "p50", "p95")}
    return {
        "job": run.job,
        "replication": run.replication,
        "train_time_s": value("train_time_s"),
        "step_time_s": step_time,
        **{metric: value(metric) for metric in _IN_JSON},
    }
