"""Tidy rows of what was recorded, the unit in each column's name: the tables of a results folder."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from hetsim.metrics.clients import delays_of
from hetsim.metrics.steps import steps_of
from hetsim.metrics.table import METRICS
from hetsim.model.result import IntArray, JobRun, LinkRun, Record
from hetsim.units import TICKS_PER_S

Row = dict[str, object]
"""One line of a table: column name to text, integer or float."""


def job_rows(record: Record) -> list[Row]:
    """Return one row for each job and replication, with every metric.

    Parameters
    ----------
    record : Record
        What a scenario's replications recorded.

    Returns
    -------
    list of Row
        In the order of the record; devices and hosts are joined by ``;`` in the order of ranks and servers.
    """
    return [_job_row(run) for run in record.jobs]


def _job_row(run: JobRun) -> Row:
    return {
        "job": run.job,
        "replication": run.replication,
        "n_workers": len(run.placement.workers),
        "n_steps": len(run.trace.step_end),
        "batch": run.batch,
        "workers": ";".join(run.placement.workers),
        "servers": ";".join(run.placement.servers),
    } | {name: value_of(run, name) for name in METRICS}


def value_of(run: JobRun, metric: str) -> float | None:
    """Return a metric of a run.

    Parameters
    ----------
    run : JobRun
        One replication.
    metric : str
        A name of `hetsim.metrics.table.METRICS`.

    Returns
    -------
    float or None
        None where it is not known.
    """
    value = METRICS[metric].function(run)
    return None if value is None else float(value)


def staleness_rows(record: Record) -> Iterator[Row]:
    """Yield one row for each job, replication and staleness of its gradients that there was.

    Parameters
    ----------
    record : Record
        What a scenario's replications recorded.

    Yields
    ------
    Row
        None for jobs whose gradients are never stale.
    """
    for run in record.jobs:
        values, counts = np.unique(delays_of(run), return_counts=True)
        if values.any():
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                yield {"job": run.job, "replication": run.replication, "staleness": value, "n_gradients": count}


def step_rows(record: Record) -> Iterator[Row]:
    """Yield one row for each job, replication and step.

    Parameters
    ----------
    record : Record
        What a scenario's replications recorded.

    Yields
    ------
    Row
        In the order of the record; means and maxima are over ranks.
    """
    for run in record.jobs:
        yield from _step_rows(run)


def _step_rows(run: JobRun) -> Iterator[Row]:
    steps = steps_of(run)
    n = steps.end.size
    largest = np.zeros(n, dtype=np.int64)
    np.maximum.at(largest, steps.step, steps.compute)
    columns = {
        "end_s": _seconds(steps.end),
        "step_time_s": _seconds(steps.duration),
        "compute_max_s": _seconds(largest),
        "wait_mean_s": _means_s(steps.wait, steps.step, n),
        "exposed_mean_s": _means_s(steps.exposed, steps.step, n),
    }
    for step, values in enumerate(zip(*columns.values(), strict=True)):
        yield {"job": run.job, "replication": run.replication, "step": step} | dict(zip(columns, values, strict=True))


def rank_rows(record: Record) -> list[Row]:
    """Return one row for each job, replication and rank: where it ran and its means over steps.

    Parameters
    ----------
    record : Record
        What a scenario's replications recorded.

    Returns
    -------
    list of Row
        In the order of the record. ``idle_compute_s`` is the predicted step time on the idle device, and the next
        column says how it is known.
    """
    return [row for run in record.jobs for row in _rank_rows(run)]


def _rank_rows(run: JobRun) -> Iterator[Row]:
    steps, n = steps_of(run), len(run.hosts)
    columns = {
        "compute_s": _means_s(steps.compute, steps.rank, n),
        "communication_s": _means_s(steps.communication, steps.rank, n),
        "wait_s": _means_s(steps.wait, steps.rank, n),
        "exposed_s": _means_s(steps.exposed, steps.rank, n),
    }
    ranks = zip(run.placement.workers, run.hosts, run.step_times, strict=True)
    for rank, ((device, host, step_time), *values) in enumerate(zip(ranks, *columns.values(), strict=True)):
        yield {
            "job": run.job,
            "replication": run.replication,
            "rank": rank,
            "device": device,
            "host": host,
            "idle_compute_s": float(step_time.total_s),
            "idle_compute_basis": step_time.basis,
        } | dict(zip(columns, values, strict=True))


def link_rows(record: Record) -> list[Row]:
    """Return one row for each replication and direction of a link that carried something.

    Parameters
    ----------
    record : Record
        What a scenario's replications recorded.

    Returns
    -------
    list of Row
        In the order of the record; the utilization is of the capacity at the start, over the whole run.
    """
    return [_link_row(link) for link in record.links]


def _link_row(link: LinkRun) -> Row:
    carried_bytes_per_s = link.carried_bytes / link.duration_s
    return {
        "link": link.link,
        "replication": link.replication,
        "carried_bytes": float(link.carried_bytes),
        "capacity_bytes_per_s": float(link.capacity_bytes_per_s),
        "duration_s": float(link.duration_s),
        "utilization_frac": float(carried_bytes_per_s / link.capacity_bytes_per_s),
    }


def to_csv(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Return rows as a CSV file, the same bytes on every run.

    Parameters
    ----------
    rows : iterable of mapping
        With the same keys in the same order; floats are written with the digits that bring them back exactly.

    Returns
    -------
    bytes
        UTF-8, a header and one line for each row; empty without rows.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for index, row in enumerate(rows):
        if index == 0:
            writer.writerow(row)
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else value


def _seconds(ticks: IntArray) -> list[float]:
    return [tick / TICKS_PER_S for tick in ticks.tolist()]


def _means_s(ticks: IntArray, group: IntArray, n: int) -> list[float]:
    """Return the mean of each group, from exact sums; zero where it is empty."""
    totals, counts = np.zeros(n, dtype=np.int64), np.bincount(group, minlength=n).tolist()
    np.add.at(totals, group, ticks)
    return [total / (count or 1) / TICKS_PER_S for total, count in zip(totals.tolist(), counts, strict=True)]
