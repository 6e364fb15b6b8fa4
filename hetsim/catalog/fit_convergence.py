"""Fit the rows of convergence.csv: ``python -m hetsim.catalog.fit_convergence RUNS [--out FILE] [--errors]``.

RUNS is a CSV of the updates that training took to a target at several batches (tests/data/convergence.csv). The updates
at batch B are ``S_min * (1 + B_noise / B)`` (McCandlish et al. 2018, arXiv:1812.06162, equation 2.11), fitted by least
squares of the logarithms, so that each batch weighs the same. Runs of several tables are never pooled.
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

import numpy as np
import numpy.typing as npt

from hetsim.catalog.convergence import CONVERGENCE_COLUMNS
from hetsim.catalog.rows import Row, read_rows
from hetsim.catalog.tables import datasets
from hetsim.errors import CatalogError

FloatArray = npt.NDArray[np.float64]

RUN_COLUMNS: Final = ("model", "data_set", "target", "batch_samples", "updates", "n_runs", "table", "place")
ERROR_COLUMNS: Final = (
    "model",
    "data_set",
    "target",
    "batch_samples",
    "updates",
    "fit_error",
    "held_out_error",
    "constant_samples_error",
    "constant_updates_error",
)

CITATIONS: Final = {
    "pollux_validation": "petuum/adaptdl, branch osdi21-artifact, commit c793c70, simulator/traces (Qiao et al., OSDI "
    "2021): SGD with AdaScale, which stretches one schedule to each batch; one run a batch, until the end of the first "
    "epoch at the target",
    "mlperf_resnet50": "mlcommons/training_results v0.7, v1.0 and v1.1, closed division, runs that succeeded: SGD or "
    "LARS, tuned for each batch; median over the runs of a batch, until the first evaluation at the target, of which "
    "there was one every 4 epochs or more often",
}
"""Of each table of measured runs."""

MIN_BATCHES: Final = 3
"""With fewer there is nothing to hold the fit against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Runs to one target.

    Parameters
    ----------
    model, data_set, target, table : str
        What was trained to what, and which table has it.
    batches : FloatArray, shape (n_batches,)
        Samples in an update.
    updates : FloatArray, shape (n_batches,)
        To the target.
    n_runs : int
        Behind all of them.
    """

    model: str
    data_set: str
    target: str
    table: str
    batches: FloatArray
    updates: FloatArray
    n_runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far off predictions are: predicted over measured updates, less one.

    Parameters
    ----------
    fit : FloatArray, shape (n_batches,)
        Of the fit to all batches.
    held_out : FloatArray, shape (n_batches,)
        Of the fit to all other batches.
    constant_samples, constant_updates : FloatArray, shape (n_batches,)
        Of the geometric mean of the samples, or of the updates, of all other batches.
    """

    fit: FloatArray
    held_out: FloatArray
    constant_samples: FloatArray
    constant_updates: FloatArray


def fit(batches: FloatArray, updates: FloatArray) -> tuple[float, float]:
    """Fit ``updates = min_steps * (1 + noise_batch / batch)`` by least squares of the logarithms.

    Parameters
    ----------
    batches : FloatArray, shape (n_batches,)
        Samples in an update; two different ones at least.
    updates : FloatArray, shape (n_batches,)
        To the target.

    Returns
    -------
    tuple of float
        Least updates, and the batch in samples that takes twice as many; both more than zero.

    Examples
    --------
    >>> least, noise = fit(np.array([100.0, 1000.0, 10000.0]), np.array([11000.0, 2000.0, 1100.0]))
    >>> round(least, 6), round(noise, 6)
    (1000.0, 1000.0)
    """
    from scipy.optimize import least_squares, nnls

    columns = np.stack([np.ones_like(batches), 1.0 / batches], axis=1)
    start, _ = nnls(columns / updates[:, None], np.ones_like(updates))
    floor = 1e-6 * np.array([updates.min(), (updates * batches).min()])

    def residuals(logs: FloatArray) -> FloatArray:
        fitted: FloatArray = columns @ np.exp(logs)
        return np.log(fitted / updates)

    best = least_squares(residuals, np.log(np.maximum(start, floor)), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    min_steps, min_samples = np.exp(best.x)
    return float(min_steps), float(min_samples / min_steps)


def errors(series: Series) -> Errors:
    """Return how far off the fit is, also where it leaves each batch out in turn, and how far off are simpler rules.

    Parameters
    ----------
    series : Series
        The runs.

    Returns
    -------
    Errors
        By batch.
    """
    batches, updates = series.batches, series.updates
    min_steps, noise_batch = fit(batches, updates)
    held_out, samples, steps = np.empty_like(updates), np.empty_like(updates), np.empty_like(updates)
    for index in range(len(batches)):
        kept = np.arange(len(batches)) != index
        least, noise = fit(batches[kept], updates[kept])
        held_out[index] = least * (1.0 + noise / batches[index])
        samples[index] = np.exp(np.log((updates * batches)[kept]).mean()) / batches[index]
        steps[index] = np.exp(np.log(updates[kept]).mean())
    return Errors(
        fit=min_steps * (1.0 + noise_batch / batches) / updates - 1.0,
        held_out=held_out / updates - 1.0,
        constant_samples=samples / updates - 1.0,
        constant_updates=steps / updates - 1.0,
    )


def read_series(path: Path) -> list[Series]:
    """Return the runs of a file, by what was trained to what.

    Parameters
    ----------
    path : Path
        A CSV with `RUN_COLUMNS`.

    Returns
    -------
    list of Series
        In the order of the file.

    Raises
    ------
    CatalogError
        If the file is missing or malformed, a data set or table is unknown, or one target has runs of several tables,
        a batch twice, or fewer than `MIN_BATCHES` batches.
    """
    if not path.is_file():
        raise CatalogError(f"{path}: no such file")
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in read_rows(path.read_text(encoding="utf-8").splitlines(), path.name, RUN_COLUMNS):
        key = row.text("model"), row.choice("data_set", datasets()), row.text("target")
        found.setdefault(key, []).append(row)
    return [_series(key, rows) for key, rows in found.items()]


def _series(key: tuple[str, str, str], rows: Sequence[Row]) -> Series:
    table = rows[0].choice("table", CITATIONS)
    updates: dict[float, float] = {}
    for row in rows:
        batch = row.number("batch_samples")
        if row.text("table") != table:
            raise row.error(f"runs of {table} and of {row.text('table')} to one target")
        if batch in updates:
            raise row.error(f"batch {batch:g} comes twice")
        updates[batch] = row.number("updates")
    if len(rows) < MIN_BATCHES:
        raise rows[-1].error(f"{len(rows)} batches to one target, at least {MIN_BATCHES} are needed")
    return Series(
        model=key[0],
        data_set=key[1],
        target=key[2],
        table=table,
        batches=np.array(list(updates)),
        updates=np.array(list(updates.values())),
        n_runs=sum(row.count("n_runs") for row in rows),
    )


def _catalog_row(series: Series) -> list[str]:
    min_steps, noise_batch = fit(series.batches, series.updates)
    off = errors(series)
    worst, held_out = np.abs(off.fit).max(), np.abs(off.held_out).max()
    least, most = series.batches.min(), series.batches.max()
    method = (
        f"least squares over {len(series.batches)} batches from {least:g} to {most:g}, {series.n_runs} runs: worst "
        f"{worst:.1%} off, {held_out:.1%} where it was left out of the fit"
    )
    figures = [f"{min_steps:.5g}", f"{noise_batch:.5g}", f"{least:g}", f"{most:g}"]
    return [series.model, series.data_set, series.target, *figures, "measured", method, CITATIONS[series.table]]


def _error_rows(series: Series) -> list[list[str]]:
    off = errors(series)
    columns = (off.fit, off.held_out, off.constant_samples, off.constant_updates)
    return [
        [series.model, series.data_set, series.target, f"{batch:g}", f"{updates:g}", *(f"{each:.4f}" for each in row)]
        for batch, updates, *row in zip(series.batches, series.updates, *columns, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write convergence.csv, or the errors of its fits, from a file of runs.

    Parameters
    ----------
    arguments : sequence of str or None
        The command line without the program; None takes it from the system.
    """
    parser = argparse.ArgumentParser(prog="python -m hetsim.catalog.fit_convergence", description=__doc__)
    parser.add_argument("runs", type=Path, help="CSV of updates to a target by batch")
    parser.add_argument("--out", type=Path, help="file to write; standard output if it is left out")
    parser.add_argument("--errors", action="store_true", help="write how far off the fits are, instead of the fits")
    options = parser.parse_args(arguments)
    try:
        found = read_series(options.runs)
    except CatalogError as error:
        parser.error(str(error))
    columns: Sequence[str] = ERROR_COLUMNS if options.errors else CONVERGENCE_COLUMNS
    rows = [row for each in found for row in (_error_rows(each) if options.errors else [_catalog_row(each)])]
    if options.out is None:
        _write(sys.stdout, columns, rows)
        return
    with options.out.open("w", encoding="utf-8", newline="") as file:
        _write(file, columns, rows)


def _write(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


if __name__ == "__main__":
    main()
