"""Tidy rows of what was recorded, the unit in each column's name: the tables of a results folder."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from hetsim.metrics import steps
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
    } | {name: float(metric.function(run)) for name, metric in METRICS.items()}


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
    trace = run.trace
    columns = {
        "end_s": _seconds(steps.end_ticks(trace)),
        "step_time_s": _seconds(steps.duration_ticks(trace)),
        "compute_max_s": _seconds(trace.compute.max(axis=1)),
        "wait_mean_s": _means_s(steps.wait_ticks(trace), axis=1),
        "exposed_mean_s": _means_s(steps.exposed_ticks(trace), axis=1),
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
    trace = run.trace
    columns = {
        "compute_s": _means_s(trace.compute, axis=0),
        "communication_s": _means_s(trace.communication, axis=0),
        "wait_s": _means_s(steps.wait_ticks(trace), axis=0),
        "exposed_s": _means_s(steps.exposed_ticks(trace), axis=0),
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


def _means_s(ticks: IntArray, *, axis: int) -> list[float]:
    n = ticks.shape[axis]
    return [total / n / TICKS_PER_S for total in ticks.sum(axis=axis).tolist()]
